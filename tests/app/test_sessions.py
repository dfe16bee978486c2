"""Several readers at once on one server: each sees the answers to what they asked, and to nothing else."""

from io import StringIO
from urllib.parse import urlencode

import pandas as pd
import pytest

from bertlab import Tokenizer
from bertlab.draw.film_charts import word_table
from bertlab.explain.runs import read_run
from bertlab.explain.snapshots import followed_words, word_film

pytestmark = pytest.mark.browser
TEXTS = [f"my {animal} [MASK] the {place}." for animal in ("dog", "horse") for place in ("street", "baker")]


def expected(run: str, text: str) -> pd.DataFrame:
    """What this text alone gives, without a server."""
    film = list(word_film(read_run(run).moments, text))
    return word_table(film, followed_words(film), Tokenizer.from_pretrained(run))


def link(run: str, text: str) -> str:
    return "training?" + urlencode({"training_tab": "A gap fills", "run": run, "film_text": text})


def csv_of(tab) -> pd.DataFrame:
    tab.get_by_text("Table and downloads").click()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="CSV", exact=True).click()
    return pd.read_csv(StringIO(download.value.path().read_text()), keep_default_na=False)


def test_readers_at_once_get_their_own_answers(chromium, server, run_folder):
    run = str(run_folder)
    tabs = [chromium.new_context().new_page() for _ in TEXTS]
    try:
        for tab, text in zip(tabs, TEXTS, strict=True):  # none waits for another
            tab.goto(f"{server}/{link(run, text)}", wait_until="commit")
        for tab, text in zip(tabs, TEXTS, strict=True):
            tab.get_by_text("Table and downloads").wait_for(timeout=60_000)
            assert tab.get_by_label("Your text").input_value() == text
            pd.testing.assert_frame_equal(csv_of(tab), expected(run, text), rtol=1e-4)
            assert tab.locator("[data-testid=stAlertContentError]").count() == 0
    finally:
        for tab in tabs:
            tab.context.close()
