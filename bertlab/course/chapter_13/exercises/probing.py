"""A control task, the probe, what removal costs and its rank, the scalar mix, pseudo-log-likelihood."""

import random
from collections import Counter
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import Tensor

from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, random_tensor, value


def control_labels(words, labels, rng):
    drawn = {word: rng.choice(labels) for word in dict.fromkeys(words)}
    return [drawn[word] for word in words]


class _Word(str):
    """A word in several runs of Python: each has hashes of its own, and so another order of its sets."""

    run = 1

    def __hash__(self) -> int:
        return self.run * crc32(self.encode())


def _controlled(fn) -> dict[str, Any]:
    """What holds of the labels of two seeds. To deal them out from a shuffled list is as good as to draw each."""
    types = [f"w{number}" for number in range(1500)]
    words = types + types[::-1]
    labels = ["aaaaaaabbc"[int(word[1:]) % 10] for word in words]
    one, two = (type("_Run", (_Word,), {"run": run}) for run in (1, -1))
    made = [
        value(fn, [*map(run, words)], [*map(run, labels)], random.Random(seed))
        for run, seed in ((one, 0), (one, 0), (one, 1), (two, 0))
    ]
    results = [each["result"] for each in made]
    whole = all(isinstance(each, list) and len(each) == len(words) for each in results)
    expect(whole, "return a list with one label for each word.")
    found, again, other, later = ([*map(str, each)] for each in results)
    drawn: dict[str, set] = {}
    meaning: dict[str, set] = {}
    tenth: dict[str, set] = {}
    for word, true, label in zip(words, labels, found, strict=True):
        drawn.setdefault(word, set()).add(label)
        meaning.setdefault(true, set()).add(label)
        tenth.setdefault(word[-1], set()).add(label)
    share = {label: count / len(found) for label, count in Counter(found).items()}
    return {
        "changed": made[0]["changed"],
        "labels are those given": set(found) <= set(labels),
        "each word type has one label": all(len(own) == 1 for own in drawn.values()),
        "these are not the true labels": found != labels,
        "words of one true label have several control labels": any(len(own) > 1 for own in meaning.values()),
        "the labels do not come in the order of `labels`": all(len(own) > 1 for own in tenth.values()),
        "labels are as frequent as in `labels`": all(
            abs(share.get(x, 0) - y) < 0.06 for x, y in zip("abc", (0.7, 0.2, 0.1), strict=True)
        ),
        "the same seed gives the same labels": found == again,
        "and in another run of Python too": found == later,
        "another seed gives others": found != other,
    }


DRAWN = "{word: rng.choice(labels) for word in dict.fromkeys(words)}"

check_control_labels = Exercise(
    control_labels,
    lambda: [()],
    right="Right: every word type has one label, and that says nothing about it.",
    observe=_controlled,
    slips=[
        (
            "one word has two labels: you draw for each token. Draw once for each word type and keep it.",
            "return [drawn[word] for word in words] => return [rng.choice(labels) for word in words]",
        ),
        (
            "these are the true labels: a control task has random ones.",
            "return [drawn[word] for word in words] => return list(labels)",
        ),
        (
            "all words of one true label share a control label: that only renames the property. Draw for each word "
            "type.",
            f"drawn = {DRAWN} => names = sorted(set(labels)); other = dict(zip(names, rng.sample(names, len(names)))); "
            f"drawn = {{w: other[y] for w, y in zip(words, labels)}}",
        ),
        (
            "draw from the list of all labels, so that common ones stay common: yours draws each equally often.",
            "rng.choice(labels) => rng.choice(sorted(set(labels)))",
        ),
        (
            "the order of a set is another one in each run of Python, and with it who gets which label: go through the "
            "words in their order, as dict.fromkeys(words) does.",
            "dict.fromkeys(words) => set(words)",
        ),
        (
            "the labels are moved along, not drawn: a pattern in their order is still there.",
            f"drawn = {DRAWN} => start = rng.randrange(3, len(labels)); drawn = "
            f"dict(zip(words, labels[start:] + labels[:start]))",
        ),
        ("draw from the rng that you are given: same seed, same labels.", "rng.choice => random.choice"),
        (
            "draw from the rng that you are given: another seed, other labels.",
            "drawn = => rng = random.Random(0); drawn =",
        ),
        ("a label is none of those given.", "rng.choice(labels) => rng.choice(labels).upper()"),
    ],
)


def my_probe(states, labels, train):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    labels, scaler = np.array(labels), StandardScaler().fit(states[train])
    model = LogisticRegression(max_iter=200, tol=1e-3).fit(scaler.transform(states[train]), labels[train])
    return model.score(scaler.transform(states[~train]), labels[~train])


