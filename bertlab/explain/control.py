"""The control beside every picture: the same architecture with weights that never saw a text."""

import torch


def random_control(model, seed: int = 0):
    """A model of the same class and config with freshly drawn weights, in eval mode.

    The global random state is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return type(model)(model.config).eval()
