"""Facts about animals: penguins are flightless birds."""

from collections.abc import Iterator

from bertlab.corpora.storyworld.lexicon import plural, table
from bertlab.corpora.storyworld.telling import Sentence
from bertlab.corpora.storyworld.world import Thing, World


def _animal(w: World) -> dict[str, str]:
    """Draw an animal of this region, with all that the lexicon says of it."""
    names = "kind family young sound eats lives look move special".split()
    return dict(zip(names, w.rng.choice(w.local(table("animals", "kinds"))), strict=True))


def facts(w: World) -> Iterator[Sentence]:
    slots = _animal(w)
    slots |= {"kinds": plural(slots["kind"]), "families": plural(slots["family"])}
    yield w.tell("{hero} <read> {friend} a book about {kinds}.", {"What <be> the book about?": "kinds"}, **slots)
    yield w.tell(_told_or_read("{kinds} are {look} {families}.", w), **slots)
    patterns = [
        ("A {kind} eats {eats} near its {lives}.", {"What does a {kind} eat?": "eats"}),
        ("Its young is a {young}.", {"What is the young of a {kind}?": "young"}),
        ("A {kind} {move}, and a {kind} {sound}.", {}),
        ("Of all {families}, the {kind} {special}.", {}),
    ]
    for pattern, asks in w.rng.sample(patterns, 3):
        yield w.tell(_told_or_read(pattern, w), asks, **slots)


def _told_or_read(pattern: str, w: World) -> str:
    """State the fact as it is, or as the book says it."""
    return pattern if w.rng.random() < 0.4 else f"“{pattern[:-1]},” <read> {{hero}}."


def sighting(w: World) -> Iterator[Sentence]:
    animal = _animal(w)
    slots = animal | {"kind": Thing(animal["kind"], (animal["look"],))}
    yield w.tell("{hero} <see> a {kind_full} by the {lives}.", {"What <do> {hero} see?": "kind_full"}, **slots)
    yield w.tell("“It {sound} and {move}: a {kind},” <say> {friend}.", **slots)
    yield w.tell("{H} <give> {eats} to {kind} and {young}.", {"What <do> {hero} give to the {kind}?": "eats"}, **slots)


SCENES = (facts, facts, sighting, sighting)
