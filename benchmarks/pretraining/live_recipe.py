"""What each change of the live recipe gives on a processor: steps a second, and words learned from as many tokens.

    python benchmarks/pretraining/live_recipe.py                # a quarter of an hour on two cores
    python benchmarks/pretraining/live_recipe.py --tokens 0     # speed alone
    python benchmarks/pretraining/live_recipe.py --seconds 60   # words learned in a minute, not from as many tokens

Each row of the table changes the one above it. Those that begin with "also" change the recipe as it is and were not
taken. Speed: all rows take turns, and the fastest of some rounds counts; the ratio is that of tokens a second to
transformers' BertForPreTraining in a plain loop on the batches of the first row, with Muon in the format of the run.
Words learned: each row trains from the same weights on so many tokens (without padding), or on those that it gets
through in so many seconds at that speed, with the learning rate brought down to zero at the end, and fills gaps of
held-out text with 15% of the words masked, as in time_to_accuracy.py.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.optim import Optimizer
from tqdm import tqdm

from bertlab import BertForPreTraining
from bertlab.corpora import storyworld
from bertlab.evaluation.held_out import storyworld_test
from bertlab.evaluation.measures import evaluate_pretraining
from bertlab.inputs.masking import Masking
from bertlab.model.cpu import keep_memory
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import batches, token_ids
from bertlab.training.engine import optim
from bertlab.training.engine.muon import JORDAN, Muon
from bertlab.training.initial_weights import new_model
from bertlab.training.objective import pretraining_loss
from bertlab.training.pretrain import learn_vocabulary
from bertlab.training.recipes import PRETRAIN, PretrainRecipe

LIVE = PRETRAIN["storyworld-live"]
LONG = replace(LIVE, batch_size=32, short_share=0.0)
OURS: Callable[..., Optimizer] = Muon
FIVE_STEPS: Callable[..., Optimizer] = partial(Muon, coefficients=JORDAN)
STEPS, ROUNDS = 5, 6  # of a row's turn; turns
PAIRS = 400  # measured on


def torchs(groups: list[dict[str, Any]], lr: float, products: torch.dtype | None = None) -> Optimizer:
    """PyTorch's Muon, which multiplies in bfloat16 everywhere."""
    return torch.optim.Muon(groups, lr, adjust_lr_fn="match_rms_adamw")


@dataclass
class Row:
    """One way to train: a recipe, and what makes the optimizer of the matrices."""

    name: str
    recipe: PretrainRecipe
    muon: Callable[..., Optimizer] = OURS


ROWS = [
    Row("torch.optim.Muon, 32 texts of 128", LONG, torchs),
    Row("Muon in the format of the run", LONG, FIVE_STEPS),
    Row("four steps with better polynomials", LONG),
    Row("24 texts in place of 32", replace(LIVE, short_share=0.0)),
    Row("70% of the steps with texts of 64: storyworld-live", LIVE),
    Row("also 16 texts", replace(LIVE, batch_size=16)),
    Row("also 32 texts", replace(LIVE, batch_size=32)),
    Row("also the short texts first (phases)", replace(LIVE, short_share=0.0, phases=((0.7, 64),))),
    Row("also 40% masked", replace(LIVE, masking=Masking(0.4))),
    Row("also a vocabulary of 2,000", replace(LIVE, vocab_size=2000)),
]


class Contestant:
    """A model in training by one row."""

    def __init__(self, row: Row, known: list[list[str]], steps: int, model: nn.Module | None = None):
        self.recipe = replace(row.recipe, steps=steps)
        self.tokenizer = learn_vocabulary(known, self.recipe)
        self.model = (model or new_model(self.recipe, self.tokenizer)).train()
        optim.Muon = row.muon  # type: ignore[misc, assignment]
        self.optimizers = optim.make_optimizers(self.model, self.recipe.optim)
        optim.Muon = Muon  # type: ignore[misc]
        self.batches = batches(token_ids(known, self.tokenizer), self.tokenizer, self.recipe)
        self.tokens = 0

    def train(self, steps: int, progress: float | None = None) -> None:
        """Take steps at the rate of `progress` (None: at a thousandth, for timing)."""
        for batch in islice(self.batches, steps):
            loss = self.loss(batch)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.optim.clip)
            share = 1e-3 if progress is None else optim.rate_factor(progress, self.recipe.optim.warmup)
            for optimizer in self.optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = self.recipe.optim.learning_rate * share
                optimizer.step()
                optimizer.zero_grad()
            self.tokens += int(batch["attention_mask"].sum())

    def loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        if isinstance(self.model, BertForPreTraining):
            return pretraining_loss(self.model, batch)[0]
        return self.model(**batch).loss


def speeds(rows: list[Row], known: list[list[str]]) -> Iterator[tuple[float, float]]:
    """Steps and tokens a second of transformers and of each row, the best of its turns."""
    import transformers

    def theirs(tokenizer: Tokenizer) -> nn.Module:
        config = transformers.BertConfig(**new_model(LONG, tokenizer).config.to_dict())
        return transformers.BertForPreTraining._from_config(config, attn_implementation="sdpa")

    ours = [Contestant(row, known, 10**6) for row in rows]
    reference = Contestant(Row("transformers", LONG, FIVE_STEPS), known, 10**6, theirs(ours[0].tokenizer))
    running = [reference, *ours]
    best = [(0.0, 0.0)] * len(running)
    for _ in tqdm(range(ROUNDS + 1), "speed"):
        for number, one in enumerate(running):
            tokens, begun = one.tokens, time.perf_counter()
            one.train(STEPS)
            seconds = time.perf_counter() - begun
            best[number] = max(best[number], (STEPS / seconds, (one.tokens - tokens) / seconds))
    yield from best


def learned(row: Row, known: list[list[str]], tokens: float) -> dict[str, float]:
    """Measures after so many tokens."""
    trial = Contestant(row, known, 10**6)
    trial_batches = islice(trial.batches, 40)
    steps = round(tokens / (sum(int(batch["attention_mask"].sum()) for batch in trial_batches) / 40))
    one = Contestant(row, known, steps)
    for step in tqdm(range(steps), row.name, leave=False):
        one.train(1, (step + 0.5) / steps)
    new = token_ids(storyworld_test(), one.tokenizer)
    measured = evaluate_pretraining(one.model.eval(), one.tokenizer, new, max_tokens=128, pairs=PAIRS)
    return {"steps": steps, **measured}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=600_000, help="that each row learns from; 0: time alone")
    parser.add_argument("--seconds", type=float, help="let each row learn for so long, not from as many tokens")
    parser.add_argument("--rows", nargs="+", default=[""], metavar="WORDS", help="only rows whose names hold these")
    options = parser.parse_args()
    keep_memory()
    rows = [row for row in ROWS if any(words in row.name for words in options.rows)]
    known = [document.sentences for document in storyworld.documents(LIVE.seed, LIVE.documents)]
    reference, *found = speeds(rows, known)
    table = Table("", "steps/s", "tokens/s", "of transformers", "steps", "masked words right", box=None)
    table.add_row("transformers", f"{reference[0]:.2f}", f"{reference[1]:,.0f}", "1.0")
    for row, (steps, tokens) in zip(rows, found, strict=True):
        learns_from = tokens * options.seconds if options.seconds else options.tokens
        end = learned(row, known, learns_from) if learns_from else {}
        words = [f"{end['steps']:,}", f"{end['masked_top1']:.3f}"] if end else []
        table.add_row(row.name, f"{steps:.2f}", f"{tokens:,.0f}", f"{tokens / reference[1]:.1f}", *words)
    Console(width=120).print(table)
    print(f"{torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
