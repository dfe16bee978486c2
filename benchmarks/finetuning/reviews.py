"""Write the film reviews that the bundled model english-sentiment learns from, chooses by and is measured on.

    python benchmarks/finetuning/reviews.py --data FOLDER --out runs/reviews
    cd runs/reviews
    bertlab finetune sentence --train train.csv --dev dev.csv --test test.csv ...

Reviews of IMDB and sentences of MR, divided as in benchmarks/finetuning/learning_curve.py: 2,000 of each to measure
on. MR's stand three times in train.csv, or seven of eight rows would be IMDB's. The model's
card has the command in full.
"""

import argparse
import random
from collections.abc import Mapping
from pathlib import Path

from benchmarks.finetuning.learning_curve import READ, Labelled
from bertlab.corpora.examples import TextExample
from bertlab.corpora.storyworld.export import csv_text
from bertlab.io.atomic import atomic_write

CHOSEN_BY = 500  # of each set
OFTEN = {"imdb": 1, "mr": 3}  # a review of IMDB makes two rows and more, and there are three times as many
NAMES = {"neg": "negative", "pos": "positive"}


def write(path: Path, rows: Labelled) -> None:
    atomic_write(path, csv_text(TextExample("", text, None, NAMES[label]) for text, label in rows))


def write_reviews(data: Path, out: Path, often: Mapping[str, int] = OFTEN) -> None:
    """Write train.csv, where each set stands so `often`, dev.csv, test.csv, and the test set of each alone."""
    parts: dict[str, Labelled] = {"train": [], "dev": [], "test": []}
    for name, read in READ.items():
        known, test = read(data)
        parts["train"] += known[CHOSEN_BY:] * often[name]
        parts["dev"] += known[:CHOSEN_BY]
        parts["test"] += test
        write(out / f"test-{name}.csv", test)
    for part, rows in parts.items():
        write(out / f"{part}.csv", random.Random(0).sample(rows, len(rows)))
        print(f"{part}: {len(rows):,} reviews")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    write_reviews(options.data, options.out)


if __name__ == "__main__":
    main()
