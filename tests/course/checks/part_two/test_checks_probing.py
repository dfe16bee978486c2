"""The checkers of the chapter on what a model knows pass right answers and name each known mistake."""

import random

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bertlab.course import (
    check_control_labels,
    check_probe,
    check_pseudo_log_likelihood,
    check_removal_effects,
    check_removal_rank,
    check_scalar_mix,
)
from tests.course.checks.checking import checker_tests, not_begun_test, otherwise_test

# Control labels


def control(words, labels, rng):
    drawn = {word: rng.choice(labels) for word in dict.fromkeys(words)}
    return [drawn[word] for word in words]


def control_in_one_pass(words, labels, rng):
    drawn = {}
    return [drawn[word] if word in drawn else drawn.setdefault(word, rng.choice(labels)) for word in words]


def renamed(words, labels, rng):
    names = sorted(set(labels))
    other = dict(zip(names, rng.sample(names, len(names)), strict=True))
    other = other if any(a != b for a, b in other.items()) else dict(zip(names, names[1:] + names[:1], strict=True))
    return [other[label] for label in labels]


def uniform(words, labels, rng):
    return control(words, sorted(set(labels)), rng)


# Probes


def fitted(states, labels, fit, measure, scale):
    labels, scaler = np.array(labels), StandardScaler().fit(states[scale])
    model = LogisticRegression().fit(scaler.transform(states[fit]), labels[fit])
    return float(model.score(scaler.transform(states[measure]), labels[measure]))


def right_probe(states, labels, train):
    return fitted(states, labels, train, ~train, train)


