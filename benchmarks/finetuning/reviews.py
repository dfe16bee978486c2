"""Write the film reviews that the bundled model english-sentiment learns from, chooses by and is measured on.

    python benchmarks/finetuning/reviews.py --data FOLDER --out runs/reviews
    cd runs/reviews
    bertlab finetune sentence --train train.csv --dev dev.csv --test test.csv ...

Reviews of IMDB and sentences of MR, divided as in benchmarks/finetuning/learning_curve.py: 2,000 of each to measure
on. MR's stand three times in train.csv, or seven of eight rows would be IMDB's. The model's card has both
commands in full: the second goes on from what the first made.
"""

import argparse
import csv
import io
import random
from pathlib import Path

from benchmarks.finetuning.learning_curve import READ, Labelled
from bertlab.io.atomic import atomic_write

CHOSEN_BY = 500  # of each set
OFTEN = {"imdb": 1, "mr": 3}  # a review of IMDB makes two rows and more, and there are three times as many
NAMES = {"neg": "negative", "pos": "positive"}


def write(path: Path, rows: Labelled) -> None:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(
        [("text", "label"), *((text, NAMES[label]) for text, label in rows)]
    )
    atomic_write(path, file.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Labelled] = {"train": [], "dev": [], "test": []}
    for name, read in READ.items():
        known, test = read(options.data)
        parts["train"] += known[CHOSEN_BY:] * OFTEN[name]
        parts["dev"] += known[:CHOSEN_BY]
        parts["test"] += test
        write(options.out / f"test-{name}.csv", test)
    for part, rows in parts.items():
        write(options.out / f"{part}.csv", random.Random(0).sample(rows, len(rows)))
        print(f"{part}: {len(rows):,} reviews")


if __name__ == "__main__":
    main()
