"""How good a model is, on text that it has not seen, beside what simpler guesses reach."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.corpora.storyworld import Probe
from bertlab.evaluation.baselines import (
    Gaps,
    NeighbourBaselines,
    climb,
    masked_batches,
    masked_words,
    next_token_batches,
    next_words,
    score,
    simple_guesses,
)
from bertlab.inputs.masking import Masking
from bertlab.inputs.pairs import SecondTask
from bertlab.model import BertForPreTraining
from bertlab.model.heads import PreTrainingOutput
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents

BATCH = 50
SECOND = {  # measures of the second task
    "next": ("nsp_accuracy", "nsp_accuracy_masked"),
    "order": ("order_accuracy", "order_accuracy_masked"),
    "none": (),
}


@torch.inference_mode()
def evaluate_pretraining(
    model: BertForPreTraining,
    tokenizer: Tokenizer,
    documents: Documents,
    baselines: NeighbourBaselines | None = None,
    *,
    max_tokens: int = 128,
    pairs: int = 2000,
    seed: int = 0,
    second_task: SecondTask = "next",
) -> dict[str, float]:
    """Masked-word loss and top-1 (15%, 80/10/10, as in the paper) and next-sentence accuracy on `documents`.

    Next sentences are judged twice, which takes a second pass: on the text as it is (nsp_accuracy), as the model is
    used, and with those words hidden (nsp_accuracy_masked), as in training, to be read beside its figures in
    metrics.csv. A model that learned another `second_task` is measured on that: order_accuracy, or nothing.
    With `baselines`, masked words also by word frequency and by the two neighbours.
    """
    sample = {"max_tokens": max_tokens, "pairs": pairs, "seed": seed}
    batches = list(masked_batches(documents, tokenizer, Masking(), second_task, **sample))
    names = SECOND[second_task]
    sums = torch.tensor([_judge(model, batch, names) for batch in batches], dtype=torch.float64).sum(0).tolist()
    loss, hits, tokens, *judged, rows = sums
    figures = {"masked_top1": hits / tokens, "masked_loss": loss / tokens}
    if baselines:
        figures |= _simple(baselines, [masked_words(batch) for batch in batches], "bigram")
    figures |= {name: right / rows for name, right in zip(names, judged, strict=True)}
    return figures | {"masked_tokens": int(tokens), "pairs": int(rows)}


def _judge(model: BertForPreTraining, batch: dict[str, Tensor], names: Sequence[str]) -> tuple[float, ...]:
    """Sums over a batch: masked loss, masked words right, masked words; second task right, if it has `names`, intact
    and masked; pairs."""
    out = model.eval()(**batch, masked_only=True, packed=True)
    masked = score(out.prediction_logits.float().log_softmax(-1), out.masked_labels)
    return *masked, len(out.masked_labels), *(_judge_pairs(model, batch, out) if names else ()), len(batch["labels"])


def _judge_pairs(model: BertForPreTraining, batch: dict[str, Tensor], out: PreTrainingOutput) -> tuple[float, float]:
    """How many pairs it takes for what they are, by the intact text and by the masked one, of which `out` tells."""
    intact = torch.where(batch["labels"] == IGNORED, batch["input_ids"], batch["labels"])
    plain = model(**(batch | {"input_ids": intact}), masked_only=True, packed=True)
    label = batch["next_sentence_label"]
    right = (float((given.seq_relationship_logits.argmax(-1) == label).sum()) for given in (plain, out))
    return tuple(right)


def _simple(baselines: NeighbourBaselines, gaps: list[Gaps], last: str) -> dict[str, float]:
    """Top-1 and loss of word frequency and of the neighbours, which are called `last`."""
    _, frequency, neighbours = climb(simple_guesses(baselines), gaps)
    figures = {}
    for name, rung in {"unigram": frequency, last: neighbours}.items():
        figures |= {f"{name}_top1": rung.top1, f"{name}_loss": rung.loss}
    return figures


@torch.inference_mode()
def evaluate_left_to_right(
    model: BertForPreTraining,
    tokenizer: Tokenizer,
    documents: Documents,
    baselines: NeighbourBaselines | None = None,
    *,
    max_tokens: int = 128,
    texts: int = 2000,
    seed: int = 0,
) -> dict[str, float]:
    """Loss, perplexity and top-1 of every token that follows others, in texts as long as fit; special tokens do not
    count. With `baselines` also by word frequency and by the token before."""
    sample = {"max_tokens": max_tokens, "texts": texts, "seed": seed}
    batches = list(next_token_batches(documents, tokenizer, **sample))
    sums = torch.zeros(3, dtype=torch.float64)
    for batch in batches:
        out = model.eval()(**batch, masked_only=True, packed=True)
        logs = out.prediction_logits.float().log_softmax(-1)  # (M, V)
        sums += torch.tensor([*score(logs, out.masked_labels), len(logs)])
    loss, hits, tokens = sums.tolist()
    figures = {"next_token_top1": hits / tokens, "next_token_loss": loss / tokens}
    if baselines:
        gaps = [next_words(batch, tokenizer.pad_token_id) for batch in batches]
        figures |= _simple(baselines, gaps, "previous")
    rows = sum(len(batch["input_ids"]) for batch in batches)
    return figures | {"perplexity": math.exp(loss / tokens), "next_tokens": int(tokens), "texts": rows}


@torch.inference_mode()
def evaluate_probes(model: BertForPreTraining, tokenizer: Tokenizer, probes: Sequence[Probe]) -> dict[str, float]:
    """Share of probes whose answer is the model's first guess of all words, in all and by family; and, as
    `..._pair`, whose answer gets more than its foil."""
    batch = tokenizer([probe.text for probe in probes])
    logits = torch.cat([model.eval()(**part).prediction_logits for part in _parts(batch)])  # (N, S, V)
    gap = logits[batch["input_ids"] == tokenizer.mask_token_id]  # (N, V): one mask each
    first = gap.argmax(-1)
    hits: dict[str, list[bool]] = {}
    for row, probe in enumerate(probes):
        answer, foil = tokenizer.convert_tokens_to_ids([probe.answer, probe.foil])
        for name in ("probes", f"probes_{probe.family}"):
            hits.setdefault(name, []).append(bool(first[row] == answer))
            hits.setdefault(f"{name}_pair", []).append(bool(gap[row, answer] > gap[row, foil]))
    return {name: sum(values) / len(values) for name, values in hits.items()}


def _parts(batch: dict[str, Tensor]):
    rows = len(batch["input_ids"])
    return ({key: value[i : i + BATCH] for key, value in batch.items()} for i in range(0, rows, BATCH))
