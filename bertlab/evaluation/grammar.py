"""Which sentence of a minimal pair a model finds more likely: pseudo-log-likelihood (Salazar et al. 2020)."""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.corpora.minimal_pairs import PHENOMENA, MinimalPair, minimal_pairs
from bertlab.evaluation.baselines import NeighbourBaselines
from bertlab.explain.words.surprisal import counted
from bertlab.model import BertForPreTraining
from bertlab.model.base import beside
from bertlab.tokenizer import Tokenizer

ROWS = 512  # sentences with one token hidden, in a batch
PAIRS = 500  # of each phenomenon

Batch = dict[str, Tensor]
Scores = Callable[[Sequence[str]], Tensor]  # N sentences -> (N,), higher for the likelier


def measure_grammar(
    model: BertForPreTraining,
    tokenizer: Tokenizer,
    baselines: NeighbourBaselines | None = None,
    *,
    pairs: int | None = None,
) -> dict[str, float]:
    """Return the share of minimal pairs whose right sentence is the likelier, as `grammar` (the mean) and by phenomenon
    as `grammar_agreement` ...; with `baselines` also by word frequency and by the two neighbours of each word.

    `pairs` of each phenomenon, 500 if not given.
    """
    found = [minimal_pairs(phenomenon, pairs or PAIRS) for phenomenon in PHENOMENA]
    scores: dict[str, Scores] = {"grammar": lambda texts: pseudo_log_likelihoods(model, tokenizer, texts)}
    if baselines:
        scores["unigram_grammar"] = lambda texts: unigram_scores(baselines, tokenizer, texts)
        scores["bigram_grammar"] = lambda texts: bigram_scores(baselines, tokenizer, texts)
    figures: dict[str, float] = {}
    for name, score in scores.items():
        shares = {f"{name}_{group[0].phenomenon}": share_right(score, group) for group in found}
        figures |= {name: fmean(shares.values())} | shares
    return figures


def share_right(score: Scores, pairs: Sequence[MinimalPair]) -> float:
    """Return the share of pairs whose right sentence scores higher; where both score the same, half counts."""
    good, bad = score([pair.good for pair in pairs]), score([pair.bad for pair in pairs])
    return float(((good > bad).double() + (good == bad).double() / 2).mean())


@torch.inference_mode()
def pseudo_log_likelihoods(model: BertForPreTraining, tokenizer: Tokenizer, texts: Sequence[str]) -> Tensor:
    """Return for each of N texts the sum of the log-probabilities of its tokens, each hidden in turn: (N,).

    [UNK] counts as any other token, as with Salazar et al.: left out, it would make a sentence likelier. Between texts
    with different unknown words the sums tell little.
    """
    sums = torch.zeros(len(texts), dtype=torch.float64)
    for batch, rows in one_hidden(tokenizer(list(texts)), tokenizer):
        out = model.eval()(**beside(model, batch), masked_only=True, packed=True)
        logs = out.prediction_logits.float().log_softmax(-1)  # (M, V)
        sums.index_add_(0, rows, logs.gather(1, out.masked_labels[:, None])[:, 0].double().cpu())
    return sums


def one_hidden(batch: Batch, tokenizer: Tokenizer) -> Iterator[tuple[Batch, Tensor]]:
    """Yield the rows of `batch` (N, S) again for each of their words, with that one hidden: (M, S) at a time, with
    labels; and which row each was (M,)."""
    row, position = counted(tokenizer, batch["input_ids"]).nonzero(as_tuple=True)  # (T,) each
    for rows, positions in zip(row.split(ROWS), position.split(ROWS), strict=True):
        part = {name: values[rows] for name, values in batch.items()}
        every = torch.arange(len(rows))
        labels = torch.full_like(part["input_ids"], IGNORED)
        labels[every, positions] = part["input_ids"][every, positions]
        part["input_ids"][every, positions] = tokenizer.mask_token_id
        yield part | {"labels": labels}, rows


def unigram_scores(baselines: NeighbourBaselines, tokenizer: Tokenizer, texts: Sequence[str]) -> Tensor:
    """Return the sum of the log-frequencies of the words of each text: (N,)."""
    ids = tokenizer(list(texts))["input_ids"]  # (N, S)
    logs = baselines.unigram.log()[ids].masked_fill(~counted(tokenizer, ids), 0.0)
    return logs.double().sum(1)


def bigram_scores(baselines: NeighbourBaselines, tokenizer: Tokenizer, texts: Sequence[str]) -> Tensor:
    """Return the sum of the log-probabilities of each word between its two neighbours: (N,)."""
    ids = tokenizer(list(texts))["input_ids"]  # (N, S)
    row, position = counted(tokenizer, ids).nonzero(as_tuple=True)  # (T,) each
    sums = torch.zeros(len(ids), dtype=torch.float64)
    for rows, positions in zip(row.split(ROWS), position.split(ROWS), strict=True):
        logs = baselines.bigram_log_probabilities(ids[rows, positions - 1], ids[rows, positions + 1])  # (M, V)
        sums.index_add_(0, rows, logs.gather(1, ids[rows, positions][:, None])[:, 0].double())
    return sums
