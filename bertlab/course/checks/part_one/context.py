"""Checkers of contexts: neighbours, negative sampling, the causal mask, ln p of a whole text, own probes."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.course.checks.base import checker, expect, run
from bertlab.tokenizer import Tokenizer


@checker
def check_neighbours(fn: Callable[[list[str], int, int], list[str]]) -> None:
    """Check fn(words, position, window) -> up to `window` words to the left of a position and as many to the right."""
    cases = [("a b c d e f g", *case) for case in ((3, 2), (0, 2), (1, 3), (6, 3), (5, 2), (2, 10))]
    for text, position, window in [*cases, ("the dog saw the cat", 0, 3)]:
        words = text.split()
        left, after = words[max(0, position - window) : position], words[position + 1 : position + 1 + window]
        right = left + after
        given = list(words)
        found = fn(given, position, window)
        case = f"for position {position} and window {window} in {text}"
        expect(given == words, "your function changed the list it was given: make a new one.")
        expect(isinstance(found, list), "return a list of words.")
        expect(
            found != [*left, words[position], *after],
            f"{case}: the word itself is among its neighbours, and it is what is asked for.",
        )
        expect(
            found == right or found != [word for word in right if word != words[position]],
            f"{case}: a word can stand there twice: leave out the position, not each word that is the same.",
        )
        lost = position < window and found == after
        expect(
            not lost or found == right,
            f"{case}: the left side is lost. A negative start counts from the end of the list; use max(0, ...).",
        )
        expect(
            found != right[: len(right) - 1] or position + window >= len(words),
            f"{case}: the right side is one word short. A slice leaves its end out: position + window + 1.",
        )
        expect(found == right, f"{case} the neighbours are {right}; yours are {found}.")
    print("Right: the words on either side, and not the word itself.")


@checker
def check_negative_sampling(fn: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """Check fn(seen (N, D), right (N, D), negatives (N, K, D)) -> the mean loss over the N examples."""
    generator = torch.Generator().manual_seed(0)
    seen, right = torch.randn(2, 4, 6, generator=generator)
    negatives = torch.randn(4, 3, 6, generator=generator)
    result = run(fn, seen, right, negatives)
    expect(isinstance(result, Tensor | float), "return one number, the mean over the examples.")
    result = torch.as_tensor(result)
    expect(result.numel() == 1, f"return one number, the mean: yours has shape {tuple(result.shape)}.")
    _name_wrong_loss(float(result), (seen * right).sum(-1), torch.einsum("nkd,nd->nk", negatives, seen))
    print("Right: the true word is pulled closer, the negatives are pushed away.")


def _name_wrong_loss(value: float, true: Tensor, false: Tensor) -> None:
    """Raise the Mistake that gives this loss; logits of the true words (N,) and of the negatives (N, K)."""
    each = -F.logsigmoid(true) - F.logsigmoid(-false).sum(-1)  # (N,)
    known = {
        (-F.logsigmoid(true) - F.logsigmoid(false).sum(-1)).mean(): "the negatives are pulled closer too: for "
        "them it is ln s(-logit), with a minus inside.",
        (-F.logsigmoid(true)).mean(): "there are no negatives in it: then it is best to make all vectors alike.",
        (-F.logsigmoid(true) - F.logsigmoid(-false).mean(-1)).mean(): "you take the mean over the negatives: "
        "the formula has their sum.",
        (-F.logsigmoid(true) + F.logsigmoid(false).sum(-1)).mean(): "the minus of the negatives stands "
        "inside, ln s(-logit): in front of the logarithm it gives a loss without a lower bound.",
        (-F.logsigmoid(true) - F.logsigmoid(-false.sum(-1))).mean(): "you sum the logits of the negatives: take ln s "
        "of each, then sum.",
        each.sum(): "this is the sum over the examples: return their mean.",
        -each.mean(): "the sign is wrong: a loss falls where the true word gets likelier.",
        (-true.sigmoid() - (-false).sigmoid().sum(-1)).mean(): "the logarithm is missing: it is -ln s(logit).",
        (-true + false.sum(-1)).mean(): "the sigmoid is missing: without it the loss has no lower bound.",
    }
    for wrong, message in known.items():
        expect(abs(value - float(wrong)) > 1e-4, message)
    expect(
        abs(value - float(each.mean())) < 1e-4, f"the loss of the test case is {each.mean():.4f}; yours is {value:.4f}."
    )


@checker
def check_may_look(fn: Callable[[int], Tensor]) -> None:
    """Check fn(size) -> bool (S, S), True where the token of a row may attend to the token of a column."""
    for size in (4, 1, 7):
        found = fn(size)
        right = torch.ones(size, size, dtype=torch.bool).tril()
        expect(isinstance(found, Tensor) and found.shape == (size, size), f"return a tensor ({size}, {size}).")
        expect(found.dtype == torch.bool, f"return True and False, not {found.dtype}.")
        expect(
            size == 1 or not torch.equal(found, right.T),
            "rows and columns are swapped: rows attend, columns are attended to. Row 0 may attend to column 0 alone.",
        )
        expect(
            size == 1 or not torch.equal(found, ~right),
            "this is True where attending is forbidden: negate it with ~.",
        )
        expect(
            not torch.equal(found, right & ~torch.eye(size, dtype=torch.bool)),
            "a token may attend to itself: it is asked for the next word, not for its own.",
        )
        expect(torch.equal(found, right), f"of {size} tokens, token i may attend to tokens 0 to i, and to no others.")
    print("Right: each token attends to itself and to the left.")


@checker
def check_text_score(fn: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check fn(log_p (N, S, V), ids (N, S)) -> (N,): ln p of each text's tokens 1 to S - 1, from those before them."""
    generator = torch.Generator().manual_seed(0)
    log_p = torch.randn(3, 5, 7, generator=generator).log_softmax(-1)
    ids = torch.randint(7, (3, 5), generator=generator)
    found = run(fn, log_p, ids)
    expect(isinstance(found, Tensor) and found.shape == (3,), "return a tensor (N,): one number for each text.")
    each = log_p[:, :-1].gather(2, ids[:, 1:, None])[..., 0]  # (N, S - 1)
    unmoved = log_p.gather(2, ids[..., None])[..., 0]  # (N, S)
    backward = log_p[:, 1:].gather(2, ids[:, :-1, None])[..., 0]
    known = [
        (unmoved.sum(1), "you take what position i says about word i: it has seen that word. It predicts word i + 1."),
        (
            unmoved[:, 1:].sum(1),
            "you take what position i says about word i: it has seen that word. It predicts word i + 1.",
        ),
        (backward.sum(1), "shifted the wrong way: position i predicts word i + 1, not word i - 1."),
        (each.mean(1), "this is the mean: probabilities are multiplied, so their logarithms are summed."),
        (each.exp().sum(1), "probabilities are multiplied: sum their logarithms."),
        (
            each.exp().prod(1),
            "this is the probability itself, which is 0 in floats for a long text: stay with its logarithm.",
        ),
        (-each.sum(1), "the sign is wrong: a logarithm of a probability is below zero."),
    ]
    for wrong, message in known:
        expect(not torch.allclose(found, wrong, atol=1e-4), message)
    expect(torch.allclose(found, each.sum(1), atol=1e-4), "sum ln p(ids[:, i + 1]) from position i, for i from 0.")
    print("Right: the chain rule, word by word.")


