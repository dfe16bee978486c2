"""The state of the town that one document follows: who, what, where, and what has happened so far."""

import random
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from bertlab.corpora.storyworld.lexicon import goods, table, words
from bertlab.corpora.storyworld.telling import Sentence, Teller
from bertlab.errors import InputError

REGIONS = 20  # parts of the country, each with its own people, towns, trades and animals
LEAST = 6  # entries of a list for each part; a shorter list is shared among fewer parts
SPLITS = ("train", "dev", "test")
_DOING = re.compile(
    r"(\{(?:hero|H|friend)\})( <(?!be|have|own|do|want|need|love|hate|hurt|get|keep|lose|live))"
)  # where an adverb may stand
HERO_FORMS = (
    "{hero}",
    "{hero} {family}",
    "{trait} {hero}",
    "{job} {hero} {family}",
    "{trait} {hero} {family}",
    "{trait} {job} {hero}",
    "{job} {hero}",
)
FRIEND_FORMS = (
    "{friend}",
    "{friend} {ffamily}",
    "{relation} {friend}",
    "{ftrait} {friend}",
    "{ftrait} {relation} {friend}",
    "{ftrait} {friend} {ffamily}",
    "{relation} {friend} {ffamily}",
)
PET_FORMS = ("{pet}", "{pet} the {animal}", "{look} {pet}", "{pet} the {look} {animal}")
PRONOUNS = {
    "woman": {"he": "she", "him": "her", "his": "her", "himself": "herself", "man": "woman", "boy": "girl"},
    "man": {"he": "he", "him": "him", "his": "his", "himself": "himself", "man": "man", "boy": "boy"},
}


def split_of(*parts: str) -> str:
    """Return the split that a combination of words belongs to: 1 in 20 is kept for test, 1 in 20 for dev."""
    bucket = zlib.crc32("|".join(parts).encode()) % 20
    return {0: "test", 1: "dev"}.get(bucket, "train")


@dataclass(frozen=True)
class Thing:
    """Something with lasting attributes; every mention repeats the noun and some of the attributes."""

    noun: str
    attributes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((*self.attributes, self.noun))

    def mention(self, rng: random.Random) -> str:
        return " ".join([a for a in self.attributes if rng.random() < 0.8] + [self.noun])


@dataclass(frozen=True)
class Person:
    name: str
    gender: str  # "woman" or "man"


