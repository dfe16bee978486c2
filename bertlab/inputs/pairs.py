"""BERT's second pretraining task: does the second text follow the first?

Devlin et al. 2019, section 3.1 and appendix A.2: a pair is two spans of sentences. Half of the pairs are
neighbours (IsNext), half are negatives (NotNext); one pair in ten is short on purpose.

A negative is made by exchanging the second texts of true pairs from different documents, of nearly the same
length (`bertlab.inputs.negatives`). So every text is used once, and neither length nor place in the document
nor sentence form gives the label away: only whether the two texts belong together does.
"""

import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal, overload

import numpy as np
import torch

from bertlab.config import IGNORED
from bertlab.errors import InputError
from bertlab.inputs.negatives import TruePairs, cut, exchange
from bertlab.inputs.store import FlatText, TokenStore, starts
from bertlab.tokenizer import Tokenizer

IS_NEXT, NOT_NEXT = 0, 1
SHORT_SHARE = 0.1  # pairs that are made short, so that the model sees short inputs too
SecondTask = Literal["next", "order", "none"]


@dataclass(frozen=True)
class Pair:
    """Two texts as token ids, without special tokens; one text alone has an empty second and label -100."""

    first: list[int]
    second: list[int]
    next_sentence_label: int  # 0 IsNext, 1 NotNext


@dataclass(frozen=True, eq=False)
class Pairs(Sequence[Pair]):
    """N pairs as spans of one array of tokens: `pairs[i]` is a Pair, a slice or an array of numbers gives Pairs."""

    tokens: np.ndarray  # (T,)
    first: np.ndarray  # (N, 2) start and end of the first text in `tokens`
    second: np.ndarray  # (N, 2); both the same where there is no second text
    labels: np.ndarray  # (N,)

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> "Pairs":
        pairs = list(pairs)
        texts = [text for pair in pairs for text in (pair.first, pair.second)]
        bounds = starts(map(len, texts))
        spans = np.stack([bounds[:-1], bounds[1:]], axis=1).reshape(-1, 2, 2)  # (2N, 2) -> (N, first or second, 2)
        tokens = np.fromiter(chain.from_iterable(texts), np.int64)
        return cls(tokens, spans[:, 0], spans[:, 1], np.array([pair.next_sentence_label for pair in pairs], int))

    def __len__(self) -> int:
        return len(self.labels)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice | np.ndarray) -> "Pairs": ...
    def __getitem__(self, index: int | slice | np.ndarray) -> "Pair | Pairs":
        if not isinstance(index, (int, np.integer)):
            return Pairs(self.tokens, self.first[index], self.second[index], self.labels[index])
        first, second = (self.tokens[slice(*spans[index])].tolist() for spans in (self.first, self.second))
        return Pair(first, second, int(self.labels[index]))

    def alone(self, chosen: np.ndarray) -> "Pairs":
        """Reduce the pairs where `chosen` (N,) is True to their first text; nothing is asked about the next."""
        second = np.where(chosen[:, None], self.second[:, :1], self.second)
        return Pairs(self.tokens, self.first, second, np.where(chosen, IGNORED, self.labels))


def sentence_pairs(
    documents: Sequence[list[list[int]]] | FlatText,
    max_tokens: int,
    rng: random.Random,
    second_task: SecondTask = "next",
) -> Pairs:
    """Return one pass over `documents` (sentences as token ids) as shuffled pairs, IsNext and NotNext 1:1.

    With "order", NotNext is a true pair the wrong way round (Lan et al. 2020, section 3.1); with "none" there are no
    pairs but texts as long as fit, each of one document (Liu et al. 2019, section 4.2, DOC-SENTENCES).

    An input takes at most `max_tokens` with its [CLS] and one or two [SEP]. For a pair a document needs two sentences:
    others give nothing. InputError where that is all, and for "next" with fewer than two such documents.
    """
    text = documents.flat_text() if isinstance(documents, TokenStore) else FlatText.of(documents)
    if max_tokens < (least := least_tokens(second_task)):
        raise InputError(f"max_tokens={max_tokens} is too short for a text or pair: {least} is the least")
    if second_task == "none":
        return _texts(text, max_tokens - 2, rng)  # [CLS] text [SEP]
    budget = max_tokens - 3  # [CLS] first [SEP] second [SEP]
    neighbours = TruePairs.of(text, list(_runs(text, budget, rng)))
    if second_task == "order":
        return _in_either_order(neighbours, budget, rng)
    return _with_negatives(neighbours, budget, rng)


def least_tokens(second_task: SecondTask) -> int:
    """Return the length of the shortest input: [CLS], one or two [SEP] and a token of each text."""
    return 3 if second_task == "none" else 5


def _runs(text: FlatText, budget: int, rng: random.Random) -> Iterator[tuple[int, int, int, int]]:
    """Each document as runs of whole sentences that fit, each run in two at a random boundary: (document, first
    sentence, first sentence of the second part, end), all numbers of the whole text."""
    bounds = text.sentences.tolist()
    for document, (start, last) in enumerate(pairwise(text.documents.tolist())):
        while last - start >= 2:
            target = rng.randint(2, budget) if rng.random() < SHORT_SHARE else budget
            end = _fill(bounds, start, last, target)
            yield document, start, rng.randint(start + 1, end - 1), end
            start = end


