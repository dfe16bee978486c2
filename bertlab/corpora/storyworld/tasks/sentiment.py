"""Opinions: good or bad, with negation and with a second opinion that does not count.

The rule: of two contrasting clauses the main one counts, which is the one after "but", or the one without "although".
Clauses joined by "and" agree. A negation reverses its word: what is not bland is good.
"""

from collections.abc import Iterator

from bertlab.corpora.examples import TextExample
from bertlab.corpora.storyworld.lexicon import table, words
from bertlab.corpora.storyworld.tasks.facts import worlds
from bertlab.corpora.storyworld.telling import Sentence
from bertlab.corpora.storyworld.world import World

OPENED, ALONE = 0.85, 0.2  # share of texts with a sentence before the opinions, and of those with one opinion alone
Theme = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]  # nouns, good words, bad words

PLAIN = ("The {noun} <be> {word}.", "{friend} <call> the {noun} {word}.", "{friend} <find> the {noun} {word}.")
NEGATED = (
    "The {noun} <be> not {word}.",
    "The {noun} <be> never {word}.",
    "Nobody <call> the {noun} {word}.",
    "{friend} <do> not find the {noun} {word}.",
)
AGREEING = ("{other}, and {main}.",)
CONTRASTING = ("{other}, but {main}.", "Although {other}, {main}.", "{main}, although {other}.")
OPPOSITE = {"good": "bad", "bad": "good"}
OPENINGS = (
    "On {day} {hero} and {friend} <go+> to {town}.",
    "{friend} <write> to {hero} about a {day} in {town}.",
    "{friend} <tell> {hero} about a {day} in {town}.",
    "{hero} and {friend} <meet+> in {town}.",
)


def sentiment(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[TextExample]:
    """Yield texts labelled "good" or "bad"; dev and test combine things with words as train never does."""
    for name, w in worlds("sentiment", seed, count, split):
        label = w.rng.choice(("good", "bad"))
        yield TextExample(name, " ".join(_sentences(w, label)), label=label)


def _sentences(w: World, label: str) -> list[str]:
    """Write what happened, and opinions about it."""
    slots = w.slots | {"hero": w.slots["name"], "friend": w.slots["fname"]}
    opening = [w.teller.tell(w.rng.choice(OPENINGS), slots).text] if w.rng.random() < OPENED else []
    theme = w.rng.choice(themes())
    main = _opinion(w, theme, label)
    if w.rng.random() < ALONE:
        return [*opening, main.text]
    joined, polarity = w.rng.choice(((AGREEING, label), *[(CONTRASTING, OPPOSITE[label])] * 3))
    rest = tuple(noun for noun in theme[0] if f" {noun} " not in main.text), *theme[1:]
    other = _opinion(w, rest, polarity)
    parts = {key: s.opening + s.text[1:-1] for key, s in (("main", main), ("other", other))}
    return [*opening, w.teller.tell(w.rng.choice(joined), parts).text]


def _opinion(w: World, theme: Theme, label: str) -> Sentence:
    """Write one clause of this polarity: with a plain word, or with the opposite one negated."""
    negated = w.rng.random() < 0.5
    nouns, good, bad = theme
    noun, word = w.pair(nouns, good if (label == "good") != negated else bad)
    pattern = w.rng.choice(NEGATED if negated else PLAIN)
    return w.teller.tell(pattern, {"noun": noun, "word": word, "friend": w.slots["fname"]})


def themes() -> list[Theme]:
    """Return (nouns, good words, bad words) that go with each other."""
    nouns = {
        "food": (*words("sentiment", "dishes"), *words("food", "sweets")[:4]),
        "places": tuple(row[0] for row in table("places", "outings")),
        "people": tuple(row[1] for row in table("shops", "goods")),
        "things": words("sentiment", "things"),
    }
    return [(nouns[theme], tuple(good.split()), tuple(bad.split())) for theme, good, bad in table("sentiment", "words")]
