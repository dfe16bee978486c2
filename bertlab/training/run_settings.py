"""How a training, or a prediction, runs on this machine. None of it is part of the recipe. The fields are options of
the command line, except for the functions among them, which a caller in Python gives."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch

from bertlab.errors import InputError, check_batch_size
from bertlab.model.base import best_device
from bertlab.training.engine.precision import TYPICAL, Precision, choose

Device = Literal["auto", "cpu", "cuda", "mps"]


@dataclass(frozen=True)
class RunSettings:
    """Where to train, what to save, and what to call before the first step."""

    half: bool = False
    """Save in 16 bits (as the bundled models are): half the size."""
    resume: bool = False
    """Go on with the run in the run folder, after a kill, a signal or Ctrl-C; give the same options as before."""
    save_every: int = 500
    """Save what a run can go on from every so many steps."""
    device: Device = "auto"
    """Where to train; auto takes a GPU if there is one."""
    precision: Precision = "auto"
    """Number format of matrix products; auto measures which one is faster on this machine."""
    devices: int = 1
    """How many devices train together, each on its share of every batch (several machines: docs/clusters.md)."""
    tensorboard: bool = False
    """Write the figures of metrics.csv and dev.csv for TensorBoard too: tensorboard --logdir RUN-FOLDER."""
    wandb: bool = False
    """Send them to Weights & Biases too; with WANDB_MODE=offline they stay in RUN-FOLDER/wandb."""
    on_start: Callable[..., None] | None = None
    """Gets what the run begins with: `pretrain` gives the text as token ids, the tokenizer, and device, threads and
    precision; `finetune` gives the task, and device, threads and precision."""


@dataclass(frozen=True)
class PretrainSettings(RunSettings):
    """Where to pretrain, how long, with what help from the hardware, and what to save."""

    on_end: Callable[..., None] | None = None
    """Gets the Pretrained once the model is saved, unless the run was stopped. The saved states go after it, so that a
    run that was killed in it can be resumed."""

    minutes: float | None = None
    """Stop after so many minutes, with the learning rate brought down in time."""
    keep: int = 2
    """How many saved states to keep."""
    micro_batch: int | None = None
    """Pairs of texts that a device works on at a time, if a whole batch does not fit; the result stays the same."""
    compiled: bool = False
    """Let torch.compile fuse the layers, for a long run on a GPU; needs a C++ compiler."""
    unpadded: bool = False
    """Keep padding out of all layers on a GPU too; helps if the texts differ much in length."""
    gradient_checkpointing: bool = False
    """Take less memory and a third more work, for a large model."""


@dataclass(frozen=True)
class FinetuneSettings(RunSettings):
    """Where to fine-tune, what to save, and what to call on the way."""

    on_evaluation: Callable[[dict[str, float]], None] | None = None
    """Gets the measures of every evaluation on the dev set."""


@dataclass(frozen=True)
class PredictSettings:
    """Where and how predictions are computed."""

    device: Device = "auto"
    """Where to compute; auto takes a GPU if there is one."""
    precision: Precision = "float32"
    """Number format of matrix products; auto measures which one is faster on this machine."""
    batch_size: int | None = None
    """Texts, or windows of a passage, at a time; as many as suit the device if not given."""

    @contextmanager
    def computing(self) -> Iterator[str]:
        """Compute in this precision until the block ends; give the device. InputError: this machine has no such one."""
        check_batch_size(self.batch_size)
        best = best_device()
        if self.device not in ("auto", "cpu", best):
            raise InputError(f"--device {self.device}: this machine has none; choose auto or {best}")
        device = best if self.device == "auto" else self.device
        choice = choose(self.precision, device, TYPICAL)
        with torch.autocast(device, torch.bfloat16, enabled=choice.format == "bfloat16"):
            yield device
