"""How good a pretrained model is on text that it has not seen, beside simple baselines."""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.corpora.storyworld import Probe
from bertlab.evaluation.baselines import (
    Asked,
    NeighbourBaselines,
    loss_and_hits,
    masked_batches,
    masked_words,
    measure_guesses,
    next_token_batches,
    next_words,
    simple_guesses,
)
from bertlab.inputs.masking import Masking
from bertlab.inputs.pairs import SecondTask
from bertlab.model import BertForPreTraining
from bertlab.model.base import beside
from bertlab.model.heads import PreTrainingOutput
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents

BATCH = 50
SECOND_TASK_MEASURES: dict[SecondTask, tuple[str, ...]] = {
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
    """Return masked-word loss and top-1 (15%, 80/10/10, as in the paper) and next-sentence accuracy on `documents`.

    Next sentences are predicted twice, which takes a second pass: from the intact text (nsp_accuracy), as the model is
    used, and from the masked one (nsp_accuracy_masked), as in training, to compare with metrics.csv. A model with
    another `second_task` is measured on that: order_accuracy, or nothing. With `baselines`, masked words are also
    guessed by word frequency and by the two neighbours.
    """
    size = {"max_tokens": max_tokens, "pairs": pairs, "seed": seed}
    batches = list(masked_batches(documents, tokenizer, Masking(), second_task, **size))
    names = SECOND_TASK_MEASURES[second_task]
    sums = torch.tensor([_batch_sums(model, batch, names) for batch in batches], dtype=torch.float64).sum(0).tolist()
    loss, hits, tokens, *right_pairs, rows = sums
    figures = {"masked_top1": hits / tokens, "masked_loss": loss / tokens}
    if baselines:
        figures |= _baseline_figures(baselines, [masked_words(batch) for batch in batches], "bigram")
    figures |= {name: right / rows for name, right in zip(names, right_pairs, strict=True)}
    return figures | {"masked_tokens": int(tokens), "pairs": int(rows)}


def _batch_sums(model: BertForPreTraining, batch: dict[str, Tensor], names: Sequence[str]) -> tuple[float, ...]:
    """Return sums over a batch: masked loss, masked words right, masked words; pairs right from the intact and from the
    masked text, if the second task has `names`; pairs."""
    batch = beside(model, batch)
    out = model.eval()(**batch, masked_only=True, packed=True)
    masked = loss_and_hits(out.prediction_logits.float().log_softmax(-1), out.masked_labels)
    right_pairs = _right_pairs(model, batch, out) if names else ()
    return *masked, len(out.masked_labels), *right_pairs, len(batch["labels"])


def _right_pairs(model: BertForPreTraining, batch: dict[str, Tensor], out: PreTrainingOutput) -> tuple[float, float]:
    """Return how many sentence pairs are classified correctly from the intact text, and from the masked one: `out`."""
    intact = torch.where(batch["labels"] == IGNORED, batch["input_ids"], batch["labels"])
    plain = model(**(batch | {"input_ids": intact}), masked_only=True, packed=True)
    label = batch["next_sentence_label"]
    first, second = (float((one.seq_relationship_logits.argmax(-1) == label).sum()) for one in (plain, out))
    return first, second


def _baseline_figures(baselines: NeighbourBaselines, batches: list[Asked], last: str) -> dict[str, float]:
    """Return top-1 and loss of word frequency and of the neighbours, which are called `last`."""
    _, frequency, neighbours = measure_guesses(simple_guesses(baselines), batches)
    figures: dict[str, float] = {}
    for name, baseline in {"unigram": frequency, last: neighbours}.items():
        figures |= {f"{name}_top1": baseline.top1, f"{name}_loss": baseline.loss}
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
    """Return loss, perplexity and top-1 of every next token, in texts as long as fit; special tokens do not count.
    With `baselines`, tokens are also guessed by word frequency and by the token before."""
    batches = list(next_token_batches(documents, tokenizer, max_tokens=max_tokens, texts=texts, seed=seed))
    sums = torch.zeros(3, dtype=torch.float64)
    for batch in batches:
        out = model.eval()(**beside(model, batch), masked_only=True, packed=True)
        logs = out.prediction_logits.float().log_softmax(-1)  # (M, V)
        sums += torch.tensor([*loss_and_hits(logs, out.masked_labels), len(logs)])
    loss, hits, tokens = sums.tolist()
    figures = {"next_token_top1": hits / tokens, "next_token_loss": loss / tokens}
    if baselines:
        words = [next_words(batch, tokenizer.pad_token_id) for batch in batches]
        figures |= _baseline_figures(baselines, words, "previous")
    rows = sum(len(batch["input_ids"]) for batch in batches)
    return figures | {"perplexity": math.exp(loss / tokens), "next_tokens": int(tokens), "texts": rows}


@torch.inference_mode()
def evaluate_probes(model: BertForPreTraining, tokenizer: Tokenizer, probes: Sequence[Probe]) -> dict[str, float]:
    """Return the share of probes whose answer is the model's first guess, in all and by family; and, as `..._pair`, of
    those whose answer is likelier than its foil."""
    batch = tokenizer([probe.text for probe in probes])
    outputs = [model.eval()(**beside(model, part)).prediction_logits.float().cpu() for part in _batches(batch)]
    logits = torch.cat(outputs)  # (N, S, V)
    masked = logits[batch["input_ids"] == tokenizer.mask_token_id]  # (N, V): one mask each
    first = masked.argmax(-1)
    hits: dict[str, list[bool]] = {}
    for row, probe in enumerate(probes):
        answer, foil = (tokenizer.convert_tokens_to_ids(word) for word in (probe.answer, probe.foil))
        for name in ("probes", f"probes_{probe.family}"):
            hits.setdefault(name, []).append(bool(first[row] == answer))
            hits.setdefault(f"{name}_pair", []).append(bool(masked[row, answer] > masked[row, foil]))
    return {name: sum(values) / len(values) for name, values in hits.items()}


def _batches(batch: dict[str, Tensor]) -> Iterator[dict[str, Tensor]]:
    rows = len(batch["input_ids"])
    return ({key: value[i : i + BATCH] for key, value in batch.items()} for i in range(0, rows, BATCH))
