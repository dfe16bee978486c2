"""Neighbours, negative sampling, the causal mask, ln p of a whole text, own probes."""

from typing import Any

import torch
import torch.nn.functional as F

from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, listed, random_tensor, value


def neighbours(words, position, window):
    return words[max(0, position - window) : position] + words[position + 1 : position + 1 + window]


def _words() -> list[tuple]:
    places = ((3, 2), (0, 2), (3, 0), (1, 3), (6, 3), (5, 2), (2, 10))
    repeated = "the dog saw the cat the".split()
    return [("a b c d e f g".split(), *place) for place in places] + [
        (repeated, *place) for place in ((0, 5), (3, 1), (5, 5))
    ]


LEFT, AFTER = "words[max(0, position - window) : position]", "words[position + 1 : position + 1 + window]"

check_neighbours = Exercise(
    neighbours,
    _words,
    right="Right: the words on either side, and not the word itself.",
    observe=listed,
    slips=[
        (
            "the word itself is among its neighbours, and it is what is asked for.",
            f"{LEFT} + {AFTER} => words[max(0, position - window) : position + 1 + window]",
        ),
        (
            "a word can stand there twice: leave out the position, not each word that is the same.",
            f"return {LEFT} + {AFTER} => return [word for word in {LEFT} + {AFTER} if word != words[position]]",
        ),
        (
            "a word can stand there twice: keep it as often as it does.",
            f"return {LEFT} + {AFTER} => return list(dict.fromkeys({LEFT} + {AFTER}))",
        ),
        (
            "a word can stand there twice: go by `position`, not by where words.index finds the word first.",
            f"return {LEFT} => position = words.index(words[position]); return {LEFT}",
        ),
        (
            "the left side is lost. A negative start counts from the end of the list; use max(0, ...).",
            "max(0, position - window) => position - window",
        ),
        (
            "the right side is one word short. A slice leaves its end out: position + window + 1.",
            "position + 1 + window => position + window",
        ),
        ("the right side is missing.", f" + {AFTER} => "),
        ("the left side is missing.", f"{LEFT} +  => "),
        ("the words keep their order: the left side is not turned round.", f"{LEFT} => {LEFT}[::-1]"),
    ],
)


def negative_sampling(seen, right, negatives):
    for_right = (seen * right).sum(-1)  # (N, D) -> (N,)
    for_negatives = (negatives * seen[:, None]).sum(-1)  # (N, K, D) * (N, 1, D) -> (N, K)
    return -(F.logsigmoid(for_right) + F.logsigmoid(-for_negatives).sum(-1)).mean()


def _vectors() -> list[tuple]:
    """Vectors of two sizes, and long ones: with these s is 0 or 1 to the last digit."""
    return [
        tuple(scale * random_tensor(*shape, seed=n) for n, shape in enumerate(((N, D), (N, D), (N, K, D))))
        for N, K, D, scale in ((4, 3, 6, 1.0), (2, 5, 3, 1.0), (6, 2, 4, 30.0), (3, 1, 2, 1.0))
    ]


FALSE = "F.logsigmoid(-for_negatives).sum(-1)"

check_negative_sampling = Exercise(
    negative_sampling,
    _vectors,
    right="Right: the true word is pulled closer, the negatives are pushed away.",
    slips=[
        (
            "the negatives are pulled closer too: for them it is ln s(-logit), with a minus inside.",
            "-for_negatives => for_negatives",
        ),
        ("there are no negatives in it: then it is best to make all vectors alike.", f" + {FALSE} => "),
        (
            "you take the mean over the negatives: the formula has their sum.",
            "(-for_negatives).sum(-1) => (-for_negatives).mean(-1)",
        ),
        (
            "the minus of the negatives stands inside, ln s(-logit): in front of the logarithm it gives a loss without "
            "a lower bound.",
            f"+ {FALSE} => - F.logsigmoid(for_negatives).sum(-1)",
        ),
        (
            "for a large logit 1 - s is 0, and its logarithm infinite: 1 - s(x) is s(-x), so take F.logsigmoid(-x).",
            "F.logsigmoid(-for_negatives) => (1 - for_negatives.sigmoid()).log()",
        ),
        (
            "for a logit far below 0 s is 0, and its logarithm infinite: F.logsigmoid takes both steps at once.",
            "F.logsigmoid(for_right) => for_right.sigmoid().log()",
        ),
        (
            "you sum the logits of the negatives: take ln s of each, then sum.",
            f"{FALSE} => F.logsigmoid(-for_negatives.sum(-1))",
        ),
        ("this is the sum over the examples: return their mean.", ").mean() => ).sum()"),
        ("the sign is wrong: a loss falls where the true word gets likelier.", "return - => return "),
        ("the logarithm is missing: it is -ln s(logit).", "F.logsigmoid => torch.sigmoid"),
        (
            "the sigmoid is missing: without it the loss has no lower bound.",
            "F.logsigmoid(for_right) => for_right",
            f"{FALSE} => -for_negatives.sum(-1)",
        ),
        ("the true word is missing: only the negatives are pushed away.", "F.logsigmoid(for_right) +  => "),
        ("no gradient passes the loss: return a tensor, without item, detach or no_grad.", ".mean() => .mean().item()"),
        ("the vectors of the negatives learn nothing: no detach.", "(negatives * => (negatives.detach() *"),
        (
            "the vector that is seen learns nothing from the negatives: no detach.",
            "seen[:, None] => seen.detach()[:, None]",
        ),
    ],
)


def may_look(size):
    return torch.ones(size, size, dtype=torch.bool).tril()


