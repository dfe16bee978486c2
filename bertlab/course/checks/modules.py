"""What checkers of modules share: the reader's beside the library's with the same weights, and a batch to try both."""

import torch
from torch import Tensor, nn

from bertlab.course.checks.base import expect
from bertlab.course.matching import load_matching


def same_weights(library: type[nn.Module], cls: type[nn.Module], *options, spread: float | None = None):
    """The library's module and the reader's, both made from `options`, in eval mode; a Mistake where names differ.

    With `spread`, a standard deviation, every parameter is drawn anew, those of LayerNorm too, which start as 0 and 1.
    """
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        theirs, mine = library(*options).eval(), cls(*options).eval()
        for parameter in theirs.parameters() if spread else ():
            nn.init.normal_(parameter, std=spread)
    report = load_matching(mine, theirs)
    expect(report.complete, f"your parameters are not those of the library.\n{report}")
    return theirs, mine


def small_batch() -> tuple[Tensor, Tensor, Tensor]:
    """input_ids, attention_mask and token_type_ids (2, 7): two pairs, the second with padding."""
    ids = torch.arange(14).view(2, 7) + 5
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    types = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 0]])
    return ids, mask, types
