"""BERT's second pretraining task: does the second text follow the first?

Devlin et al. 2019, section 3.1 and appendix A.2: a pair is two spans of sentences, half of the time
neighbours (IsNext), half of the time strangers (NotNext); one pair in ten is short on purpose.

Here strangers are made by exchanging the second texts of true pairs from different documents, next of
kin in length. So every text is used once, and length, place in the document or sentence form tell
nothing about the label: only whether the two texts belong together does.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch

from bertlab.errors import InputError
from bertlab.tokenizer import Tokenizer, stack

IS_NEXT, NOT_NEXT = 0, 1
SHORT_SHARE = 0.1  # pairs that are made short, so that the model sees short inputs too
LOOK_BACK = 64  # how many candidates are tried for an exchange


@dataclass(frozen=True)
class Pair:
    """Two texts as token ids, without special tokens; one text alone has an empty second and label -100."""

    first: list[int]
    second: list[int]
    next_sentence_label: int  # 0 IsNext, 1 NotNext


@dataclass(frozen=True)
class _Neighbours:
    """Two spans that follow each other in document number `document`."""

    document: int
    first: list[int]
    second: list[int]
    next_length: int  # tokens of the first sentence of `second`


def sentence_pairs(documents: Sequence[list[list[int]]], max_tokens: int, rng: random.Random) -> Iterator[Pair]:
    """One pass over `documents` (sentences as token ids) as shuffled pairs, IsNext and NotNext 1:1.

    A pair takes at most `max_tokens` with its [CLS] and two [SEP]. Documents of a single sentence have
    no next sentence and give nothing. InputError: fewer than two documents with two sentences or more.
    """
    budget = max_tokens - 3  # [CLS] first [SEP] second [SEP]
    if budget < 2:
        raise InputError(f"max_tokens={max_tokens} is too short for a pair: 5 is the least")
    neighbours = [pair for number, document in enumerate(documents) for pair in _spans(number, document, budget, rng)]
    if len({pair.document for pair in neighbours}) < 2:
        raise InputError(
            "next-sentence prediction needs at least two documents of two sentences or more, "
            "to take a second text from another document: give more text, or split it"
        )
    rng.shuffle(neighbours)
    half = len(neighbours) // 2
    strangers = [_pair(*two, budget, NOT_NEXT) for two in _exchange(neighbours[:half], neighbours, budget, rng)]
    if not strangers:
        raise InputError("the documents are too alike: no second text differs from the true next one")
    room = len(strangers) + len(neighbours) % 2
    result = strangers + [_pair(pair, pair, budget, IS_NEXT) for pair in neighbours[half:][:room]]
    rng.shuffle(result)
    yield from result


def _spans(number: int, document: list[list[int]], budget: int, rng: random.Random) -> Iterator[_Neighbours]:
    """Cut a document into runs of whole sentences that fit, and each run in two at a random boundary."""
    sentences = [sentence for sentence in document if sentence]
    start = 0
    while len(sentences) - start >= 2:
        target = rng.randint(2, budget) if rng.random() < SHORT_SHARE else budget
        end = _fill(sentences, start, target)
        cut = rng.randint(start + 1, end - 1)
        first, second = sum(sentences[start:cut], []), sum(sentences[cut:end], [])
        yield _Neighbours(number, first, second, len(sentences[cut]))
        start = end


def _fill(sentences: list[list[int]], start: int, target: int) -> int:
    """End of a run of at least two sentences from `start` that takes at most `target` tokens if it can,
    and does not leave one sentence over at the end of the document."""
    end, used = start + 2, len(sentences[start]) + len(sentences[start + 1])
    while end < len(sentences) and used + len(sentences[end]) <= target:
        used += len(sentences[end])
        end += 1
    if len(sentences) - end == 1:
        end += -1 if end - start > 2 else 1
    return end


def _exchange(
    chosen: list[_Neighbours], everyone: list[_Neighbours], budget: int, rng: random.Random
) -> Iterator[tuple[_Neighbours, _Neighbours]]:
    """(pair that keeps its first text, pair that lends its second) for each of `chosen`.

    Walks through them by length of the second text, so that those exchanged are about equally long.
    """
    waiting: list[_Neighbours] = []
    for pair in sorted(chosen, key=lambda pair: len(pair.second)):
        for index in range(len(waiting) - 1, max(len(waiting) - LOOK_BACK, 0) - 1, -1):
            if _strange(pair, waiting[index], budget) and _strange(waiting[index], pair, budget):
                other = waiting.pop(index)
                yield pair, other
                yield other, pair
                break
        else:
            waiting.append(pair)
    waiting.sort(key=lambda pair: pair.document)
    for document, rest in groupby(waiting, key=lambda pair: pair.document):
        others = [pair for pair in everyone if pair.document != document]
        for pair in rest:  # mostly of one long document: they borrow a second text that is used twice
            lenders = rng.sample(others, min(len(others), LOOK_BACK))
            lenders = [lender for lender in lenders if _strange(pair, lender, budget)]
            if lenders:
                yield pair, min(lenders, key=lambda lender: abs(len(lender.second) - len(pair.second)))


def _strange(pair: _Neighbours, lender: _Neighbours, budget: int) -> bool:
    """Whether the lender's text is from another document and, as cut, not the true next text: neither
    a beginning of the next sentence nor something that begins with it."""
    if pair.document == lender.document:
        return False
    _, second = _cut(pair.first, lender.second, budget)
    length = min(len(second), pair.next_length)
    return second[:length] != pair.second[:length]


def _pair(pair: _Neighbours, lender: _Neighbours, budget: int, label: int) -> Pair:
    return Pair(*_cut(pair.first, lender.second, budget), label)


def _cut(first: list[int], second: list[int], budget: int) -> tuple[list[int], list[int]]:
    """Shorten the longer until both fit: at the outer ends, so that the texts still meet in the middle."""
    if len(first) + len(second) <= budget:
        return first, second
    short = min(len(first), len(second), budget // 2)
    keep = short if len(first) <= len(second) else budget - short
    return first[-keep:], second[: budget - keep]


def collate(pairs: Iterable[Pair], tokenizer: Tokenizer, length: int | None = None) -> dict[str, torch.Tensor]:
    """Pairs -> input_ids, token_type_ids, attention_mask, special_tokens_mask (bool), all (B, S), and
    next_sentence_label (B,). S is the longest of them, or `length`; InputError if one is longer."""
    pairs = list(pairs)
    cls, sep = tokenizer.cls_token_id, tokenizer.sep_token_id
    seconds = [[*pair.second, sep] if pair.second else [] for pair in pairs]
    ids = [[cls, *pair.first, sep, *second] for pair, second in zip(pairs, seconds, strict=True)]
    longest = max(map(len, ids))
    if longest > (length or longest):
        raise InputError(f"a pair takes {longest} tokens, more than length={length}: make shorter pairs")
    types = [[0] * (len(pair.first) + 2) + [1] * len(second) for pair, second in zip(pairs, seconds, strict=True)]
    input_ids = stack(ids, tokenizer.pad_token_id, length)
    return {
        "input_ids": input_ids,
        "token_type_ids": stack(types, 0, length),
        "attention_mask": stack([[1] * len(row) for row in ids], 0, length),
        "special_tokens_mask": tokenizer.special_mask(input_ids),
        "next_sentence_label": torch.tensor([pair.next_sentence_label for pair in pairs]),
    }
