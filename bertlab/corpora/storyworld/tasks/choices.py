"""How does it go on? Of four continuations only one fits the beginning.

The four differ in details of other stories, or, two by two, in these details and in the person. Each part of the right
one occurs as often in wrong ones of other examples, so the choices alone do not leak the label.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from bertlab.corpora.examples import ChoiceExample
from bertlab.corpora.storyworld.lexicon import goods, table, words
from bertlab.corpora.storyworld.tasks.facts import called, people, worlds
from bertlab.corpora.storyworld.world import PRONOUNS, World

Row = tuple[str, ...]


@dataclass(frozen=True)
class ChoiceStory:
    """How a row begins a story and how it continues: {c0}, {c1} ... are its columns, <c4> a verb in one."""

    rows: tuple[Row, ...]
    begins: tuple[str, ...]
    goes_on: tuple[str, ...]


@cache
def stories() -> tuple[ChoiceStory, ...]:
    pets = tuple(row for row in table("animals", "kinds") if row[0] in words("animals", "pets"))
    months = tuple((month.title(), season, seasonal) for season, month, seasonal in table("mind", "seasons"))
    return (
        ChoiceStory(table("work", "jobs"),
              ("{who} <be> a {c0} [from|in|of] {town}.", "The good {c0} of {town} <be> {who}."),
              ("With a {c2} {he} <c4> {c3}.", "{he} <c4> {c3} at the {c1}.", "{he} <need> {c5} and a {c2}.")),
        ChoiceStory(table("animals", "kinds"),
              ("{who} <see> a {c0}.", "{who} <read> a book about the {c0}."),
              ("{he} <give> {c4} to the {c2}.", "“It {c3} and {c7},” <say> {he}.",
               "{he} <see> it eat {c4} by the {c5}.")),
        ChoiceStory(pets,
              ("{who} <have> a {c0}.", "{who} <live> on {street} Street with a {c0}."),
              ("{he} <get> it as a {c2}.", "{he} <give> it {c4} near the {c5}.")),
        ChoiceStory(table("places", "outings"),
              ("{day}: {who} <visit> the {c0}.", "{who} {adverb} <run> to the {c0}."),
              ("There {he} <c2> and <see> a {c1}.", "With a {c3} {he} <c2> there.")),
        ChoiceStory(table("hobby", "kinds"),
              ("Every {day} {who} <c0> {c1}.", "{who} and {his} friends <love+> {c1}."),
              ("{he} <go> to the {c2} and <win> the {c3}.", "At the {c2} {he} <win> the {c3}.")),
        ChoiceStory(table("body", "hurts"),
              ("{who} <hurt> {his} {c0}.", "{his} {c0} <hurt>."),
              ("{he} {c1} and <need> {c2}.", "{he} <get> {c2} from the {c3}.")),
        ChoiceStory(table("travel", "vehicles"),
              ("{who} <c1> a {colour} {c0} from {town} to {goal}.",),
              ("{he} <say> that the {c0} <c3> at the {c2}.",)),
        ChoiceStory(table("weather", "kinds"),
              ("“{c3} {day}!” <say> {who}.", "{who} <love> a {c3} {day}."),
              ("With {his} {c2} {he} <walk> down {c1} {street} Street.",)),
        ChoiceStory(table("mind", "feelings"),
              ("{who} <be> {c0}.", "“Why so {c0}?” <ask> a friend of {who}."),
              ("{he} {c1}.",)),
        ChoiceStory(months,
              ("It <be> {c0}, and {who} <walk> down {street} Street.",),
              ("{he} <see> {c2} everywhere: it <be> {c1}.", "{he} <love> {c1} and its {c2}.")),
        ChoiceStory(goods(),
              ("{who} <want> a {c0}.", "{who} <need> a {colour} {c0}."),
              ("{he} <walk> to the {c1}.", "{he} <go> to the {c2} of the {c1}.")),
    )  # fmt: skip


OPENINGS = (
    "{who} <wash> {his} hands.",
    "{who} <call> {his} mother.",
    "{who} <brush> {his} hair.",
    "{who} <close> {his} door.",
    "{who} <read> {his} letters.",
    "{who} <visit> {his} friends in {town}.",
)


def choices(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[ChoiceExample]:
    """Yield beginnings with four continuations; person and story are a combination of the split."""
    for name, w in worlds("choices", seed, count, split):
        story = w.rng.choice(stories())
        hero, row = w.pair(people(), story.rows)
        slots = _slots(w) | called(hero, "who")
        opening = w.teller.tell(w.rng.choice(OPENINGS), slots).text
        begin = _tell(w, w.rng.choice(story.begins).replace("{who} ", "{he} "), row, slots)
        right, *wrong = _ways(w, story, row, slots)
        ways = w.rng.sample([right, *wrong], 4)
        yield ChoiceExample(name, f"{opening} {begin}", tuple(ways), ways.index(right))


def _ways(w: World, story: ChoiceStory, row: Row, slots: dict[str, str]) -> list[str]:
    """Write four different continuations, the right one first."""
    pattern = w.rng.choice(story.goes_on)
    ways: dict[str, Row] = {}
    for other in (row, *w.rng.sample(story.rows, len(story.rows))):
        of_hero = (row[0], *other[1:])  # the story stays what it is about
        ways.setdefault(_tell(w, pattern, of_hero, slots), of_hero)
    if w.rng.random() < 0.5:
        return list(ways)[:4]
    gender = "man" if slots["he"] == "she" else "woman"
    elsewhere = slots | {key: PRONOUNS[gender][key] for key in ("he", "him", "his")}
    return [_tell(w, pattern, each, who) for who in (slots, elsewhere) for each in list(ways.values())[:2]]


def _slots(w: World) -> dict[str, str]:
    goal = w.choice("places", "towns").title()
    return w.slots | {"goal": goal, "colour": w.choice("shops", "colours"), "price": w.choice("shops", "prices")}


def _tell(w: World, pattern: str, row: Row, slots: dict[str, str]) -> str:
    """Fill the pattern with this row's columns; a verb column takes the tense of the author."""
    for number, column in enumerate(row):
        pattern = pattern.replace(f"<c{number}>", f"<{column}>")
    return w.teller.tell(pattern, slots | {f"c{number}": column for number, column in enumerate(row)}).text
