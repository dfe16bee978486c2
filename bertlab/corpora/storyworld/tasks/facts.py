"""The people of the examples, the facts about them, and what follows from these: a baker works at the bakery."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from bertlab.corpora.storyworld.documents import generators
from bertlab.corpora.storyworld.lexicon import table, words
from bertlab.corpora.storyworld.world import PRONOUNS, Person, World


def worlds(task: str, seed: int, count: int | None, split: str) -> Iterator[tuple[str, World]]:
    """An id and a world for each example. The same (task, seed, split) always gives the same worlds."""
    for number, rng in enumerate(generators(task, seed, count, split)):
        yield f"storyworld-{task}-{split}-{seed}-{number}", World(rng, split)


@cache
def people() -> tuple[Person, ...]:
    """Everybody in the country; a name that women and men bear stands for nobody here."""
    women, men = words("people", "women"), words("people", "men")
    return tuple(
        [Person(name, "woman") for name in women if name not in men]
        + [Person(name, "man") for name in dict.fromkeys(men) if name not in women]
    )


def others(person: Person) -> list[Person]:
    """Everybody else."""
    return [other for other in people() if other != person]


def called(person: Person, key: str, prefix: str = "") -> dict[str, str]:
    """Slots of a person: {key} the name; {he}, {him} and {his} in the right gender, with the prefix before them."""
    forms = {prefix + form: PRONOUNS[person.gender][form] for form in ("he", "him", "his")}
    return {key: person.name.title()} | forms


Value = tuple[str, str]  # as told, as claimed: "baker", "bakery"


@dataclass(frozen=True)
class Fact:
    """Something that a person has one of.

    `told` is how it is told, `claims` are what follows; {noun} in them is one of `nouns`.
    """

    values: tuple[Value, ...]
    told: str
    claims: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()

    def others(self, value: Value) -> tuple[Value, ...]:
        """The values whose claim is another one."""
        return tuple(other for other in self.values if other[1] != value[1])

    def beside(self, rng: random.Random) -> tuple["Fact", "Fact"]:
        """(instead, more): what may be told in place of this fact, of the same thing if it is of one, and besides."""
        things = [fact for fact in facts() if fact.nouns and fact != self]
        lives = [fact for fact in facts() if not fact.nouns and fact != self]
        instead = things[0] if self.nouns else rng.choice([*lives, rng.choice(things)])
        more = rng.choice([fact for fact in lives if fact != instead])
        return instead, more


def _columns(section: str, name: str, first: int, second: int) -> tuple[Value, ...]:
    return tuple((row[first], row[second]) for row in table(section, name))


def _twice(values: Sequence[str]) -> tuple[Value, ...]:
    return tuple((value, value) for value in values)


@cache
def facts() -> tuple[Fact, ...]:
    kinds = {row[0]: row[1] for row in table("animals", "kinds")}
    goods = tuple((g.strip(), row[0]) for row in table("shops", "goods") for g in row[2].split(",") if " of " not in g)
    months = tuple((month.title(), season) for season, month, _ in table("mind", "seasons"))
    things = words("sentiment", "things")
    thing = "The {noun} of {who} <be> {told}."
    return (
        Fact(_columns("work", "jobs", 0, 1), "{who} <be> a {told}.",
             ("{who} <work> as a {told}.", "{who} <work> at the {claimed}.")),
        Fact(tuple((pet, kinds[pet]) for pet in words("animals", "pets")), "{who} <have> a {told}.",
             ("{who} <own> a {told}.", "The pet of {who} <be> a {claimed}.")),
        Fact(months, "{who} <have> {his} birthday in {told}.",
             ("The birthday of {who} <be> in {told}.", "The birthday of {who} <be> in {claimed}.")),
        Fact(goods, "{who} <get> a {told} as a gift.",
             ("The gift for {who} <be> a {told}.", "The gift for {who} <be> from the {claimed}.")),
        Fact(_twice([town.title() for town in words("places", "towns")]), "{who} <live> in {told}.",
             ("The home of {who} <be> in {told}.",)),
        Fact(_twice(words("facts", "colours")), "{who} <have> a {told} {noun}.", (thing,), things),
        Fact(_twice(words("facts", "materials")), "{who} <own> a {told} {noun}.", (thing,), things),
    )  # fmt: skip
