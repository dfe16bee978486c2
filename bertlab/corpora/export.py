"""Storyworld text and questions as files in the field's formats."""

import json
from pathlib import Path

from bertlab.corpora import storyworld
from bertlab.errors import InputError
from bertlab.files_io import atomic_write


def write_storyworld(kind: str, out: Path, count: int, seed: int, split: str) -> Path:
    """Write `count` documents (plain text, a blank line between two) or questions (SQuAD 2.0 JSON)."""
    if count < 1:
        raise InputError(f"--count {count}: write at least one")
    out = Path(out)
    if kind == "documents":
        path = out if out.suffix else out.with_suffix(".txt")
        texts = (document.text for document in storyworld.documents(seed, count, split))
        atomic_write(path, "\n\n".join(texts) + "\n")
        return path
    path = out if out.suffix else out.with_suffix(".json")
    paragraphs = [_paragraph(example) for example in storyworld.questions(seed, count, split)]
    data = {"version": "v2.0", "data": [{"title": "storyworld", "paragraphs": paragraphs}]}
    atomic_write(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    return path


def _paragraph(example) -> dict:
    answers = [] if example.is_impossible else [{"text": example.answer, "answer_start": example.answer_start}]
    entry = {"id": example.id, "question": example.question, "answers": answers}
    return {"context": example.context, "qas": [entry | {"is_impossible": example.is_impossible}]}
