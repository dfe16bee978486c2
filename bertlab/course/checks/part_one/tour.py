"""Checkers of the tour: from logits to words, three inputs from two texts, what stands left of a gap, the best span."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from bertlab.course.checks.base import checker, close, expect, none_of, random_tensor, run, tensors

PairInputs = Callable[[list[int], list[int], int, int, int], tuple[list[int], list[int], list[int]]]


@checker
def check_likeliest(fn: Callable[[Tensor, int], tuple[Tensor, Tensor]]) -> None:
    """Check fn(logits (V,), k) -> the k likeliest ids (k,), likeliest first, and their probabilities (k,)."""
    logits, k = 2 * random_tensor(9), 3
    ids, probabilities = tensors(run(fn, logits, k), 2, "the ids and their probabilities")
    right, order = logits.softmax(-1), logits.argsort(descending=True)
    expect(ids.shape == probabilities.shape == (k,), f"return k = {k} ids and k probabilities.")
    expect(not ids.is_floating_point(), "the first of the two are the ids; the probabilities come second.")
    expect(ids.tolist() != order.flip(0)[:k].tolist(), "these are the unlikeliest words: sort the other way round.")
    expect(sorted(ids.tolist()) == sorted(order[:k].tolist()), "these are not the ids with the highest logits.")
    expect(ids.tolist() == order[:k].tolist(), "the likeliest stands first.")
    top = logits[ids]
    none_of(
        probabilities,
        [
            (top, "these are still logits: softmax turns them into probabilities."),
            (
                top.softmax(-1),
                "softmax runs over all V logits, not over the k largest: other words get a share.",
            ),
            (
                top.sigmoid(),
                "sigmoid treats each word by itself; probabilities of all words sum to 1: softmax.",
            ),
            (right[ids].log(), "these are logarithms of the probabilities."),
        ],
    )
    expect(close(probabilities, right[ids]), "the ids are right, their probabilities are not.")
    print("Right: probabilities over all word pieces, and the k largest.")


@checker
def check_left_of_gap(fn: Callable[[str], str]) -> None:
    """Check fn(text) -> the text up to its first [MASK], with it."""
    two = "When [MASK] hurt her tooth, [MASK] called the dentist."
    for text, left in (("My [MASK] is hairy.", "My [MASK]"), (two, "When [MASK]"), ("[MASK] swim.", "[MASK]")):
        result = fn(text)
        expect(isinstance(result, str), "return a text.")
        expect("[MASK]" in result, "[MASK] itself must stay: the model makes its guess there.")
        expect(result != text, "the text is still whole: what stands after the gap must go.")
        expect(result.count("[MASK]") == 1, "stop at the first [MASK]; a later one stands on its right.")
        expect(result.strip() == left, f"{text!r} should become {left!r}, not {result!r}.")
    print("Right: all that a left-to-right language model would see.")


@checker
def check_best_span(fn: Callable[[Tensor, Tensor, int], tuple[int, int]]) -> None:
    """Check fn(start (S,), end (S,), longest) -> first and last token of the best answer."""
    _expect_span(fn, [0, 1, 5, 0, 0], [0, 0, 1, 4, 0], 4, (2, 3), "start and end with the highest sum of logits.")
    _expect_span(fn, [0, 0, 1, 5, 4], [0, 6, 0, 0, 5], 4, (3, 4), "an answer cannot end before it starts.")
    _expect_span(fn, [9, 0, 5, 0, 0], [0, 0, 0, 6, 1], 4, (2, 3), "0 is [CLS] and no word: answers start after it.")
    _expect_span(fn, [0, 0, 0, 5, 0], [0, 0, 0, 6, 0], 4, (3, 3), "an answer may be one token: end = start.")
    long = "it has more than `longest` tokens, both ends counted."
    _expect_span(fn, [0, 5, 4, 3, 0, 0], [0, 0, 0, 0, 6, 0], 3, (2, 4), long)
    below = "logits can all be below zero, and the two are added: -2 - 1 is the highest sum here."
    _expect_span(fn, [-9, -6, -2, -5], [-9, -7, -6, -1], 3, (2, 3), below)
    print("Right: the likeliest pair that can be an answer.")


def _expect_span(fn, start: list[int], end: list[int], longest: int, right: tuple[int, int], message: str) -> None:
    result = run(fn, torch.tensor(start).float(), torch.tensor(end).float(), longest)
    pair = result.tolist() if isinstance(result, Tensor) else result
    expect(isinstance(pair, tuple | list) and len(pair) == 2, "return two whole numbers: first and last token.")
    found = (int(pair[0]), int(pair[1]))
    expect(found == right, f"start {start}, end {end}, longest {longest} give {right}, not {found}: {message}")


@checker
def check_pair_inputs(fn: PairInputs) -> None:
    """Check fn(first, second, cls, sep, length) -> input_ids, token_type_ids, attention_mask, all lists."""
    cls, sep = 2, 3
    for first, second, length in (([10, 11, 12], [13, 14], 10), ([20], [21, 22, 23], 7), ([30, 31], [32], 9)):
        result = fn(list(first), list(second), cls, sep, length)
        expect(
            isinstance(result, tuple | list) and len(result) == 3,
            "return three lists: input_ids, token_type_ids, attention_mask.",
        )
        ids, types, mask = (part.tolist() if isinstance(part, Tensor) else list(part) for part in result)
        expect(all(isinstance(id, int) for id in ids), "cls and sep are ids already: input_ids holds whole numbers.")
        _check_pair_ids(ids, first, second, cls, sep, length)
        _check_pair_types(types, len(first), len(second), length)
        _check_pair_mask(mask, len(first) + len(second) + 3, length)
    print("Right: ids, segments and mask are those that BERT expects.")


def _check_pair_ids(ids: list[int], first: Sequence[int], second: Sequence[int], cls: int, sep: int, length: int):
    text = [cls, *first, sep, *second, sep]
    expect(bool(ids) and ids[0] == cls, "input_ids must begin with [CLS]: its vector later stands for the whole pair.")
    expect(
        ids[: len(text) - 1] != [cls, *first, *second, sep],
        "there is no [SEP] between the two texts: BERT would read them as one.",
    )
    expect(
        ids.count(sep) >= 2,
        "a [SEP] is missing: one stands after the first text and one after the second.",
    )
    expect(ids[: len(text)] == text, "input_ids should be [CLS] first [SEP] second [SEP], in this order.")
    expect(len(ids) == length, f"pad input_ids to length {length}; yours has {len(ids)}.")
    expect(set(ids[len(text) :]) <= {0}, "fill up with 0, the id of [PAD].")


def _check_pair_types(types: list[int], first: int, second: int, length: int):
    right = [0] * (first + 2) + [1] * (second + 1)
    expect(len(types) == length, f"token_type_ids needs one entry for each token, padding too: {length}.")
    expect(
        types[: len(right)] != [0] * (first + 1) + [1] * (second + 2),
        "the first [SEP] closes the first text: its token_type_id is 0.",
    )
    expect(
        types[: len(right)] != right[:-1] + [0],
        "the last [SEP] belongs to the second text: its token_type_id is 1.",
    )
    expect(types[: len(right)] == right, "token_type_ids is 0 up to the first [SEP] and 1 from there to the last.")
    expect(not any(types[len(right) :]), "padding has token_type_id 0.")


def _check_pair_mask(mask: list[int], text: int, length: int):
    expect(len(mask) == length, f"attention_mask needs one entry for each token, padding too: {length}.")
    expect(
        mask != [0] * text + [1] * (length - text),
        "attention_mask is the wrong way round: 1 means attend to it, 0 means padding.",
    )
    expect(all(mask[:text]), "attention_mask is 1 on every real token, [CLS] and [SEP] too.")
    expect(
        not any(mask[text:]),
        "attention_mask must be 0 on padding: else words attend to [PAD] too.",
    )
