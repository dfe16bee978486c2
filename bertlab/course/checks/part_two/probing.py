"""Checkers of probes and of what a model uses: control tasks, probes, layer mixes, removal, pseudo-log-likelihood."""

import random
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from bertlab.course.checks.base import checker, expect, none_of, random_tensor, run

LogP = Callable[[Tensor], Tensor]  # ids (B, S) -> log-probabilities (B, S, V)
MASK, SIZE = 4, 12  # the toy model's id of [MASK], and its vocabulary


@checker
def check_control_labels(fn: Callable[[list[str], list[str], random.Random], list[str]]) -> None:
    """Check fn(words, labels, rng) -> a label for each word: one draw from `labels` for each word type."""
    types = [f"w{number}" for number in range(1500)]
    words = types + types[::-1]
    labels = [("a", "a", "a", "a", "a", "a", "a", "b", "b", "c")[int(word[1:]) % 10] for word in words]
    given = list(words), list(labels)
    found = run(fn, *given, random.Random(0))
    expect(given == (words, labels), "your function changed a list that it was given: make a new one.")
    expect(isinstance(found, list) and len(found) == len(words), "return a list with one label for each word.")
    _check_types(words, labels, found)
    share = {label: count / len(found) for label, count in Counter(found).items()}
    expect(
        not all(abs(share.get(label, 0) - 1 / 3) < 0.05 for label in "abc"),
        "each label is drawn equally often: draw from the list of all labels, so that common ones stay common.",
    )
    expect(
        all(abs(share.get(x, 0) - y) < 0.06 for x, y in zip("abc", (0.7, 0.2, 0.1), strict=True)),
        f"{share}: the labels should be as frequent as in `labels`.",
    )
    again, other = (run(fn, words, labels, random.Random(seed)) for seed in (0, 1))
    expect(again == found and other != found, "draw from the rng that you are given: same seed, same labels.")
    print("Right: every word type has one label, and that says nothing about it.")


def _check_types(words: Sequence[str], labels: Sequence[str], found: Sequence[str]) -> None:
    expect(set(found) <= set(labels), "a label is none of those given.")
    drawn: dict[str, set[str]] = {}
    for word, label in zip(words, found, strict=True):
        drawn.setdefault(word, set()).add(label)
    expect(
        all(len(own) == 1 for own in drawn.values()),
        "one word has two labels: you draw for each token. Draw once for each word type and keep it.",
    )
    expect(list(found) != list(labels), "these are the true labels: a control task has random ones.")
    meaning: dict[str, set[str]] = {}
    for true, label in zip(labels, found, strict=True):
        meaning.setdefault(true, set()).add(label)
    expect(
        any(len(names) > 1 for names in meaning.values()),
        "all words of one true label share a control label: that only renames the property. Draw for each word type.",
    )


LEAK = "mean and spread come from all words, so one odd test word changes what is learned: take the training part's."
FITTED = "the probe was fitted to the words that it is measured on: fit it where `train` is True, and there alone."
RAW = "the states are not standardised: logistic regression holds weights small, so small numbers count for nothing."


@checker
def check_probe(fn: Callable[[np.ndarray, list[str], np.ndarray], float]) -> None:
    """Check fn(states (N, H), labels, train (N,) bool) -> the share right where `train` is False, of a linear
    classifier fitted where it is True, on states standardised by the training part."""
    turned = {
        0.75: FITTED,
        1.0: "this is the accuracy on the training part: measure where `train` is False.",
        0.375: "this is the accuracy on all words: measure where `train` is False.",
    }
    _check_share(fn, _case([10, 10], [12, 13], turned=[37, 38]), 0.25, turned)
    own = "the test part was standardised by its own mean, a leak: take mean and spread of the training part for both."
    _check_share(fn, _case([10, 10], [20, 20], shift=10), 0.5, {1.0: own})
    _check_share(fn, _case([30, 10], [50, 50], odd=True), 1.0, {51 / 101: LEAK})
    _check_share(fn, _case([30, 10], [50, 50], scale=1e-4), 1.0, {0.5: RAW})
    print("Right: fitted and standardised on one part, measured on the other.")


