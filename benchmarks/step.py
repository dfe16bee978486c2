"""How long one training step takes and how much memory, beside transformers and torch's encoder on the same batch.

    python benchmarks/step.py                      # tiny, mini and base, on the processor
    python benchmarks/step.py --sizes tiny --rounds 20

A step is forward, the losses of masked words and next sentences, backward, and AdamW; dropout 0.1, 128 tokens of
which 80% are filled, a vocabulary of 30,522. The contestants take turns within every round, so that other work on the
machine slows all of them; the ratio to transformers is the median over rounds, in brackets its quartiles. The
allocator is told to keep memory, as in bertlab's training, for all of them. nn.TransformerEncoder has embeddings, tied
decoder and next-sentence layer around it; it and transformers score every position, as is usual. MB are what three
steps in a fresh process add at most to the program and the weights (told on Linux only).

GFLOP/s count what the step needs, as bertlab/training/flops.py says. The last lines are the rate of one large matrix
product, taken in every round too, since a machine is not equally fast at all times.
"""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table
from torch import nn
from tqdm import tqdm

from bertlab import BertConfig, BertForPreTraining
from bertlab.config import SIZES
from bertlab.model.allocator import keep_memory
from bertlab.training.flops import pretraining_operations, product_rate
from bertlab.training.optim import Optimization, make_optimizers
from bertlab.training.parts import own_parts
from bertlab.training.pretrain import pretraining_loss
from bertlab.training.processes import make_fabric
from bertlab.training.step import train_step

TOKENS, FILL, MASKED, VOCABULARY = 128, 0.8, 0.15, 30_522
BATCH = {"base": 8, "large": 4}  # others 32
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
ADAMW = Optimization("adamw", learning_rate=1e-4)


def make_batch(size: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Random ids of as many rows, filled to between 60% and 100%, with labels."""
    shape = (size, TOKENS)
    ids = torch.randint(1000, VOCABULARY, shape, generator=generator)
    lengths = torch.linspace(2 * FILL - 1, 1, size) * TOKENS  # (B,)
    real = torch.arange(TOKENS) < lengths[:, None]  # (B, S)
    hidden = real & (torch.rand(shape, generator=generator) < MASKED)
    return {
        "input_ids": ids * real,
        "token_type_ids": torch.zeros_like(ids),
        "attention_mask": real.long(),
        "labels": ids.masked_fill(~hidden, -100),
        "next_sentence_label": torch.randint(2, (size,), generator=generator),
    }


def ours(config: BertConfig, precision: str | None = None) -> Callable[[dict], None]:
    """A step as `bertlab pretrain` takes it; precision None: whatever it chooses on this machine."""
    from lightning_fabric import Fabric

    fabric = make_fabric("cpu") if precision is None else Fabric(accelerator="cpu", devices=1, precision=precision)
    model = BertForPreTraining(config)
    wrapped, *optimizers = fabric.setup(model, *make_optimizers(model, ADAMW))
    wrapped.train()

    def step(batch: dict[str, torch.Tensor]) -> None:
        train_step(fabric, wrapped, optimizers, own_parts(batch, 0, 1, None), pretraining_loss, 1e-4, 1.0)

    return step


def ours_in_float32(config: BertConfig) -> Callable[[dict], None]:
    return ours(config, "32-true")


def theirs(config: BertConfig) -> Callable[[dict], None]:
    """transformers' model with its fused attention, and the same AdamW."""
    import transformers

    settings = transformers.BertConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_hidden_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        intermediate_size=config.intermediate_size,
        attn_implementation="sdpa",
    )
    return usual_step(transformers.BertForPreTraining(settings), lambda model, batch: model(**batch).loss)


