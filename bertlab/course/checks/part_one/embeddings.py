"""Checkers of the chapter on input embeddings: lookup, segments, the module Embeddings, sine waves, their shift."""

from collections.abc import Callable

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
    run,
    same_weights,
    small_batch,
)
from bertlab.model.encoder import Embeddings


def _same(result: Tensor, wanted: Tensor) -> bool:
    return result.shape == wanted.shape and bool(torch.allclose(result.to(wanted.dtype), wanted, atol=1e-4))


def _tensor(result: object, shape: tuple[int, ...]) -> Tensor:
    if not isinstance(result, Tensor):
        raise Mistake(f"return a tensor, not {type(result).__name__}.")
    expect(tuple(result.shape) == shape, f"the result should have the shape {shape}; yours has {tuple(result.shape)}.")
    return result


PRODUCTS = ("Mm", "Bmm", "Mv", "Dot", "Mul", "Addmm", "Baddbmm", "Linear", "SparseMm")


def _has_product(result: Tensor) -> bool:
    """Whether a product leads from the table to the result, by the names in autograd's graph."""
    open_nodes, seen = [result.grad_fn], set()
    while open_nodes:
        node = open_nodes.pop()
        if node is None or node in seen:
            continue
        if node.name().removeprefix("Unsafe").rstrip("0123456789").removesuffix("Backward") in PRODUCTS:
            return True
        seen.add(node)
        open_nodes += [following for following, _ in node.next_functions]
    return False


