"""What gets a small BERT off the plateau of word frequencies: the live recipe with one help taken away at a time.

    python benchmarks/pretraining/plateau.py --steps 600 --seeds 0 1
    python benchmarks/pretraining/plateau.py --steps 4000 --curves data/plateau.csv

The second command goes the other way: "faithful" with one help added at a time, and its losses on the way, which
chapter 08 draws. Texts have 64 tokens there, and a row is a mean over 100 steps. Called again, it goes on with the
trainings that the file lacks, and prints at which step each passed its baselines.

In the first, every row trains a BERT from random weights on the storyworld, with the same text, batches and number of
steps, and is measured on held-out combinations as `bertlab evaluate` does it. "faithful" starts as the paper starts its
large models. Prints a Markdown table; with more than one seed, every figure is a mean, the spread behind it.
"""

import argparse
import csv
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from tqdm import tqdm

from bertlab.corpora.storyworld import documents
from bertlab.evaluation.baselines import NeighbourBaselines, masked_baselines
from bertlab.evaluation.held_out import measure_pretraining
from bertlab.inputs.masking import Masking
from bertlab.io.atomic import atomic_write
from bertlab.training.batches import token_ids
from bertlab.training.engine.optim import Optimization
from bertlab.training.pretrain import learn_vocabulary, pretrain
from bertlab.training.recipes import PRETRAIN

LIVE = replace(PRETRAIN["storyworld-live"], batch_size=32, short_share=0.0, steps=1400)  # all texts of full length
ADAMW = Optimization("adamw", learning_rate=1e-3)
FAITHFUL = replace(
    LIVE, optim=ADAMW, attention_init="random", position_init="random", initializer_range=0.02, masking=Masking.PAPER
)
VARIANTS = {
    "live recipe": LIVE,
    "without Muon (AdamW, 1e-3)": replace(LIVE, optim=ADAMW),
    "without matched queries and keys": replace(LIVE, attention_init="random"),
    "without sine positions": replace(LIVE, position_init="random"),
    "weights of std 0.02, not 0.05": replace(LIVE, initializer_range=0.02),
    "15% masked, not 30%": replace(LIVE, masking=Masking.PAPER),
    "faithful: none of these": FAITHFUL,
}
SHORT = replace(FAITHFUL, max_tokens=64)
ADDED = {
    "faithful": SHORT,
    "with sine positions": replace(SHORT, position_init="sinusoid"),
    "with matched queries and keys": replace(SHORT, attention_init="matched"),
    "with weights of std 0.05": replace(SHORT, initializer_range=LIVE.initializer_range),
    "with Muon": replace(SHORT, optim=LIVE.optim),
}
EVERY = 100  # steps in a row of the curves
COLUMNS = ("training", "step", "mlm_loss", "masked_accuracy", "nsp_accuracy")
FIGURES = {"masked_loss": "loss", "masked_top1": "masked words right", "nsp_accuracy": "next sentence right"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=LIVE.steps)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--curves", type=Path, metavar="FILE", help="write the curves to this CSV file instead")
    options = parser.parse_args()
    if options.curves:
        write_curves(options.curves, options.steps)
    else:
        print_table(options.steps, options.seeds)


def print_table(steps: int, seeds: list[int]) -> None:
    print(f"| {steps} steps | " + " | ".join(FIGURES.values()) + " |")
    print("|---" * (1 + len(FIGURES)) + "|")
    for name, recipe in VARIANTS.items():
        runs = [measure(replace(recipe, steps=steps, seed=seed)) for seed in tqdm(seeds, name, leave=False)]
        print(f"| {name} | " + " | ".join(cell([run[figure] for run in runs]) for figure in FIGURES) + " |", flush=True)
    run = runs[-1]
    print(
        "| *word frequency* | "
        + " | ".join(f"{run[key]:.2f}" for key in ("unigram_loss", "unigram_top1"))
        + " | 0.50 |"
    )
    print("| *two neighbours* | " + " | ".join(f"{run[key]:.2f}" for key in ("bigram_loss", "bigram_top1")) + " | |")


def measure(recipe) -> dict[str, float]:
    trained = pretrain(recipe, progress=False)
    return measure_pretraining(trained.model, trained.tokenizer)


def write_curves(path: Path, steps: int) -> None:
    rows = list(csv.DictReader(path.open(encoding="utf-8"))) if path.exists() else []
    there = {row["training"] for row in rows}
    for name in tqdm([name for name in ADDED if name not in there], disable=None):
        logged = pretrain(replace(ADDED[name], steps=steps), log_every=EVERY, progress=False).rows
        if logged[-1]["step"] < steps:  # it was stopped
            return
        rows += [{"training": name} | {key: f"{row[key]:.4g}" for key in COLUMNS[1:]} for row in logged]
        lines = [",".join(COLUMNS), *(",".join(str(row[key]) for key in COLUMNS) for row in rows)]
        atomic_write(path, "\n".join(lines) + "\n")
    print_steps(rows)


def print_steps(rows: list[dict[str, str]]) -> None:
    """Print at which step each training passed the baselines, counted on the same stories in rows as long."""
    texts = [story.sentences for story in documents(SHORT.seed, SHORT.documents)]
    tok = learn_vocabulary(texts, SHORT)
    counts = NeighbourBaselines(token_ids(texts, tok), tok.vocab_size, tok.all_special_ids)
    new = token_ids([story.sentences for story in documents(1, 100, split="test")], tok)
    _, frequency, neighbours = masked_baselines(new, tok, counts, max_tokens=SHORT.max_tokens, pairs=150)
    levels = f"past word frequency ({frequency.loss:.2f}) | past two neighbours ({neighbours.loss:.2f})"
    print(f"| | {levels} | next sentence above 0.6 |")
    print("|---|---|---|---|")
    for name in ADDED:
        own = [{key: float(row[key]) for key in COLUMNS[1:]} for row in rows if row["training"] == name]
        passed = (
            [row["step"] for row in own if row["mlm_loss"] < frequency.loss],
            [row["step"] for row in own if row["mlm_loss"] < neighbours.loss],
            [row["step"] for row in own if row["nsp_accuracy"] > 0.6],
        )
        print(f"| {name} | " + " | ".join(f"{steps[0]:,.0f}" if steps else "never" for steps in passed) + " |")


def cell(values: list[float]) -> str:
    spread = f" ±{(max(values) - min(values)) / 2:.2f}" if len(values) > 1 else ""
    return f"{fmean(values):.2f}{spread}"


if __name__ == "__main__":
    main()