def _fill(bounds: list[int], start: int, last: int, target: int) -> int:
    """End of a run of at least two sentences from `start` that takes at most `target` tokens if it can,
    and does not leave one sentence over at the end `last` of the document."""
    end = max(start + 2, bisect_right(bounds, bounds[start] + target, start + 2, last + 1) - 1)
    if last - end == 1:
        end += -1 if end - start > 2 else 1
    return end


def _with_negatives(neighbours: TruePairs, budget: int, rng: random.Random) -> Pairs:
    """Half of the pairs exchange their second texts, the other half stay."""
    if len(np.unique(neighbours.document)) < 2:
        raise InputError(
            "next-sentence prediction needs at least two documents of two sentences or more, "
            "to take a second text from another document: give more text, or split it"
        )
    neighbours = neighbours.shuffled(rng)
    count, half = len(neighbours), len(neighbours) // 2
    negatives = [(pair, lender, NOT_NEXT) for pair, lender in exchange(neighbours, half, budget, rng)]
    if not negatives:
        raise InputError("the documents are too alike: no second text differs from the true next one")
    room = len(negatives) + count % 2
    chosen = negatives + [(pair, pair, IS_NEXT) for pair in range(half, min(half + room, count))]
    rng.shuffle(chosen)
    pairs, lenders, labels = np.array(chosen).T  # (N, 3) -> (N,) each
    return Pairs(neighbours.tokens, *cut(neighbours.first[pairs], neighbours.second[lenders], budget), labels)


def _in_either_order(neighbours: TruePairs, budget: int, rng: random.Random) -> Pairs:
    """True pairs, every second one the wrong way round."""
    if not len(neighbours):
        raise InputError("sentence order needs a document of two sentences or more: give more text")
    neighbours = neighbours.shuffled(rng)
    first, second = cut(neighbours.first, neighbours.second, budget)
    labels = np.arange(len(first)) % 2
    swapped = (labels == NOT_NEXT)[:, None]
    return Pairs(neighbours.tokens, np.where(swapped, second, first), np.where(swapped, first, second), labels)


def _texts(text: FlatText, budget: int, rng: random.Random) -> Pairs:
    """Texts alone, of as many whole sentences of one document as fit; a sentence too long for that is cut up."""
    pieces = [piece for span in _full_runs(text, budget) for piece in _pieces(*span, budget)]
    if not pieces:
        raise InputError("there is no text to learn from: give more")
    rng.shuffle(pieces)
    first = np.array(pieces)  # (N, 2)
    return Pairs(text.tokens, first, np.zeros_like(first), np.full(len(first), IGNORED))


def _full_runs(text: FlatText, budget: int) -> Iterator[tuple[int, int]]:
    """Start and end in the tokens of runs of whole sentences; one that is longer than `budget` is a run by itself."""
    bounds = text.sentences.tolist()
    for start, last in pairwise(text.documents.tolist()):
        while start < last:
            end = max(start + 1, bisect_right(bounds, bounds[start] + budget, start + 1, last + 1) - 1)
            yield bounds[start], bounds[end]
            start = end


def _pieces(start: int, end: int, budget: int) -> list[tuple[int, int]]:
    return [(first, min(first + budget, end)) for first in range(start, end, budget)]


def collate(pairs: Pairs | Iterable[Pair], tokenizer: Tokenizer, length: int | None = None) -> dict[str, torch.Tensor]:
    """Return input_ids, token_type_ids, attention_mask, special_tokens_mask (bool), all (B, S), and
    next_sentence_label (B,). S is the longest of them, or `length`; InputError if one is longer."""
    pairs = pairs if isinstance(pairs, Pairs) else Pairs.of(pairs)
    (start, end), (second_start, second_end) = pairs.first.T[..., None], pairs.second.T[..., None]  # (B, 1) each
    second = end - start + 2  # (B, 1): [CLS] first [SEP], then the second text, if there is one, and its [SEP]
    size = second + (second_end - second_start) + (second_end > second_start)  # (B, 1)
    longest = int(size.max())
    if longest > (length or longest):
        raise InputError(f"a pair takes {longest} tokens, more than length={length}: make shorter pairs")
    position = np.arange(length or longest)  # (S,)
    real = position < size  # (B, S)
    segments = real & (position >= second) & tokenizer.reading.segments  # (B, S)
    ids = np.where(real, tokenizer.sep_token_id, tokenizer.pad_token_id)  # what the texts leave free, but for [CLS]
    ids[:, 0] = tokenizer.cls_token_id
    for at, text_start, text_end in ((1, start, end), (second, second_start, second_end)):
        inside = (position >= at) & (position < at + text_end - text_start)  # (B, S)
        ids[inside] = pairs.tokens[(text_start + position - at)[inside]]
    input_ids = torch.from_numpy(ids)
    return {
        "input_ids": input_ids,
        "token_type_ids": torch.from_numpy(segments.astype(np.int64)),
        "attention_mask": torch.from_numpy(real.astype(np.int64)),
        "special_tokens_mask": tokenizer.special_mask(input_ids),
        "next_sentence_label": torch.from_numpy(pairs.labels.astype(np.int64)),
    }
