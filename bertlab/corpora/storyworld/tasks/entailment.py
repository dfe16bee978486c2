"""Does the second text follow from the first, contradict it, or neither?

The first text tells one kind of fact of two people, and now and then another one; the second claims or denies a
fact of one of them. It follows or contradicts by what was told of this person; it is open (neutral) where it is of a
kind that was not told. So every word may stand in a pair of any label: who is meant, what follows from what was told
(a baker works at the bakery), and the negation decide.
"""

from collections.abc import Iterator, Sequence

from ...examples import TextExample
from ..world import Person, World, split_of
from .cast import called, others, people, worlds
from .facts import Fact, Value, facts

LABELS = ("entailment", "neutral", "contradiction")
DENIED = 0.2  # of the claims
MORE = 0.3  # of the first texts tell one thing more
Told = tuple[Person, Fact, Value]


def entailment(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[TextExample]:
    """Yield pairs labelled entailment, neutral or contradiction; who has what is a combination of the split."""
    for name, w in worlds("entailment", seed, count, split):
        label = w.rng.choice(LABELS)
        premise, hypothesis = _pair(w, label)
        yield TextExample(name, premise, hypothesis, label)


def _pair(w: World, label: str) -> tuple[str, str]:
    asked = w.rng.choice(facts())
    both, more = (asked, asked.beside(w.rng)[1]) if label != "neutral" else asked.beside(w.rng)
    told = _told_of(w, people(), [both])
    distinct = Fact(both.others(told[0][2]), both.told)
    told += _told_of(w, others(told[0][0]), [distinct, more] if w.rng.random() < MORE else [distinct])
    (hero, _, own), (_, _, elsewhere) = w.rng.sample(told[:2], 2)
    noun = {"noun": w.rng.choice(both.nouns or more.nouns or ("",))}
    affirmed, denied = w.rng.choice(asked.claims)
    turned = w.rng.random() < DENIED
    if label == "neutral":
        own, elsewhere = w.rng.sample(asked.values, 2)
    value = own if (label == "entailment") != turned else elsewhere
    slots = called(hero, "who") | noun | {"told": value[0], "claimed": value[1]}
    return _premise(w, told, noun), w.teller.tell(denied if turned else affirmed, slots).text


def _told_of(w: World, candidates: Sequence[Person], chosen: Sequence[Fact]) -> list[Told]:
    """These facts of one of the candidates; each value is a combination with the person that belongs to the split."""
    while True:
        person = w.rng.choice(candidates)
        fitting = [[v for v in fact.values if split_of(person.name, v[0]) == w.split] for fact in chosen]
        if all(fitting):
            return [(person, fact, w.rng.choice(values)) for fact, values in zip(chosen, fitting, strict=True)]


def _premise(w: World, told: list[Told], noun: dict[str, str]) -> str:
    """One fact after the other; of whom the last one was may be told on by pronoun."""
    sentences, before = [], None
    for person, fact, value in told:
        slots = called(person, "who") | noun | {"told": value[0]}
        if person == before and w.rng.random() < 0.6:
            slots["who"] = slots["he"]
        sentences.append(w.teller.tell(fact.told, slots).text)
        before = person
    return " ".join(sentences)
