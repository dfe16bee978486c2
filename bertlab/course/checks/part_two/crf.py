"""Checkers of the linear-chain CRF: each compares with all paths of short sentences, written out one by one."""

from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from bertlab.course.checks.base import checker, close, none_of, run
from bertlab.course.checks.part_two.labels import NAMES
from bertlab.course.observe import expect, random_tensor
from bertlab.model.crf import CRF

Case = tuple[
    Tensor, Tensor, Tensor, Tensor, Tensor
]  # logits (B, W, N), mask (B, W), start (N,), steps (N, N), end (N,)
LENGTHS = (5, 4, 3, 2, 1, 5, 3, 2, 4, 2, 3, 1)
UNITS = 3  # labels: few, as all paths are written out


def case(lengths: tuple[int, ...] = LENGTHS, scale: float = 1.0) -> Case:
    """Random scores of a batch of sentences of these lengths; steps weigh as much as logits."""
    logits = scale * random_tensor(len(lengths), max(lengths), UNITS, seed=1)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    start, steps, end = (2 * scale * random_tensor(*shape, seed=2) for shape in ((UNITS,), (UNITS, UNITS), (UNITS,)))
    return logits, mask, start, steps.roll(1, 0), 0.7 * end.flip(0)


def path_scores(given: Case, masked: bool = True) -> list[tuple[Tensor, Tensor]]:
    """For each sentence all its paths (P, W) and their scores (P,)."""
    logits, mask, start, steps, end = given
    found = []
    for row, real in zip(logits, mask, strict=True):
        length = int(real.sum()) if masked else len(real)
        paths = torch.tensor(list(product(range(len(start)), repeat=length)))
        scores = start[paths[:, 0]] + end[paths[:, -1]] + row[torch.arange(length), paths].sum(1)
        found.append((paths, scores + steps[paths[:, :-1], paths[:, 1:]].sum(1)))
    return found


def _without(given: Case, **zeroed: Tensor) -> Case:
    names = ("logits", "mask", "start", "steps", "end")
    return tuple(zeroed.get(name, tensor) for name, tensor in zip(names, given, strict=True))  # type: ignore[return-value]


def _variants(given: Case) -> list[tuple[Case, str]]:
    """The same scores with one of them forgotten or turned round, and what that is called."""
    _, _, start, steps, end = given
    return [
        (_without(given, start=0 * start), "the scores of the first labels (start) are missing."),
        (_without(given, end=0 * end), "the scores of the last labels (end) are missing."),
        (_without(given, steps=steps.T), "the steps are turned round: row = from, column = to."),
        (_without(given, steps=0 * steps), "the steps from label to label are missing."),
    ]


@checker
def check_path_score(fn: Callable[..., Tensor]) -> None:
    """Check fn(logits, labels, mask, start, steps, end) -> the score of each sentence's labels (B,)."""
    given = case()
    logits, mask, start, steps, end = given
    labels = random_tensor(*mask.shape, seed=5).gt(0).long() + (mask.cumsum(1) > 2)
    found = run(fn, logits, labels, mask, start, steps, end)

    def right(given: Case, masked: bool = True) -> Tensor:
        rows = zip(path_scores(given, masked), labels, strict=True)
        return torch.stack([s[(p == row[: p.size(1)]).all(1)][0] for (p, s), row in rows])

    expect(found.shape == (len(LENGTHS),), f"return one score for each sentence, ({len(LENGTHS)},).")
    none_of(found, [(right(given, False), "padding is counted: only words whose mask is True have a score.")])
    none_of(found, [(right(variant), message) for variant, message in _variants(given)])
    expect(close(found, right(given)), "the scores are not those of the paths.")
    print("Right: the score of each path.")


@checker
def check_log_partition(fn: Callable[..., Tensor]) -> None:
    """Check fn(logits, mask, start, steps, end) -> log of the sum of exp(score) over all paths (B,)."""
    given = case()
    found = run(fn, *(tensor.clone() for tensor in given))
    expect(
        isinstance(found, Tensor) and found.shape == (len(LENGTHS),),
        f"return one number a sentence, ({len(LENGTHS)},).",
    )
    right = _partition(given)
    best = torch.stack([scores.max() for _, scores in path_scores(given)])
    none_of(
        found,
        [
            (best, MAX),
            (_forward(given, lambda paths: paths.amax(1)), MAX),
            (right.exp(), "this is the sum itself: return its logarithm."),
            (
                _forward(given, lambda paths: paths.logsumexp(2)),
                "you sum over the labels that come next; sum over those before (dim 1 of B, N, N).",
            ),
            (_partition(given, masked=False), "padding is counted: keep the total where the mask is False."),
            *((_partition(variant), message) for variant, message in _variants(given)),
        ],
    )
    one = case((1,))
    expect(close(run(fn, *one), _partition(one)), "a sentence of one word has no step: start + logits + end.")
    expect(close(found, right), f"over all paths it should be {_shown(right)}; yours is {_shown(found)}.")
    large = case(scale=100.0)
    stable = run(fn, *large)
    expect(bool(stable.isfinite().all()), "large scores give inf: use logsumexp, not the log of a sum of exp.")
    expect(torch.allclose(stable, _partition(large), rtol=1e-4), "large scores give another result: use logsumexp.")
    steps = given[3].clone().requires_grad_()
    result = run(fn, *given[:3], steps, given[4])
    expect(result.requires_grad, "the loss needs a gradient: no .item(), .detach() or torch.no_grad() here.")
    print("Right: the sum over all paths, without writing them out.")


