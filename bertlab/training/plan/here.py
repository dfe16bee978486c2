"""How fast this machine trains a model, from steps of one and two of its layers: some seconds, whatever its depth."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from bertlab.config import IGNORED
from bertlab.model import BertForPreTraining
from bertlab.training.engine.devices import Devices
from bertlab.training.engine.loop import add_gradients, train_step
from bertlab.training.engine.micro_batches import WHOLE, Batch, MicroBatch
from bertlab.training.engine.optim import Optimization, make_optimizers
from bertlab.training.engine.precision import Choice, Precision, Products
from bertlab.training.objective import pretraining_loss
from bertlab.training.plan.job import Job

ADAMW = Optimization("adamw", learning_rate=1e-4)
MOST = 5e10  # operations of one timed pass with two layers: some tenths of a second
MOST_POSITIONS = 2**15  # of one timed pass: in a narrow model the operations are few and most time goes elsewhere
ROUNDS = 4  # the first one warms up


@dataclass(frozen=True)
class Pace:
    """Measured seconds of a pretraining's parts on one device."""

    layer: float  # forward and backward of one layer, for each text
    around: float  # embeddings and heads, for each text
    micro_batch: float  # what each micro-batch takes besides, however many texts it holds
    parameter: float  # clipping and AdamW, for each parameter, once a step

    def step(self, job: Job) -> dict[str, float]:
        """Return the seconds of a step by part."""
        return {
            "layers": job.share * job.config.num_hidden_layers * self.layer,
            "embeddings and heads": job.share * self.around + job.micro_batches * self.micro_batch,
            "clipping and AdamW": job.parameters * self.parameter,
        }


def choose_here(job: Job, precision: Precision) -> tuple[Job, Devices, Choice]:
    """Return the job in the precision that bertlab chooses on this machine's device, the device, and why."""
    products = Products(job.rows * job.max_tokens, job.config.hidden_size, job.config.intermediate_size)
    devices = Devices().settle(precision, products)
    choice = devices.choice
    return replace(job, precision=choice.format, on_cpu=devices.device.type == "cpu"), devices, choice


def measure(job: Job, devices: Devices, clock: Callable[[], float] = time.perf_counter) -> Pace:
    """Time passes and updates of models with one and two layers of the job's width, on texts of its length and fill.

    They take turns, and the best round of each counts, for other work on the machine can only slow a round down.
    """
    rows = _affordable(job)
    few = max(1, rows // 2)
    whole, half = (make_batch(job, count) for count in (rows, few))
    times: list[tuple[float, ...]] = []
    with torch.random.fork_rng(devices=[]):
        one, two = (TimedModel(job, layers, devices, clock) for layers in (1, 2))
        for _ in range(ROUNDS):
            times.append((one.gradients(whole), two.gradients(whole), one.gradients(half), two.update()))
            one.update()
    first, second, less, update = (min(column) for column in zip(*times[1:], strict=True))
    layer = max(second - first, 0.0) / rows
    slope = max(first - less, 0.0) / (rows - few) if rows > few else first / rows
    around = max(slope - layer, 0.0)
    return Pace(layer, around, max(first - rows * (layer + around), 0.0), update / two.parameters)


def _affordable(job: Job) -> int:
    """Texts of a timed pass: as many as the device works on at a time, or fewer where that would take long."""
    two = replace(job, config=job.config.changed(num_hidden_layers=2))
    return max(1, min(job.rows, int(MOST / sum(two.made(1).values())), MOST_POSITIONS // job.max_tokens))


def make_batch(job: Job, rows: int) -> Batch:
    """Return random ids of so many texts, as long and as full as those of the job, with labels."""
    generator, words = torch.Generator().manual_seed(0), job.config.vocab_size
    ids = torch.randint(min(5, words - 1), words, (rows, job.max_tokens), generator=generator)  # (B, S)
    real = (torch.arange(job.max_tokens) < max(1, round(job.fill * job.max_tokens))).expand(rows, -1)
    labelled = real & (torch.rand(ids.shape, generator=generator) < job.masked)
    return {
        "input_ids": ids * real,
        "token_type_ids": torch.zeros_like(ids),
        "attention_mask": real.long(),
        "labels": ids.masked_fill(~labelled, IGNORED),
        "next_sentence_label": torch.arange(rows) % 2,
    }


class TimedModel:
    """A model with few layers, set up as the trainer does, and the clock beside it."""

    def __init__(self, job: Job, layers: int, devices: Devices, clock: Callable[[], float]):
        self.clock = clock
        model = BertForPreTraining(job.config.changed(num_hidden_layers=layers))
        model.bert.encoder.gradient_checkpointing = job.gradient_checkpointing
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.wrapped = devices.wrap(model.train())
        self.optimizers = make_optimizers(model, ADAMW)

    def gradients(self, batch: Batch) -> float:
        """Return the seconds of forward and backward."""
        start = self.clock()
        watched = add_gradients(self.wrapped, [MicroBatch(batch, WHOLE)], pretraining_loss)
        float(watched["mlm_loss"])  # waits for a GPU
        return self.clock() - start

    def update(self) -> float:
        """Return the seconds of clipping and AdamW; the gradients are gone after it."""
        start = self.clock()
        finite, _ = train_step(self.wrapped, self.optimizers, [], pretraining_loss, 1e-4, 1.0)
        bool(finite)
        return self.clock() - start
