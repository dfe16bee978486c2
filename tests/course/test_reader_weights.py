"""A reader who wrote every part and pretrained a BERT in chapter 08 goes through part two with it."""

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from bertlab.course.definitions import parse_cell
from bertlab.course.keep import FOLDER, solutions

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CHAPTERS = ("08_pretraining", "09_one_sentence", "10_two_sentences", "11_every_token", "12_where_the_answer_stands")
pytestmark = pytest.mark.nightly


def with_own_parts(path: Path) -> nbformat.NotebookNode:
    """A chapter whose parts of my_bert.py the reader wrote: the solutions, with a comment to tell them from those."""
    book = nbformat.read(path, 4)
    for cell in book.cells:
        if cell.source.startswith("%%keep\n") and "raise NotImplementedError" in cell.source:
            names = [part.name for part in parse_cell(cell.source.removeprefix("%%keep\n"))[1]]
            own = [f"{solutions()[name].rstrip()}  # my own\n" for name in names]
            cell.source = "%%keep\nfrom torch import nn\n\n\n" + "\n\n".join(own)
    return book


def failed(cell) -> bool:
    asked_for = "raises-exception" in cell.metadata.get("tags", ())
    return not asked_for and any(output.output_type == "error" for output in cell.get("outputs", ()))


def said(cell) -> str:
    return "".join(output.get("text", "") for output in cell.get("outputs", ()))


@pytest.mark.timeout(3600)
def test_part_two_runs_on_the_readers_own_code_and_weights(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    for name in CHAPTERS:
        book = with_own_parts(NOTEBOOKS / f"{name}.ipynb")
        NotebookClient(book, timeout=None, allow_errors=True, resources={"metadata": {"path": tmp_path}}).execute()
        code = [cell for cell in book.cells if cell.cell_type == "code"]
        assert [cell.source for cell in code if failed(cell)] == [], name
        assert any("Weights: your own BERT" in said(cell) for cell in code) == (name != CHAPTERS[0]), name
    weights = json.loads((tmp_path / "my_bert_model" / "config.json").read_text())
    assert weights["model_type"] == "bert" and "# yours" in (tmp_path / "my_bert.py").read_text()