def _partition(given: Case, masked: bool = True) -> Tensor:
    return torch.stack([scores.logsumexp(0) for _, scores in path_scores(given, masked)])


MAX = "only the best path is followed: sum over the labels before (logsumexp), do not take the max."


def _forward(given: Case, longer_by: Callable[[Tensor], Tensor]) -> Tensor:
    """The forward algorithm with a slip: what it makes of (B, from, to) at each word."""
    logits, mask, start, steps, end = given
    total = start + logits[:, 0]
    for word in range(1, logits.size(1)):
        longer = longer_by(total[:, :, None] + steps) + logits[:, word]
        total = torch.where(mask[:, word, None], longer, total)
    return (total + end).logsumexp(1)


def _shown(values: Tensor) -> str:
    return ", ".join(f"{value:.3f}" for value in values[:3]) + ", ..."


@checker
def check_viterbi(fn: Callable[..., Tensor]) -> None:
    """Check fn(logits, mask, start, steps, end) -> the labels of the best path (B, W)."""
    given = case()
    mask = given[1]
    found = run(fn, *(tensor.clone() for tensor in given))
    expect(isinstance(found, Tensor), "return a tensor: the number of a label for each word, (B, W).")
    expect(found.shape == mask.shape, f"there are {tuple(mask.shape)} words; your result is {tuple(found.shape)}.")
    expect(not found.is_floating_point(), "return labels, whole numbers: argmax says which one, max how high.")
    right = _best_paths(given)
    for wrong, message in _wrong_paths(given, right):
        expect(not _same(found, wrong, mask), message)
    early = _same(found[:, :-1], right[:, 1:], mask[:, 1:])
    expect(not early, "the path is off by one: the label of the first word is missing.")
    late = _same(found[:, 1:], right[:, :-1], mask[:, 1:])
    expect(not late, "the path is off by one: everything stands one word too late.")
    for labels, mine, real in zip(right, found, mask, strict=True):
        shown = f"a sentence of {real.sum()} words should be {labels[real].tolist()}; yours is {mine[real].tolist()}."
        expect(_same(mine, labels, real), shown)
    one = case((1, 1))
    expect(_same(run(fn, *one), _best_paths(one), one[1]), "a sentence of one word: argmax of start + logits + end.")
    print("Right: the best of all paths.")


def _same(found: Tensor, other: Tensor, mask: Tensor) -> bool:
    return torch.equal(found[mask].long(), other[mask])


def _best_paths(given: Case, masked: bool = True) -> Tensor:
    """(B, W), 0 behind the words."""
    paths = [paths[scores.argmax()] for paths, scores in path_scores(given, masked)]
    return nn.utils.rnn.pad_sequence(paths, batch_first=True)


def _wrong_paths(given: Case, right: Tensor) -> list[tuple[Tensor, str]]:
    logits, mask, start, steps, _ = given
    best, forward = start + logits[:, 0], []  # what a walk without backpointers would say
    greedy = [best.argmax(1)]
    for word in range(1, logits.size(1)):
        forward.append(best.argmax(1))
        greedy.append((steps[greedy[-1]] + logits[:, word]).argmax(1))
        best = (best[:, :, None] + steps).max(1)[0] + logits[:, word]
    forward.append(best.argmax(1))
    lengths = mask.sum(1, keepdim=True)
    positions = torch.arange(mask.size(1))
    return [
        (logits.argmax(-1), "these are the likeliest labels word by word: the steps between them count too."),
        (torch.stack(greedy, 1), "each label is the best behind the one chosen before: greedy. Keep all labels open."),
        (
            torch.stack(forward, 1),
            "the best label so far at each word is no path: follow the backpointers from the end.",
        ),
        (
            right.gather(1, (lengths - 1 - positions).clamp(min=0)),
            "the path is the wrong way round: you walk it backwards.",
        ),
        *_pointer_slips(given),
        (_best_paths(given, masked=False), "padding is counted: where the mask is False keep the scores, and stay."),
        *((_best_paths(variant), message) for variant, message in _variants(given)),
    ]


