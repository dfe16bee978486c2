"""Does the second text follow from the first, contradict it, or neither?

The first text tells one fact each of two people, the second claims or denies a fact of one of them. It follows or
contradicts when the first told that fact of the same person; it is open (neutral) when it told it of the other only.
So every word may stand in a pair of any label: who is meant (often by a pronoun), what follows from what was told
(a baker works at the bakery), and the negation decide.
"""

from collections.abc import Iterator

from ...examples import TextExample
from ..world import Person, World
from .cast import called, others, people, worlds
from .facts import Fact, facts

LABELS = ("entailment", "neutral", "contradiction")
MEETING = ("{a} and {b} <be+> [old|close|good] friends.", "{a} and {b} <meet+> in {town}.", "{a} <visit> {b}.")


def entailment(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[TextExample]:
    """Yield pairs labelled entailment, neutral or contradiction; who has what is a combination of the split."""
    for name, w in worlds("entailment", seed, count, split):
        label = w.rng.choice(LABELS)
        premise, hypothesis = _pair(w, label)
        yield TextExample(name, premise, hypothesis, label)


Told = tuple[Person, Fact, tuple[str, str]]  # of whom, what, and which value of it


def _pair(w: World, label: str) -> tuple[str, str]:
    asked = w.rng.choice(facts())
    beside = asked if label != "neutral" and w.rng.random() < 0.5 else w.rng.choice(asked.beside())
    owner, value = w.pair(people(), asked.values)
    other, elsewhere = w.pair(others(owner), asked.others(value) if beside is asked else beside.values)
    noun = {"noun": w.rng.choice(asked.nouns)}
    premise = _premise(w, [(owner, asked, value), (other, beside, elsewhere)], noun)
    denied = w.rng.random() < 0.5
    same = w.rng.random() < 0.5 if label == "neutral" else (label == "entailment") != denied
    claimed = value if same else elsewhere if beside is asked else w.rng.choice(asked.others(value))
    slots = called(other if label == "neutral" else owner, "who") | noun | {"claimed": claimed[1]}
    return premise, w.teller.tell(asked.denied if denied else asked.claim, slots).text


def _premise(w: World, told: list[Told], noun: dict[str, str]) -> str:
    """What is told of two people, by name or, where they met and it is clear who is meant, by pronoun."""
    w.rng.shuffle(told)
    (a, *_), (b, *_) = told
    by_pronoun = a.gender != b.gender and w.rng.random() < 0.5
    sentences = []
    if by_pronoun:
        sentences.append(w.teller.tell(w.rng.choice(MEETING), w.slots | called(a, "a") | called(b, "b")).text)
    for person, fact, value in told:
        slots = called(person, "who") | noun | {"told": value[0]}
        slots["who"] = slots["he"] if by_pronoun else slots["who"]
        sentences.append(w.teller.tell(fact.told, slots).text)
    return " ".join(sentences)