@checker
def check_probes(fn: Callable[[], Sequence[tuple[str, str, str]]], tokenizer: Tokenizer) -> None:
    """Check fn() -> at least two pairs (text, answer, foil) whose texts agree up to their one [MASK]."""
    given = fn()
    expect(
        isinstance(given, list | tuple) and all(isinstance(probe, list | tuple) and len(probe) == 3 for probe in given),
        "return a list of (text, answer, foil).",
    )
    expect(len(given) >= 2 and len(given) % 2 == 0, "give an even number of probes, two for each beginning.")
    for text, answer, foil in given:
        expect(text.count("[MASK]") == 1, f"write [MASK] once: {text}")
        for word in (answer, foil):
            expect(tokenizer.tokenize(word) == [word], f"{word!r} is not one lower-case piece of this vocabulary.")
        expect(answer != foil, f"answer and foil are the same: {text}")
        expect("[UNK]" not in tokenizer.tokenize(text), f"a word of this text is unknown to the model: {text}")
    for (first, answer, foil), (second, *other) in zip(given[::2], given[1::2], strict=True):
        expect(
            first.split("[MASK]")[0] == second.split("[MASK]")[0],
            f"the two must agree, letter by letter, up to the gap: {first} / {second}",
        )
        expect(
            tokenizer.tokenize(first) != tokenizer.tokenize(second),
            f"the two texts are the same: change something to the right of the gap: {first}",
        )
        expect(
            [foil, answer] == other,
            "what is right in the one must be the foil in the other: else the left side alone could know it.",
        )
    print("Right: up to the gap nobody can know.")