def _pointer_slips(given: Case) -> list[tuple[Tensor, str]]:
    """Paths followed with the backpointers of a neighbouring word or of padding; the right path from its end."""
    logits, mask, start, steps, end = given
    best, pointers, unmasked = start + logits[:, 0], [], []
    for word in range(1, logits.size(1)):
        score, before = (best[:, :, None] + steps).max(1)
        real = mask[:, word, None]
        pointers.append(torch.where(real, before, torch.arange(UNITS).expand_as(before)))
        unmasked.append(before)
        best = torch.where(real, score + logits[:, word], best)
    off_by_one = "the backpointers are off by one: those made at a word lead from that word to the one before it."
    last = (best + end).argmax(1)
    return [
        (_followed([*pointers[1:], pointers[-1]], last), off_by_one),
        (_followed([pointers[0], *pointers[:-1]], last), off_by_one),
        (
            _followed(unmasked, last),
            "the backpointers of padding count: where the mask is False, each label is its own.",
        ),
        (_followed(pointers, last).flip(1), "the path is the wrong way round: you walk it backwards."),
    ]


def _followed(pointers: list[Tensor], last: Tensor) -> Tensor:
    """The labels (B, W) on the way back from the last ones (B,)."""
    path = [last]
    for pointer in reversed(pointers):
        path.append(pointer.gather(1, path[-1][:, None])[:, 0])
    return torch.stack(path[::-1], 1)


@checker
def check_marginals(fn: Callable[..., Tensor]) -> None:
    """Check fn(logits, mask, start, steps, end) -> P(label of the word) over all paths (B, W, N)."""
    given = case()
    logits, mask = given[:2]
    found = run(fn, *(tensor.clone() for tensor in given))
    expect(isinstance(found, Tensor) and found.shape == logits.shape, f"return {tuple(logits.shape)}: B, W, N.")
    right = _marginals(given)
    best = nn.functional.one_hot(_best_paths(given), UNITS).float()
    none_of(
        found[mask].detach(),
        [
            (right.log()[mask], "these are logarithms: return probabilities."),
            (logits.softmax(-1)[mask], "this is the softmax of each word by itself: no step between labels counts."),
            (best[mask], "this is the best path alone: every path counts, by its probability."),
            (_marginals(given, masked=False)[mask], "padding is counted: it may not change the words before it."),
            (_prefixes(given)[mask], "only the words before are counted: what comes behind a word matters too."),
            *((_marginals(variant)[mask], message) for variant, message in _variants(given)),
        ],
    )
    total = found[mask].sum(-1)
    expect(close(total.detach(), torch.ones_like(total)), "the probabilities of a word's labels do not add up to 1.")
    expect(close(found[mask].detach(), right[mask]), "the probabilities are not those of the paths.")
    print("Right: how sure the CRF is of each word.")


def _marginals(given: Case, masked: bool = True) -> Tensor:
    result = torch.zeros_like(given[0])
    for row, (paths, scores) in enumerate(path_scores(given, masked)):
        chosen = nn.functional.one_hot(paths, UNITS)  # (P, W, N)
        result[row, : paths.size(1)] = (scores.softmax(0)[:, None, None] * chosen).sum(0)
    return result


def _prefixes(given: Case) -> Tensor:
    """P(label) from the words up to this one: the forward algorithm, normalised."""
    logits, _, start, steps, _ = given
    total, found = start + logits[:, 0], []
    for word in range(1, logits.size(1)):
        found.append(total.softmax(-1))
        total = (total[:, :, None] + steps).logsumexp(1) + logits[:, word]
    return torch.stack([*found, total.softmax(-1)], 1)


@checker
def check_crf(cls: Any) -> None:
    """Check cls(names): loss and decode as the library's CRF, with what BIO forbids."""
    theirs, mine = CRF(NAMES), run(cls, NAMES)
    expected = {name: tuple(parameter.shape) for name, parameter in theirs.named_parameters()}
    own = {name: tuple(parameter.shape) for name, parameter in mine.named_parameters()}
    expect(own == expected, f"the parameters should be {expected}; yours are {own}.")
    with torch.no_grad():
        for number, (name, parameter) in enumerate(theirs.named_parameters()):
            parameter.copy_(random_tensor(*parameter.shape, seed=number))
            dict(mine.named_parameters())[name].copy_(parameter)
    logits, mask = random_tensor(3, 5, len(NAMES), seed=9), torch.arange(5) < torch.tensor([5, 3, 1])[:, None]
    labels = torch.tensor([[1, 2, 0, 5, 6], [3, 4, 4, 0, 0], [0, 0, 0, 0, 0]])
    right = -theirs.log_likelihood(logits, labels, mask).sum() / mask.sum()
    expect(
        close(run(mine.loss, logits, labels, mask), right), f"the loss should be {right:.4f}, a mean over the words."
    )
    found = run(mine.decode, logits, mask)
    expect(_same(found, theirs.decode(logits, mask), mask), "decode does not return the best path that BIO allows.")
    print("Right: the loss and the paths of the library.")
