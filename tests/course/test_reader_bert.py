"""Who did the exercises has written a BERT: the classes of the chapters, put together, give the library's scores."""

import ast
import json
import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bertlab import BertForPreTraining, Tokenizer
from bertlab.course import load_matching

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PIECES = {
    "03_input_embeddings": ["Embeddings"],
    "04_attention": ["split_heads", "merge_heads", "MultiHeadAttention"],
    "05_encoder": ["FeedForward", "Layer", "Encoder", "Pooler", "MyBert"],
    "06_masked_language_model": ["MyMaskedLMHead"],
    "07_next_sentence": ["MyBertForPreTraining"],
}


class WithoutSuffix(ast.NodeTransformer):
    """What a solution is called, under the name that the exercise gives it."""

    def visit_Name(self, node):
        node.id = node.id.removesuffix("_solution")
        return node


def pieces(chapter: str) -> list[ast.stmt]:
    """Classes and functions of a chapter by the names in PIECES: its solutions, or what it shows."""
    notebook = json.loads((NOTEBOOKS / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    stubs = [cell for cell in cells if "raises-exception" in cell["metadata"].get("tags", [])]
    sources = ("".join(cell["source"]) for cell in cells if cell not in stubs)
    found = {}
    for node in (node for source in sources if "%" not in source[:1] for node in ast.parse(source).body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            node.name = node.name.removesuffix("_solution")
            found[node.name] = WithoutSuffix().visit(node)
    return [found[name] for name in PIECES[chapter]]


@pytest.fixture(scope="module")
def readers_bert():
    names = {"math": math, "torch": torch, "nn": nn, "F": F}
    for chapter in PIECES:
        exec(compile(ast.Module(pieces(chapter), []), chapter, "exec"), names)
    return names["MyBertForPreTraining"]


@pytest.mark.parametrize("name", ["storyworld-tiny", "english-mini"])
@torch.no_grad()
def test_the_pieces_of_all_chapters_give_the_librarys_scores(readers_bert, name):
    library = BertForPreTraining.from_pretrained(name)
    mine = readers_bert(library.config).eval()
    assert load_matching(mine, library).complete
    rows = Tokenizer.from_pretrained(name)(["my dog is [MASK].", "the man went to the store."], ["he likes walks."] * 2)
    real = rows["attention_mask"].bool()
    words, pairs = mine.double()(**rows)  # in 32 bits the rounding of scores near 30 is larger than 1e-5
    right = library.double()(**rows)
    assert torch.allclose(words[real], right.prediction_logits[real], rtol=0, atol=1e-5)
    assert torch.allclose(pairs, right.seq_relationship_logits, rtol=0, atol=1e-5)
