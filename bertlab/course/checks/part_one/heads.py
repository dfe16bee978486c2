"""Checkers of many heads: split and merge, and the module with the library's weights in it."""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.course.checks.base import (
    Mistake,
    check_dropout,
    checker,
    close,
    expect,
    none_of,
    random_tensor,
    run,
    same_weights,
    tensors,
)
from bertlab.model.encoder import MultiHeadAttention

SplitHeads = Callable[[Tensor, int], Tensor]
MergeHeads = Callable[[Tensor], Tensor]


@checker
def check_heads(split: SplitHeads, merge: MergeHeads) -> None:
    """Check split(x (B, S, H), heads) -> (B, A, S, D), and merge, which undoes it."""
    x, heads = random_tensor(2, 6, 12), 3
    result = run(split, x, heads)
    expect(isinstance(result, Tensor), "split_heads should return one tensor, (B, A, S, D).")
    _check_split(result, x, heads)
    merged = run(merge, result.contiguous())  # as the product with the values leaves it
    expect(isinstance(merged, Tensor), "merge_heads should return one tensor, (B, S, H).")
    expect(
        not close(merged, result.reshape(x.shape)),
        "merge_heads flattens before it transposes: the heads of one token must lie side by side again first, "
        "(B, A, S, D) -> (B, S, A, D) -> (B, S, H).",
    )
    expect(merged.shape == x.shape, f"merge_heads should give {tuple(x.shape)} back, not {tuple(merged.shape)}.")
    expect(close(merged, x), "merge_heads should undo split_heads.")
    print("Right: every head has all tokens, and a share of the features.")


def _check_split(result: Tensor, x: Tensor, heads: int) -> None:
    B, S, H = x.shape
    right = x.view(B, S, heads, -1).transpose(1, 2)
    message = (
        "you cut the sequence: view alone fills (B, A, S, D) in the order of memory, so head 0 got all features of "
        f"the first {S // heads} tokens. Cut the features, (B, S, A, D), then swap A and S."
    )
    none_of(
        result,
        [
            (x.view(B, heads, S, -1), message),
            (x.view(B, S, heads, -1), "the shape is (B, S, A, D): swap A and S, so that each head has its own (S, D)."),
            (
                x.view(B, S, -1, heads).permute(0, 3, 1, 2),
                "head 0 got every A-th feature: its share is the first D features, side by side, (B, S, A, D).",
            ),
            (x.view(B, S, -1, heads).transpose(1, 2).reshape(right.shape), "view as (B, S, A, D), not (B, S, D, A)."),
        ],
    )
    expect(
        result.shape == right.shape,
        f"split_heads of {tuple(x.shape)} in {heads} heads should be {tuple(right.shape)}, not {tuple(result.shape)}.",
    )
    expect(close(result, right), "head a should hold the features a*D to (a+1)*D of every token.")


@checker
def check_multi_head_attention(cls: type[nn.Module]) -> None:
    """Check cls(config) with qkv and out; forward(x (B, S, H), padding (B, 1, 1, S)) -> (B, S, H), (B, A, S, S)."""
    config = BertConfig(hidden_size=24, num_attention_heads=3)
    library, mine = same_weights(MultiHeadAttention, cls, config)
    x = random_tensor(2, 6, 24)
    padding = torch.tensor([[0] * 6, [0] * 4 + [1] * 2]).bool()[:, None, None]  # (2, 1, 1, 6)
    with torch.inference_mode():
        output, weights = tensors(run(mine, x, padding), 2, "two tensors, the output and the weights")
        right, right_weights = library(x, padding)
        expect(output.shape == x.shape, f"the output should be {tuple(x.shape)}, not {tuple(output.shape)}.")
        none_of(output, _known_modules(library, x, padding))
        expect(close(output, right), "the output is not the library's.")
        expect(close(weights, right_weights), "the output is right; the weights should be (B, A, S, S), masked.")
        free, _ = tensors(_run_without_padding(mine, x), 2, "two tensors, the output and the weights")
    expect(close(free, library(x, None)[0]), "with padding=None nothing is hidden.")
    with torch.no_grad():
        check_dropout(mine, "on the weights, after the softmax", x, padding)
        _check_dropped(mine, right_weights.shape, x, padding)
    print("Right: with the same weights your module and the library's give the same.")


