"""Do two sentences mean the same? Their words alone do not show it. And: retell a sentence in other words.

Two authors state one thing, each in their own words; in half of the pairs the second has two things swapped: who gave
and who got, or which of two lamps is red. So the pairs of both labels share equally many words.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bertlab.corpora.examples import TextExample
from bertlab.corpora.storyworld.lexicon import table, words
from bertlab.corpora.storyworld.tasks.facts import called, others, people, worlds
from bertlab.corpora.storyworld.telling import Teller
from bertlab.corpora.storyworld.world import World

Slots = dict[str, str]


@dataclass(frozen=True)
class Frame:
    """Something that happens, and patterns that state it. `draw` returns its slots as they are and with two swapped."""

    draw: Callable[[World], tuple[Slots, Slots]]
    tellings: tuple[str, ...]


def _swapped(first: Slots, second: Slots, rest: Slots) -> tuple[Slots, Slots]:
    """Return slots as they are and swapped; those of the first end in 1, those of the second in 2."""
    ones, twos = ({f"{key}{n}": value for key, value in part.items()} for n, part in ((1, first), (2, second)))
    sones, stwos = ({f"{key}{n}": value for key, value in part.items()} for n, part in ((1, second), (2, first)))
    return ones | twos | rest, sones | stwos | rest


def two_people(w: World) -> tuple[Slots, Slots]:
    """Draw two people and an item, a place, a hobby: what one does to the other."""
    a, item = w.pair(people(), words("sentiment", "things"))
    b = w.rng.choice(others(a))
    rest = {"item": item, "place": w.place()[0].noun}
    rest["hobby"] = w.choice("sentiment", "hobbies")
    return _swapped(called(a, "a"), called(b, "a"), rest)


def two_jobs(w: World) -> tuple[Slots, Slots]:
    a, job = w.pair(people(), table("work", "jobs"))
    b, other = w.pair(others(a), [row for row in table("work", "jobs") if row[1] != job[1]])
    return _swapped({"job": job[0]}, {"job": other[0]}, called(a, "a") | called(b, "b"))


def two_pets(w: World) -> tuple[Slots, Slots]:
    a, pet = w.pair(people(), words("animals", "pets"))
    b, other = w.pair(others(a), [kind for kind in words("animals", "pets") if kind != pet])
    return _swapped({"pet": pet}, {"pet": other}, called(a, "a") | called(b, "b"))


def two_colours(w: World) -> tuple[Slots, Slots]:
    item, colour = w.pair(words("sentiment", "things"), words("shops", "colours"))
    second = [thing for thing in words("sentiment", "things") if thing != item]
    other, shade = w.pair(second, [c for c in words("shops", "colours") if c != colour])
    rest = called(w.hero, "a") | {"item1": item, "item2": other}
    return _swapped({"colour": colour}, {"colour": shade}, rest)


def two_to_blame(w: World) -> tuple[Slots, Slots]:
    agent, barrier = w.pair(words("because", "agents"), words("because", "barriers"))
    adjective = w.rng.choice(("busy", "dangerous", "muddy", "noisy"))  # either may be that
    return _swapped(
        {"blamed": agent}, {"blamed": barrier}, {"agent": agent, "barrier": barrier, "adjective": adjective}
    )


FRAMES = (
    Frame(two_people, ("{a1} <give> {a2} a {item}.", "{a2} <get> a {item} from {a1}.",
                       "{a1} <give> a {item} to {a2}.")),
    Frame(two_people, ("{a1} <lend> {a2} a {item}.", "{a2} <borrow> a {item} from {a1}.")),
    Frame(two_people, ("{a1} <sell> {a2} a {item}.", "{a2} <buy> a {item} from {a1}.")),
    Frame(two_people, ("{a1} <come> to the {place} after {a2}.", "{a2} <come> to the {place} before {a1}.")),
    Frame(two_people, ("{a1} <find> {a2} at the {place}.", "{a2} <be> found by {a1} at the {place}.")),
    Frame(two_people, ("{a1} <love> {hobby} and {a2} <hate> {hobby}.", "{a2} <hate> {hobby}, but {a1} <love> it.")),
    Frame(two_people, ("{a1} <help> {a2} at the {place}.", "{a2} <be> helped by {a1} at the {place}.")),
    Frame(two_people, ("{a1} <write> a message to {a2}.", "{a2} <get> a message from {a1}.")),
    Frame(two_jobs, ("{a} <be> a {job1} and {b} <be> a {job2}.", "{b} <work> as a {job2} and {a} as a {job1}.")),
    Frame(two_pets, ("{a} <have> a {pet1} and {b} <have> a {pet2}.", "{b} <own> a {pet2} and {a} a {pet1}.")),
    Frame(two_colours, ("{a} <buy> a {colour1} {item1} and a {colour2} {item2}.",
                        "{a} <buy> a {colour2} {item2} and a {colour1} {item1}.")),
    Frame(two_to_blame, ("The {agent} did not cross the {barrier} because the {blamed1} was too {adjective}.",
                         "The {blamed1} was too {adjective}, so the {agent} did not cross the {barrier}.")),
)  # fmt: skip


def matching(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[TextExample]:
    """Yield pairs labelled "1" (they mean the same) or "0"."""
    for name, w in worlds("matching", seed, count, split):
        label = w.rng.choice("01")
        frame = w.rng.choice(FRAMES)
        same, swapped = frame.draw(w)
        second = Teller(w.rng)
        second.tense = w.teller.tense
        one, other = w.rng.sample(frame.tellings, 2)
        slots = (same, same if label == "1" else swapped)
        text, pair = (
            teller.tell(pattern, filled).text
            for teller, pattern, filled in zip((w.teller, second), (one, other), slots, strict=True)
        )
        yield TextExample(name, text, pair, label)


def retelling(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[TextExample]:
    """Yield sentences and, as their `pair`, how they are to be retold: "Ann lent Tom a pen." "Tom borrowed a pen from
    Ann." Every sentence has one right retelling, by the same author."""
    for name, w in worlds("retelling", seed, count, split):
        frame = w.rng.choice(FRAMES)
        slots, _ = frame.draw(w)
        text, pair = (w.teller.tell(telling, slots).text for telling in frame.tellings[:2])
        yield TextExample(name, text, pair)
