"""Who the examples tell about, and where these people and their facts come from."""

from collections.abc import Iterator
from functools import cache

from ..documents import generators
from ..lexicon import words
from ..world import PRONOUNS, Person, World


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
