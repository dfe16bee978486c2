"""How good a pretrained model is on text that it has not seen, beside simple baselines."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F
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
from bertlab.tasks.measures import bounded, share_of_words
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
    masking: Masking = Masking.PAPER,
) -> dict[str, float]:
    """Return masked-word loss and top-1 and next-sentence accuracy on `documents`, masked by default as in the paper.

    Next sentences are predicted twice, which takes a second pass: from the intact text (nsp_accuracy), as the model is
    used, and from the masked one (nsp_accuracy_masked), as in training, to compare with metrics.csv. A model with
    another `second_task` is measured on that: order_accuracy, or nothing. With `baselines`, masked words are also
    guessed by word frequency and by the two neighbours.

    The measures of the model come with their 95% intervals, as `masked_top1_low` and `masked_top1_high`, over pairs:
    words of one pair are alike, so the pair is drawn again as a whole.
    """
    size = {"max_tokens": max_tokens, "pairs": pairs, "seed": seed}
    batches = list(masked_batches(documents, tokenizer, masking, second_task, **size))
    names = SECOND_TASK_MEASURES[second_task]
    found = torch.cat([_pair_figures(model, batch, names) for batch in batches])  # (N, 3 + names)
    loss, hits, tokens, *right_pairs = found.double().cpu().numpy().T
    ratios = {"masked_top1": (hits, tokens), "masked_loss": (loss, tokens)}
    shares = {name: (right, np.ones_like(right)) for name, right in zip(names, right_pairs, strict=True)}
    figures = {name: float(share_of_words(*columns)) for name, columns in ratios.items()}
    if baselines:
        figures |= _baseline_figures(baselines, [masked_words(batch) for batch in batches], "bigram")
    figures |= {name: float(share_of_words(*columns)) for name, columns in shares.items()}
    figures |= {"masked_tokens": int(tokens.sum()), "pairs": len(found)}
    for name, columns in (ratios | shares).items():
        figures |= bounded(name, figures[name], share_of_words, *columns)
    return figures


def _pair_figures(model: BertForPreTraining, batch: dict[str, Tensor], names: Sequence[str]) -> Tensor:
    """Return for each pair the masked loss, masked words right, masked words; then, if the second task has `names`,
    whether the pair is right from the intact and from the masked text: (B, 3 + names)."""
    batch = beside(model, batch)
    out = model.eval()(**batch, masked_only=True, packed=True)
    logs = out.prediction_logits.float().log_softmax(-1)  # (M, V)
    right = out.masked_labels
    hits = logs.argmax(-1) == right
    words = torch.stack([F.nll_loss(logs, right, reduction="none"), hits.float(), torch.ones_like(hits).float()], 1)
    pair = (batch["labels"] != IGNORED).nonzero()[:, 0]  # (M,)
    figures = words.new_zeros(len(batch["labels"]), 3).index_add(0, pair, words)
    return torch.cat([figures, _right_pairs(model, batch, out)], 1) if names else figures


def _right_pairs(model: BertForPreTraining, batch: dict[str, Tensor], out: PreTrainingOutput) -> Tensor:
    """Return whether each pair is classified correctly from the intact text, and from the masked one, `out`: (B, 2)."""
    hidden = batch["labels"] != IGNORED
    intact = torch.where(hidden, batch["labels"], batch["input_ids"])
    asked = {"input_ids": intact, "labels": torch.full_like(intact, IGNORED)}  # no words: the decoder is spared
    plain = model(**(batch | asked), masked_only=True, packed=True)
    label = batch["next_sentence_label"]
    return torch.stack([(one.seq_relationship_logits.argmax(-1) == label).float() for one in (plain, out)], 1)


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
) -> dict[str, float]:
    """Return loss, perplexity and top-1 of every next token, in texts as long as fit; special tokens do not count.
    With `baselines`, tokens are also guessed by word frequency and by the token before."""
    batches = list(next_token_batches(documents, tokenizer, max_tokens=max_tokens, texts=texts))
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