@dataclass
class World:
    """One document's world. Every pair drawn by `pair` is a combination that belongs to the document's split."""

    rng: random.Random
    split: str = "train"
    plain: bool = False  # the author has no habits of wording
    slots: dict[str, str] = field(default_factory=dict)  # what fills the {slots} of a sentence pattern, by their names
    about_hero: bool = False  # the last sentence was about the hero alone: only then may a pronoun replace the name

    def __post_init__(self):
        if self.split not in SPLITS:
            raise InputError(f"split must be one of {', '.join(SPLITS)}, not {self.split!r}")
        self.region = self.rng.randrange(REGIONS)
        self.teller = Teller(self.rng, self.plain)
        self._draw_people()
        self._draw_life()

    def local(self, entries: Sequence) -> Sequence:
        """Return the entries of a list that belong to this document's region: names and trades differ by region."""
        return _of_region(entries, self.region)

    def pair(self, firsts: Sequence, seconds: Sequence) -> tuple:
        """Draw a combination of one of each that belongs to this document's split."""
        for _ in range(2000):
            first, second = self.rng.choice(firsts), self.rng.choice(seconds)
            if split_of(_key(first), _key(second)) == self.split:
                return first, second
        raise RuntimeError(f"no combination for split {self.split!r}")

    def _draw_people(self) -> None:
        lives, ties = _people_of(self.region, self.split)
        if not lives:  # too few people here for this split
            self.region = (self.region + 1) % REGIONS
            return self._draw_people()
        hero, self.job = self.rng.choice(lives)
        self.hero, name = hero, hero.name.title()
        self.slots = {"hero": name, "name": name, "job": self.job[0]}
        friend, relation = self.rng.choice([tie for tie in ties if tie[0] is not hero])
        self.slots |= {"friend": friend.name.title(), "fname": friend.name.title(), "relation": relation[0]}
        self.slots |= PRONOUNS[hero.gender]
        self.slots |= {"f" + key: value for key, value in PRONOUNS[friend.gender].items()}

    def _draw_life(self):
        town = self.rng.choice(self.local(words("places", "towns")))
        street = self.rng.choice(self.local(words("places", "streets")))
        family, ffamily = self.rng.sample(self.local(words("people", "surnames")), 2)
        kind, pet = self.pair(words("animals", "pets"), words("animals", "pet_names"))
        self.pet_row = next(row for row in table("animals", "kinds") if row[0] == kind)
        vehicle = self.rng.choice(table("travel", "vehicles"))
        self.slots |= {"town": town.title(), "street": street.title(), "family": family.title()}
        self.slots |= {"animal": kind, "pet": pet.title(), "petname": pet.title()}
        self.slots |= dict(zip(("vehicle", "ride", "stop"), vehicle[:3], strict=True))
        self.slots |= {"trouble": self.verb(vehicle[3])}
        self.slots |= dict(zip(("workplace", "tool", "product", "make", "supply"), self.job[1:6], strict=True))
        self.slots["trait"], self.slots["ftrait"] = self.rng.sample(words("mind", "traits"), 2)
        self.slots |= {"look": self.pet_row[6], "ffamily": ffamily.title()}
        self.slots |= {"adverb": self.choice("mind", "adverbs")}
        self.slots |= {"day": self.choice("mind", "days").title(), "topic": self.choice("mind", "topics")}
        season = self.rng.choice(table("mind", "seasons"))
        self.slots |= {"season": season[0], "month": season[1].title(), "seasonal": season[2]}

    def choice(self, section: str, name: str) -> str:
        return self.rng.choice(words(section, name))

    def row(self, section: str, name: str) -> tuple[str, ...]:
        return self.rng.choice(table(section, name))

    def verb(self, phrase: str, many: bool = False) -> str:
        """Inflect a phrase of the lexicon for the tense of the document: "break a wheel" -> "broke a wheel"."""
        return self.teller.inflect(phrase, many)

    def tell(self, pattern: str, asks: dict[str, str] | None = None, /, **slots: Any) -> Sentence:
        """Write one sentence in this world; `slots` are texts and Things.

        `{hero}`, `{friend}`, `{pet}` and every Thing are mentioned anew each time: by name, trade, attributes ...
        `{name_full}` is a Thing with all attributes, `{H}` the hero or, where it is clear who is meant, a pronoun.
        Questions call people by their plain names.
        """
        things = {key: value for key, value in slots.items() if isinstance(value, Thing)}
        plain = self.slots | slots | {f"{key}_full": str(thing) for key, thing in things.items()}
        plain |= {key: thing.noun for key, thing in things.items()}
        filled = plain | {key: thing.mention(self.rng) for key, thing in things.items()} | self._people()
        if self.about_hero and self.rng.random() < 0.4:
            filled["H"] = self.slots["he"]
        self.about_hero = ("{H}" in pattern or "{hero}" in pattern) and "{friend}" not in pattern
        if "{adverb}" not in pattern and self.rng.random() < 0.4:
            pattern = _DOING.sub(r"\1 {adverb}\2", pattern, count=1)
        return self.teller.tell(pattern, filled, asks, plain)

    def _people(self) -> dict[str, str]:
        """Choose how this sentence mentions the people and the pet."""
        forms = HERO_FORMS if self.rng.random() < 0.85 else ("{hero}",)
        hero = self.rng.choice(forms).format(**self.slots)
        friend = self.rng.choice(FRIEND_FORMS).format(**self.slots)
        pet = self.rng.choice(PET_FORMS).format(**self.slots)
        return {"hero": hero, "H": hero, "friend": friend, "pet": pet}

    def thing(self, noun: str, *lists: tuple[str, str]) -> Thing:
        """Return a noun with one attribute from each (section, name) list."""
        return Thing(noun, tuple(self.choice(*names) for names in lists))

    def item(self) -> tuple[Thing, str, str]:
        """Draw something from a shop, with quality, colour and material, and its shop and seller.

        Noun and colour are a combination of the split.
        """
        single = [row for row in goods() if not row[0].startswith("dozen")]
        (noun, shop, seller), colour = self.pair(single, words("shops", "colours"))
        attributes = (self.choice("shops", "qualities"), colour, self.choice("shops", "materials"))
        return Thing(noun, attributes[: self.rng.randint(2, 3)]), shop, seller

    def place(self) -> tuple[Thing, tuple[str, ...]]:
        """Draw a place to visit, and its row: place, sight, what one does there, what one brings."""
        row, quality = self.pair(table("places", "outings"), words("places", "qualities"))
        return Thing(row[0], (quality,)), row


def _of_region(entries: Sequence, region: int) -> Sequence:
    parts = max(1, min(REGIONS, len(entries) // LEAST))
    return entries[region % parts :: parts]


@cache  # every document of a region and split draws from the same lists
def _people_of(region: int, split: str) -> tuple[list[tuple], list[tuple]]:
    """Return (person, row of a job) and (person, row of a relation): the combinations of this region and split.
    Both are empty where fewer than two people are left."""
    people = [Person(n, "woman") for n in _of_region(words("people", "women"), region)]
    people += [Person(n, "man") for n in _of_region(words("people", "men"), region)]
    lives = _combinations(people, _of_region(table("work", "jobs"), region), split)
    ties = _combinations(people, table("people", "relations"), split)
    ties = [(friend, relation) for friend, relation in ties if relation[1] in (friend.gender, "any")]
    return (lives, ties) if len({friend for friend, _ in ties}) >= 2 else ([], [])


def _combinations(firsts: Sequence, seconds: Sequence, split: str) -> list[tuple]:
    """Return all combinations of one of each that belong to this split."""
    return [(a, b) for a in firsts for b in seconds if split_of(_key(a), _key(b)) == split]


def _key(value) -> str:
    """Return the word that represents a row, a person or itself in a combination."""
    if isinstance(value, Person):
        return value.name
    return value if isinstance(value, str) else value[0]
