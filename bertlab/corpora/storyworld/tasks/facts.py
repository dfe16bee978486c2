"""The people of the examples, the facts about them, and what follows from these: a baker works at the bakery."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from bertlab.corpora.storyworld.documents import generators
from bertlab.corpora.storyworld.lexicon import goods, table, words
from bertlab.corpora.storyworld.world import PRONOUNS, Person, World


def worlds(task: str, seed: int, count: int | None, split: str) -> Iterator[tuple[str, World]]:
    """Yield an id and a world for each example. The same (task, seed, split) always gives the same worlds."""
    for number, rng in enumerate(generators(task, seed, count, split)):
        yield f"storyworld-{task}-{split}-{seed}-{number}", World(rng, split)


@cache
def people() -> tuple[Person, ...]:
    """Return everybody in the country, except those whose name both women and men bear."""
    women, men = words("people", "women"), words("people", "men")
    return tuple(
        [Person(name, "woman") for name in women if name not in men]
        + [Person(name, "man") for name in dict.fromkeys(men) if name not in women]
    )


def others(person: Person) -> list[Person]:
    """Return everybody else."""
    return [other for other in people() if other != person]


def called(person: Person, key: str) -> dict[str, str]:
    """Return the slots of a person: {key} is the name; {he}, {him} and {his} have the right gender."""
    return {key: person.name.title()} | {form: PRONOUNS[person.gender][form] for form in ("he", "him", "his")}


Value = tuple[str, str]  # as stated, as claimed: "baker", "bakery"


@dataclass(frozen=True)
class Fact:
    """Something that a person has one of: a job, a pet, a home.

    `statement` is a pattern that states it, `claims` are patterns that follow; {noun} in them is one of `nouns`.
    """

    values: tuple[Value, ...]
    statement: str
    claims: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()

    def others(self, value: Value) -> tuple[Value, ...]:
        """Return the values with another claim."""
        return tuple(other for other in self.values if other[1] != value[1])

    def beside(self, rng: random.Random) -> tuple["Fact", "Fact"]:
        """Return a fact that may replace this one, about the same thing if it is about one, and a further fact."""
        things = [fact for fact in facts() if fact.nouns and fact != self]
        lives = [fact for fact in facts() if not fact.nouns and fact != self]
        instead = things[0] if self.nouns else rng.choice([*lives, rng.choice(things)])
        more = rng.choice([fact for fact in lives if fact != instead])
        return instead, more


def _twice(values: Sequence[str]) -> tuple[Value, ...]:
    return tuple((value, value) for value in values)


@cache
def facts() -> tuple[Fact, ...]:
    kinds = {row[0]: row[1] for row in table("animals", "kinds")}
    months = tuple((month.title(), season) for season, month, _ in table("mind", "seasons"))
    things = words("sentiment", "things")
    thing = "The {noun} of {who} <be> {stated}."
    return (
        Fact(tuple((job, place) for job, place, *_ in table("work", "jobs")), "{who} <be> a {stated}.",
             ("{who} <work> as a {stated}.", "{who} <work> at the {claimed}.")),
        Fact(tuple((pet, kinds[pet]) for pet in words("animals", "pets")), "{who} <have> a {stated}.",
             ("{who} <own> a {stated}.", "The pet of {who} <be> a {claimed}.")),
        Fact(months, "{who} <have> {his} birthday in {stated}.",
             ("The birthday of {who} <be> in {stated}.", "The birthday of {who} <be> in {claimed}.")),
        Fact(tuple((thing, shop) for thing, shop, _ in goods()), "{who} <get> a {stated} as a gift.",
             ("The gift for {who} <be> a {stated}.", "The gift for {who} <be> from the {claimed}.")),
        Fact(_twice([town.title() for town in words("places", "towns")]), "{who} <live> in {stated}.",
             ("The home of {who} <be> in {stated}.",)),
        Fact(_twice(words("facts", "colours")), "{who} <have> a {stated} {noun}.", (thing,), things),
        Fact(_twice(words("facts", "materials")), "{who} <own> a {stated} {noun}.", (thing,), things),
    )  # fmt: skip