def _run_without_padding(mine: nn.Module, x: Tensor) -> object:
    try:
        return run(mine, x, None)
    except Mistake as mistake:
        message = "with padding=None your code stops: hide padding only `if padding is not None`."
        raise Mistake(f"{message} ({mistake})") from None


def _check_dropped(mine: nn.Module, shape: torch.Size, x: Tensor, padding: Tensor) -> None:
    """Check that what a module drops out, in training mode, are the weights."""
    dropped: list[Tensor] = []
    for module in mine.modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_pre_hook(lambda _, inputs: dropped.append(inputs[0]))
    with torch.random.fork_rng([]):
        run(mine, x, padding)
    for tensor in dropped:
        expect(
            tensor.shape == shape,
            f"dropout belongs on the weights {tuple(shape)}: yours is on a tensor {tuple(tensor.shape)}.",
        )
        sums = tensor.sum(-1)
        expect(close(sums, torch.ones_like(sums)), "you drop out scores: dropout comes after the softmax.")


def _known_modules(library: MultiHeadAttention, x: Tensor, padding: Tensor) -> list[tuple[Tensor, str]]:
    """What the usual slips would give with the library's weights."""
    B, S, _ = x.shape
    heads = library.heads
    qkv = library.qkv(x)

    def attend(parts: Iterable[Tensor], hidden: Tensor = padding, width: int | None = None) -> Tensor:
        q, k, v = parts
        scores = q @ k.mT / math.sqrt(width or q.size(-1))
        return scores.masked_fill(hidden, torch.finfo(x.dtype).min).softmax(-1) @ v

    def merge(context: Tensor) -> Tensor:
        return context.transpose(1, 2).flatten(2)

    three = qkv.view(B, S, 3, heads, -1).permute(2, 0, 3, 1, 4)  # 3 x (B, A, S, D)
    mixed = qkv.view(B, S, heads, 3, -1).permute(3, 0, 2, 1, 4)  # 3 x (B, A, S, D), each head's three together
    single = [part[:, None] for part in qkv.chunk(3, dim=-1)]  # 3 x (B, 1, S, H)
    cut = [part.reshape(B, heads, S, -1) for part in qkv.chunk(3, dim=-1)]  # 3 x (B, A, S, D), of the sequence
    right = attend(three)
    return [
        (merge(right), "the last product is missing: `out` mixes what the heads found."),
        (
            library.out(merge(attend(three, hidden=torch.zeros_like(padding)))),
            "padding was not hidden: where `padding` is True, the score must be the lowest number.",
        ),
        (
            library.out(merge(attend(three, hidden=~padding))),
            "`padding` is True where a token must not be attended to.",
        ),
        (library.out(merge(attend(three, width=1))), "the scores are not divided by the square root of D."),
        (library.out(merge(attend(three, width=x.size(-1)))), "you divided by the square root of H: D is H / A."),
        (
            library.out(merge(attend(single))),
            "there is one head alone, as wide as H: split into heads before the scores.",
        ),
        (
            library.out(merge(attend(mixed))),
            "the 3H columns of qkv are all queries, then all keys, then all values: split as (3, A, D), not (A, 3, D).",
        ),
        (library.out(merge(attend(cut))), "you cut the sequence instead of the features: see split_heads."),
        (library.out(right.reshape(x.shape)), "the heads were flattened before they were transposed: see merge_heads."),
        (
            library.out(merge(attend([three[1], three[0], three[2]]))),
            "queries and keys are swapped: the first H columns of qkv are the queries.",
        ),
    ]
