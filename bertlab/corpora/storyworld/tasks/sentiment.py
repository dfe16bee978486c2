"""Opinions: good or bad, with negation and with a second opinion that does not count.

The rule: of two clauses the main one counts. With "but" that is the clause behind it, with "although" the one that
"although" does not stand before. A negation turns the word that counts round: what is not bland is good.
"""

from collections.abc import Iterator

from ...examples import TextExample
from ..lexicon import table, words
from ..world import World
from .cast import worlds

PLAIN = ("The {noun} <be> {word}.", "{friend} <call> the {noun} {word}.", "{friend} <find> the {noun} {word}.")
NEGATED = (
    "The {noun} <be> not {word}.",
    "The {noun} <be> never {word}.",
    "Nobody <call> the {noun} {word}.",
    "{friend} <do> not find the {noun} {word}.",
)
JOINED = ("{other}, but {main}.", "Although {other}, {main}.", "{main}, although {other}.")
OPENINGS = (
    "On {day} {hero} and {friend} <go+> to {town}.",
    "{friend} <write> to {hero} about a {day} in {town}.",
    "{hero} <ask> {friend} about a {day} in {town}.",
    "{hero} and {friend} <meet+> in {town}.",
)


def sentiment(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[TextExample]:
    """Yield texts labelled "good" or "bad"; dev and test combine things with words as train never does."""
    for name, w in worlds("sentiment", seed, count, split):
        label = w.rng.choice(("good", "bad"))
        yield TextExample(name, " ".join(_told(w, label)), label=label)


def _told(w: World, label: str) -> list[str]:
    """What happened, and the opinions of it."""
    slots = w.slots | {"hero": w.slots["name"], "friend": w.slots["fname"]}
    opening = w.teller.tell(w.rng.choice(OPENINGS), slots).text
    main = _opinion(w, label)
    if w.rng.random() < 0.25:
        return [opening, main.text]
    other = _opinion(w, w.rng.choice(("good", "bad")))
    parts = {key: s.opening + s.text[1:-1] for key, s in (("main", main), ("other", other))}
    return [opening, w.teller.tell(w.rng.choice(JOINED), parts).text]


def _opinion(w: World, label: str):
    """One clause of this polarity: a plain word, or the opposite one negated."""
    negated = w.rng.random() < 0.5
    nouns, good, bad = w.rng.choice(themes())
    fitting = good if (label == "good") != negated else bad
    noun, word = w.pair(nouns, fitting)
    pattern = w.rng.choice(NEGATED if negated else PLAIN)
    return w.teller.tell(pattern, {"noun": noun, "word": word, "friend": w.slots["fname"]})


def themes() -> list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]:
    """(nouns, good words, bad words) that go with each other."""
    nouns = {
        "food": (*words("food", "drinks"), *words("sentiment", "dishes"), *words("food", "sweets")[:4]),
        "places": tuple(row[0] for row in table("places", "outings")),
        "people": tuple(row[1] for row in table("shops", "goods")),
        "things": words("sentiment", "things"),
    }
    return [(nouns[theme], tuple(good.split()), tuple(bad.split())) for theme, good, bad in table("sentiment", "words")]