def by_gradients(states, labels, train):
    """Two classes, own standardisation, own gradient descent."""
    mean, spread = states[train].mean(0), states[train].std(0)
    x = torch.tensor((states - mean) / spread, dtype=torch.float64)
    names = sorted(set(labels))
    y = torch.tensor([names.index(label) for label in labels])
    weight, bias = torch.zeros(x.size(1), 2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    for _ in range(300):
        share = (x[train] @ weight + bias).softmax(-1) - torch.eye(2, dtype=torch.float64)[y[train]]
        weight -= x[train].T @ share / train.sum()
        bias -= share.mean(0)
    return ((x @ weight + bias).argmax(-1) == y)[~train].double().mean().item()


def own_mean(states, labels, train):
    labels, model = np.array(labels), LogisticRegression()
    model.fit(StandardScaler().fit_transform(states[train]), labels[train])
    return float(model.score(StandardScaler().fit_transform(states[~train]), labels[~train]))


def raw(states, labels, train):
    labels = np.array(labels)
    return float(LogisticRegression().fit(states[train], labels[train]).score(states[~train], labels[~train]))


def everything(train):
    return np.ones_like(train)


# Layer mixes


def mix(states, weights, gamma):
    return gamma * torch.einsum("l,lnh->nh", weights.softmax(0), states)


# What removal costs


def effects(log_p, ids, position, others, mask_id, again=False, token=None, keep=False):
    rows = ids.repeat(len(others), 1)
    for row, other in enumerate(others):
        rows[row, others[: row + 1] if keep else other] = mask_id if token is None else token
    before, after = log_p(ids[None])[0, position], log_p(rows)[:, position]
    return before.max() - (after.amax(-1) if again else after[:, before.argmax()])


def effects_one_by_one(log_p, ids, position, others, mask_id):
    before = log_p(ids[None])[0, position]
    answer, found = int(before.argmax()), []
    for other in others:
        row = ids.clone()
        row[other] = mask_id
        found.append(before[answer] - log_p(row[None])[0, position, answer])
    return torch.stack(found)


def effects_in_place(log_p, ids, position, others, mask_id):
    before = log_p(ids[None])[0, position]
    for other in others:
        ids[other] = mask_id
    return before.max() - log_p(ids.repeat(len(others), 1))[:, position, before.argmax()]


def rank(shares, effects):
    return int((effects > effects[shares.argmax()]).sum()) + 1


# Pseudo-log-likelihood


def likelihood(log_p, ids, special, mask_id, positions=None, hidden=True):
    positions = (~special).nonzero()[:, 0] if positions is None else positions
    rows = ids.repeat(len(positions), 1)
    if hidden:
        rows[range(len(positions)), positions] = mask_id
    return log_p(rows)[range(len(positions)), positions, ids[positions]].sum()


def likelihood_in_a_loop(log_p, ids, special, mask_id):
    total = 0.0
    for position in range(len(ids)):
        if not special[position]:
            row = ids.clone()
            row[position] = mask_id
            total += float(log_p(row[None])[0, position, ids[position]])
    return total


def all_at_once(log_p, ids, special, mask_id):
    rows = torch.where(special, ids, mask_id)[None]
    return log_p(rows)[0, range(len(ids)), ids][~special].sum()


def growing(log_p, ids, special, mask_id):
    row, total = ids.clone(), 0.0
    for position in (~special).nonzero()[:, 0]:
        row[position] = mask_id
        total += log_p(row[None])[0, position, ids[position]]
    return total


RIGHT = {
    check_control_labels: control,
    check_probe: right_probe,
    check_scalar_mix: mix,
    check_removal_effects: effects,
    check_removal_rank: rank,
    check_pseudo_log_likelihood: likelihood,
}
MISTAKES = {
    check_control_labels: {
        "you draw for each token": lambda words, labels, rng: [rng.choice(labels) for _ in words],
        "equally often": uniform,
        "only renames the property": renamed,
        "the true labels": lambda words, labels, rng: list(labels),
        "from the rng": lambda words, labels, rng: control(words, labels, random.Random(5)),
        "one label for each word": lambda words, labels, rng: {word: rng.choice(labels) for word in words},
        "as frequent as": lambda words, labels, rng: control(words, ["a", "a", "a", "a", "b", "c"], rng),
        "changed a list": lambda words, labels, rng: rng.shuffle(labels) or control(words, labels, rng),
    },
    check_probe: {
        "that it is measured on": lambda s, labels, t: fitted(s, labels, ~t, ~t, ~t),
        "accuracy on the training part": lambda s, labels, t: fitted(s, labels, t, t, t),
        "accuracy on all words": lambda s, labels, t: fitted(s, labels, t, everything(t), t),
        "by its own mean, a leak": own_mean,
        "one odd test word": lambda s, labels, t: fitted(s, labels, t, ~t, everything(t)),
        "not standardised": raw,
        "from 0 to 1": lambda *given: 100 * right_probe(*given),
        "one number": lambda s, labels, t: t,
    },
    check_scalar_mix: {
        "gamma is missing": lambda s, w, g: mix(s, w, 1),
        "the softmax is missing": lambda s, w, g: g * (w[:, None, None] * s).sum(0),
        "softmax and gamma": lambda s, w, g: (w[:, None, None] * s).sum(0),
        "inside the softmax": lambda s, w, g: mix(s, g * w, 1),
        "is a factor": lambda s, w, g: g + mix(s, w, 1),
        "sigmoids": lambda s, w, g: g * (w.sigmoid()[:, None, None] * s).sum(0),
        "mean over the layers": lambda s, w, g: g * (w.softmax(0)[:, None, None] * s).mean(0),
        "all layers count alike": lambda s, w, g: g * s.mean(0),
        "sum over the layers": lambda s, w, g: g * w.softmax(0)[:, None, None] * s,
        "reverse order": lambda s, w, g: mix(s.flip(0), w, g),
    },
    check_removal_effects: {
        "sign is wrong": lambda *given: -effects(*given),
        "one after the other": lambda *given: effects(*given, keep=True),
        "another answer": lambda *given: effects(*given, again=True),
        "use mask_id": lambda *given: effects(*given, token=0),
        "changed ids": effects_in_place,
        "keep the sign": lambda *given: effects(*given).abs(),
        "one number for each": lambda *given: effects(*given).sum(),
    },
    check_removal_rank: {
        "count from 0": lambda s, e: rank(s, e) - 1,
        "from the largest effect down": lambda s, e: int((e < e[s.argmax()]).sum()) + 1,
        "the share of the largest effect": lambda s, e: int((s > s[e.argmax()]).sum()) + 1,
    },
    check_pseudo_log_likelihood: {
        "all words are hidden at once": all_at_once,
        "stay hidden after their turn": growing,
        "nothing is hidden": lambda *given: likelihood(*given, hidden=False),
        "[CLS] and [SEP] are counted": lambda p, ids, s, m: likelihood(p, ids, s, m, torch.arange(len(ids))),
        "this is the mean": lambda p, ids, s, m: likelihood(p, ids, s, m) / (~s).sum(),
        "the sign is wrong": lambda *given: -likelihood(*given),
        "the probability itself": lambda *given: likelihood(*given).exp(),
    },
}

test_right_answer_passes, test_mistake_is_named = checker_tests(RIGHT, MISTAKES)

OTHERWISE = [
    (check_control_labels, control_in_one_pass),
    (check_probe, by_gradients),
    (check_scalar_mix, lambda s, w, g: sum(g * x * y for x, y in zip(w.softmax(0), s, strict=True))),
    (check_removal_effects, effects_one_by_one),
    (check_removal_rank, lambda s, e: e.argsort(descending=True).tolist().index(int(s.argmax())) + 1),
    (check_pseudo_log_likelihood, likelihood_in_a_loop),
]

test_a_right_answer_written_another_way_passes = otherwise_test(OTHERWISE)
test_what_is_not_begun_is_called_so = not_begun_test(RIGHT)
