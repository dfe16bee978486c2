"""Pilots for the pretraining of real English: variants of one recipe, each for an equal time on quiet cores.

    python benchmarks/pretraining/pilots.py steps   --data FOLDER --out pilots            # how many steps fit the time
    python benchmarks/pretraining/pilots.py train   --data FOLDER --out pilots mini-8k    # again: goes on
    python benchmarks/pretraining/pilots.py measure --data FOLDER --out pilots            # the table of all trained

The time is 40 minutes of one core a variant (20 of two), given as steps: `steps` measures the processor's time for a
step on one thread, in which other work on the machine hardly takes part, and writes steps.json.

Measured on held-out text: masked words of the four genres, and their mean. "averaged" is that mean for the mean of the
weights of the last two snapshots and the end.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

import numpy as np
import torch

from bertlab.cli.shared.settings import with_settings
from bertlab.corpora.english import GENRES, read_english
from bertlab.evaluation.measures import evaluate_pretraining
from bertlab.inputs.english_store import english_store
from bertlab.inputs.store import TokenStore
from bertlab.io.atomic import atomic_write
from bertlab.model import BertForPreTraining
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import token_ids
from bertlab.training.pretrain import pretrain
from bertlab.training.recipes import PRETRAIN, PretrainRecipe
from bertlab.training.run_settings import PretrainSettings

CORE_SECONDS = 40 * 60
BASE = ("batch_size=32", "optim.learning_rate=3e-3")  # of all variants, half as much as in the recipe "english-scratch"
VARIANTS = {  # settings as on the command line; what is not named is that of the recipe, or of BASE
    "mini-8k": (),
    "6x384-16k": ("num_hidden_layers=6", "hidden_size=384", "num_attention_heads=6", "vocab_size=16000"),
    "mini-16k": ("vocab_size=16000",),
    "mini-40to15": ("masking.rate=0.4", "masking.final_rate=0.15"),
    "6x384-8k": ("num_hidden_layers=6", "hidden_size=384", "num_attention_heads=6"),
    "6x256-8k": ("num_hidden_layers=6",),
    "mini-64first": ("phases=0.7,64",),
    "mini-15": ("masking.rate=0.15",),
    "mini-batch128": ("batch_size=128", "optim.learning_rate=5e-3"),
    "mini-next": ("second_task=next", "single_share=0.1"),
    "mini-lr6e-3": ("optim.learning_rate=6e-3",),
    "mini-adamw": ("optim.optimizer=adamw", "optim.learning_rate=2e-3"),
    "4x512-16k": ("hidden_size=512", "num_attention_heads=8", "vocab_size=16000"),
    "mini-8k-seed1": ("seed=1",),
}
FIRST_VARIANT = next(iter(VARIANTS))
LAST = (0.9, 0.95)  # snapshots at these shares of the steps, and the end, are averaged
PRECISION = "bfloat16"  # float32 takes 1.7 to 2.1 times as long on the processor with AMX that they ran on
ROUNDS, FIRST, TIMED = 3, 3, 6  # times that a variant is timed; steps before the timed ones, and these
FIGURES = {"masked_top1": "mean", "averaged": "averaged"} | {f"masked_top1:{genre}": genre for genre in GENRES}


def recipe_of(name: str, steps: int) -> PretrainRecipe:
    recipe = with_settings(PRETRAIN["english-scratch"], (*BASE, *VARIANTS[name]))
    snapshots = tuple(round(share * steps) for share in LAST)
    return replace(recipe, name=name, steps=steps, snapshot_steps=snapshots)


def store_of(recipe: PretrainRecipe, data: Path, out: Path) -> TokenStore:
    return english_store(data, out.parent / f"english-{recipe.vocab_size // 1000}k", recipe.vocab_size)


def core_seconds(recipe: PretrainRecipe, store: TokenStore) -> float:
    """Return the seconds of one core that a step takes, the mean over the phases of the recipe."""
    shares = [*recipe.phases, (1 - sum(share for share, _ in recipe.phases), recipe.max_tokens)]
    lengths = [(share, replace(recipe, phases=(), max_tokens=tokens)) for share, tokens in shares]
    return sum(share * _core_seconds(of_length, store) for share, of_length in lengths)


def _core_seconds(recipe: PretrainRecipe, store: TokenStore) -> float:
    times: list[float] = []
    recipe = replace(recipe, steps=FIRST + TIMED, snapshot_steps=())
    settings = PretrainSettings(precision=PRECISION)
    on_log = lambda row: times.append(time.process_time())  # noqa: E731
    pretrain(recipe, store, settings=settings, on_log=on_log, log_every=1, progress=False)
    return float(np.quantile(np.diff(times[FIRST - 1 :]), 0.25))


def count_steps(names: Sequence[str], data: Path, out: Path) -> None:
    """Write to steps.json how many steps each variant may train for.

    The first variant comes first, on a quiet machine; the others are timed by turns with it: only their ratio counts.
    """
    torch.set_num_threads(1)
    path = out / "steps.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for name in [name for name in names if name not in found]:
        pair = [recipe_of(one, 1000) for one in (FIRST_VARIANT, name)]
        stores = [store_of(recipe, data, out) for recipe in pair]
        turns = [[core_seconds(*one) for one in zip(pair, stores, strict=True)] for _ in range(ROUNDS)]
        first, this = (median(times) for times in zip(*turns, strict=True))
        seconds = this if name == FIRST_VARIANT else this / first * found[FIRST_VARIANT]["seconds"]
        found[name] = {"steps": round(CORE_SECONDS / seconds), "seconds": seconds, "turns": turns}
        atomic_write(path, json.dumps(found, indent=2) + "\n")
        print(f"{name}: {found[name]['steps']:,} steps of {1000 * seconds:.0f} ms", flush=True)


def train(names: Sequence[str], data: Path, out: Path) -> None:
    """Train each variant that is not trained yet; one that was cut off goes on."""
    steps = json.loads((out / "steps.json").read_text())
    for name in names:
        folder = out / name
        if is_trained(folder):
            continue
        recipe = recipe_of(name, steps[name]["steps"])
        print(f"{time.strftime('%H:%M')} {name}: {recipe.steps:,} steps", file=sys.stderr)
        settings = PretrainSettings(precision=PRECISION, resume=(folder / "resume").exists())
        pretrain(recipe, store_of(recipe, data, out), settings=settings, out=folder, log_every=100)


def is_trained(folder: Path) -> bool:
    """Whether it holds a finished run; one that was interrupted has a state to go on from."""
    return (folder / "model.safetensors").exists() and not (folder / "resume").exists()


def measure(name: str, data: Path, out: Path) -> dict[str, float]:
    """Return all figures of a trained variant, or of a checkpoint; they are kept in OUT/NAME.measured.json."""
    path = out / f"{name}.measured.json"
    if path.exists():
        return json.loads(path.read_text())
    folder = out / name if (out / name).is_dir() else name
    tokenizer, model = Tokenizer.from_pretrained(folder), BertForPreTraining.from_pretrained(folder)
    figures = masked_words(model, tokenizer, data)
    if snapshots := sorted(out.glob(f"{name}/step-*")):
        figures["averaged"] = masked_words(averaged(model, snapshots), tokenizer, data)["masked_top1"]
    atomic_write(path, json.dumps(figures, indent=2) + "\n")
    return figures


def masked_words(model: BertForPreTraining, tokenizer: Tokenizer, data: Path) -> dict[str, float]:
    """Return the share of masked words right in the held-out texts of each genre, and its mean."""
    genres: dict[str, list] = {}
    for document in read_english(data, "test"):
        genres.setdefault(document.genre, []).append(document.sentences)
    found = {
        f"masked_top1:{genre}": evaluate_pretraining(model, tokenizer, token_ids(texts, tokenizer), second_task="none")[
            "masked_top1"
        ]
        for genre, texts in genres.items()
    }
    return {"masked_top1": fmean(found.values())} | found


def averaged(model: BertForPreTraining, snapshots: Sequence[Path]) -> BertForPreTraining:
    """Return a model whose weights are the means of those of `model` and of its snapshots."""
    others = [BertForPreTraining.from_pretrained(folder).state_dict() for folder in snapshots]
    mean = {
        name: sum((other[name] for other in others), weight) / (1 + len(others))
        for name, weight in model.state_dict().items()
    }
    result = BertForPreTraining(model.config)
    result.load_state_dict(mean)
    return result


def table(names: Sequence[str], data: Path, out: Path) -> None:
    """Print a Markdown table of all variants that are trained, and of english-scratch."""
    print("| variant | steps |", " | ".join(FIGURES.values()), "|")
    print("|---" * (2 + len(FIGURES)) + "|")
    steps = json.loads((out / "steps.json").read_text())
    for name in ["english-scratch", *(name for name in names if is_trained(out / name))]:
        figures = measure(name, data, out)
        cells = [f"{figures[key]:.3f}" if key in figures else "" for key in FIGURES]
        print(f"| {name} | {steps.get(name, {}).get('steps', '')} |", " | ".join(cells), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("steps", "train", "measure"))
    parser.add_argument("names", nargs="*", help="variants; all if not given")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("pilots"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    do = {"steps": count_steps, "train": train, "measure": table}[options.what]
    do(options.names or list(VARIANTS), options.data, options.out)


if __name__ == "__main__":
    main()
