"""Who did the exercises has written a BERT: the parts that chapters keep, put together, give the library's logits."""

import json
from pathlib import Path

import pytest
import torch

from bertlab import BertForPreTraining, Tokenizer
from bertlab.course import load_matching
from bertlab.course.definitions import parse_cell
from bertlab.course.keep import load, solutions

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
GIVEN_WITH_THE_FILE = {"Config", "published", "save"}


def kept_cells() -> list[tuple[str, str]]:
    """Chapter and source of each cell that begins with %%keep, in order."""
    found = []
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        found += [(path.stem, source) for source in sources if source.startswith("%%keep\n")]
    return found


def parts(cell: str) -> dict[str, str]:
    """The classes and functions of a cell by name."""
    return {part.name: part.source for part in parse_cell(cell.removeprefix("%%keep\n"))[1]}


def test_every_part_of_the_file_is_written_in_one_chapter():
    names = [name for _, cell in kept_cells() for name in parts(cell)]
    assert len(names) == len(set(names))
    assert set(names) == solutions().keys() - GIVEN_WITH_THE_FILE


def test_what_a_chapter_gives_is_the_solution_word_for_word():
    given = [cell for _, cell in kept_cells() if "raise NotImplementedError" not in cell]
    assert given
    for cell in given:
        for name, source in parts(cell).items():
            assert source == solutions()[name], name


@pytest.mark.parametrize("name", ["storyworld-tiny", "english"])
@torch.no_grad()
def test_the_parts_together_give_the_librarys_logits(name, tmp_path, monkeypatch):
    monkeypatch.setenv("BERTLAB_MY_BERT", str(tmp_path))
    module, _ = load("BertForPreTraining")
    library = BertForPreTraining.trained(name, optional=("pooler", "nsp"))
    mine = module.BertForPreTraining(library.config).eval()
    assert load_matching(mine, library).complete
    rows = Tokenizer.from_pretrained(name)(["my dog is [MASK].", "the man went to the store."], ["he likes walks."] * 2)
    real = rows["attention_mask"].bool()
    words, pairs = mine.double()(**rows)  # in 32 bits the rounding of logits near 30 is larger than 1e-5
    right = library.double()(**rows)
    assert torch.allclose(words[real], right.prediction_logits[real], rtol=0, atol=1e-5)
    assert torch.allclose(pairs, right.seq_relationship_logits, rtol=0, atol=1e-5)
