"""Does the second text follow from the first, contradict it, or neither?

The first text tells one kind of fact of two people, and now and then another one; the second claims something of both.
It follows from what was told of each, or contradicts it where the two have changed places; it is open (neutral) where
it is of a kind that was not told. So every word may stand in a pair of any label: who has what, and what follows from
it (a baker works at the bakery), decide.
"""

from collections.abc import Iterator, Sequence

from bertlab.corpora.examples import TextExample
from bertlab.corpora.storyworld.tasks.facts import Fact, Value, called, facts, others, people, worlds
from bertlab.corpora.storyworld.world import Person, World, split_of

LABELS = ("entailment", "neutral", "contradiction")
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
    noun = {"noun": w.rng.choice(both.nouns or more.nouns or ("",))}
    return _premise(w, told, noun), _hypothesis(w, told[:2], asked, label, noun)


def _hypothesis(w: World, told: Sequence[Told], asked: Fact, label: str, noun: dict[str, str]) -> str:
    """A claim of the first of them and the same kind of claim of the second."""
    (one, _, first), (other, _, second) = told
    if label == "neutral":
        first = w.rng.choice(asked.values)
        second = w.rng.choice(asked.others(first))
    elif label == "contradiction":
        first, second = second, first
    claim = w.rng.choice(asked.claims)
    claims = [
        w.teller.tell(claim, called(person, "who") | noun | {"told": value[0], "claimed": value[1]})
        for person, value in ((one, first), (other, second))
    ]
    return claims[0].joined(" and ", claims[1]).text


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
