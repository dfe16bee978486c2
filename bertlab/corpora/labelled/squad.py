"""Question answering in the format of SQuAD 1.1 and 2.0 (arXiv 1606.05250, 1806.03822), read and written."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple

from bertlab.corpora.examples import QAExample
from bertlab.corpora.reading import Skipped, check_text, is_blank, read_json_text, usable
from bertlab.errors import InputError
from bertlab.io.json_files import parse_json


class SquadEntry(NamedTuple):
    """One question as the file has it, its passage, and where it stands, in words."""

    entry: dict
    context: object
    where: str


def read_squad(
    path: str | Path, *, labelled: bool = True, encoding: str = "utf-8", skipped: Skipped | None = None
) -> Iterator[QAExample]:
    """Yield the questions of a SQuAD 1.1 or 2.0 JSON file in file order, other right answers in `others`.

    With `labelled=False` answers are ignored and may be missing. InputError names the file, article, paragraph and
    question where something is wrong; with `skipped` such a question is left out and counted.
    """
    path = path if isinstance(path, Path) else Path(path)
    wanted = f'{path}: no SQuAD file (JSON with a list "data")'
    content = parse_json(read_json_text(path, encoding), wanted)
    if not isinstance(content, dict) or "data" not in content:
        raise InputError(wanted)
    yield from qa_examples(_questions(path, content["data"]), labelled, skipped)


def _questions(path: Path, articles: list) -> Iterator[SquadEntry]:
    for a, article in enumerate(_field({"data": articles}, "data", list, str(path)), start=1):
        for p, paragraph in enumerate(_field(article, "paragraphs", list, f"{path}: article {a}"), start=1):
            where = f"{path}: article {a}, paragraph {p}"
            context = _field(paragraph, "context", str, where)
            for q, entry in enumerate(_field(paragraph, "qas", list, where), start=1):
                yield SquadEntry(entry, context, f"{where}, question {q}")


def qa_examples(questions: Iterable[SquadEntry], labelled: bool, skipped: Skipped | None) -> Iterator[QAExample]:
    """Yield checked examples. An id may occur only once, because predictions are stored by it."""
    if skipped is not None and skipped.unwanted:
        raise InputError("--skip-label: questions have answers and no labels; leave it out")
    seen: set[str] = set()

    def read(question: SquadEntry) -> QAExample:
        example = _example(*question, labelled)
        if example.id in seen:
            raise InputError(
                f"{question.where}: the id {example.id} is that of an earlier question; each needs its own"
            )
        seen.add(example.id)
        return example

    return usable(questions, read, skipped)


def _example(entry: dict, context: object, where: str, labelled: bool) -> QAExample:
    identity = str(_field(entry, "id", str | int, where))
    where = f"{where} (id {identity})"
    context = check_text(context, f'{where}: "context"')
    question = check_text(_field(entry, "question", str, where), f'{where}: "question"')
    if not labelled or _is_impossible(entry, where):
        return QAExample(identity, question, context, "", -1)
    first, *others = (_field(answer, "text", str, where) for answer in entry["answers"])
    start = _field(entry["answers"][0], "answer_start", int, where)
    if first and is_blank(first):
        raise InputError(f"{where}: the answer {ascii(first):.80} holds nothing that shows")
    if not first or start < 0 or not context.startswith(first, start):
        found = context.find(first) if first else -1
        hint = f" (it stands at {found})" if found >= 0 else ""
        raise InputError(f"{where}: the answer {first!r:.80} is not at character {start} of its context{hint}")
    also_right = tuple(text for text in dict.fromkeys(others) if text != first and not is_blank(text))
    return QAExample(identity, question, context, first, start, others=also_right)


def _is_impossible(entry: dict, where: str) -> bool:
    """Return whether the question has no answer: it says so, or, as on the hub, just has none."""
    said = _field({"is_impossible": False} | entry, "is_impossible", bool, where)
    if said and any(not is_blank(_field(answer, "text", str, where)) for answer in entry.get("answers") or []):
        raise InputError(f'{where}: "is_impossible" is true, but "answers" holds one; leave one of the two out')
    if said or _field(entry, "answers", list, where):
        return said
    if "is_impossible" in entry:
        raise InputError(f'{where}: "is_impossible" is false, but "answers" holds none')
    return True


def squad_text(examples: Iterable[QAExample], title: str) -> str:
    """Return the questions as SQuAD 2.0 JSON, each with a paragraph of its own."""
    paragraphs = []
    for example in examples:
        answers = [] if example.is_impossible else [{"text": example.answer, "answer_start": example.answer_start}]
        entry = {"id": example.id, "question": example.question, "answers": answers}
        paragraphs.append({"context": example.context, "qas": [entry | {"is_impossible": example.is_impossible}]})
    data = {"title": title, "paragraphs": paragraphs}
    return json.dumps({"version": "v2.0", "data": [data]}, ensure_ascii=False, indent=1) + "\n"


def _field(entry: object, name: str, kind: type | UnionType, where: str) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):  # true is no 1
        raise InputError(f'{where}: "{name}" is missing or of the wrong type')
    return value
