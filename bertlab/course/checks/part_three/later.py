"""Checkers of what came after BERT: full rows, sentence order, replaced tokens, distillation, rotary positions, gated
feed-forward, unpadded rows."""

import random
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED
from bertlab.course.checks.base import checker, close, expect, none_of, random_tensor, run, tensors
from bertlab.model.attend import BASE, rotate
from bertlab.training.distill import soft_loss

SEP = 99
Triple = tuple[int, list[int], list[int]]


@checker
def check_full_rows(fn: Callable[[list[list[list[int]]], int, int], list[list[int]]]) -> None:
    """Check fn(documents, budget, sep) -> rows of ids: whole sentences in order, as many as fit, over the ends of
    documents, with `sep` where a new document begins inside a row."""
    documents = [[[1, 2, 3], [4, 5]], [[6, 7], [8], [9, 10, 11]], [[12, 13, 14, 15]]]
    rows = run(fn, documents, 9, SEP)
    expect(isinstance(rows, list) and all(isinstance(row, list) for row in rows), "return a list of lists of ids.")
    words = [token for row in rows for token in row if token != SEP]
    wanted = list(range(1, 16))
    missing = sorted({*wanted} - {*words})
    expect(not missing, f"the tokens {missing} are missing: keep the last row too.")
    expect(words == wanted, "each sentence stands once, in the order of the text.")
    expect(max(map(len, rows)) <= 9, "a row is longer than `budget`; the separator counts as a token.")
    sentences = [{*sentence} for document in documents for sentence in document]
    expect(all(any(s <= {*row} for row in rows) for s in sentences), "a sentence is cut in two: rows hold whole ones.")
    expect(
        any({5, 6} <= {*row} for row in rows),
        "a row ends with its document: go on with the next document's first sentence while there is room.",
    )
    expect(any(SEP in row for row in rows), "put `sep` between the texts of two documents in one row.")
    expect(not any(SEP in (row[0], row[-1]) for row in rows), "a row begins or ends with `sep`: it stands between.")
    expect(len(rows) == 2, f"{len(rows)} rows, and 2 would do: add sentences while they fit.")
    tight = run(fn, [[[1, 2, 3], [4, 5]], [[6, 7, 8]]], 8, SEP)  # the second text fits, but not with its separator
    expect(
        max(map(len, tight)) <= 8, "a row is longer than `budget`; the separator that goes into it counts as a token."
    )
    expect(tight == [[1, 2, 3, 4, 5], [6, 7, 8]], f"a row that begins with a document has no `sep`; yours: {tight}.")
    print("Right: whole sentences, as many as fit, over the ends of documents.")


