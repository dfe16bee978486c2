"""How good a model is after so many seconds of training, beside transformers on the same batches.

    python benchmarks/pretraining/time_to_accuracy.py                              # the storyworld, a minute each
    python benchmarks/pretraining/time_to_accuracy.py --corpus pydoc --minutes 10  # docstrings of your packages

All start from the same weights and go through the same batches with the same masks, optimizers and schedule, in which
the learning rate comes down with the time; on all cores. "bertlab" is the training of `bertlab pretrain --minutes`;
"transformers" is its BertForPreTraining with fused attention in a plain loop, in float32 as it comes; the third is the
same under autocast to bfloat16. Muon sees queries, keys and values as one matrix in bertlab, as three in transformers.
For all of them the allocator keeps freed memory, as in bertlab's training.

Copies of the weights are measured when the time is over, on held-out text with 15% of the words masked: the first after
2 seconds or more, each at 0.8 times the seconds of the next. Off the plateau is the first with a masked loss 0.5 nats
below that of word frequency; past the neighbours the first with more words right than guesses from both neighbours.
"""

import argparse
import json
import math
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from bertlab import BertForPreTraining, Tokenizer
from bertlab.cli.shared.material import read_material
from bertlab.corpora import storyworld
from bertlab.evaluation.baselines import NeighbourBaselines
from bertlab.evaluation.held_out import count_neighbours, storyworld_test
from bertlab.evaluation.measures import evaluate_pretraining
from bertlab.model.cpu import keep_memory
from bertlab.training.batches import Documents, batches, token_ids
from bertlab.training.engine.callbacks import Callbacks
from bertlab.training.engine.devices import Devices
from bertlab.training.engine.loop import LoopSettings, train
from bertlab.training.engine.optim import make_optimizers, rate_factor
from bertlab.training.initial_weights import new_model
from bertlab.training.objective import pretraining_loss
from bertlab.training.pretrain import learn_vocabulary, products
from bertlab.training.recipes import PRETRAIN, PretrainRecipe
from bertlab.training.run_settings import PretrainSettings

RECIPES = {  # two layers learn sooner than four
    "storyworld": PRETRAIN["storyworld-live"],
    "pydoc": replace(PRETRAIN["own-text"], num_hidden_layers=2),
}
PLATEAU = 0.5  # nats below word frequency
PAIRS = 1000  # measured on
FIRST, APART = 2.0, 0.8  # seconds of the first measure; each comes at this part of the time of the next
COPY_EVERY = 5  # steps


@dataclass
class Task:
    """What all contestants get: text as token ids, vocabulary, recipe, seconds."""

    recipe: PretrainRecipe
    tokenizer: Tokenizer
    known: Documents
    new: Documents
    seconds: float

    def evaluate(self, model: BertForPreTraining, baselines: NeighbourBaselines | None = None) -> dict[str, float]:
        options = {"max_tokens": self.recipe.max_tokens, "pairs": PAIRS}
        return evaluate_pretraining(model, self.tokenizer, self.new, baselines, **options)


class Copies:
    """Weights of a model in training, kept whenever it is time for a measure."""

    def __init__(self, model: nn.Module, seconds: float):
        self.model, self.end, self.steps = model, seconds, 0
        self.kept: list[tuple[float, dict[str, Tensor]]] = []  # seconds, weights
        self.due = moments(seconds)

    def keep_if_due(self, row: dict[str, float]) -> None:
        """Called every few steps with `step` and `seconds`."""
        self.steps = int(row["step"])
        if self.due and self.due[0] <= row["seconds"] < self.end:
            self.keep(row["seconds"])
            self.due = [moment for moment in self.due if moment > row["seconds"]]

    def keep(self, seconds: float) -> None:
        self.kept.append((seconds, {name: value.clone() for name, value in self.model.state_dict().items()}))


def moments(seconds: float) -> list[float]:
    """When to measure before the end."""
    earlier = int(math.log(FIRST / seconds, APART)) if seconds > FIRST else 0
    return [seconds * APART**number for number in range(earlier, 0, -1)]


def prepare(corpus: str, recipe: PretrainRecipe, seconds: float) -> Task:
    material = read_material([] if corpus == "storyworld" else [Path(corpus)], None)
    known = material.known or [d.sentences for d in storyworld.documents(recipe.seed, recipe.documents)]
    tokenizer = learn_vocabulary(known, recipe)
    new = material.new.get("") or storyworld_test()
    return Task(recipe, tokenizer, token_ids(known, tokenizer), token_ids(new, tokenizer), seconds)


