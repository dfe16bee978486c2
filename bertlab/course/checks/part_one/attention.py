"""Checkers of attention: the weighted sum, the mask, a head made by hand."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from bertlab.course.checks.base import Mistake, checker, close, expect, none_of, random_tensor, run, tensors

Attend = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
MaskedWeights = Callable[[Tensor, Tensor], Tensor]
PreviousHead = Callable[[Tensor], tuple[Tensor, Tensor]]


@checker
def check_attend(fn: Attend) -> None:
    """Check fn(query, key, value), each (..., S, D) -> context (..., S, D) and weights (..., S, S)."""
    for shape in ((5, 16), (2, 3, 5, 16)):
        query, key, value = (random_tensor(*shape, seed=seed) for seed in range(3))
        context, weights = tensors(_run_attend(fn, query, key, value), 2, "two tensors, context and weights")
        _check_attend_weights(weights, query, key)
        right = weights @ value
        none_of(
            context,
            [
                (weights @ key, "you mixed the keys: they are for finding; what is handed over are the values."),
                (weights.mT @ value, "the weights are transposed: row i holds what token i takes from each token."),
            ],
        )
        expect(context.shape == value.shape, f"context should be {tuple(value.shape)}, not {tuple(context.shape)}.")
        expect(close(context, right), "context should be weights @ value: for each token the weighted sum of values.")
    print("Right: scores, their softmax, and the weighted sum of the values.")


def _run_attend(fn: Attend, *inputs: Tensor) -> object:
    """Call `fn`; where it stops on some numbers of dimensions alone, say which."""
    try:
        return run(fn, *inputs)
    except Mistake as mistake:
        many = inputs[0].ndim > 2
        others = [random_tensor(*((5, 16) if many else (2, 3, 5, 16)), seed=seed) for seed in range(3)]
        if not _runs(fn, *others):
            raise
        if many:
            raise Mistake(
                "it works for one head, (S, D), but stops where dimensions stand in front, (2, 3, 5, 16): `.T` and "
                f"transpose(0, 1) swap the wrong ones there. Use `.mT`, and count dimensions from the end. ({mistake})"
            ) from None
        raise Mistake(
            "it works for (2, 3, 5, 16) but stops for one head alone, (5, 16): count dimensions from the end, "
            f"`query.size(-1)` and `.mT`. ({mistake})"
        ) from None


def _runs(fn: Attend, *inputs: Tensor) -> bool:
    try:
        run(fn, *inputs)
    except Mistake:
        return False
    return True


def _check_attend_weights(weights: Tensor, query: Tensor, key: Tensor) -> None:
    scores, (size, width) = query @ key.mT, query.shape[-2:]
    expect(
        weights.shape == scores.shape,
        f"weights should be {tuple(scores.shape)}, one for each pair of tokens, not {tuple(weights.shape)}.",
    )
    over_askers = (
        "softmax runs over the tokens that ask (dim=-2): each row, over the tokens attended to, must sum to one."
    )
    root = math.sqrt(width)
    none_of(
        weights,
        [
            (scores / root, "these are the scores: weights are their softmax."),
            (scores, "these are the raw scores: divide by the square root of D and take the softmax."),
            (scores.softmax(-1), "the scores are not divided by the square root of D."),
            (
                (scores / width).softmax(-1),
                "you divided by D: the square root of D is what brings the scores back to a spread of about 1.",
            ),
            ((scores * root).softmax(-1), "you multiplied by the square root of D: divide by it."),
            (
                (scores / math.sqrt(size)).softmax(-1),
                "you divided by the square root of S, the number of tokens; D, the width of a key, comes last.",
            ),
            ((scores / root).softmax(-2), over_askers),
            (scores.softmax(-2), over_askers),
            (
                (scores / root).softmax(-1).mT,
                "the weights are transposed: row i holds what token i takes, in the order query @ key.mT.",
            ),
            ((scores / root).mT.softmax(-1), "you computed key @ query: a row belongs to the token that asks."),
        ],
    )
    sums = weights.sum(-1)
    expect(close(sums, torch.ones_like(sums)), "each row of the weights must sum to one.")
    expect(close(weights, (scores / root).softmax(-1)), "these are not softmax(query @ key / sqrt(D)).")


@checker
def check_masked_weights(fn: MaskedWeights) -> None:
    """Check fn(scores (B, A, S, S), attention_mask (B, S), 1 = token) -> weights (B, A, S, S)."""
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]])  # (3, 4)
    scores = random_tensor(3, 2, 4, 4)
    given = scores.clone()
    weights = run(fn, given, mask)
    expect(torch.equal(given, scores), "your function changed the scores it was given: use masked_fill or an addition.")
    _check_masked(weights, scores, mask)
    far_down = run(fn, scores - 20000, mask)  # softmax does not care where the scores stand as a whole
    expect(
        bool((far_down * (mask[:, None, None] == 0)).max() < 1e-6),
        "with scores near -20,000 padding still gets weight: hide it with a number that no score goes below, "
        "torch.finfo(scores.dtype).min.",
    )
    empty = run(fn, scores[:1], torch.zeros(1, 4, dtype=torch.long))
    expect(
        not bool(empty.isnan().any()),
        "a row that is all padding became nan (0/0): use the lowest finite number, torch.finfo(scores.dtype).min, not "
        "-inf, and divide by no sum that may be 0.",
    )
    print("Right: padding gets no weight, and every row still sums to one.")


def _check_masked(weights: Tensor, scores: Tensor, mask: Tensor) -> None:
    expect(isinstance(weights, Tensor) and weights.shape == scores.shape, "return the weights, (B, A, S, S).")
    attended, asking = (mask == 0)[:, None, None, :], (mask == 0)[:, None, :, None]
    low = torch.finfo(scores.dtype).min
    right = scores.masked_fill(attended, low).softmax(-1)
    plain = scores.softmax(-1)
    none_of(
        weights,
        [
            (plain, "nothing was hidden: padding still gets weight."),
            (
                plain.masked_fill(attended, 0),
                "you set weights to 0 after the softmax: the rows no longer sum to one. Hide the scores before it.",
            ),
            (
                (scores * mask[:, None, None]).softmax(-1),
                "padding has the score 0: a score like any other (e^0 = 1). Give it the lowest number there is.",
            ),
            (
                scores.masked_fill(~attended, low).softmax(-1),
                "the mask is the wrong way round: 1 means token, 0 means padding.",
            ),
            (
                scores.masked_fill(asking, low).softmax(-1),
                "you hid the rows, the padding that asks; it is the columns, what is attended to, that must go: "
                "(B, S) -> (B, 1, 1, S).",
            ),
            (
                scores.masked_fill(asking | attended, low).softmax(-1),
                "the rows of padding are hidden too. Leave them: nobody reads them, and a row that may attend to "
                "nothing has no sum of one.",
            ),
            (
                (scores + mask[:, None, None]).softmax(-1),
                "you added the mask itself: a head start of 1 for the tokens does not hide the padding.",
            ),
        ],
    )
    hidden = (weights * attended).abs().max()
    expect(bool(hidden < 1e-6), f"padding still gets a weight of {float(hidden):.4f}: it must get none.")
    sums = weights.sum(-1)
    expect(close(sums, torch.ones_like(sums)), "each row of the weights must sum to one.")
    expect(close(weights, right), "the weights among real tokens must be the softmax of their scores alone.")


@checker
def check_previous_head(fn: PreviousHead) -> None:
    """Check fn(positions (S, H)) -> W_query, W_key, both (H, S): a head whose token i attends to token i - 1."""
    for size, width, seed in ((6, 12, 0), (16, 40, 1)):
        positions = 0.3 * random_tensor(size, width, seed=seed)
        query, key = tensors(run(fn, positions.clone()), 2, "two matrices, W_query and W_key")
        same = query.shape == key.shape and query.ndim == 2 and query.shape[0] == width
        expect(
            same,
            f"both matrices should be (H, D) = ({width}, D): yours are {tuple(query.shape)} and {tuple(key.shape)}.",
        )
        weights = ((positions @ query) @ (positions @ key).mT / math.sqrt(query.shape[1])).softmax(-1)  # (S, S)
        _check_previous(weights)
    print("Right: every token but the first attends to its left neighbour, and it goes by position alone.")


def _check_previous(weights: Tensor) -> None:
    expect(not bool(weights.isnan().any()), "the weights are nan: some number is too large.")
    diagonals = {offset: float(weights.diagonal(offset).min()) for offset in (-1, 0, 1)}
    expect(diagonals[1] < 0.5, "the head attends to the next token: shift the other way.")
    expect(diagonals[0] < 0.5, "every token attends to itself: its query must be the key of another.")
    peaks = weights[1:].argmax(-1)
    expect(
        bool((peaks == torch.arange(len(peaks))).all()),
        "not every token attends most to its left neighbour: W_key should make the keys of all positions different, so "
        "that a query can name exactly one of them.",
    )
    expect(
        diagonals[-1] > 0.9,
        f"it attends to the left, but softly: some left neighbour gets only {diagonals[-1]:.2f}, and each should get "
        "more than 0.9. Make the scores larger.",
    )