@checker
def check_order_pairs(fn: Callable[[list[Triple], random.Random], list[tuple[list[int], list[int], int]]]) -> None:
    """Check fn(positives, rng) -> [(first, second, label), ...]: half of the pairs swapped, label 1 for these."""
    positives = [(number, [2 * number], [2 * number + 1]) for number in range(40)]
    pairs = run(fn, [*positives], random.Random(0))
    expect(
        len(pairs) == len(positives), f"{len(pairs)} pairs of {len(positives)}: each pair is used once, swapped or not."
    )
    same = {min(a + b): (a[0] % 2, label) for a, b, label in pairs if a[0] // 2 == b[0] // 2}
    expect(len(same) == len(positives), "a second text is of another pair: here both texts are always neighbours.")
    swapped = sum(first for first, _ in same.values())
    expect(0 < swapped < len(positives), "swap half of the pairs, and leave the others as they are.")
    expect(
        not all(first != label for first, label in same.values()),
        "label 0 is the order of the text, 1 the other: you have them the other way round.",
    )
    expect(
        all(first == label for first, label in same.values()), "label 1 stands at the swapped pairs, and there alone."
    )
    halves = [sum(label for *_, label in run(fn, [*positives], random.Random(seed))) for seed in range(5)]
    uneven = max([swapped, *halves], key=lambda count: abs(count - len(positives) / 2))
    expect(
        abs(uneven - len(positives) / 2) <= 1,
        f"{uneven} of {len(positives)} are swapped: half of them should be, whatever `rng` draws.",
    )
    order = [min(a + b) // 2 for a, b, _ in pairs]
    expect(
        order != sorted(order) and [label for *_, label in pairs] != sorted(label for *_, label in pairs),
        "shuffle: now the label depends on the position in the list, and so does each batch.",
    )
    print("Right: the same two texts, and the order alone says which label.")


@checker
def check_replaced(fn: Callable[[Tensor, Tensor, Tensor, torch.Generator], tuple[Tensor, Tensor]]) -> None:
    """Check fn(input_ids, labels, logits, generator) -> what the encoder sees (B, S), and bool (B, S): is it replaced?

    input_ids (B, S) hold [MASK] where labels (B, S) hold the original; logits (B, S, V) are the generator's.
    """
    size, mask = 6, 7
    original = torch.arange(400).view(4, 100) % 2 + 1  # tokens 1 and 2
    chosen = torch.zeros(4, 100, dtype=torch.bool)
    chosen[:, ::2] = True
    labels = original.masked_fill(~chosen, IGNORED)
    given = original.masked_fill(chosen, mask)
    logits = torch.full((4, 100, size), -20.0)
    logits[..., 1], logits[..., 5] = 6.0, 6.0  # token 1 and token 5 are equally likely
    ids, seeded = given.clone(), torch.Generator().manual_seed
    shown, replaced = tensors(run(fn, ids, labels.clone(), logits, seeded(0)), 2, "what is seen and replaced")
    expect(shown.shape == replaced.shape == given.shape, "both have the shape of input_ids, (B, S).")
    expect(not (shown == mask).any(), "[MASK] is still there: the generator's words stand in its place.")
    expect(torch.equal(shown[~chosen], original[~chosen]), "only masked positions get words of the generator.")
    words = shown[chosen]
    expect(
        set(words.unique().tolist()) != {1},
        "the likeliest word is taken (argmax): draw from the generator's probabilities.",
    )
    expect(
        0.35 < (words == 5).float().mean().item() < 0.65,
        "draw with the softmax of the logits as probabilities: the words are not as frequent as these say.",
    )
    expect(not replaced[~chosen].any(), "a position that was not masked is never replaced.")
    replaced = replaced.bool()
    expect(
        not torch.equal(replaced, chosen),
        "a right guess counts as the original: compare what is seen with the original token.",
    )
    expect(torch.equal(replaced, shown != original), "replaced is True where what is seen differs from the original.")
    expect(torch.equal(ids, given), "input_ids are changed in place: the batch is used again, so work on a clone.")
    again = tensors(run(fn, given.clone(), labels.clone(), logits, seeded(0)), 2, "what is seen and replaced")[0]
    expect(torch.equal(again, shown), "the same `rng` gives other words: pass generator=rng to multinomial.")
    print("Right: words drawn from the generator, and a right guess is no replacement.")


@checker
def check_soft_loss(fn: Callable[[Tensor, Tensor, float], Tensor]) -> None:
    """Check fn(student, teacher, temperature), logits (M, V) -> T**2 x the mean of KL(teacher || student) at T."""
    student, teacher, warm = random_tensor(5, 7) * 2, random_tensor(5, 7, seed=1) * 2, 3.0
    found = run(fn, student, teacher, warm)
    expect(isinstance(found, Tensor) and found.dim() == 0, "return one number, a tensor without axes.")
    right = soft_loss(student, teacher, warm)
    log_p, log_q = (student / warm).log_softmax(-1), (teacher / warm).log_softmax(-1)
    backwards = F.kl_div(log_q, log_p, reduction="batchmean", log_target=True) * warm**2
    cross = -(log_q.exp() * log_p).sum(-1).mean() * warm**2
    none_of(
        found,
        [
            (right / warm**2, "the factor T**2 is missing: without it a high temperature makes the gradient small."),
            (right / warm, "the factor is T, and should be T**2."),
            (right / 7, "the sum over the words is a mean here: kl_div's reduction must be 'batchmean'."),
            (right * 5, "the mean over the positions is a sum here: divide by M."),
            (backwards, "the divergence is the wrong way round: the teacher's probabilities weigh the logarithms."),
            (soft_loss(student, teacher * warm, warm), "the teacher's logits are divided by the temperature too."),
            (soft_loss(student * warm, teacher, warm), "the student's logits are divided by the temperature too."),
            (soft_loss(student, teacher, 1.0), "the temperature is not used."),
            (cross, "this is the cross-entropy: subtract the teacher's entropy, so that a perfect student has 0."),
            (F.cross_entropy(student, teacher.argmax(-1)), "this teaches the teacher's first choice alone."),
        ],
    )
    expect(close(found, right), f"for the checker's logits the loss is {right:.4f}, not {found:.4f}.")
    print("Right: the teacher's probabilities, flattened, and 0 for a perfect student.")


@checker
def check_rotate(fn: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check fn(x, positions) -> x (..., S, D), numbers d and D/2 + d of position p turned by p * 10000 ** (-2d / D)."""
    x, positions = random_tensor(2, 3, 6, 8), torch.arange(6)
    found = run(fn, x, positions)
    expect(isinstance(found, Tensor) and found.shape == x.shape, "the shape of x stays as it is.")
    half = BASE ** -(torch.arange(4) / 4)
    angles = positions[:, None] * half
    paired = torch.stack([x[..., 0::2], x[..., 1::2]], -1)
    turned = torch.stack(
        [
            paired[..., 0] * angles.cos() - paired[..., 1] * angles.sin(),
            paired[..., 1] * angles.cos() + paired[..., 0] * angles.sin(),
        ],
        -1,
    ).flatten(-2)
    minus = torch.cat([x[..., :4], x[..., 4:]], -1)
    none_of(
        found,
        [
            (x, "nothing is turned."),
            (rotate(x, -positions), "you turn the other way: first * cos - second * sin, second * cos + first * sin."),
            (turned, "you pair neighbours (0 with 1): number d belongs to number D/2 + d."),
            (minus * torch.cat([angles.cos()] * 2, -1), "the sine is missing."),
            (rotate(x, positions + 1), "positions begin with 0: the first token is not turned."),
        ],
    )
    expect(
        torch.allclose(found.norm(dim=-1), x.norm(dim=-1), atol=1e-4),
        "a rotation leaves lengths as they are, yours does not: is it cos and sin of the same angle?",
    )
    expect(close(found[..., 0, :], x[..., 0, :]), "position 0 is not turned.")
    expect(close(found, rotate(x, positions)), "the angle of pair d at position p is p * 10000 ** (-2d / D).")
    later = torch.tensor([7, 0, 3, 3, 12, 5])
    expect(close(run(fn, x, later), rotate(x, later)), "turn by the numbers in `positions`, not by 0, 1, 2, ...")
    print("Right: pairs of numbers, turned by their position.")


@checker
def check_gated(fn: Callable[[Tensor, nn.Linear, nn.Linear], Tensor]) -> None:
    """Check fn(x, up, down) -> down(gelu(first half of up(x)) * second half)."""
    x = random_tensor(2, 3, 4)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        up, down = nn.Linear(4, 12), nn.Linear(6, 4)
    with torch.no_grad():
        found = run(fn, x, up, down)
        first, second = up(x).chunk(2, -1)
        none_of(
            found,
            [
                (down(F.gelu(first) + second), "the halves are multiplied, not added."),
                (down(first * F.gelu(second)), "GELU goes to the first half, the second is left as it is."),
                (down(F.gelu(first * second)), "GELU comes before the product."),
                (down(F.gelu(first) * F.gelu(second)), "only the first half goes through GELU."),
                (down(first * second), "GELU is missing."),
                (down(first.sigmoid() * second), "this is the older gate with a sigmoid (GLU): take GELU."),
            ],
        )
        expect(close(found, down(F.gelu(first) * second)), "down(gelu(first half) * second half) is something else.")
    print("Right: one half opens and closes the other.")


@checker
def check_unpad(fn: Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]) -> None:
    """Check fn(input_ids, attention_mask), both (B, S) -> ids (N,), positions (N,), and bool (N, N): True where a token
    must not attend because the other belongs to another row."""
    ids = torch.arange(15).view(3, 5) + 5
    lengths = torch.tensor([5, 2, 3])
    mask = (torch.arange(5) < lengths[:, None]).long()
    row = torch.arange(3).repeat_interleave(lengths)
    flat, positions, apart = tensors(run(fn, ids, mask), 3, "ids, positions and where not to attend")
    expect(flat.shape != (15,), "padding is still there: keep the tokens whose attention_mask is 1.")
    expect(torch.equal(flat, ids[mask.bool()]), "the ids of all rows, one row after the other, without padding.")
    expect(
        not torch.equal(positions, torch.arange(10)),
        "positions run on over the rows: each row begins with position 0 again.",
    )
    expect(
        torch.equal(positions, torch.cat([torch.arange(n) for n in lengths])), "positions are 0, 1, ... in each row."
    )
    expect(apart.shape == (10, 10), "the third result is (N, N), N tokens without padding.")
    right = row[:, None] != row[None, :]
    expect(apart.dtype == torch.bool, "the third result is bool.")
    expect(
        not torch.equal(apart, ~right), "True must stand where a token must *not* attend: it is the other way round."
    )
    expect(torch.equal(apart, right), "a token attends to all tokens of its own row, and to no others.")
    print("Right: one long row, in which the texts do not see each other.")
