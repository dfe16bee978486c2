"""Every kind of file that is read, damaged in every way: one line that names it, soon and in little memory."""

import json
import os
import signal
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest

from bertlab import BertConfig, InputError, Tokenizer
from bertlab.corpora.documents import read_documents
from bertlab.corpora.labelled.conll import read_conll
from bertlab.corpora.labelled.records import read_records
from bertlab.corpora.labelled.squad import read_squad
from bertlab.corpora.labelled.tabular import ReadOptions, read_table, text_examples
from bertlab.course.marks import read_marks
from bertlab.evaluation.card_sections import add_sections
from bertlab.explain.runs import read_run
from bertlab.inputs.store import read_header
from bertlab.io.files import InMemory
from bertlab.io.stories import read_story
from bertlab.model.sentences import own_pooling
from bertlab.model.weights import read_index, read_tensors
from bertlab.search.units import paragraphs
from bertlab.training.engine.checkpoints import Checkpoints
from bertlab.training.recipes import PretrainRecipe
from bertlab.training.run_files import read_rows
from bertlab.training.run_folder import check_recipe

SECONDS = 20
LONG = 100_000_000  # characters of a line
JSON, OTHER = True, False

# name of the file -> (what reads it, whether it is JSON)
READERS: dict[str, tuple[Callable[[Path], object], bool]] = {
    "text.txt": (lambda path: list(read_documents(path)), OTHER),
    "text.md": (lambda path: list(paragraphs(path)), OTHER),
    "lines.txt": (lambda path: list(read_records(path)), OTHER),
    "table.csv": (lambda path: list(read_table(path)), OTHER),
    "table.tsv": (lambda path: list(read_table(path)), OTHER),
    "rows.jsonl": (lambda path: list(read_table(path)), JSON),
    "questions.json": (lambda path: list(read_squad(path)), JSON),
    "words.conll": (lambda path: list(read_conll(path)), OTHER),
    "metrics.csv": (read_rows, OTHER),
    "recipe.json": (lambda path: check_recipe(path.parent, PretrainRecipe()), JSON),
    "baselines.json": (lambda path: read_run(finished(path.parent)), JSON),
    "resume/state-0000001-0123456789abcdef.pt": (lambda path: Checkpoints(path.parent).newest(), OTHER),
    "config.json": (BertConfig.from_file, JSON),
    "vocab.txt": (lambda path: Tokenizer.from_pretrained(path.parent), OTHER),
    "tokenizer.json": (lambda path: Tokenizer.from_pretrained(path.parent), JSON),
    "modules.json": (lambda path: own_pooling(path.parent), JSON),
    "model.safetensors.index.json": (read_index, JSON),
    "model.safetensors": (read_tensors, OTHER),
    "store.json": (lambda path: read_header(path.parent), JSON),
    "story.toml": (lambda path: read_story(path, [""]), OTHER),
    "01_chapter.ipynb": (lambda path: read_marks(path.parent), JSON),
    "card.md": (lambda path: add_sections(path.parent, path), OTHER),
}


def finished(folder: Path) -> str:
    (folder / "recipe.json").write_text("{}")
    (folder / "metrics.csv").write_text("step,loss\n1,2\n")
    return str(folder)


def long_line(path: Path) -> None:
    """A second line of zeros that takes no room on the disk."""
    path.write_text("text,label\n")
    os.truncate(path, LONG)
    with path.open("ab") as file:
        file.write(b"\n")


KINDS = {
    "a named pipe": os.mkfifo,
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
    "a line of 100 MB": long_line,
}
JSON_KINDS = {
    "nested": "[" * 200_000,
    "nested objects": '{"data":' * 200_000,
    "a number of 5,000 digits": '{"data": [], "v": ' + "9" * 5000 + "}",
    "half of a surrogate pair": '{"text": "a", "data": [], "id": "\\ud800"}',
    "half in a list": '{"text": "a", "data": ["\\udfff"]}',
    "a name twice": '{"text": "a", "text": "b", "data": []}',
    "cut": '{"data": [',
    "zeros": "\0" * 100,
}
BROKEN = [(name, kind) for name, (_, is_json) in READERS.items() for kind in (*KINDS, *(JSON_KINDS if is_json else ()))]


