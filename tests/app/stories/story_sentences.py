"""The sentences on which the stories measure heads, labels and guesses; half of each kind is the other's control."""

import csv
from itertools import product
from pathlib import Path
from typing import NamedTuple

PRAISE = "good great funny interesting exciting enjoyable convincing beautiful entertaining memorable".split()
BLAME = "bad boring dull terrible weak stupid awful disappointing predictable slow".split()
THINGS = {
    "trout": "fish", "robin": "bird", "oak": "tree", "rose": "flower", "hammer": "tool", "piano": "instrument",
    "wasp": "insect", "beagle": "dog", "sofa": "furniture", "carrot": "vegetable", "apple": "fruit", "violin":
    "instrument", "salmon": "fish", "eagle": "bird", "pine": "tree", "wine": "drink", "bee": "insect", "cheese":
    "food", "waltz": "dance", "canoe": "boat", "rifle": "weapon", "copper": "metal", "cotton": "material",
    "football": "game", "pony": "horse",
}  # fmt: skip
FEMALE, MALE = ("woman", "queen", "mother", "aunt", "girl"), ("man", "king", "father", "uncle", "boy")
ONE, MANY = ("dog", "horse", "ship", "car"), ("cats", "boys", "houses", "stones")
GAPS = Path(__file__).parents[3] / "data" / "english" / "gaps.csv"


class Reference(NamedTuple):
    """A text with a pronoun, the noun that is meant, and another one."""

    text: str
    pronoun: str
    right: str
    other: str


def in_both_orders(frames: tuple[str, ...], firsts: tuple[str, ...], seconds: tuple[str, ...], *pronouns: str):
    """Return each pair of nouns in both orders, with the pronoun of either."""
    found = []
    for frame, one, two in product(frames, firsts, seconds):
        for nouns in ((one, two), (two, one)):
            for pronoun, right, other in zip(pronouns, (one, two), (two, one), strict=True):
                found.append(Reference(frame.format(*nouns, pronoun), pronoun, right, other))
    return found


def of_one_number() -> list[Reference]:
    frames = (
        "The {} stood near the {} until {} fell.",
        "The {} hid the {} because {} moved.",
        "The {} came with the {} when {} returned.",
    )
    return in_both_orders(frames, ONE, MANY, "it", "they")


def of_one_gender() -> list[Reference]:
    frames = "The {} met the {} when {} was ill.", "The {} called the {} because {} needed help."
    return in_both_orders(frames, FEMALE, MALE, "she", "he")


def never_meant() -> list[tuple[str, str, str, str, str]]:
    """Return pronoun, noun of its gender and of the other, and a text with either, in which neither can be meant."""
    found = []
    for frame in ("{} asked the {} for help.", "{} met the {} at the door.", "{} looked at the {} and laughed."):
        for woman, man in zip(FEMALE, MALE, strict=True):
            for pronoun, same, other in (("she", woman, man), ("he", man, woman)):
                texts = (frame.format(pronoun.capitalize(), noun) for noun in (same, other))
                found.append((pronoun, same, other, *texts))
    return found


def by_meaning() -> list[Reference]:
    """Return two sentences for each row of it.csv: in the first, *it* is the first noun, in the next the second."""
    found = []
    for row in rows(Path(__file__).with_name("it.csv")):
        nouns = row["first"], row["second"]
        found.append(Reference(row["text"].format(row["means_first"]), "it", *nouns))
        found.append(Reference(row["text"].format(row["means_second"]), "it", *reversed(nouns)))
    return found


def everyday_gaps() -> list[str]:
    return [row["text"] for row in rows(GAPS)]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