check_may_look = Exercise(
    may_look,
    lambda: [(4,), (1,), (7,)],
    right="Right: each token attends to itself and to the left.",
    slips=[
        ("return True and False, not numbers.", ", dtype=torch.bool => "),
        (
            "rows and columns are swapped: rows attend, columns are attended to. Row 0 may attend to column 0 alone.",
            "tril => triu",
        ),
        ("this is True where attending is forbidden: negate it with ~.", "return torch => return ~torch"),
        ("a token may attend to itself: it is asked for the next word, not for its own.", "tril() => tril(-1)"),
        ("a token must not attend to the next one: it is what is asked for.", "tril() => tril(1)"),
        ("only the left is permitted: the right side is what is guessed.", ".tril() => "),
    ],
)


def text_score(log_p, ids):
    following = ids[:, 1:, None]  # (N, S - 1, 1)
    return log_p[:, :-1].gather(2, following).squeeze(-1).sum(1)  # (N, S - 1, V) -> (N, S - 1) -> (N,)


def _texts() -> list[tuple]:
    sizes = ((3, 5, 7), (1, 2, 4), (2, 6, 3), (2, 60, 9))  # the probability of a long text is 0 in floats
    return [
        (random_tensor(N, S, V).log_softmax(-1), (17 * torch.arange(N * S) % 11 % V).view(N, S)) for N, S, V in sizes
    ]


SEEN = "you take what position i says about word i: it has seen that word. It predicts word i + 1."
CHAIN = "log_p[:, :-1].gather(2, following).squeeze(-1).sum(1)"

check_text_score = Exercise(
    text_score,
    _texts,
    right="Right: the chain rule, word by word.",
    observe=value,
    slips=[
        (SEEN, f"{CHAIN} => log_p.gather(2, ids[..., None]).squeeze(-1).sum(1)"),
        (SEEN, f"{CHAIN} => log_p[:, 1:].gather(2, following).squeeze(-1).sum(1)"),
        (SEEN, f"{CHAIN} => log_p[:, :-1].gather(2, ids[:, :-1, None]).squeeze(-1).sum(1)"),
        (
            "shifted the wrong way: position i predicts word i + 1, not word i - 1.",
            f"{CHAIN} => log_p[:, 1:].gather(2, ids[:, :-1, None]).squeeze(-1).sum(1)",
        ),
        ("this is the mean: probabilities are multiplied, so their logarithms are summed.", ".sum(1) => .mean(1)"),
        ("probabilities are multiplied: sum their logarithms.", ".squeeze(-1).sum(1) => .squeeze(-1).exp().sum(1)"),
        (
            "this is the probability itself, which is 0 in floats for a long text: stay with its logarithm.",
            ".squeeze(-1).sum(1) => .squeeze(-1).sum(1).exp()",
        ),
        ("the sign is wrong: a logarithm of a probability is below zero.", "return log_p => return -log_p"),
        ("return a tensor (N,): one number for each text.", ".sum(1) => .sum()"),
    ],
)


def my_probes():
    return [
        ("The horse did not cross the bridge because the [MASK] was too young.", "horse", "bridge"),
        ("The horse did not cross the bridge because the [MASK] was too narrow.", "bridge", "horse"),
        ("The sofa did not fit into the elevator because the [MASK] was too bulky.", "sofa", "elevator"),
        ("The sofa did not fit into the elevator because the [MASK] was too tiny.", "elevator", "sofa"),
    ]


def _probed(fn, tokenizer: Any) -> dict[str, Any]:
    given = fn()
    shaped = isinstance(given, list | tuple) and all(
        isinstance(probe, list | tuple) and len(probe) == 3 for probe in given
    )
    expect(shaped, "return a list of (text, answer, foil).")
    expect(len(given) >= 2 and len(given) % 2 == 0, "give an even number of probes, two for each beginning.")
    for text, answer, foil in given:
        expect(text.count("[MASK]") == 1, f"write [MASK] once: {text}")
        for word in (answer, foil):
            expect(tokenizer.tokenize(word) == [word], f"{word!r} is not one lower-case piece of this vocabulary.")
        expect(answer != foil, f"answer and foil are the same: {text}")
        expect("[UNK]" not in tokenizer.tokenize(text), f"a word of this text is unknown to the model: {text}")
    for (first, answer, foil), (second, *other) in zip(given[::2], given[1::2], strict=True):
        same = first.split("[MASK]")[0] == second.split("[MASK]")[0]
        expect(same, f"the two must agree, letter by letter, up to the gap: {first} / {second}")
        different = tokenizer.tokenize(first) != tokenizer.tokenize(second)
        expect(different, f"the two texts are the same: change something to the right of the gap: {first}")
        turned = "what is right in the one must be the foil in the other: else the left side alone could know it."
        expect([foil, answer] == other, turned)
    return {}


def _tokenizer() -> tuple:
    from bertlab import Tokenizer

    return (Tokenizer.from_pretrained("storyworld-tiny"),)


check_probes = Exercise(
    my_probes,
    lambda tokenizer: [(tokenizer,)],
    right="Right: up to the gap nobody can know.",
    observe=_probed,
    sample=_tokenizer,
    slips=[
        ("give an even number of probes, two for each beginning.", lambda: my_probes()[:3]),
        ("return a list of (text, answer, foil).", lambda: [probe[:2] for probe in my_probes()]),
        (
            "what is right in the one must be the foil in the other: else the left side alone could know it.",
            lambda: [my_probes()[0], (my_probes()[1][0], "horse", "bridge")],
        ),
        (
            "'Bridge' is not one lower-case piece of this vocabulary.",
            lambda: [(text, answer.title(), foil) for text, answer, foil in my_probes()[1:3]],
        ),
    ],
)