@contextmanager
def soon():
    """A reader that hangs is broken off."""

    def hang(*_):
        raise TimeoutError("did not end")

    before = signal.signal(signal.SIGALRM, hang)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("name", "kind"), BROKEN, ids=[" ".join(pair) for pair in BROKEN])
def test_one_line_names_the_file(name, kind, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if kind in KINDS:
        KINDS[kind](path)
    else:
        path.write_text(JSON_KINDS[kind])
    with soon(), pytest.raises(InputError) as caught:
        READERS[name][0](path)
    message = str(caught.value)
    assert message.isprintable() and len(message) <= 600, message
    assert (path.parent if "state" in name else path).name in message, message


@pytest.mark.parametrize("content", [*JSON_KINDS.values(), '{"text": "\\ud800"}', "x" * 2_000_000])
def test_an_upload_is_read_through_the_same_gate(content):
    path = InMemory("upload.jsonl")
    path.content = content.encode()
    with soon(), pytest.raises(InputError, match=r"upload\.jsonl, line 1"):
        list(text_examples(read_records(path), "upload.jsonl", ReadOptions(labelled=False)))


def test_a_text_longer_than_any_document_is_named(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"text": "a " * 600_000}) + "\n")
    with pytest.raises(InputError, match=r"line 1: 'text' holds 1,200,000 characters"):
        list(read_table(path, labelled=False))
    path = tmp_path / "cells.csv"
    path.write_text("text,label\n" + "a " * 600_000 + ",b\n")
    with pytest.raises(InputError, match=r"cells\.csv, line 2: .*field larger than field limit"):
        list(read_table(path))


def test_documents_of_hundreds_of_kilobytes_are_read(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text('comment,kind\n"' + "a, " * 200_000 + '",b\n')
    (example,) = read_table(path, text_column="comment", label_column="kind")
    assert len(example.text) == 600_000


def test_a_sentence_without_an_end_is_named(tmp_path):
    path = tmp_path / "words.conll"
    path.write_text("word O\n" * 100_001)
    with pytest.raises(InputError, match=r"words\.conll, line 1: more than 100,000 lines without a blank one"):
        list(read_conll(path))


def piped(content: bytes) -> Path:
    """What <(command) in a shell is to this process: a pipe that it has open already."""
    reading, writing = os.pipe()
    if not os.fork():
        with open(writing, "wb") as file:
            file.write(content)
        os._exit(0)
    os.close(writing)
    return Path(f"/dev/fd/{reading}")


def test_a_pipe_is_read_whole():
    lines = [f"line number {n} is a good soup" for n in range(3000)]
    records = list(read_records(piped("\n".join(lines).encode())))
    assert [record.values["text"] for record in records] == lines
    rows = list(read_table(piped(b"text,label\ngood soup,good\n")))
    assert [(row.text, row.label) for row in rows] == [("good soup", "good")]
    assert [e.words for e in read_conll(piped(b"a O\nb O\n\nc O\n"))] == [("a", "b"), ("c",)]
    questions = {"data": [{"paragraphs": [{"context": "a b", "qas": [{"id": 1, "question": "b?", "answers": []}]}]}]}
    assert [e.question for e in read_squad(piped(json.dumps(questions).encode()))] == ["b?"]


def test_a_pipe_of_another_encoding_is_advised_on():
    with pytest.raises(InputError, match=r"/dev/fd/\d+: not UTF-8 at byte 5; it looks like cp125"):
        list(read_records(piped("text\né la carte, déjà vu, naïve café\n".encode("cp1252") * 3)))


def test_a_pipe_that_brings_nothing_or_never_ends(monkeypatch):
    with pytest.raises(InputError, match="nothing came through this pipe"):
        list(read_records(piped(b"")))
    monkeypatch.setattr("bertlab.io.files.MOST_PIPED", 1000)
    with pytest.raises(InputError, match="more than 1,000 bytes through a pipe; save them as a file first"):
        list(read_records(piped(b"a soup\n" * 200)))
