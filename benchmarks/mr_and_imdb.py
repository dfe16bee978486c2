"""Film reviews with their labels, MR's sentences and IMDB's reviews, as the benchmarks of fine-tuning read them."""

import csv
import random
from pathlib import Path

from bertlab.corpora.english.archives import read_members
from bertlab.corpora.english.large import REVIEWS
from bertlab.corpora.examples import TextExample

TESTS = 2000
Labelled = list[tuple[str, str]]  # text, neg or pos


def read_mr(data: Path) -> tuple[Labelled, Labelled]:
    """Return (to learn from, to test on) of MR, shuffled."""
    rows = []
    for label in ("neg", "pos"):
        lines = (data / "sentence_polarity" / f"rt-polarity.{label}").read_text(encoding="utf-8").splitlines()
        rows += [(line.strip(), label) for line in lines]
    random.Random(0).shuffle(rows)
    return rows[TESTS:], rows[:TESTS]


def read_imdb(data: Path) -> tuple[Labelled, Labelled]:
    """Return (reviews of the training set, some of the test set), shuffled."""
    parts: dict[str, Labelled] = {}
    for member in read_members(data, REVIEWS):
        if member.path.endswith(".csv"):
            rows = [(row["text"], row["label"]) for row in csv.DictReader(member.lines())]
            parts[member.path] = random.Random(0).sample(rows, len(rows))
    return parts["train.csv"], parts["test.csv"][:TESTS]


READ = {"mr": read_mr, "imdb": read_imdb}


def examples(rows: Labelled) -> list[TextExample]:
    return [TextExample(str(number), text, None, label) for number, (text, label) in enumerate(rows)]