def _words(train, test, turned=(0, 0), shift: float = 0.0, scale: float = 1.0, odd: bool = False) -> tuple:
    """States (N, 1), labels, training part. So many words are "a" at 1 and "b" at -1; in the test part also `turned`
    ones with the other label, all moved by `shift`, and maybe one `odd` "a" very far out."""
    known = [(1.0, "a")] * train[0] + [(-1.0, "b")] * train[1]
    asked = [(1.0, "a")] * test[0] + [(-1.0, "b")] * test[1] + [(1.0, "b")] * turned[0] + [(-1.0, "a")] * turned[1]
    values, labels = zip(*known, *[(each + shift, label) for each, label in asked + [(1e6, "a")] * odd], strict=True)
    return scale * np.array(values)[:, None], list(labels), np.arange(len(values)) < len(known)


def _of_three() -> tuple:
    """The same with three labels, each at a corner of its own; 20 words of the test part are at that of another."""
    labels = [*"abc" * 20, *"bc" * 10]
    corners = np.eye(3)[["abc".index(label) for label in "abc" * 20 + "cb" * 10]]
    return corners, labels, np.arange(len(labels)) < 30


def _unlike() -> tuple:
    """The label is in the first feature, which is small beside the second."""
    labels = [*"ab" * 20]
    small = [0.01 if label == "a" else -0.01 for label in labels]
    large = np.random.default_rng(0).normal(50, 10, len(labels))
    return np.stack([small, large], 1), labels, np.arange(len(labels)) < 20


def _share(fn, *case) -> dict[str, Any]:
    seen = value(fn, *case)
    found = seen.pop("result")
    expect(found is not None and np.size(found) == 1, "return one number.")
    return seen | {"the share right in the test part, in hundredths": round(100 * float(found))}


MODEL = "LogisticRegression(max_iter=200, tol=1e-3).fit(scaler.transform(states[train]), labels[train])"
SCORE = "model.score(scaler.transform(states[~train]), labels[~train])"

check_probe = Exercise(
    my_probe,
    lambda: [
        _words([10, 10], [12, 13], turned=[37, 38]),
        _words([10, 10], [20, 20], shift=10),
        _words([30, 10], [50, 50], odd=True),
        _words([30, 10], [50, 50], scale=1e-4),
        _of_three(),
        _unlike(),
    ],
    right="Right: fitted and standardised on one part, measured on the other.",
    observe=_share,
    slips=[
        (
            "the probe was fitted to the words that it is measured on: fit it where `train` is True, and there alone.",
            f"{MODEL} => LogisticRegression(max_iter=200, tol=1e-3).fit(scaler.transform(states), labels)",
        ),
        (
            "this is the accuracy on the training part: measure where `train` is False.",
            f"{SCORE} => {SCORE.replace('~', '')}",
        ),
        (
            "this is the accuracy on all words: measure where `train` is False.",
            f"{SCORE} => model.score(scaler.transform(states), labels)",
        ),
        (
            "the test part was standardised by its own mean, a leak: take mean and spread of the training part for "
            "both.",
            f"{SCORE} => model.score(StandardScaler().fit_transform(states[~train]), labels[~train])",
        ),
        (
            "mean and spread come from all words, so one odd test word changes what is learned: take the training "
            "part's.",
            "StandardScaler().fit(states[train]) => StandardScaler().fit(states)",
        ),
        (
            "the states are not standardised: logistic regression holds weights small, so small numbers count for "
            "nothing.",
            f"{MODEL} => LogisticRegression(max_iter=200).fit(states[train], labels[train])",
            f"{SCORE} => model.score(states[~train], labels[~train])",
        ),
        ("return the share that is right, not the share that is wrong.", f"return {SCORE} => return 1 - {SCORE}"),
        (
            "there may be more than two labels: the probe says which one, not only whether it is the first.",
            "labels, scaler = np.array(labels), => labels, scaler = np.array(labels) == labels[0],",
        ),
    ],
    spared={"max_iter=201": "these few words are learned in fewer rounds"},
)

MASK, SIZE = 4, 12  # the toy model's id of [MASK], and its vocabulary


def toy_log_p(ids: Tensor) -> Tensor:
    """A model's log-probabilities (B, S, V) that depend on all tokens and on where they stand."""
    table, positions = random_tensor(SIZE, SIZE, seed=4), random_tensor(32, SIZE, seed=24)
    given = table[ids] + positions[: ids.size(1)]  # (B, S, V)
    return (given.sin().sum(1, keepdim=True) + given.roll(1, dims=1)).log_softmax(-1)


