"""How long one training step takes, beside transformers on the same batch.

    python benchmarks/step.py                      # tiny, mini and base, on the processor
    python benchmarks/step.py --sizes tiny --rounds 20

A step is forward, the losses of masked words and next sentences, backward, and AdamW; dropout 0.1, 128 tokens of
which 80% are filled, a vocabulary of 30,522. The contestants take turns within every round, so that other work on the
machine slows all of them; the ratio is the median over rounds, in brackets its quartiles. The allocator is told to keep
memory, as in bertlab's training, for all of them.

GFLOP/s count what the step needs: 6 per weight of the layers and token, 12 x layers x hidden size x tokens of the text
per token for attention, 6 per weight of the heads and masked token. The last line is the rate of one large matrix
product in the same process.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from bertlab import BertConfig, BertForPreTraining
from bertlab.training.allocator import keep_memory
from bertlab.training.loop import make_fabric, train_step
from bertlab.training.optim import Optimization, make_optimizers
from bertlab.training.pretrain import pretraining_loss

TOKENS, FILL, MASKED, VOCABULARY = 128, 0.8, 0.15, 30_522
BATCH = {"base": 8, "large": 4}  # others 32
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


def ours(config: BertConfig, precision: str | None) -> Callable[[dict], None]:
    """A step as `bertlab pretrain` takes it; precision None: whatever it chooses on this machine."""
    from lightning_fabric import Fabric

    fabric = make_fabric("cpu") if precision is None else Fabric(accelerator="cpu", devices=1, precision=precision)
    model = BertForPreTraining(config)
    wrapped, *optimizers = fabric.setup(model, *make_optimizers(model, ADAMW))
    wrapped.train()
    return lambda batch: train_step(fabric, wrapped, optimizers, batch, pretraining_loss, 1e-4, 1.0)


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
    model = transformers.BertForPreTraining(settings).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(batch: dict[str, torch.Tensor]) -> None:
        model(**batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def operations(config: BertConfig, batch: dict[str, torch.Tensor]) -> float:
    """What a step needs, as the text above says."""
    layers, width = config.num_hidden_layers, config.hidden_size
    lengths = batch["attention_mask"].sum(1).double()  # (B,)
    weights = layers * (4 * width**2 + 2 * width * config.intermediate_size)
    heads = width**2 + width * VOCABULARY
    masked = (batch["labels"] != -100).sum()
    return float(6 * weights * lengths.sum() + 12 * layers * width * (lengths**2).sum() + 6 * heads * masked)


def rounds(steps: dict[str, Callable], batch: dict, count: int) -> dict[str, list[float]]:
    """Seconds of each contestant in each round, after two to warm up."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in tqdm(range(count + 2), leave=False):
        for name, step in steps.items():
            start = time.perf_counter()
            step(batch)
            times[name].append(time.perf_counter() - start)
    return {name: values[2:] for name, values in times.items()}


def product_rate(side: int = 2048) -> float:
    """GFLOP/s of one float32 matrix product, the best of ten."""
    a, b = torch.randn(side, side), torch.randn(side, side)
    best = float("inf")
    for _ in range(10):
        start = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - start)
    return 2 * side**3 / best / 1e9


def compare(size: str, count: int, table: Table) -> None:
    """Three rows of the table."""
    config = BertConfig.from_size(
        size, vocab_size=VOCABULARY, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1
    )
    batch = make_batch(BATCH.get(size, 32), torch.Generator().manual_seed(0))
    steps = {"transformers": theirs(config), "bertlab, float32": ours(config, "32-true"), "bertlab": ours(config, None)}
    times = rounds(steps, batch, count)
    tokens, needed = int(batch["attention_mask"].sum()), operations(config, batch)
    for name, values in times.items():
        middle = statistics.median(values)
        ratios = [other / own for other, own in zip(times["transformers"], values, strict=True)]
        low, ratio, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        spread = "" if name == "transformers" else f"{ratio:.1f} ({low:.1f} to {high:.1f})"
        figures = f"{1000 * middle:,.0f}", f"{tokens / middle:,.0f}", f"{needed / middle / 1e9:,.0f}", spread
        table.add_row(size, name, *figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["tiny", "mini", "base"])
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    keep_memory()
    table = Table("size", "", "ms a step", "tokens/s", "GFLOP/s", "times as fast", box=None)
    for size in options.sizes:
        compare(size, options.rounds, table)
    console = Console(width=100)
    console.print(table)
    threads = torch.get_num_threads()
    console.print(f"{threads} threads, torch {torch.__version__}; one matrix product: {product_rate():,.0f} GFLOP/s")


if __name__ == "__main__":
    main()
