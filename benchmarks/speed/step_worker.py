"""One contestant of benchmarks/speed/step.py, in a process of its own: it takes a training step for each line it reads.

Nothing of bertlab is imported for the others, so they run as they come. It writes a line "ready", then the seconds of
each step, and when its input ends the MB that it has taken beside the weights.
"""

import ctypes
import sys
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.speed.memory import memory

TOKENS, FILL, MASKED, VOCABULARY = 128, 0.8, 0.15, 30_522
BATCH = {"base": 8}  # others 32
SIZES = {"tiny": (2, 128), "mini": (4, 256), "small": (4, 512), "medium": (8, 512), "base": (12, 768)}
Batch = dict[str, torch.Tensor]
Step = Callable[[Batch], None]


def make_batch(size: str) -> Batch:
    """Random ids of as many rows, filled to between 60% and 100%, with labels."""
    rows, generator = BATCH.get(size, 32), torch.Generator().manual_seed(0)
    ids = torch.randint(1000, VOCABULARY, (rows, TOKENS), generator=generator)
    lengths = torch.linspace(2 * FILL - 1, 1, rows) * TOKENS  # (B,)
    real = torch.arange(TOKENS) < lengths[:, None]  # (B, S)
    masked = real & (torch.rand(ids.shape, generator=generator) < MASKED)
    return {
        "input_ids": ids * real,
        "token_type_ids": torch.zeros_like(ids),
        "attention_mask": real.long(),
        "labels": ids.masked_fill(~masked, -100),
        "next_sentence_label": torch.randint(2, (rows,), generator=generator),
    }


def loop_step(model: nn.Module, autocast: bool = False) -> Step:
    """The loop of docs/models.md: forward, backward, AdamW."""
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-4, fused=True)

    def step(batch: Batch) -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def theirs(size: str, autocast: bool = False) -> Step:
    """transformers' model with its fused attention."""
    import transformers

    layers, width = SIZES[size]
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
    )
    return loop_step(transformers.BertForPreTraining(config), autocast)


def theirs_helped(size: str) -> Step:
    """The same, but glibc keeps freed memory, as with bertlab: M_MMAP_MAX and M_TRIM_THRESHOLD."""
    libc = ctypes.CDLL(None)
    libc.mallopt(-4, 0)
    libc.mallopt(-1, 2**31 - 1)
    return theirs(size)


class TorchBert(nn.Module):
    """nn.TransformerEncoder between embeddings and both tasks' layers."""

    def __init__(self, layers: int, width: int, dropout: float = 0.1):
        super().__init__()
        self.word, self.position = nn.Embedding(VOCABULARY, width), nn.Embedding(TOKENS, width)
        self.dropout, self.norm = nn.Dropout(dropout), nn.LayerNorm(width)
        layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, dropout, F.gelu, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.bias, self.nsp = nn.Parameter(torch.zeros(VOCABULARY)), nn.Linear(width, 2)
        self.loss = None

    def forward(self, input_ids, token_type_ids, attention_mask, labels, next_sentence_label) -> "TorchBert":
        x = self.dropout(self.norm(self.word(input_ids) + self.position.weight))  # (B, S, H)
        x = self.encoder(x, src_key_padding_mask=attention_mask == 0)
        logits = F.linear(x, self.word.weight, self.bias)  # (B, S, V)
        masked = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        self.loss = masked + F.cross_entropy(self.nsp(x[:, 0]), next_sentence_label)
        return self


def torchs(size: str) -> Step:
    """torch's own encoder layers."""
    return loop_step(TorchBert(*SIZES[size]))


def our_loop(size: str) -> Step:
    """bertlab's model in a loop of one's own."""
    from bertlab import BertConfig, BertForPreTraining

    return loop_step(BertForPreTraining(BertConfig.from_size(size, vocab_size=VOCABULARY)))


def our_trainer(size: str, precision: str) -> Step:
    """A step as `bertlab pretrain --precision ...` takes it."""
    from bertlab import BertConfig, BertForPreTraining
    from bertlab.training.engine.devices import Devices
    from bertlab.training.engine.loop import train_step
    from bertlab.training.engine.micro_batches import own_micro_batches
    from bertlab.training.engine.optim import Optimization, make_optimizers
    from bertlab.training.objective import pretraining_loss

    model = BertForPreTraining(BertConfig.from_size(size, vocab_size=VOCABULARY))
    wrapped = Devices("cpu").settle(precision).wrap(model.train())
    optimizers = make_optimizers(model, Optimization("adamw", learning_rate=1e-4))

    def step(batch: Batch) -> None:
        train_step(wrapped, optimizers, own_micro_batches(batch, 0, 1, None), pretraining_loss, 1e-4, 1.0)

    return step


CONTESTANTS: dict[str, Callable[[str], Step]] = {
    "transformers": theirs,
    "transformers, memory kept": theirs_helped,
    "transformers, bfloat16": lambda size: theirs(size, autocast=True),
    "nn.TransformerEncoder": torchs,
    "bertlab, loop of your own": our_loop,
    "bertlab, float32": lambda size: our_trainer(size, "float32"),
    "bertlab, bfloat16": lambda size: our_trainer(size, "bfloat16"),
}


def main() -> None:
    name, size = sys.argv[1:]
    batch, step = make_batch(size), CONTESTANTS[name](size)
    before = memory("VmRSS")
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        step(batch)
        print(time.perf_counter() - start, flush=True)
    print(memory("VmHWM") - before)


if __name__ == "__main__":
    main()
