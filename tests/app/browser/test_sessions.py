"""Several readers at once on one server: each sees the answers to what they asked, and to nothing else."""

from io import StringIO
from urllib.parse import urlencode

import pandas as pd
import pytest
from browsing import open_it, settle, unharmed

from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.charts.film import word_table
from bertlab.draw.charts.masking import sweep_table
from bertlab.explain.runs import read_run
from bertlab.explain.snapshots import followed_words, word_film
from bertlab.explain.words.surprisal import sweep
from tests.conftest import open_tab

pytestmark = pytest.mark.browser
TEXTS = [f"my {animal} [MASK] the {place}." for animal in ("dog", "horse") for place in ("street", "baker")]


def film(run: str, text: str) -> tuple[str, pd.DataFrame]:
    """A link, and what it should show: this one from the page Training."""
    moments = list(word_film(read_run(run).moments, text))
    link = "training?" + urlencode({"training_tab": "A gap fills", "run": run, "text": text})
    return link, word_table(moments, followed_words(moments), Tokenizer.from_pretrained(run))


def surprisals(run: str, text: str) -> tuple[str, pd.DataFrame]:
    model, tok = BertForPreTraining.from_pretrained(run), Tokenizer.from_pretrained(run)
    link = "?" + urlencode({"play_view": "Whole text", "folder": run, "text": text})
    return link, sweep_table(list(sweep(model, tok, text)))


def csv_of(tab) -> pd.DataFrame:
    tab.get_by_role("button", name="Data and code").last.click()  # of the view on request
    with tab.expect_download() as download:
        tab.get_by_role("button", name="CSV", exact=True).click()
    return pd.read_csv(StringIO(download.value.path().read_text()), keep_default_na=False)


@pytest.mark.parametrize("texts", [TEXTS[1:3], pytest.param(TEXTS, marks=pytest.mark.nightly)], ids=["four", "eight"])
def test_readers_at_once_get_their_own_answers(texts, reader, server, run_folder):
    asked = [view(str(run_folder), text) for text in texts for view in (film, surprisals)]
    tabs = [open_tab(reader) for _ in asked]  # a session each
    for tab, (link, _) in zip(tabs, asked, strict=True):  # none waits for another
        tab.goto(f"{server}/{link}", wait_until="commit")
    for tab in tabs:
        open_it(tab)
    for tab, (_, expected) in zip(tabs, asked, strict=True):
        settle(tab)
        pd.testing.assert_frame_equal(csv_of(tab), expected, rtol=1e-4)
        unharmed(tab)
        tab.close()
