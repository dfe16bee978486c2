"""Forty sentences on films, written for bertlab, each positive or negative: something to show on real English."""

from bertlab.corpora.examples import TextExample
from bertlab.corpora.tabular import read_table
from bertlab.io.locate import data_folder


def film_reviews() -> list[TextExample]:
    """Return the sentences, labelled "positive" or "negative"; half of them are positive."""
    return list(read_table(data_folder() / "film_reviews.csv"))
