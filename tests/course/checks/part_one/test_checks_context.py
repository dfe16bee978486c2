"""The checkers of contexts pass a right answer and name the mistake of each known wrong one."""

import pytest
import torch
import torch.nn.functional as F

from bertlab import Tokenizer
from bertlab.course import (
    Mistake,
    check_may_look,
    check_negative_sampling,
    check_neighbours,
    check_probes,
    check_text_score,
    own_or_solution,
)

# Neighbours


def right_neighbours(words, position, window):
    return words[max(0, position - window) : position] + words[position + 1 : position + 1 + window]


def popped(words, position, window):
    del words[position]
    return words


NEIGHBOUR_MISTAKES = {
    "the word itself": lambda words, i, w: words[max(0, i - w) : i + w + 1],
    "left side is lost": lambda words, i, w: words[i - w : i] + words[i + 1 : i + 1 + w],
    "one word short": lambda words, i, w: words[max(0, i - w) : i] + words[i + 1 : i + w],
    "changed the list": popped,
    "return a list": lambda words, i, w: tuple(right_neighbours(words, i, w)),
    "can stand there twice": lambda words, i, w: [word for word in right_neighbours(words, i, w) if word != words[i]],
    "yours are": lambda words, i, w: words[max(0, i - w) : i],
}


def test_neighbours_right():
    check_neighbours(right_neighbours)


@pytest.mark.parametrize("words", NEIGHBOUR_MISTAKES)
def test_neighbours_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_neighbours(NEIGHBOUR_MISTAKES[words])


# Negative sampling


def parts(seen, right, noise):
    return (seen * right).sum(-1), (noise @ seen[..., None])[..., 0]


def right_loss(seen, right, noise):
    true, false = parts(seen, right, noise)
    return -(F.logsigmoid(true) + F.logsigmoid(-false).sum(-1)).mean()


def loss(formula):
    return lambda *given: formula(*parts(*given))


LOSS_MISTAKES = {
    "pulled closer too": loss(lambda t, f: -(F.logsigmoid(t) + F.logsigmoid(f).sum(-1)).mean()),
    "no negatives in it": loss(lambda t, f: -F.logsigmoid(t).mean()),
    "mean over the negatives": loss(lambda t, f: -(F.logsigmoid(t) + F.logsigmoid(-f).mean(-1)).mean()),
    "sum over the examples": loss(lambda t, f: -(F.logsigmoid(t) + F.logsigmoid(-f).sum(-1)).sum()),
    "sign is wrong": lambda *given: -right_loss(*given),
    "logarithm is missing": loss(lambda t, f: -(t.sigmoid() + (-f).sigmoid().sum(-1)).mean()),
    "sigmoid is missing": loss(lambda t, f: (-t + f.sum(-1)).mean()),
    "stands inside": loss(lambda t, f: (-F.logsigmoid(t) + F.logsigmoid(f).sum(-1)).mean()),
    "of each, then sum": loss(lambda t, f: -(F.logsigmoid(t) + F.logsigmoid(-f.sum(-1))).mean()),
    "mean over the examples": lambda *given: None,
    "one number": loss(lambda t, f: -F.logsigmoid(t) - F.logsigmoid(-f).sum(-1)),
    "stopped on inputs": lambda seen, right, noise: (seen @ right).mean(),
    "yours is": lambda *given: right_loss(*given) + 0.5,
}


def test_loss_right():
    check_negative_sampling(right_loss)


@pytest.mark.parametrize("words", LOSS_MISTAKES)
def test_loss_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_negative_sampling(LOSS_MISTAKES[words])


# The causal mask


def square(size):
    return torch.ones(size, size, dtype=torch.bool)


LOOK_MISTAKES = {
    "are swapped": lambda size: square(size).triu(),
    "is forbidden": lambda size: square(size).triu(1),
    "attend to itself": lambda size: square(size).tril(-1),
    "True and False": lambda size: torch.ones(size, size).tril(),
    r"a tensor \(4, 4\)": lambda size: square(size + 1).tril(),
    "no others": square,
}