def removal_effects(log_p, ids, position, others, mask_id):
    before = log_p(ids[None])[0, position]  # (V,)
    rows = ids.repeat(len(others), 1)
    rows[range(len(others)), others] = mask_id
    answer = before.argmax()
    return before[answer] - log_p(rows)[:, position, answer]


def _removed(log_p, ids, position, others, mask_id):
    rows, effects = ids.clone()[None], []
    before = log_p(ids[None])[0, position]
    for other in others:
        rows[0, other] = mask_id
        effects.append(before.max() - log_p(rows)[0, position, before.argmax()])
    return torch.stack(effects)


AFTER = "log_p(rows)[:, position, answer]"

check_removal_effects = Exercise(
    removal_effects,
    lambda: [
        (toy_log_p, torch.tensor([1, 7, 5, MASK, 9, 11, 6, 2]), 3, [1, 2, 4, 5, 6], MASK),
        (toy_log_p, torch.tensor([1, 8, 3, 10, 2]), 2, [3, 1], 3),
        (toy_log_p, torch.tensor([1, 8, 3, 10, 2]), 2, [1], 3),
    ],
    right="Right: each token hidden alone, the same answer throughout.",
    observe=value,
    slips=[
        (
            "the sign is wrong: a token whose removal hurts has an effect above zero.",
            f"before[answer] - {AFTER} => {AFTER} - before[answer]",
        ),
        ("the tokens stay hidden one after the other: hide each alone, in a fresh copy of ids.", _removed),
        (
            "after hiding, you take another answer: keep the one from before.",
            f"{AFTER} => log_p(rows)[:, position].amax(-1)",
        ),
        (
            "these are probabilities: take their logarithms.",
            f"before[answer] - {AFTER} => before[answer].exp() - {AFTER}.exp()",
        ),
        ("this is ln p afterwards: subtract it from ln p before.", f"before[answer] - {AFTER} => {AFTER}"),
        ("you put 0 in, which is [PAD]: use mask_id.", "= mask_id => = 0"),
        (
            "keep the sign: some tokens help when they are gone.",
            f"before[answer] - {AFTER} => (before[answer] - {AFTER}).abs()",
        ),
        (
            "read ln p at `position`, not at the token that is hidden.",
            f"{AFTER} => log_p(rows)[range(len(others)), others, answer]",
        ),
    ],
)


def removal_rank(shares, effects):
    return int((effects > effects[shares.argmax()]).sum()) + 1


def _ranks() -> list[tuple]:
    shares, effects = torch.tensor([0.1, 0.05, 0.4, 0.2, 0.15, 0.1]), torch.tensor([0.3, 2.0, 0.9, -4.0, 1.4, -0.1])
    equal = torch.tensor([0.9, 2.0, 1.4, 0.9, 1.4, -4.0])
    apart = [(shares, effects), (effects, effects), (shares.flip(0), effects), (-shares, effects)]
    return apart + [(torch.eye(6)[place], equal) for place in range(6)]


check_removal_rank = Exercise(
    removal_rank,
    _ranks,
    right="Right: 1 is the token whose removal hurts most.",
    observe=lambda fn, *case: value(lambda *given: float(fn(*given)), *case),
    slips=[
        ("you count from 0: the largest effect has rank 1.", ".sum()) + 1 => .sum())"),
        (
            "ranks go from the largest effect down, with its sign: a removal that helps has the last rank.",
            "(effects > effects[shares.argmax()]) => (effects.abs() > effects[shares.argmax()].abs())",
        ),
        (
            "ranks go from the largest effect down: yours begin with the smallest.",
            "effects > effects => effects < effects",
        ),
        (
            "an equal effect is not more: tokens with equal effects share the best of their ranks.",
            "(effects > effects[shares.argmax()]).sum()) + 1 => (effects >= effects[shares.argmax()]).sum())",
        ),
        (
            "an equal effect is not more: tokens with equal effects share the best of their ranks.",
            "int((effects > effects[shares.argmax()]).sum()) => int(effects.argsort(descending=True, "
            "stable=True).argsort()[shares.argmax()])",
        ),
        (
            "argsort names the token at each rank, not each token's rank: count the larger effects.",
            "(effects > effects[shares.argmax()]).sum() => effects.argsort(descending=True)[shares.argmax()]",
        ),
        (
            "a rank counts tokens, not different effects: behind two equal ones at rank 2 comes rank 4.",
            "(effects > => (effects.unique() >",
        ),
        (
            "this is about the share of the largest effect: return the effect's rank of the largest share.",
            "(effects > effects[shares.argmax()]) => (shares > shares[effects.argmax()])",
        ),
        ("the token with the largest share, not with the smallest.", "shares.argmax() => shares.argmin()"),
    ],
)


