"""The weighted sum, the mask, and a head made by hand."""

import math
from typing import Any

import torch
from torch import Tensor

from bertlab.course.exercise import Exercise
from bertlab.course.observe import call, expect, random_tensor, value


def attend(query, key, value):
    scores = query @ key.mT / math.sqrt(query.size(-1))  # (..., S, S)
    weights = scores.softmax(-1)
    return weights @ value, weights


def _vectors() -> list[tuple]:
    shapes = ((5, 16), (2, 3, 4, 6), (1, 2, 3, 9))  # one head alone, several, other widths
    usual = [tuple(random_tensor(*shape, seed=seed) for seed in range(3)) for shape in shapes]
    return [*usual, (90 * usual[0][0], *usual[0][1:])]  # scores that exp makes infinite


TRANSPOSED = "the weights are transposed: row i holds what token i takes from each token."
DOTS = "`.T` and transpose(0, 1) swap the wrong ones there. Use `.mT`, and count dimensions from the end"

check_attend = Exercise(
    attend,
    _vectors,
    right="Right: scores, their softmax, and the weighted sum of the values.",
    gives=("context", "weights"),
    slips=[
        (
            "you mixed the keys: they are for finding; what is handed over are the values.",
            "weights @ value => weights @ key",
        ),
        (TRANSPOSED, "weights @ value => weights.mT @ value"),
        (TRANSPOSED, "weights @ value, weights => weights @ value, weights.mT"),
        ("these are the scores: weights are their softmax.", "scores.softmax(-1) => scores"),
        (
            "these are the raw scores: divide by the square root of D and take the softmax.",
            "scores.softmax(-1) => scores",
            " / math.sqrt(query.size(-1)) => ",
        ),
        ("the scores are not divided by the square root of D.", " / math.sqrt(query.size(-1)) => "),
        (
            "you divided by D: the square root of D is what brings the scores back to a spread of about 1.",
            "math.sqrt(query.size(-1)) => query.size(-1)",
        ),
        ("you divided by a fixed number: D is the width of a key, query.size(-1).", "math.sqrt(query.size(-1)) => 4"),
        ("you multiplied by the square root of D: divide by it.", "/ math => * math"),
        (
            "you divided by the square root of S, the number of tokens; D, the width of a key, comes last.",
            "query.size(-1) => query.size(-2)",
        ),
        (
            "softmax runs over the tokens that ask (dim=-2): each row, over the tokens attended to, must sum to one.",
            "scores.softmax(-1) => scores.softmax(-2)",
        ),
        ("you computed key @ query: a row belongs to the token that asks.", "query @ key.mT => key @ query.mT"),
        (
            "no gradient passes the weights: without detach and no_grad, else queries and keys learn nothing.",
            "scores.softmax(-1) => scores.softmax(-1).detach()",
        ),
        ("each row of the weights must sum to one.", "scores.softmax(-1) => scores.exp()"),
        (
            "exp of a large score is infinite, and inf / inf is nan: softmax subtracts the largest score first.",
            "scores.softmax(-1) => scores.exp() / scores.exp().sum(-1, keepdim=True)",
        ),
        (
            f"it works for one head, (S, D), but stops where dimensions stand in front: {DOTS}.",
            "key.mT => key.transpose(0, 1)",
        ),
    ],
)


def masked_weights(scores, attention_mask):
    padding = (attention_mask == 0)[:, None, None, :]  # (B, S) -> (B, 1, 1, S): for all heads and all asking tokens
    return scores.masked_fill(padding, torch.finfo(scores.dtype).min).softmax(-1)


def _masked_scores() -> list[tuple]:
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]])  # (3, 4)
    scores = random_tensor(3, 2, 4, 4)
    empty = torch.zeros(1, 4, dtype=torch.long)
    return [(scores, mask), (scores - 20000, mask), (scores[:1], empty)]


def _sums(fn, scores: Tensor, mask: Tensor) -> dict[str, Any]:
    """Of a row that is all padding only the sum counts: any weights will do."""
    found = value(fn, scores, mask)
    return found | {"result": found["result"].sum(-1)}


HIDE = "scores.masked_fill(padding, torch.finfo(scores.dtype).min)"
NAN = (
    "a row that is all padding became nan (0/0): use the lowest finite number, torch.finfo(scores.dtype).min, not "
    "-inf, and divide by no sum that may be 0."
)