@checker
def check_lookup(fn: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check fn(ids (B, S), table (V, H)) -> (B, S, H): a row of the table for each id, by a product."""
    table = torch.randn(7, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    ids = torch.tensor([[2, 0, 5], [1, 1, 3]])  # 6, the last of the table, does not occur
    try:
        result = fn(ids, table)
    except NotImplementedError:  # which is a RuntimeError
        raise
    except RuntimeError as error:
        raise Mistake(
            f"your function stopped with: {error}. One-hot rows have V numbers, also where the largest id does not "
            "occur: F.one_hot(ids, V); and the product, one_hot @ table, wants floating point."
        ) from error
    if not isinstance(result, Tensor):
        raise Mistake(f"return a tensor, not {type(result).__name__}.")
    expect(
        tuple(result.shape) != (2, 3, 7),
        "this is still one-hot, (B, S, V): multiply it by the table, (B, S, V) @ (V, H).",
    )
    result = _tensor(result, (2, 3, 4))
    known = {
        "ids count from 0: id 0 is the first row of the table.": table[ids - 1],
        "every row of the batch is the same: use all of ids, not only its first row.": table[ids[:1]].expand(2, -1, -1),
    }
    if not _same(result, table[ids]):
        reason = next((message for message, wrong in known.items() if _same(result, wrong)), None)
        raise Mistake(reason or "the vectors are not the rows of the table that the ids name.")
    expect(
        result.requires_grad,
        "no gradient would reach the table, and it could not be learned: no detach, no new tensor from its numbers.",
    )
    expect(
        _has_product(result),
        "the vectors are right, but you indexed the table. That is how it is done in practice; here write it with "
        "one-hot rows and a product: F.one_hot(ids, V), as floating point, times the table.",
    )
    print("Right: the product picks a row for each id, and the gradient finds the way back.")


@checker
def check_segment_ids(fn: Callable[[Tensor, int, int], Tensor]) -> None:
    """Check fn(input_ids (B, S), sep, pad) -> token_type_ids (B, S), long."""
    ids = torch.tensor([[2, 7, 8, 3, 9, 3, 0, 0], [2, 7, 3, 0, 0, 0, 0, 0], [2, 7, 3, 8, 9, 9, 9, 3]])
    wanted = torch.tensor([[0, 0, 0, 0, 1, 1, 0, 0], [0] * 8, [0, 0, 0, 1, 1, 1, 1, 1]])
    given = ids.clone()
    result = _tensor(fn(given, 3, 0), (3, 8))
    expect(torch.equal(given, ids), "your function changed the input_ids it was given.")
    seen = (ids == 3).cumsum(1)  # (B, S): how many [SEP] up to here, this one too
    before = seen - (ids == 3).long()
    known = {
        "the first [SEP] closes the first text: it belongs to segment 0, the count starts behind it.": (
            (seen == 1) & (ids != 0)
        ),
        "cumsum counts a [SEP] at its own position too: take it off there, then see to the padding.": seen,
        "padding is in segment 0, also behind a single text: it belongs to no second text.": before.clamp(max=1),
        "behind the last [SEP] comes padding: segment 0, not 2.": before,
        "behind a single text comes padding, not a second text: segment 0.": before == 1,
        "the last [SEP] closes the second text: it belongs to segment 1.": (before == 1) & (ids != 3) & (ids != 0),
        "the segments are the wrong way round: the first text is 0.": (1 - wanted),
    }
    if not torch.equal(result.long(), wanted):
        reason = next((message for message, wrong in known.items() if torch.equal(result.long(), wrong.long())), None)
        row = int((result != wanted).any(dim=1).nonzero()[0])
        raise Mistake(
            reason or f"for {ids[row].tolist()} the segments are {wanted[row].tolist()}, not {result[row].tolist()}."
        )
    expect(
        result.dtype == torch.long,
        f"return whole numbers (torch.long), not {result.dtype}: they are looked up in a table.",
    )
    print("Right: 0 up to the first [SEP], 1 up to the second, 0 on padding.")


def _waves(positions: Tensor, width: int, base: float, step: int = 2) -> Tensor:
    angles = positions[:, None] / base ** (torch.arange(0, width, 2) * step / 2 / width)  # (P, H / 2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # (P, H / 2, 2) -> (P, H)


def _blocks(waves: Tensor) -> Tensor:
    """All sines, then all cosines."""
    return torch.cat([waves[:, 0::2], waves[:, 1::2]], dim=1)  # (P, H)


def _own_angles(positions: Tensor, width: int, base: float) -> Tensor:
    angles = positions[:, None] / base ** (torch.arange(width) / width)  # (P, H)
    return torch.where(torch.arange(width) % 2 == 0, angles.sin(), angles.cos())


@checker
def check_sinusoids(fn: Callable[[int, int, float], Tensor]) -> None:
    """Check fn(count, width, base) -> (count, width): sine in even, cosine in odd components."""
    for count, width, base in ((6, 8, 300.0), (9, 6, 40.0)):
        result = _tensor(fn(count, width, base), (count, width))
        positions = torch.arange(count, dtype=torch.float32)
        right = _waves(positions, width, base)
        known = {
            "sine and cosine alternate, component by component; yours stand in two blocks.": _blocks(right),
            "sine belongs in the even components (0, 2, ...), cosine in the odd ones.": right.view(count, -1, 2)
            .flip(-1)
            .flatten(1),
            "positions count from 0: the first row is 0, 1, 0, 1, ...": _waves(positions + 1, width, base),
            "the exponent is 2i / H with i = 0, 1, 2, ...: yours is half of that.": _waves(positions, width, base, 1),
            "the exponent is 2i / H, where 2i is the even component itself: yours is twice that.": (
                _waves(positions, width, base, 4)
            ),
            "a sine and its cosine share one angle: component 2i + 1, too, has the exponent 2i / H.": (
                _own_angles(positions, width, base)
            ),
            "use the base that is given.": _waves(positions, width, 10_000.0),
            "the angle is the position divided by base^(2i / H): yours is multiplied.": _waves(
                positions, width, 1 / base
            ),
        }
        if not _same(result, right):
            reason = next((message for message, wrong in known.items() if _same(result, wrong)), None)
            row = [round(value, 3) for value in right[1].tolist()]
            raise Mistake(reason or f"for count={count}, width={width}, base={base:g} row 1 is {row}.")
    print("Right: waves from fast to slow, sine and cosine of each.")


@checker
def check_shift_matrix(fn: Callable[[int, int, float], Tensor]) -> None:
    """Check fn(shift, width, base) -> M (width, width) with waves(p + shift) = M @ waves(p) for every position p."""
    for shift, width, base in ((1, 6, 100.0), (5, 8, 10_000.0), (-3, 4, 50.0)):
        matrix = _tensor(fn(shift, width, base), (width, width)).float()
        positions = torch.arange(12, dtype=torch.float32)
        here, there = _waves(positions, width, base), _waves(positions + shift, width, base)  # (P, H)
        moved = here @ matrix.T
        expect(not _same(moved, here), "your matrix leaves every vector where it is: it has to depend on the shift.")
        expect(
            not _same(here @ matrix, there),
            "this is the transpose: M @ p, with p a column, goes back instead of forward. Mind the sign of the sines.",
        )
        expect(
            not _same(moved, _waves(positions + shift * torch.pi / 180, width, base)),
            "angles are in radians.",
        )
        expect(
            not _same(_blocks(here) @ matrix.T, _blocks(there)),
            "your matrix is for waves in two blocks; here sine and cosine alternate, component by component.",
        )
        if not _same(moved, there):
            fast = _same(moved[:, :2], there[:, :2])
            raise Mistake(
                "only the first wave is right: every wave turns by an angle of its own, shift / base^(2i / H)."
                if fast
                else f"M @ waves(p) should be waves(p + shift); for shift={shift} it is not. Take one wave: "
                "sin(a + d) = sin a cos d + cos a sin d, cos(a + d) = cos a cos d - sin a sin d."
            )
    print("Right: a step to the side is one rotation, the same from everywhere.")


@checker
def check_embeddings(cls: type[nn.Module]) -> None:
    """Check cls(config) with the library's names; forward(input_ids, token_type_ids), both (B, S) -> (B, S, H)."""
    config = BertConfig(vocab_size=50, hidden_size=24, max_position_embeddings=32, hidden_dropout_prob=0.5)
    run(cls, config)  # what the constructor raises becomes a Mistake
    library, mine = same_weights(Embeddings, cls, config, spread=0.3)
    ids, _, types = small_batch()
    expect(mine.word.padding_idx == config.pad_token_id, "the row of [PAD] would be trained: padding_idx=pad_token_id.")
    expect(mine.norm.eps == config.layer_norm_eps, f"LayerNorm's eps is {mine.norm.eps}: use config.layer_norm_eps.")
    with torch.no_grad():
        try:
            x = run(mine, ids, types)
        except Mistake as mistake:
            expect(
                "index out of range" not in str(mistake),
                "a table was asked for a row that it does not have: input_ids name rows of `word`, token_type_ids "
                "rows of `segment`, and 0 to S - 1 rows of `position`.",
            )
            raise
        expect(isinstance(x, Tensor), "return one tensor, (B, S, H).")
        none_of(x, _known_embeddings(library, ids, types))
        expect(close(x, library(ids, types)), "the result is not the library's.")
        check_dropout(mine, "after the LayerNorm", ids, types)
        _check_share(mine, config.hidden_dropout_prob, ids, types)
    print("Right: with the same weights your embeddings and the library's give the same.")


def _check_share(module: nn.Module, wanted: float, ids: Tensor, types: Tensor) -> None:
    """Check which share of the output dropout has set to 0; none where something follows it."""
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        share = float((run(module.train(), ids, types) == 0).float().mean())
    expect(share > 0, "dropout comes last, after the LayerNorm: in training some numbers of the output are 0.")
    expect(
        abs(share - wanted) < 0.2,
        f"in training {share:.0%} of the output is 0, with hidden_dropout_prob={wanted}: use the number in config.",
    )


def _known_embeddings(library: Embeddings, ids: Tensor, types: Tensor) -> list[tuple[Tensor, str]]:
    """What the usual slips give with the library's weights."""
    word, segment = library.word(ids), library.segment(types)  # (B, S, H)
    position = library.position(torch.arange(ids.size(1)))  # (S, H)
    norm = library.norm
    return [
        (norm(word + segment), "the positions are missing."),
        (norm(word + position), "the segments are missing."),
        (norm(segment + position), "the words are missing."),
        (word + segment + position, "the LayerNorm is missing."),
        (norm(word) + norm(segment) + norm(position), "add first; the sum alone is normalised."),
        (norm(word + segment + library.position(ids)), "positions count from 0 in each row: torch.arange(S), not ids."),
        (
            norm(word + segment + library.position(torch.arange(1, ids.size(1) + 1))),
            "positions count from 0: yours begin at 1.",
        ),
    ]
