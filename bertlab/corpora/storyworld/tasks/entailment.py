"""Does the second text follow from the first, contradict it, or neither?

The premise states one kind of fact about two people, and now and then another one; the hypothesis claims something
about both. It is entailed if it follows from the two facts, contradicts them if the two people are swapped, and is
neutral if it is about another kind of fact. So each word may occur with any label: the label depends on who has what,
and on what follows from it (a baker works at the bakery).
"""

from collections.abc import Iterator, Sequence

from bertlab.corpora.examples import TextExample
from bertlab.corpora.storyworld.tasks.facts import Fact, Value, called, facts, others, people, worlds
from bertlab.corpora.storyworld.world import Person, World, split_of

LABELS = ("entailment", "neutral", "contradiction")
MORE = 0.3  # of the premises state one thing more
Statement = tuple[Person, Fact, Value]


def entailment(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[TextExample]:
    """Yield pairs labelled entailment, neutral or contradiction; who has what is a combination of the split."""
    for name, w in worlds("entailment", seed, count, split):
        label = w.rng.choice(LABELS)
        premise, hypothesis = _pair(w, label)
        yield TextExample(name, premise, hypothesis, label)


def _pair(w: World, label: str) -> tuple[str, str]:
    asked = w.rng.choice(facts())
    both, more = (asked, asked.beside(w.rng)[1]) if label != "neutral" else asked.beside(w.rng)
    statements = _statements_about(w, people(), [both])
    distinct = Fact(both.others(statements[0][2]), both.statement)
    statements += _statements_about(
        w, others(statements[0][0]), [distinct, more] if w.rng.random() < MORE else [distinct]
    )
    noun = {"noun": w.rng.choice(both.nouns or more.nouns or ("",))}
    return _premise(w, statements, noun), _hypothesis(w, statements[:2], asked, label, noun)


def _hypothesis(w: World, statements: Sequence[Statement], asked: Fact, label: str, noun: dict[str, str]) -> str:
    """Claim something about the first person, and the same kind of thing about the second."""
    (one, _, first), (other, _, second) = statements
    if label == "neutral":
        first = w.rng.choice(asked.values)
        second = w.rng.choice(asked.others(first))
    elif label == "contradiction":
        first, second = second, first
    claim = w.rng.choice(asked.claims)
    claims = [
        w.teller.tell(claim, called(person, "who") | noun | {"stated": value[0], "claimed": value[1]})
        for person, value in ((one, first), (other, second))
    ]
    return claims[0].joined(" and ", claims[1]).text


def _statements_about(w: World, candidates: Sequence[Person], chosen: Sequence[Fact]) -> list[Statement]:
    """State these facts about one of the candidates; each combination of person and value belongs to the split."""
    while True:
        person = w.rng.choice(candidates)
        fitting = [[v for v in fact.values if split_of(person.name, v[0]) == w.split] for fact in chosen]
        if all(fitting):
            return [(person, fact, w.rng.choice(values)) for fact, values in zip(chosen, fitting, strict=True)]


def _premise(w: World, statements: list[Statement], noun: dict[str, str]) -> str:
    """Write one fact after the other; a pronoun may replace a name that the sentence before has."""
    sentences, before = [], None
    for person, fact, value in statements:
        slots = called(person, "who") | noun | {"stated": value[0]}
        if person == before and w.rng.random() < 0.6:
            slots["who"] = slots["he"]
        sentences.append(w.teller.tell(fact.statement, slots).text)
        before = person
    return " ".join(sentences)