def test_may_look_right():
    check_may_look(lambda size: square(size).tril())


@pytest.mark.parametrize("words", LOOK_MISTAKES)
def test_may_look_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_may_look(LOOK_MISTAKES[words])


# The chance of a whole text


def each(log_p, ids):
    return log_p[:, :-1].gather(2, ids[:, 1:, None])[..., 0]


SCORE_MISTAKES = {
    "has seen that word": lambda log_p, ids: log_p.gather(2, ids[..., None])[..., 0].sum(1),
    "not word i - 1": lambda log_p, ids: log_p[:, 1:].gather(2, ids[:, :-1, None])[..., 0].sum(1),
    "this is the mean": lambda log_p, ids: each(log_p, ids).mean(1),
    "sum their logarithms": lambda log_p, ids: each(log_p, ids).exp().sum(1),
    "probability itself": lambda log_p, ids: each(log_p, ids).exp().prod(1),
    "sign is wrong": lambda log_p, ids: -each(log_p, ids).sum(1),
    "one number for each": lambda log_p, ids: each(log_p, ids).sum(),
    "stopped on inputs": lambda log_p, ids: log_p.gather(2, ids[:, 1:]),
    "from 0": lambda log_p, ids: each(log_p, ids)[:, 1:].sum(1),
}


def test_text_score_right():
    check_text_score(lambda log_p, ids: each(log_p, ids).sum(1))


@pytest.mark.parametrize("words", SCORE_MISTAKES)
def test_text_score_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_text_score(SCORE_MISTAKES[words])


# Probes

DOG, STREET = ("the [MASK] was too tired", "dog", "street"), ("the [MASK] was too wide", "street", "dog")
PROBE_MISTAKES = {
    "even number": [DOG],
    "write .MASK. once": [DOG, ("the street was too wide", "street", "dog")],
    "not one lower-case piece": [("the [MASK] was too tired", "zebra", "street"), STREET],
    "answer and foil": [("the [MASK] was too tired", "dog", "dog"), STREET],
    "letter by letter": [DOG, ("this [MASK] was too wide", "street", "dog")],
    "change something to the right": [DOG, (DOG[0], "street", "dog")],
    "texts are the same": [DOG, (DOG[0] + " ", "street", "dog")],
    "return a list": [DOG[:2], STREET[:2]],
    "left side alone": [DOG, ("the [MASK] was too wide", "dog", "street")],
    "unknown to the model": [("the [MASK] was too 疲", "dog", "street"), STREET],
}


@pytest.fixture(scope="module")
def known():
    return Tokenizer.train(["the dog was too tired", "the street was too wide"] * 20, vocab_size=200)


def test_probes_right(known, capsys):
    check_probes(lambda: [DOG, STREET], known)
    assert "nobody can know" in capsys.readouterr().out


@pytest.mark.parametrize("words", PROBE_MISTAKES)
def test_probes_mistake(words, known):
    with pytest.raises(Mistake, match=words):
        check_probes(lambda: PROBE_MISTAKES[words], known)


# The reader's function or the solution


def not_begun(words, position, window):
    raise NotImplementedError


@pytest.mark.parametrize("wrong", [not_begun, NEIGHBOUR_MISTAKES["one word short"], lambda words: words.nothing])
def test_until_the_readers_function_is_right_the_solution_is_used(wrong, capsys):
    assert own_or_solution(check_neighbours, wrong, right_neighbours) is right_neighbours
    assert "the solution" in capsys.readouterr().out


def test_the_readers_function_is_used_when_it_is_right(capsys):
    assert own_or_solution(check_neighbours, right_neighbours, popped) is right_neighbours
    assert capsys.readouterr().out == "right_neighbours: yours is used\n"
