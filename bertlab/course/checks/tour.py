"""Checkers of the tour: three inputs from two texts."""

from collections.abc import Callable, Sequence

from bertlab.course.checks.base import checker, expect

PairInputs = Callable[[list[int], list[int], int, int, int], tuple[list[int], list[int], list[int]]]


@checker
def check_pair_inputs(fn: PairInputs) -> None:
    """Check fn(first, second, cls, sep, length) -> input_ids, token_type_ids, attention_mask, all lists."""
    cls, sep = 2, 3
    for first, second, length in (([10, 11, 12], [13, 14], 10), ([20], [21, 22, 23], 7), ([30, 31], [32], 9)):
        result = fn(list(first), list(second), cls, sep, length)
        expect(
            isinstance(result, tuple) and len(result) == 3,
            "return three lists: input_ids, token_type_ids, attention_mask.",
        )
        ids, types, mask = map(list, result)
        _check_pair_ids(ids, first, second, cls, sep, length)
        _check_pair_types(types, len(first), len(second), length)
        _check_pair_mask(mask, len(first) + len(second) + 3, length)
    print("Right: ids, segments and mask are those that BERT expects.")


def _check_pair_ids(ids: list[int], first: Sequence[int], second: Sequence[int], cls: int, sep: int, length: int):
    text = [cls, *first, sep, *second, sep]
    expect(bool(ids) and ids[0] == cls, "input_ids must begin with [CLS]: its vector later speaks for the whole pair.")
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
        "attention_mask is the wrong way round: 1 means look at it, 0 means padding.",
    )
    expect(all(mask[:text]), "attention_mask is 1 on every real token, [CLS] and [SEP] too.")
    expect(not any(mask[text:]), "attention_mask must be 0 on padding: else words attend to nothing at all.")
