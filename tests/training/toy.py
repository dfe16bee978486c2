"""A training of one weight and one bias, over in a moment."""

from dataclasses import fields
from itertools import count

import torch
from torch import nn

from bertlab.training.engine.callbacks import Callbacks
from bertlab.training.engine.devices import Devices
from bertlab.training.engine.loop import LoopSettings, train
from bertlab.training.engine.micro_batches import WHOLE
from bertlab.training.engine.optim import Optimization
from bertlab.training.pretrain import pretrain
from bertlab.training.run_settings import PretrainSettings


def line(weight=0.0):
    """A model of one weight and one bias, drawn to y = 3x by the loss below."""
    model = nn.Linear(1, 1)
    nn.init.constant_(model.weight, weight)
    nn.init.zeros_(model.bias)
    return model


def points():
    generator = torch.Generator().manual_seed(0)
    while True:
        x = torch.randn(8, 1, generator=generator)
        yield {"x": x, "y": 3 * x, "attention_mask": torch.tensor([[1, 1, 0]])}


def squared(model, batch, shares=WHOLE):
    loss = shares["y"] * (model(batch["x"]) - batch["y"]).square().mean()
    return loss, {"loss": loss}


def run(model=None, **options):
    """(model, rows) of a short training."""
    model = model or line()
    given = {"steps": 20, "optim": Optimization(learning_rate=0.1)} | quietly() | options
    return model, fit(model, points(), given.pop("loss_function", squared), **given)


def fit(model, batches, loss_function, **options):
    """`train`, with the options sorted into its settings, its callbacks and the rest."""

    def taken(kind):
        return kind(**{field.name: options.pop(field.name) for field in fields(kind) if field.name in options})

    return train(model, batches, loss_function, taken(LoopSettings), taken(Callbacks), **options)


def quietly():
    return {"progress": False, "devices": Devices("cpu").settle()}


def exploding(*bad):
    """A loss that is infinite at the steps `bad`."""
    steps = count(1)

    def loss_function(model, batch, shares):
        loss, _ = squared(model, batch, shares)
        loss = loss * (float("inf") if next(steps) in bad else 1.0)
        return loss, {"loss": loss}

    return loss_function


def on_cpu(**settings):
    """Settings of a pretraining on the processor."""
    return PretrainSettings(**{"device": "cpu"} | settings)


def pretrained(recipe, texts, tok, **options):
    """`pretrain` without a progress bar, with the options sorted into its settings and the rest."""
    names = {field.name for field in fields(PretrainSettings)}
    settings = {name: options.pop(name) for name in names & options.keys()}
    return pretrain(recipe, texts, tokenizer=tok, progress=False, settings=on_cpu(**settings), **options)


def weights(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same(one, other):
    """Whether two tables of weights are equal to the bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
