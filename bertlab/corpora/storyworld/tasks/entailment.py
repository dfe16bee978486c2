"""Does the second text follow from the first, contradict it, or neither?

The first text tells two facts of one person, and often one of somebody else; the second claims or denies a fact of
the first person. It follows or contradicts where that fact was told of this person; it is open (neutral) where it was
not, though perhaps of the other one. So every word may stand in a pair of any label: who is meant, what follows from
what was told (a baker works at the bakery), and the negation decide.
"""

from collections.abc import Iterator, Sequence

from ...examples import TextExample
from ..world import Person, World, split_of
from .cast import called, others, people, worlds
from .facts import Fact, Value, facts

LABELS = ("entailment", "neutral", "contradiction")
DENIED = 0.2  # of the claims
TWO = 0.3  # of the first texts tell of two people
Told = tuple[Person, Fact, Value]


def entailment(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[TextExample]:
    """Yield pairs labelled entailment, neutral or contradiction; who has what is a combination of the split."""
    for name, w in worlds("entailment", seed, count, split):
        label = w.rng.choice(LABELS)
        premise, hypothesis = _pair(w, label)
        yield TextExample(name, premise, hypothesis, label)


def _pair(w: World, label: str) -> tuple[str, str]:
    asked = w.rng.choice(facts())
    instead, more = asked.beside(w.rng)
    of_hero = w.rng.sample([instead if label == "neutral" else asked, more], 2)
    told = _told_of(w, people(), of_hero)
    hero, noun = told[0][0], {"noun": w.rng.choice(asked.nouns or instead.nouns or more.nouns or ("",))}
    if w.rng.random() < TWO:
        told[w.rng.choice((0, 2)) : 0] = _told_of(w, others(hero), [asked])
    denied = w.rng.random() < DENIED
    claimed = _claimed(w, asked, told, hero, label, denied)
    claim = asked.denied if denied else asked.claim
    return _premise(w, told, noun), w.teller.tell(claim, called(hero, "who") | noun | {"claimed": claimed[1]}).text


def _claimed(w: World, asked: Fact, told: list[Told], hero: Person, label: str, denied: bool) -> Value:
    """What is claimed or denied of the hero: the value that was told, another one, or where none was told any."""
    values = {person: value for person, fact, value in told if fact is asked}
    if hero not in values:
        return w.rng.choice([w.rng.choice(asked.values), *values.values()])
    if (label == "entailment") != denied:
        return values[hero]
    wrong = [value for value in values.values() if value[1] != values[hero][1]]
    return w.rng.choice([w.rng.choice(asked.others(values[hero])), *wrong])


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
