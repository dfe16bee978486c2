"""The control beside every picture: the same architecture with weights that never saw a text."""

import torch
from torch.overrides import TorchFunctionMode

from bertlab.model.checkpoint import DRAWS


class DrawFrom(TorchFunctionMode):
    """Initial weights come from this generator: the global random state, which all threads share, is never touched."""

    def __init__(self, generator: torch.Generator):
        super().__init__()
        self.generator = generator

    def __torch_function__(self, function, types, args=(), kwargs=None):
        own = {"generator": self.generator} if function.__name__ in DRAWS else {}
        return function(*args, **(kwargs or {}) | own)


def random_model(kind, config, seed: int = 0):
    """A model of class `kind` with freshly drawn weights, in eval mode.

    Follows from the seed alone, whatever other threads do, and leaves the global random state as it was.
    """
    with DrawFrom(torch.Generator().manual_seed(seed)):
        return kind(config).eval()


def random_control(model, seed: int = 0):
    """random_model of the same class and config."""
    return random_model(type(model), model.config, seed)