def _case(
    train: Sequence[int],
    test: Sequence[int],
    turned: Sequence[int] = (0, 0),
    shift: float = 0.0,
    scale: float = 1.0,
    odd: bool = False,
) -> tuple[np.ndarray, list[str], np.ndarray]:
    """States (N, 1), labels, training part. So many words are "a" at 1 and "b" at -1; in the test part also `turned`
    ones with the other label, all moved by `shift`, and maybe one `odd` "a" very far out."""
    known = [(1.0, "a")] * train[0] + [(-1.0, "b")] * train[1]
    asked = [(1.0, "a")] * test[0] + [(-1.0, "b")] * test[1] + [(1.0, "b")] * turned[0] + [(-1.0, "a")] * turned[1]
    values, labels = zip(*known, *[(value + shift, label) for value, label in asked + [(1e6, "a")] * odd], strict=True)
    return scale * np.array(values)[:, None], list(labels), np.arange(len(values)) < len(known)


def _check_share(
    fn: Callable, case: tuple[np.ndarray, list[str], np.ndarray], right: float, wrong: dict[float, str]
) -> None:
    found = run(fn, *case)
    expect(np.size(found) == 1 and found is not None, "return one number.")
    share = float(found)
    expect(0 <= share <= 1, f"return the share of right answers, from 0 to 1: yours is {share:.2f}.")
    for value, message in wrong.items():
        expect(abs(share - value) > 0.006, message)
    expect(abs(share - right) < 0.02, f"on a test case the accuracy is {right:.2f}; yours is {share:.2f}.")