def ours(task: Task, copies: Copies) -> None:
    """The training of `bertlab pretrain --minutes`."""
    settings = LoopSettings(sys.maxsize, task.recipe.optim, task.seconds / 60, progress=False)
    logging = Callbacks(copies.keep_if_due, COPY_EVERY)
    stream = batches(task.known, task.tokenizer, task.recipe)
    devices = Devices("cpu").settle(products=products(task.recipe, PretrainSettings()))
    train(copies.model, stream, pretraining_loss, settings, logging, devices=devices)


def theirs(task: Task, copies: Copies, bfloat16: bool = False) -> None:
    """A plain training loop."""
    model, settings = copies.model, task.recipe.optim
    optimizers = make_optimizers(model.train(), settings)
    begun, seconds = time.perf_counter(), 0.0
    for step, batch in enumerate(batches(task.known, task.tokenizer, task.recipe), start=1):
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * rate_factor(seconds / task.seconds, settings.warmup)
            optimizer.step()
            optimizer.zero_grad()
        seconds = time.perf_counter() - begun
        if step % COPY_EVERY == 0 or seconds >= task.seconds:
            copies.keep_if_due({"step": step, "seconds": seconds})
            if seconds >= task.seconds:
                return


def measure(task: Task, copies: Copies) -> list[dict[str, float]]:
    """Seconds and measures of every copy."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for seconds, weights in copies.kept:
            copies.model.load_state_dict(weights)
            copies.model.save_pretrained(folder)  # both libraries write the same format
            rows.append({"seconds": seconds, **task.evaluate(BertForPreTraining.from_pretrained(folder))})
    return rows


def summary(rows: list[dict[str, float]], simple: dict[str, float]) -> dict[str, float | None]:
    """Seconds off the plateau and past the neighbours (None: never), and where it ended."""
    off = [row["seconds"] for row in rows if row["masked_loss"] < simple["unigram_loss"] - PLATEAU]
    past = [row["seconds"] for row in rows if row["masked_top1"] > simple["bigram_top1"]]
    first = {"off_plateau": min(off, default=None), "past_neighbours": min(past, default=None)}
    return first | {"above_neighbours": rows[-1]["masked_top1"] - simple["bigram_top1"]}


def compare(task: Task) -> dict:
    """Train and measure them all, one after the other."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    reference = partial(transformers.BertForPreTraining.from_pretrained, attn_implementation="sdpa")
    contestants = {
        "bertlab": (BertForPreTraining.from_pretrained, ours),
        "transformers": (reference, theirs),
        "transformers, bfloat16": (reference, partial(theirs, bfloat16=True)),
    }
    start = new_model(task.recipe, task.tokenizer)
    simple = task.evaluate(start, count_neighbours(task.known, task.tokenizer))
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        start.save_pretrained(folder)
        for name, (load, learn) in contestants.items():
            print(f"{name} ...", file=sys.stderr)
            copies = Copies(load(folder), task.seconds)
            learn(task, copies)
            copies.keep(task.seconds)
            rows = measure(task, copies)
            found[name] = {"steps": copies.steps, **summary(rows, simple), "rows": rows}
    return {"seconds": task.seconds, "start": simple, "contestants": found}


def tables(result: dict) -> tuple[Table, Table]:
    """Masked words right by seconds, and the summary."""
    simple, found = result["start"], result["contestants"]
    curves = Table("seconds", *found, title="masked words right", box=None)
    for moment in [*moments(result["seconds"]), result["seconds"]]:
        rows = [next(row for row in one["rows"] if row["seconds"] >= moment) for one in found.values()]
        curves.add_row(f"{moment:.3g}", *(f"{row['masked_top1']:.3f}" for row in rows))
    for name, words in {"unigram": "word frequency", "bigram": "both neighbours"}.items():
        curves.add_row(words, *[f"{simple[f'{name}_top1']:.3f}"] * len(found))
    ends = Table("", "steps", "off the plateau", "past the neighbours", "above them in the end", box=None)
    for name, one in found.items():
        first = [f"{one[key]:.0f} s" if one[key] else "never" for key in ("off_plateau", "past_neighbours")]
        ends.add_row(name, f"{one['steps']:,}", *first, f"{one['above_neighbours']:+.3f}")
    return curves, ends


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", choices=RECIPES, default="storyworld")
    parser.add_argument("--minutes", type=float, default=1.0, help="of training, for each")
    parser.add_argument("--seed", type=int, default=0, help="of weights, pairs and masks")
    parser.add_argument("--json", action="store_true", help="print all measures as JSON")
    options = parser.parse_args()
    keep_memory()
    recipe = replace(RECIPES[options.corpus], seed=options.seed)
    result = compare(prepare(options.corpus, recipe, 60 * options.minutes))
    if options.json:
        return print(json.dumps(result))
    Console(width=100).print(*tables(result))
    size = f"{recipe.num_hidden_layers} layers of {recipe.hidden_size}"
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; recipe {recipe.name}, {size}")


if __name__ == "__main__":
    main()
