"""How well a search answers questions whose answers are known."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bertlab.errors import InputError
from bertlab.io.files import read_text
from bertlab.search.ranking import Ranker, ranks
from bertlab.search.units import Unit


@dataclass(frozen=True)
class Question:
    """A question, and the names of all units that answer it."""

    text: str
    answers: frozenset[str]


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a TOML file: [[question]] with ask, a text, and answers, a list of names."""
    try:
        rows = tomllib.loads(read_text(path))["question"]
        return [Question(row["ask"], frozenset(row["answers"])) for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read as questions ({error})") from error


def answer_ranks(questions: Sequence[Question], units: Sequence[Unit], ranker: Ranker) -> list[int]:
    """Return the rank of the first answer to each question; one more than there are units if none is among them."""
    found = []
    for question in questions:
        answers = [number for number, unit in enumerate(units) if unit.name in question.answers]
        placed = ranks(ranker(question.text))
        found.append(int(min((placed[number] for number in answers), default=len(units) + 1)))
    return found
