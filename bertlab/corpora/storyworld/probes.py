"""Masked sentences whose clue is to the right of the mask: a left-to-right model cannot know the answer."""

import random
from dataclasses import dataclass

from bertlab.corpora.storyworld.scenes import home, reasons
from bertlab.corpora.storyworld.world import PRONOUNS, World


@dataclass(frozen=True)
class Probe:
    """`text` holds one [MASK]; `answer` is right, `foil` fits everything to the left of the mask as well."""

    text: str
    answer: str
    foil: str
    family: str


def probes(seed: int = 0, count: int = 200, split: str = "test") -> list[Probe]:
    """Return `count` probes of each family: "crossing", "fitting", "pronoun". Combinations belong to `split`."""
    rng = random.Random(f"probes-{split}-{seed}")
    return [family(World(rng, split, plain=True)) for family in (_crossing, _fitting, _pronoun) for _ in range(count)]


def _crossing(w: World) -> Probe:
    slots = reasons.crossing_slots(w)
    while " " in slots["agent"]:  # one mask is one word
        slots = reasons.crossing_slots(w)
    return _reason(w, reasons.CROSSING, slots, slots["agent"], slots["barrier"], "crossing")


def _fitting(w: World) -> Probe:
    slots = reasons.fitting_slots(w)
    return _reason(w, reasons.FITTING, slots, slots["thing"], slots["container"], "fitting")


def _reason(w: World, start: str, slots: dict[str, str], first: str, second: str, family: str) -> Probe:
    answer = slots["blamed"]
    sentence = w.tell(start + reasons.NAMED, **(slots | {"blamed": "[MASK]"}))
    return Probe(sentence.text, answer, second if answer == first else first, family)


def _pronoun(w: World) -> Probe:
    """ "When [MASK] hurt her knee ...": who it was shows only after the verb."""
    part, _, _, helper = w.row("body", "hurts")
    sentence = w.tell(home.HURT, he="[MASK]", part=part, helper=helper)
    foil = PRONOUNS["man" if w.hero.gender == "woman" else "woman"]["he"]
    return Probe(sentence.text, w.slots["he"], foil, "pronoun")
