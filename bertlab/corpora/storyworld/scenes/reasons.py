"""Why something did not happen: sentences in which the last word decides what "it" is.

The animal didn't cross the street because it was too tired.   (it = the animal)
The animal didn't cross the street because it was too wide.    (it = the street)
"""

from collections.abc import Iterator

from bertlab.corpora.storyworld.lexicon import words
from bertlab.corpora.storyworld.telling import Sentence
from bertlab.corpora.storyworld.world import World, split_of

_NOT = "[didn't|did not]"


def draw_reason(w: World, first: str, second: str, lists: str) -> dict[str, str]:
    """Draw two things as the slots `first` and `second`, which of them is `blamed`, and why: an `adjective` of it. They
    are a combination of the split; `lists` names those of the lexicon."""
    firsts, seconds, *adjectives = (words("because", name) for name in lists.split())
    for _ in range(2000):
        things = w.rng.choice(firsts), w.rng.choice(seconds)
        to_blame = w.rng.randrange(2)
        adjective = w.rng.choice(adjectives[to_blame])
        if split_of(*things, adjective) == w.split:
            return {first: things[0], second: things[1], "blamed": things[to_blame], "adjective": adjective}
    raise RuntimeError(f"no reason for split {w.split!r}")


def crossing_slots(w: World) -> dict[str, str]:
    slots = draw_reason(w, "agent", "barrier", "agents barriers agent_adjectives barrier_adjectives")
    return slots | {"cross": w.choice("because", "crossings")}


def fitting_slots(w: World) -> dict[str, str]:
    slots = draw_reason(w, "thing", "container", "cargo containers cargo_adjectives container_adjectives")
    return slots | {"fit": w.choice("because", "fits")}


CROSSING = "The {agent} " + _NOT + " {cross} the {barrier} because "
FITTING = "The {thing} " + _NOT + " {fit} the {container} because "
IT = "it was too {adjective}."
NAMED = "the {blamed} was too {adjective}."


def crossing(w: World) -> Iterator[Sentence]:
    slots = crossing_slots(w)
    yield from _reason(w, CROSSING, "the {agent} " + _NOT + " {cross} the {barrier}.", slots)
    if w.rng.random() < 0.7:
        if slots["blamed"] == slots["agent"]:
            yield w.tell("{hero} <see> how {adjective} the {agent} <be> and <stay> with the {agent}.", **slots)
        else:
            yield w.tell("{hero} <say> that a {adjective} {barrier} <need> a [bridge|sign|light].", **slots)


def fitting(w: World) -> Iterator[Sentence]:
    slots = fitting_slots(w)
    if w.rng.random() < 0.5:
        yield w.tell("{hero} <have> a {thing} and a {container}.", **slots)
    yield from _reason(w, FITTING, "the {thing} " + _NOT + " {fit} the {container}.", slots)
    if w.rng.random() < 0.7:
        if slots["blamed"] == slots["thing"]:
            yield w.tell("{friend} <say> that no {container} <be> made for a {adjective} {thing}.", **slots)
        else:
            yield w.tell("{friend} <say> that {hero} <need> a {container} that <be> not {adjective}.", **slots)


def _reason(w: World, start: str, result: str, slots: dict[str, str]) -> Iterator[Sentence]:
    """State the reason after or before what did not happen; now and then somebody repeats it."""
    asks = {"What was too {adjective}?": "blamed"}
    order = w.rng.random()
    reason = start + (IT if order < 0.25 else NAMED) if order < 0.7 else NAMED[:-1] + ", so " + result
    yield w.tell(reason if w.rng.random() < 0.5 else f"“{reason[:-1]},” <say> {{hero}}.", asks, **slots)
    if w.rng.random() < 0.25:
        yield w.tell("“So the {blamed} was too {adjective},” <say> {friend}.", asks, **slots)


SCENES = (crossing, crossing, fitting)