check_masked_weights = Exercise(
    masked_weights,
    _masked_scores,
    right="Right: padding gets no weight, and every row still sums to one.",
    observe=lambda fn, scores, mask: (call if mask.any() else _sums)(fn, scores, mask),
    slips=[
        ("nothing was hidden: padding still gets weight.", f"{HIDE} => scores"),
        (
            "you set weights to 0 after the softmax: the rows no longer sum to one. Hide the scores before it.",
            f"{HIDE + '.softmax(-1)'} => scores.softmax(-1).masked_fill(padding, 0)",
        ),
        (
            "padding has the score 0: a score like any other (e^0 = 1). Give it the lowest number there is.",
            "torch.finfo(scores.dtype).min => 0",
        ),
        (
            "the mask is the wrong way round: 1 means token, 0 means padding.",
            "attention_mask == 0 => attention_mask == 1",
        ),
        (
            "you hid the rows, the padding that asks; it is the columns, what is attended to, that must go: "
            "(B, S) -> (B, 1, 1, S).",
            "[:, None, None, :] => [:, None, :, None]",
        ),
        (
            "the rows of padding are hidden too. Leave them: nobody reads them, and a row that may attend to nothing "
            "has no "
            "sum of one.",
            "masked_fill(padding => masked_fill(padding | padding.mT",
        ),
        (
            "you added the mask itself: a head start of 1 for the tokens does not hide the padding.",
            f"{HIDE} => (scores + attention_mask[:, None, None])",
        ),
        (
            "with scores near -20,000 padding still gets weight: hide it with a number that no score goes below, "
            "torch.finfo(scores.dtype).min.",
            "torch.finfo(scores.dtype).min => -10000.0",
        ),
        (NAN, "torch.finfo(scores.dtype).min => -math.inf"),
        (NAN, lambda scores, mask: _renormalised(scores.softmax(-1) * mask[:, None, None])),
        (
            "the weights of a row that is all padding must sum to one as well: hide with the lowest finite number, "
            "torch.finfo(scores.dtype).min, and there is no nan to put right.",
            "torch.finfo(scores.dtype).min).softmax(-1) => -math.inf).softmax(-1).nan_to_num(0)",
        ),
        (
            "no gradient passes the weights: softmax is learned through, so no detach and no_grad.",
            ".softmax(-1) => .softmax(-1).detach()",
        ),
    ],
)


def _renormalised(weights: Tensor) -> Tensor:
    return weights / weights.sum(-1, keepdim=True)


def previous_head(positions):
    size = len(positions)
    key = torch.linalg.pinv(positions)  # (H, S): positions @ key = identity, so position j has the key e_j
    wanted = torch.eye(size).roll(1, dims=0)  # (S, S): row i is e_(i-1)
    return 10 * math.sqrt(size) * key @ wanted, key  # scores of 10 after the division by the square root of D


def _attended(fn, positions: Tensor) -> dict[str, Any]:
    found = value(fn, positions)
    result = found.pop("result")
    pair = isinstance(result, tuple | list) and len(result) == 2 and all(isinstance(each, Tensor) for each in result)
    expect(pair, "return two matrices, W_query and W_key, in this order, each a tensor.")
    query, key = result
    width = positions.size(1)
    shaped = query.shape == key.shape and query.ndim == 2 and query.shape[0] == width
    expect(shaped, f"both are (H, D) = ({width}, D): yours are {tuple(query.shape)} and {tuple(key.shape)}.")
    weights = ((positions @ query) @ (positions @ key).mT / math.sqrt(query.shape[1])).softmax(-1)  # (S, S)
    least = {offset: float(weights.diagonal(offset).min()) for offset in (-1, 0, 1)}
    return found | {
        "the weights are numbers": not bool(weights.isnan().any()),
        "no token but the first attends to the next": least[1] < 0.5,
        "no token but the first attends to itself": least[0] < 0.5,
        "each token but the first attends most to its left neighbour": bool(
            (weights[1:].argmax(-1) == torch.arange(len(weights) - 1)).all()
        ),
        "each left neighbour gets more than 0.9": least[-1] > 0.9,
    }


check_previous_head = Exercise(
    previous_head,
    lambda: [
        (0.3 * random_tensor(6, 12),),
        (0.3 * random_tensor(16, 40, seed=1),),
        (0.3 * random_tensor(6, 12) + random_tensor(12, seed=2),),  # alike, and so far from orthogonal
    ],
    right="Right: every token but the first attends to its left neighbour, and it goes by position alone.",
    observe=_attended,
    slips=[
        ("the weights are nan: some number is too large.", "10 * math.sqrt(size) => math.inf"),
        ("the head attends to the next token: shift the other way.", ".roll(1, dims=0) => .roll(-1, dims=0)"),
        (
            "where positions are alike, not every left neighbour gets more than 0.9: their transpose is "
            "no inverse, take the pseudo-inverse.",
            "torch.linalg.pinv(positions) => positions.T",
        ),
        ("every token attends to itself: its query must be the key of another.", ".roll(1, dims=0) => "),
        (
            "not every token attends most to its left neighbour: W_key should make the keys of all positions "
            "different, so "
            "that a query can name exactly one of them.",
            ".roll(1, dims=0) => .roll(2, dims=0)",
        ),
        (
            "it attends to the left, but softly: each left neighbour should get more than 0.9. Make the scores larger.",
            "10 * math.sqrt(size) => math.sqrt(size)",
        ),
    ],
    spared={"return (11 * math": "any large number will do"},
)
