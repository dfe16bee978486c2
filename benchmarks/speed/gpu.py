"""What each technique brings on a GPU: one training step of a large BERT, beside transformers on the same batches.

    python benchmarks/speed/gpu.py                                  # base and large, at 128 and 512 tokens
    python benchmarks/speed/gpu.py --sizes base --tokens 512 --rounds 50
    python benchmarks/speed/gpu.py --device cpu --sizes tiny --rows 4 --rounds 2  # does it run at all?

A step is forward, the losses of masked words and next sentences, backward, and AdamW, in bfloat16; dropout 0.1, a
vocabulary of 30,522. The rows are pairs as bertlab makes them of docstrings, so their lengths are those of real text.
Each contestant steps through the same batches; the figure is the median over rounds, with its quartiles. "used" is what
a step needs by the formula of bertlab/training/engine/throughput.py, in which padding counts nothing, beside the
rate of one large matrix product in bfloat16 measured in the same process.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import torch
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from bertlab import BertConfig, BertForPreTraining, Tokenizer
from bertlab.config import SIZES
from bertlab.corpora.pydoc import read_docstrings
from bertlab.training.batches import Documents, batches, token_ids
from bertlab.training.engine.devices import Devices, compile_layers
from bertlab.training.engine.loop import train_step
from bertlab.training.engine.micro_batches import own_micro_batches
from bertlab.training.engine.optim import Optimization, make_optimizers
from bertlab.training.engine.throughput import pretraining_operations, product_rate
from bertlab.training.objective import pretraining_loss, with_positions
from bertlab.training.recipes import PRETRAIN

VOCABULARY, DOCUMENTS = 30_522, 3000
ROWS = {("base", 128): 256, ("base", 512): 64, ("large", 128): 128, ("large", 512): 32}
ADAMW = Optimization("adamw", learning_rate=1e-4)
Step = Callable[[dict], None]


@dataclass(frozen=True)
class Technique:
    """What a bertlab contestant makes use of."""

    compiled: bool = False
    unpadded: bool = False
    gradient_checkpointing: bool = False


OURS = {
    "bertlab": Technique(),
    "+ compiled": Technique(compiled=True),
    "+ unpadded": Technique(unpadded=True),
    "+ both": Technique(compiled=True, unpadded=True),
    "+ both, gradient checkpointing": Technique(True, True, True),
}


def ours(config: BertConfig, device: str, technique: Technique) -> Step:
    """A step as `bertlab pretrain` takes it with these options."""
    devices, model = Devices(device).settle(), BertForPreTraining(config)
    model.bert.encoder.gradient_checkpointing = technique.gradient_checkpointing
    if technique.compiled:
        compile_layers(model.bert.encoder)
    wrapped = devices.wrap(model.train())
    optimizers = make_optimizers(model, ADAMW)
    prepare = partial(with_positions, unpadded=technique.unpadded)
    return lambda batch: train_step(
        wrapped, optimizers, own_micro_batches(batch, 0, 1, None), pretraining_loss, 1e-4, 1.0, prepare
    )


def theirs(config: BertConfig, device: str) -> Step:
    """transformers with fused attention, compiled, under autocast to bfloat16."""
    import transformers

    names = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    sizes = {name: getattr(config, name) for name in (*names, "max_position_embeddings")}
    model = transformers.BertForPreTraining(transformers.BertConfig(**sizes, attn_implementation="sdpa"))
    model.to(device).train()
    forward = torch.compile(model, dynamic=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(batch: dict[str, torch.Tensor]) -> None:
        batch = {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
        with torch.autocast(device, torch.bfloat16):
            loss = forward(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def text() -> tuple[Documents, Tokenizer]:
    """Docstrings as token ids."""
    tokenizer = Tokenizer.from_pretrained("english-scratch")
    return token_ids([document.sentences for document in islice(read_docstrings(), DOCUMENTS)], tokenizer), tokenizer


def seconds(step: Step, stream: list[dict], device: str) -> list[float]:
    """Of each step, after a third of them to warm up and to compile."""
    times = []
    for batch in tqdm(stream, leave=False):
        start = time.perf_counter()
        step(batch)
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return times[len(times) // 3 :]


def measure(step: Step, stream: list[dict], config: BertConfig, device: str) -> dict[str, float]:
    """Median and quartiles of the tokens a second, share of the device used, peak memory in GB."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    times = seconds(step, stream, device)
    timed = stream[-len(times) :]
    speeds = [int(batch["attention_mask"].sum()) / took for batch, took in zip(timed, times, strict=True)]
    rate = sum(pretraining_operations(config, batch) for batch in timed) / sum(times)
    low, middle, high = statistics.quantiles(speeds, n=4) if len(speeds) > 1 else speeds * 3
    memory = torch.cuda.max_memory_allocated() / 1e9 if device == "cuda" else float("nan")
    used = rate / product_rate(torch.device(device), torch.bfloat16)
    return {
        "ms": 1e3 * statistics.median(times),
        "low": low,
        "tokens": middle,
        "high": high,
        "used": used,
        "GB": memory,
    }


def compare(size: str, tokens: int, rows: int, rounds: int, device: str, table: Table, known) -> None:
    """A row of the table for each contestant."""
    documents, tokenizer = known
    dropout = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
    config = BertConfig.from_size(size, vocab_size=VOCABULARY, **dropout)
    recipe = replace(PRETRAIN["bert-base"], batch_size=rows, max_tokens=tokens, phases=())
    stream = list(islice(batches(documents, tokenizer, recipe), rounds + rounds // 2))
    makers = {name: partial(ours, config, device, technique) for name, technique in OURS.items()}
    reference = 0.0
    for name, make in {"transformers": partial(theirs, config, device), **makers}.items():
        found = measure(make(), stream, config, device)
        reference = reference or found["tokens"]
        spread = f"{found['tokens']:,.0f} ({found['low']:,.0f} to {found['high']:,.0f})"
        times = "" if name == "transformers" else f"{found['tokens'] / reference:.2f}"
        used, memory = f"{found['used']:.0%}", f"{found['GB']:.1f}"
        table.add_row(size, f"{tokens}", name, f"{found['ms']:,.1f}", spread, used, times, memory)
        torch._dynamo.reset()  # the next one compiles anew


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["base", "large"])
    parser.add_argument("--tokens", nargs="+", type=int, default=[128, 512])
    parser.add_argument(
        "--rows", type=int, help="of a batch; if not given, 32,768 tokens for base and 16,384 for large"
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.exit(2, "gpu.py: no GPU here; --device cpu shows whether it runs\n")
    table = Table("size", "tokens", "", "ms a step", "tokens/s", "used", "times as fast", "GB", box=None)
    known = text()
    for size in options.sizes:
        for tokens in options.tokens:
            rows = options.rows or ROWS.get((size, tokens), 32)
            compare(size, tokens, rows, options.rounds, options.device, table, known)
    console = Console(width=120)
    console.print(table)
    name = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    rate = product_rate(torch.device(options.device), torch.bfloat16) / 1e12
    console.print(f"{name}, torch {torch.__version__}; one matrix product in bfloat16: {rate:,.1f} TFLOP/s")


if __name__ == "__main__":
    main()
