"""Short trainings that test_processes.py compares: run as a script, in two processes; called, in one."""

import sys
from collections.abc import Iterator
from copy import deepcopy

import torch
from torch import Tensor

from bertlab import BertConfig, BertForPreTraining
from bertlab.config import IGNORED
from bertlab.training.engine.devices import Devices
from bertlab.training.engine.optim import Optimization
from bertlab.training.objective import pretraining_loss
from tests.training.toy import fit

CONFIG = BertConfig(
    vocab_size=61,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=40,
    max_position_embeddings=16,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    initializer_range=0.3,
)
CLIP = 8.0  # cuts every second step, so that a gradient of another size teaches something else
STEPS, ROWS = 20, 7  # rows that neither two processes nor parts of two share evenly
# Muon makes small singular values large, and so makes much of the last bit: it gets more of them, and a lower rate
CASES = {
    "adamw": {"optimizer": "adamw", "rate": 3e-4, "dtype": torch.float32},
    "muon": {"optimizer": "muon", "rate": 2e-5, "dtype": torch.float64},
}

ROWS_AT_A_TIME = {"adamw": 2, "muon": None}  # in two processes


def batches(start: int = 0) -> Iterator[dict[str, Tensor]]:
    """Rows of random words, some of them masked: in one row none, in another all."""
    for step in range(start, STEPS):
        generator = torch.Generator().manual_seed(step)
        ids = torch.randint(5, 61, (ROWS, 9), generator=generator)  # (B, S)
        real = torch.arange(9) < torch.randint(3, 10, (ROWS, 1), generator=generator)
        share = torch.linspace(0, 1, ROWS)[torch.randperm(ROWS, generator=generator), None]  # (B, 1)
        masked = real & (torch.rand(ids.shape, generator=generator) < share)
        yield {
            "input_ids": ids * real,
            "token_type_ids": torch.zeros_like(ids),
            "attention_mask": real.long(),
            "labels": ids.masked_fill(~masked, IGNORED),
            "next_sentence_label": torch.tensor([0, 1, IGNORED])[torch.randint(3, (ROWS,), generator=generator)],
        }


def result(devices: int, dtype: torch.dtype, **options) -> dict:
    """Weights, rows and the state after ten steps, of a training on so many devices, in numbers of this type."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        return trained(devices, **options)
    finally:
        torch.set_default_dtype(before)


def trained(devices: int, optimizer: str, rate: float, resume: dict | None = None, **options) -> dict:
    together = Devices("cpu", devices)
    together.launch()
    together.connect()
    torch.manual_seed(0)
    model, states = BertForPreTraining(CONFIG), {}
    rows = fit(
        model,
        batches(resume["step"] if resume else 0),
        pretraining_loss,
        steps=STEPS,
        optim=Optimization(optimizer, learning_rate=rate, clip=CLIP),
        log_every=8,
        save=lambda state, _: states.update({state["step"]: deepcopy(state)}),
        save_every=10,
        resume=resume,
        progress=False,
        devices=together,
        **options,
    )
    return {"weights": model.state_dict(), "rows": rows, "state": states.get(10)}


if __name__ == "__main__":
    found = {name: result(2, **CASES[name], micro_batch=rows) for name, rows in ROWS_AT_A_TIME.items()}
    if torch.distributed.get_rank() == 0:
        torch.save(found, sys.argv[1])
