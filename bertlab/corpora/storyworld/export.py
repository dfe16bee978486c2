"""Storyworld text and labelled examples as files in the field's formats."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bertlab.corpora import storyworld
from bertlab.corpora.examples import ChoiceExample, Document, QAExample, TextExample, TokenExample
from bertlab.corpora.labelled.squad import squad_text
from bertlab.io.atomic import atomic_write, with_ending


def write_storyworld(kind: str, out: Path, count: int, seed: int, split: str) -> Path:
    """Write `count` documents, questions or examples of a task, and return the file, with the ending of its format.
    InputError: `out` has that of another.

    documents: plain text, a blank line between two; questions, adversarial: SQuAD 2.0 JSON; sentiment, entailment,
    matching: CSV with columns text, (pair,) label; entities: CoNLL, word and label in two columns; choices: JSON lines.
    """
    endings, as_text = FORMATS[kind]
    path = with_ending(Path(out), *endings)
    atomic_write(path, as_text(getattr(storyworld, kind)(seed, count, split)))
    return path


def _plain(documents: Iterator[Document]) -> str:
    return "\n\n".join(document.text for document in documents) + "\n"


def _squad(questions: Iterator[QAExample]) -> str:
    return squad_text(questions, "storyworld")


def csv_text(examples: Iterable[TextExample]) -> str:
    """Return labelled texts as CSV with the columns text, label, or of pairs text, pair, label."""
    rows = [(e.text, e.label) if e.pair is None else (e.text, e.pair, e.label) for e in examples]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("text", "label") if len(rows[0]) == 2 else ("text", "pair", "label"))
    writer.writerows(rows)
    return file.getvalue()


def conll_text(examples: Iterable[TokenExample]) -> str:
    """Return sentences as CoNLL columns: a word and its label on a line, a blank line between two sentences."""
    sentences = (zip(example.words, example.labels or (), strict=True) for example in examples)
    return "\n".join("".join(f"{word}\t{label}\n" for word, label in sentence) for sentence in sentences)


def _json_lines(examples: Iterator[ChoiceExample]) -> str:
    rows: Iterable[dict] = ({"text": e.text, "choices": e.choices, "label": e.label} for e in examples)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


FORMATS: dict[str, tuple[tuple[str, ...], Callable[[Iterator], str]]] = {  # the endings, the usual one first
    "documents": ((".txt", ".md"), _plain),
    "questions": ((".json",), _squad),
    "adversarial": ((".json",), _squad),
    "sentiment": ((".csv",), csv_text),
    "entailment": ((".csv",), csv_text),
    "matching": ((".csv",), csv_text),
    "entities": ((".conll", ".txt", ".tsv"), conll_text),
    "choices": ((".jsonl",), _json_lines),
}