@checker
def check_scalar_mix(fn: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """Check fn(states (L+1, N, H), weights (L+1,), gamma) -> gamma x sum of softmax(weights)_l x states_l, (N, H)."""
    states, weights, gamma = random_tensor(4, 5, 6), torch.tensor([1.0, -0.5, 0.25, 2.0]), torch.tensor(2.5)
    found = run(fn, states, weights, gamma)
    expect(isinstance(found, Tensor), "return a tensor (N, H).")
    shape = tuple(found.shape)
    expect(shape == (5, 6), f"return (N, H), here (5, 6), not {shape}: sum over the layers, which come first.")

    def mixed(shares: Tensor) -> Tensor:
        return (shares[:, None, None] * states).sum(0)

    shares = weights.softmax(0)
    known = [
        (mixed(shares), "gamma is missing: without it the mix cannot be longer than the longest state."),
        (gamma * mixed(weights), "the softmax is missing: the shares must be positive and sum to one."),
        (mixed(weights), "softmax and gamma are missing."),
        (mixed((gamma * weights).softmax(0)), "gamma stands inside the softmax: it scales the sum, not the weights."),
        (gamma + mixed(shares), "gamma is a factor: multiply the sum by it."),
        (gamma * mixed(weights.sigmoid()), "these are sigmoids, which do not sum to one: take the softmax."),
        (gamma * mixed(weights / weights.sum()), "divided by their sum, weights can be negative: take the softmax."),
        (gamma * mixed(shares) / len(states), "this is the mean over the layers: sum them, the shares sum to one."),
        (gamma * mixed(shares.flip(0)), "the layers are in reverse order: weights[0] belongs to the embeddings."),
        (gamma * states.mean(0), "all layers count alike: each has its own weight."),
    ]
    none_of(found, known)
    expect(torch.allclose(found, gamma * mixed(shares), atol=1e-5), "gamma x sum of softmax(weights)_l x states_l.")
    print("Right: a weighted mean of the layers, scaled by gamma.")


def _toy(ids: Tensor) -> Tensor:
    """A model's log-probabilities (B, S, V) that depend on all tokens and on where they stand."""
    table, positions = random_tensor(SIZE, SIZE, seed=4), random_tensor(32, SIZE, seed=24)
    given = table[ids] + positions[: ids.size(1)]  # (B, S, V)
    return (given.sin().sum(1, keepdim=True) + given.roll(1, dims=1)).log_softmax(-1)


@checker
def check_removal_effects(fn: Callable[[LogP, Tensor, int, list[int], int], Tensor]) -> None:
    """Check fn(log_p, ids (S,), position, others, mask_id) -> by how much ln p of the answer at `position` falls when
    each of `others` alone is [MASK]: (len(others),)."""
    ids, position, others = torch.tensor([1, 7, 5, MASK, 9, 11, 6, 2]), 3, [1, 2, 4, 5, 6]
    given = ids.clone()
    found = run(fn, _toy, given, position, list(others), MASK)
    expect(torch.equal(given, ids), "your function changed ids: work on copies, one for each token.")
    expect(isinstance(found, Tensor) and found.shape == (5,), "return a tensor with one number for each of `others`.")
    alone, together = ids.repeat(5, 1), ids.repeat(5, 1)
    for row, other in enumerate(others):
        alone[row, other] = MASK
        together[row, others[: row + 1]] = MASK
    before = _toy(ids[None])[0, position]  # (V,)
    answer = before.argmax()
    after, padded = _toy(alone)[:, position], _toy(torch.where(alone == ids, alone, 0))[:, position]  # (5, V)
    right = before[answer] - after[:, answer]
    known = [
        (-right, "the sign is wrong: a token whose removal hurts has an effect above zero."),
        (before[answer] - _toy(together)[:, position, answer], "the tokens stay hidden one after the other: hide each "
         "alone, in a fresh copy of ids."),
        (before.max() - after.amax(-1), "after hiding, you take another answer: keep the one from before."),
        (before.exp()[answer] - after.exp()[:, answer], "these are probabilities: take their logarithms."),
        (after[:, answer], "this is ln p afterwards: subtract it from ln p before."),
        (before[answer] - padded[:, answer], "you put 0 in, which is [PAD]: use mask_id."),
        (right.abs(), "keep the sign: some tokens help when they are gone."),
    ]  # fmt: skip
    none_of(found, known)
    expect(torch.allclose(found, right, atol=1e-5), "ln p before minus ln p with that token hidden, for each.")
    print("Right: each token hidden alone, the same answer throughout.")


@checker
def check_removal_rank(fn: Callable[[Tensor, Tensor], int]) -> None:
    """Check fn(shares (N,), effects (N,)) -> the rank, from 1, of the effect of the token with the largest share."""
    shares = torch.tensor([0.1, 0.05, 0.4, 0.2, 0.15, 0.1])
    effects = torch.tensor([0.3, 2.0, 0.9, -4.0, 1.4, -0.1])
    found = int(run(fn, shares, effects))
    expect(found != 2, "you count from 0, or leave a larger effect out: the largest effect has rank 1.")
    down = "ranks go from the largest effect down, with its sign: a removal that helps has the last rank."
    expect(found != 4, down)
    expect(found != 6, "this is about the share of the largest effect: return the effect's rank of the largest share.")
    expect(found == 3, f"the token with the largest share has the third largest effect; yours is {found}.")
    expect(int(run(fn, effects, effects)) == 1, "the largest share on the largest effect gives rank 1.")
    print("Right: 1 is the token whose removal hurts most.")


@checker
def check_pseudo_log_likelihood(fn: Callable[[LogP, Tensor, Tensor, int], Tensor]) -> None:
    """Check fn(log_p, ids (S,), special (S,) bool, mask_id) -> the sum of ln p of each ordinary token, hidden alone."""
    ids = torch.tensor([2, 7, 5, 9, 11, 6, 3])
    special = torch.tensor([True, False, False, False, False, False, True])
    given = ids.clone()
    found = torch.as_tensor(run(fn, _toy, given, special, MASK))
    expect(torch.equal(given, ids), "your function changed ids: work on copies, one for each token.")
    expect(found.numel() == 1, f"return one number, the sum: yours has shape {tuple(found.shape)}.")
    right, known = _likelihoods(ids, special)
    none_of(found.reshape(()), known)
    expect(abs(float(found) - float(right)) < 1e-4, f"the sum is {right:.4f} here; yours is {float(found):.4f}.")
    print("Right: each word once, hidden alone.")


def _likelihoods(ids: Tensor, special: Tensor) -> tuple[Tensor, list[tuple[Tensor, str]]]:
    """Return the right sum, and those of known mistakes."""

    def total(positions: Tensor, rows: Tensor) -> Tensor:
        return _toy(rows)[range(len(positions)), positions, ids[positions]].sum()

    def hidden(positions: Tensor) -> Tensor:
        rows = ids.repeat(len(positions), 1)
        rows[range(len(positions)), positions] = MASK
        return rows

    words, every = (~special).nonzero()[:, 0], torch.arange(len(ids))
    whole = torch.where(special, ids, MASK).repeat(len(words), 1)
    growing = torch.stack([torch.where(~special & (every <= last), MASK, ids) for last in words])
    right = total(words, hidden(words))
    shown = total(words, ids.repeat(len(words), 1))
    return right, [
        (
            total(words, whole),
            "all words are hidden at once: then nothing is left to predict from. Hide one at a time.",
        ),
        (total(words, growing), "words stay hidden after their turn: hide each alone, in a fresh copy of ids."),
        (shown, "nothing is hidden: the model only has to read the word off. Put mask_id in its place."),
        (total(every, hidden(every)), "[CLS] and [SEP] are counted too: leave out what is special."),
        (right / len(words), "this is the mean: a likelihood of the sentence is the sum."),
        (-right, "the sign is wrong: a logarithm of a probability is below zero."),
        (right.exp(), "this is the probability itself: stay with its logarithm."),
    ]
