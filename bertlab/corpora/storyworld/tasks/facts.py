"""What can be told of a person, and what follows from it in this town: a baker works at the bakery."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ..lexicon import table, words
from ..world import World


@dataclass(frozen=True)
class Fact:
    """Something that a person has one of.

    Each value is (as told, as claimed): "baker", "bakery". `told` may use {who}, {his}, {told} and {noun}, a claim
    {who}, {claimed} and {noun}; `denied` is the claim's opposite. `{noun}` is one of `nouns`, the same for all.
    """

    name: str
    values: tuple[tuple[str, str], ...]
    told: str
    claim: str
    denied: str
    nouns: tuple[str, ...] = ("",)

    def others(self, value: tuple[str, str]) -> list[tuple[str, str]]:
        """The values whose claim is another one."""
        return [other for other in self.values if other[1] != value[1]]

    def beside(self) -> list["Fact"]:
        """What may be told of somebody else in the same breath: other facts, of the same noun where this has one."""
        return [fact for fact in facts() if fact.told != self.told and fact.nouns == self.nouns]


def _columns(section: str, name: str, first: int, second: int) -> tuple[tuple[str, str], ...]:
    return tuple((row[first], row[second]) for row in table(section, name))


def _twice(values: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((value, value) for value in values)


@cache
def facts() -> tuple[Fact, ...]:
    kinds = {row[0]: row for row in table("animals", "kinds")}
    pets = words("animals", "pets")
    goods = tuple((g.strip(), row[0]) for row in table("shops", "goods") for g in row[2].split(",") if " of " not in g)
    months = tuple((month.title(), season) for season, month, _ in table("mind", "seasons"))
    things = words("sentiment", "things")
    job, pet = ("{who} <be> a {told}.", "{who} <have> a {told}.")
    birthday = "{who} <have> {his} birthday in {told}."
    return (
        Fact("job", _columns("work", "jobs", 0, 1), job, "{who} <work> at the {claimed}.",
             "{who} <do> not work at the {claimed}."),
        Fact("pet", tuple((p, kinds[p][1]) for p in pets), pet, "The pet of {who} <be> a {claimed}.",
             "The pet of {who} <be> not a {claimed}."),
        Fact("young", tuple((p, kinds[p][2]) for p in words("facts", "pets")), pet, "The pet of {who} <be> a {claimed} at first.",
             "The pet of {who} <be> not a {claimed} at first."),
        Fact("birthday", months, birthday, "The birthday of {who} <be> in {claimed}.",
             "The birthday of {who} <be> not in {claimed}."),
        Fact("gift", goods, "{who} <get> a {told} for {his} birthday.",
             "The gift for {who} <be> from the {claimed}.", "The gift for {who} <be> not from the {claimed}."),
        Fact("town", _twice([t.title() for t in words("places", "towns")]), "{who} <live> in {told}.",
             "The home of {who} <be> in {claimed}.", "The home of {who} <be> not in {claimed}."),
        Fact("colour", _twice(words("facts", "colours")), "{who} <have> a {told} {noun}.",
             "The {noun} of {who} <be> {claimed}.", "The {noun} of {who} <be> not {claimed}.", things),
        Fact("material", _twice(words("facts", "materials")), "{who} <own> a {told} {noun}.",
             "The {noun} of {who} <be> {claimed}.", "The {noun} of {who} <be> not {claimed}.", things),
    )  # fmt: skip
