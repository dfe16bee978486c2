"""Which settings fine-tune a small encoder best on few labels: optimizer, rate, layer decay, pooling, steps.

    python benchmarks/finetuning/settings.py --data FOLDER --model english

Film reviews (MR's sentences, IMDB's reviews of at most 256 tokens), 500 and 2,000 labels. Measured on 1,000 other texts
of the training sets, as the test sets are for what is chosen here. Prints a Markdown table; a figure is the mean of the
seeds.
"""

import argparse
import random
from pathlib import Path
from statistics import fmean

import torch

from benchmarks.finetuning.learning_curve import READ, tuned
from benchmarks.tables import head, line

LABELS = (500, 2000)
OTHERS = 1000  # texts to measure on
MEAN = "pooling=mean"
ADAMW = ("optim.optimizer=adamw", "optim.weight_decay=0.01", "optim.beta2=0.999", MEAN)
MUON = ("optim.optimizer=muon", MEAN)
SETTINGS = {
    "Muon 2e-3, [CLS]": ("optim.optimizer=muon", "optim.learning_rate=2e-3"),
    "Muon 2e-3, mean": (*MUON, "optim.learning_rate=2e-3"),
    "Muon 1e-3, mean": (*MUON, "optim.learning_rate=1e-3"),
    "Muon 5e-4, mean": (*MUON, "optim.learning_rate=5e-4"),
    "Muon 1e-3, mean, dropout 0.1": (*MUON, "optim.learning_rate=1e-3", "dropout=0.1"),
    "Muon 1e-3, mean, layer decay 0.7": (*MUON, "optim.learning_rate=1e-3", "optim.layer_decay=0.7"),
    "AdamW 2e-3, mean": (*ADAMW, "optim.learning_rate=2e-3"),
    "AdamW 1e-3, mean": (*ADAMW, "optim.learning_rate=1e-3"),
    "AdamW 5e-4, mean": (*ADAMW, "optim.learning_rate=5e-4"),
    "AdamW 3e-4, mean": (*ADAMW, "optim.learning_rate=3e-4"),
    "AdamW 1e-4, mean": (*ADAMW, "optim.learning_rate=1e-4"),
    "AdamW 1e-3, mean, layer decay 0.7": (*ADAMW, "optim.learning_rate=1e-3", "optim.layer_decay=0.7"),
    "AdamW 3e-4, mean, layer decay 0.7": (*ADAMW, "optim.learning_rate=3e-4", "optim.layer_decay=0.7"),
    "AdamW 3e-4, mean, dropout 0.1": (*ADAMW, "optim.learning_rate=3e-4", "dropout=0.1"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="english")
    parser.add_argument("--sets", nargs="+", choices=READ, default=list(READ))
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS), metavar="SETTING")
    parser.add_argument("--labels", nargs="+", type=int, default=LABELS)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    pools = {name: READ[name](options.data)[0] for name in options.sets}
    print(head(["", *(f"{name} {labels:,}" for name in pools for labels in options.labels)]))
    for name in options.settings:
        found = [reached(options, pool, labels, name) for pool in pools.values() for labels in options.labels]
        print(line([name, *(f"{accuracy:.3f}" for accuracy in found)]), flush=True)


def reached(options: argparse.Namespace, pool: list, labels: int, setting: str) -> float:
    """Return the mean accuracy over the seeds, each with other labelled texts."""
    accuracies = []
    for seed in range(options.seeds):
        drawn = random.Random(seed).sample(pool, labels + OTHERS)
        texts = drawn[:labels], drawn[labels:]
        accuracies.append(tuned(options.model, *texts, seed, changes=SETTINGS[setting]))
    return fmean(accuracies)


if __name__ == "__main__":
    main()