class TorchBert(nn.Module):
    """nn.TransformerEncoder between embeddings and both tasks' layers."""

    def __init__(self, config: BertConfig):
        super().__init__()
        width, dropout = config.hidden_size, config.hidden_dropout_prob
        self.word, self.position = nn.Embedding(VOCABULARY, width), nn.Embedding(TOKENS, width)
        self.dropout, self.norm = nn.Dropout(dropout), nn.LayerNorm(width)
        sizes = width, config.num_attention_heads, config.intermediate_size
        layer = nn.TransformerEncoderLayer(*sizes, dropout, F.gelu, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, config.num_hidden_layers)
        self.bias, self.nsp = nn.Parameter(torch.zeros(VOCABULARY)), nn.Linear(width, 2)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        x = self.dropout(self.norm(self.word(batch["input_ids"]) + self.position.weight))  # (B, S, H)
        x = self.encoder(x, src_key_padding_mask=batch["attention_mask"] == 0)
        logits = F.linear(x, self.word.weight, self.bias)  # (B, S, V)
        masked = F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())
        return masked + F.cross_entropy(self.nsp(x[:, 0]), batch["next_sentence_label"])


def torchs(config: BertConfig) -> Callable[[dict], None]:
    """torch's own encoder layers."""
    return usual_step(TorchBert(config), lambda model, batch: model(batch))


def usual_step(model: nn.Module, loss: Callable) -> Callable[[dict], None]:
    """Forward, backward, clip and AdamW, as most training scripts have it."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(batch: dict[str, torch.Tensor]) -> None:
        loss(model, batch).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def rounds(steps: dict[str, Callable], batch: dict, count: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Seconds of each contestant in each round, after two to warm up, and GFLOP/s of one matrix product meanwhile."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    rates: dict[str, list[float]] = {name: [] for name in DTYPES}
    for _ in tqdm(range(count + 2), leave=False):
        for name, step in steps.items():
            start = time.perf_counter()
            step(batch)
            times[name].append(time.perf_counter() - start)
        for name, dtype in DTYPES.items():
            rates[name].append(product_rate(torch.device("cpu"), dtype) / 1e9)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return {name: values[2:] for name, values in times.items()}, medians


def setting(size: str) -> tuple[BertConfig, dict[str, torch.Tensor]]:
    config = BertConfig.from_size(
        size, vocab_size=VOCABULARY, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1
    )
    return config, make_batch(BATCH.get(size, 32), torch.Generator().manual_seed(0))


CONTESTANTS = {
    "transformers": theirs,
    "nn.TransformerEncoder": torchs,
    "bertlab, float32": ours_in_float32,
    "bertlab": ours,
}


def peak_memory(size: str, name: str) -> float | None:
    """MB that three steps take at most, measured in a fresh process."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        return pool.submit(grown, size, name).result()


def grown(size: str, name: str) -> float | None:
    if not Path("/proc/self/status").exists():
        return None
    keep_memory()
    config, batch = setting(size)
    step, before = CONTESTANTS[name](config), resident("VmRSS")
    for _ in range(3):
        step(batch)
    return resident("VmHWM") - before


def resident(kind: str) -> float:
    """MB of this process in memory now (VmRSS) or at most so far (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(kind))


def compare(size: str, count: int, table: Table) -> dict[str, float]:
    """A row of the table for each contestant; returns GFLOP/s of one matrix product meanwhile."""
    config, batch = setting(size)
    peaks = {name: peak_memory(size, name) for name in CONTESTANTS}
    times, rates = rounds({name: make(config) for name, make in CONTESTANTS.items()}, batch, count)
    tokens, needed = int(batch["attention_mask"].sum()), pretraining_operations(config, batch)
    for name, values in times.items():
        middle = statistics.median(values)
        ratios = [other / own for other, own in zip(times["transformers"], values, strict=True)]
        low, ratio, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        spread = "" if name == "transformers" else f"{ratio:.1f} ({low:.1f} to {high:.1f})"
        figures = f"{1000 * middle:,.0f}", f"{tokens / middle:,.0f}", f"{needed / middle / 1e9:,.0f}"
        table.add_row(size, name, *figures, f"{peaks[name]:,.0f}" if peaks[name] else "-", spread)
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["tiny", "mini", "base"])
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    keep_memory()
    table = Table("size", "", "ms a step", "tokens/s", "GFLOP/s", "MB", "times as fast", box=None)
    rates = {size: compare(size, options.rounds, table) for size in options.sizes}
    console = Console(width=100)
    console.print(table)
    console.print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; one matrix product meanwhile:")
    for size, found in rates.items():
        console.print(f" {size:<5}", ", ".join(f"{rate:,.0f} GFLOP/s in {name}" for name, rate in found.items()))


if __name__ == "__main__":
    main()
