"""The links of the chapters open the explorer at what they speak of."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from pages import boxes, one_of_each, opened

from app.explore import FIRST
from bertlab.course.solutions.config import Config
from bertlab.course.solutions.one_sentence import BertForSequenceClassification
from bertlab.course.solutions.pretraining import BertForPreTraining
from bertlab.course.solutions.tokenizer import Tokenizer
from bertlab.course.solutions.training import save
from bertlab.io.locate import locate

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def links() -> list[tuple[str, dict[str, str]]]:
    """Page and choices of one link of each kind."""
    found = set()
    for path in NOTEBOOKS.glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                found.update(re.findall(r"\(http://localhost:8501/([^\s)]*)\)", "".join(cell["source"])))
    return one_of_each((urlsplit(link).path, dict(parse_qsl(urlsplit(link).query))) for link in sorted(found))


@pytest.fixture
def readers_models(tmp_path) -> dict[str, str]:
    """The folders that chapters 08 and 09 write, by their names in links."""
    tok = Tokenizer.from_file(locate("storyworld-tiny") / "vocab.txt")
    config = Config(vocab_size=tok.vocab_size)
    save(BertForPreTraining(config), tok, tmp_path / "my_bert_model")
    classifier = BertForSequenceClassification(config, 2)
    save(classifier, tok, tmp_path / "my_bert_sentiment", ["bad", "good"])
    return {f"notebooks/{path.name}": str(path) for path in tmp_path.iterdir()}


@pytest.mark.parametrize(("page", "asked"), links())
def test_a_link_of_a_chapter_opens_what_it_names(page, asked, readers_models):
    if "folder" in asked:
        asked = asked | {"folder": readers_models[asked["folder"]]}
    app = opened(page or FIRST, **asked)  # the first page has no name in its address
    assert not app.exception and not app.error, boxes(app)
    for key in asked.keys() & {"text", "pair", "film_pair", "next_text", "next_pair"}:
        assert app.session_state[key] == asked[key]
    for key, value in asked.items():
        if key.endswith(("_tab", "_view")):
            assert app.session_state[key] == value
