"""What the reader of the chapter on tokens builds, with the official vocabularies on whole corpora."""

import ast
import json
import unicodedata
from functools import cache
from pathlib import Path

import pytest

from bertlab.tokenizer import Tokenizer

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not (SHARED / "bert_official").exists(), reason="vocabularies and corpora are not beside the clone (../shared/data)"
)


@cache
def built() -> dict:
    """The functions of the chapter, and its table of Chinese characters."""
    notebook = json.loads((ROOT / "notebooks" / "02_tokens.ipynb").read_text(encoding="utf-8"))
    sources = ("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    trees = (ast.parse(source) for source in sources if not source.startswith("%"))
    kept = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef) or _is_table(node)]
    names = {"unicodedata": unicodedata}
    exec(compile(ast.Module(kept, []), "02_tokens.ipynb", "exec"), names)
    return names


def _is_table(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AugAssign) and "CHINESE" in ast.unparse(node)


@needs_shared
@pytest.mark.parametrize(
    ("vocabulary", "corpus"),
    [("bert-base-uncased", "wikitext2/test.txt"), ("bert-base-chinese", "zh_cmrc2018/cmrc2018_trial.json")],
)
def test_official_vocabulary_token_for_token(vocabulary, corpus):
    if not (SHARED / corpus).exists():
        pytest.skip(f"{corpus} is not beside the clone")
    theirs = Tokenizer.from_pretrained(SHARED / "bert_official" / vocabulary)
    text = (SHARED / corpus).read_text(encoding="utf-8")
    words = sorted(set(text.split()))[:20_000]
    mine = [built()["my_tokenize"](word, theirs.vocab) for word in words]
    assert mine == [encoding.tokens for encoding in theirs.encodings(words)]
    assert len(words) > 1000 and sum(map(len, mine)) > len(words)
