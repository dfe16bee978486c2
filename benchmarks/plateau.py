"""What gets a small BERT off the plateau of word frequencies: the live recipe with one help taken away at a time.

    python benchmarks/plateau.py --steps 600 --seeds 0 1

Every row trains a BERT from random weights on the storyworld, with the same text, batches and number of steps, and
is measured on held-out combinations as `bertlab evaluate` does it. "faithful" starts as the paper starts its
large models. Prints a Markdown table; with more than one seed, every figure is a mean, the spread behind it.
"""

import argparse
from dataclasses import replace
from statistics import fmean

from tqdm import tqdm

from bertlab.evaluation.held_out import measure_pretraining
from bertlab.inputs.masking import Masking
from bertlab.training.engine.optim import Optimization
from bertlab.training.pretrain import pretrain
from bertlab.training.recipes import PRETRAIN

LIVE = PRETRAIN["storyworld-live"]
ADAMW = Optimization("adamw", learning_rate=1e-3)
VARIANTS = {
    "live recipe": LIVE,
    "without Muon (AdamW, 1e-3)": replace(LIVE, optim=ADAMW),
    "without matched queries and keys": replace(LIVE, attention_init="random"),
    "without sine positions": replace(LIVE, position_init="random"),
    "weights of std 0.02, not 0.05": replace(LIVE, initializer_range=0.02),
    "15% masked, not 30%": replace(LIVE, masking=Masking()),
    "faithful: none of these": replace(
        LIVE,
        optim=ADAMW,
        attention_init="random",
        position_init="random",
        initializer_range=0.02,
        masking=Masking(),
    ),
}
FIGURES = {"masked_loss": "loss", "masked_top1": "masked words right", "nsp_accuracy": "next sentence right"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=LIVE.steps)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    options = parser.parse_args()
    print(f"| {options.steps} steps | " + " | ".join(FIGURES.values()) + " |")
    print("|---" * (1 + len(FIGURES)) + "|")
    for name, recipe in VARIANTS.items():
        runs = [
            measure(replace(recipe, steps=options.steps, seed=seed)) for seed in tqdm(options.seeds, name, leave=False)
        ]
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


def cell(values: list[float]) -> str:
    spread = f" ±{(max(values) - min(values)) / 2:.2f}" if len(values) > 1 else ""
    return f"{fmean(values):.2f}{spread}"


if __name__ == "__main__":
    main()