def scalar_mix(states, weights, gamma):
    return gamma * torch.einsum("l,lnh->nh", weights.softmax(0), states)


def _layers() -> list[tuple]:
    weights = torch.tensor([1.0, -0.5, 0.25, 2.0])
    return [
        (random_tensor(4, 5, 6), weights, torch.tensor(2.5)),
        (random_tensor(3, 2, 4), weights[1:], torch.tensor(0.5)),
    ]


MIX = 'torch.einsum("l,lnh->nh", weights.softmax(0), states)'

check_scalar_mix = Exercise(
    scalar_mix,
    _layers,
    right="Right: a weighted mean of the layers, scaled by gamma.",
    slips=[
        ("gamma is missing: without it the mix cannot be longer than the longest state.", "gamma * torch => torch"),
        ("the softmax is missing: the shares must be positive and sum to one.", "weights.softmax(0) => weights"),
        ("softmax and gamma are missing.", "weights.softmax(0) => weights", "gamma * torch => torch"),
        (
            "gamma stands inside the softmax: it scales the sum, not the weights.",
            f"gamma * {MIX} => {MIX.replace('weights.', '(gamma * weights).')}",
        ),
        ("gamma is a factor: multiply the sum by it.", "gamma * torch => gamma + torch"),
        ("these are sigmoids, which do not sum to one: take the softmax.", "weights.softmax(0) => weights.sigmoid()"),
        (
            "divided by their sum, weights can be negative: take the softmax.",
            "weights.softmax(0) => weights / weights.sum()",
        ),
        (
            "this is the mean over the layers: sum them, the shares sum to one.",
            f"gamma * {MIX} => gamma * {MIX} / len(states)",
        ),
        (
            "the layers are in reverse order: weights[0] belongs to the embeddings.",
            "weights.softmax(0) => weights.softmax(0).flip(0)",
        ),
        ("all layers count alike: each has its own weight.", f"gamma * {MIX} => gamma * states.mean(0)"),
        (
            "the weights learn nothing: no gradient reaches them; no detach and no no_grad.",
            "weights.softmax(0) => weights.detach().softmax(0)",
        ),
    ],
)


def my_likelihood(log_p, ids, special, mask_id):
    places = (~special).nonzero()[:, 0]
    rows = ids.repeat(len(places), 1)
    rows[range(len(places)), places] = mask_id
    return log_p(rows)[range(len(places)), places, ids[places]].sum()


HIDE = "    rows[range(len(places)), places] = mask_id\n"

check_pseudo_log_likelihood = Exercise(
    my_likelihood,
    lambda: [
        (toy_log_p, torch.tensor([2, 7, 5, 9, 11, 6, 3]), torch.tensor([1, 0, 0, 0, 0, 0, 1]).bool(), MASK),
        (toy_log_p, torch.tensor([2, 8, 3, 10, 0]), torch.tensor([1, 0, 1, 0, 1]).bool(), 5),
        (toy_log_p, torch.tensor([11, 3, 8, 2, 10]), torch.tensor([1, 0, 0, 0, 1]).bool(), MASK),
    ],
    right="Right: each word once, hidden alone.",
    observe=value,
    slips=[
        (
            "all words are hidden at once: then nothing is left to predict from. Hide one at a time.",
            f"{HIDE} =>     rows[:, places] = mask_id\n",
        ),
        (
            "words stay hidden after their turn: hide each alone, in a fresh copy of ids.",
            f"{HIDE} =>     for n, place in enumerate(places): rows[n:, place] = mask_id\n",
        ),
        ("nothing is hidden: the model only has to read the word off. Put mask_id in its place.", f"{HIDE} => "),
        (
            "[CLS] and [SEP] are counted too: leave out what is special.",
            "(~special).nonzero() => (special | ~special).nonzero()",
        ),
        (
            "what is special is said in `special`, not by the size of the id.",
            "(~special).nonzero() => (ids > 3).nonzero()",
        ),
        ("this is the mean: a likelihood of the sentence is the sum.", ".sum() => .mean()"),
        ("the sign is wrong: a logarithm of a probability is below zero.", "return log_p => return -log_p"),
        ("this is the probability itself: stay with its logarithm.", "ids[places]].sum() => ids[places]].sum().exp()"),
        ("use the mask_id that is given.", "= mask_id => = 4"),
    ],
)
