"""Dropout whose random numbers are cheap: on a processor, drawing them is a large part of training a small BERT."""

import torch
from torch import Tensor, nn

STEPS = 2**16  # what 16 random bits can tell apart


class Dropout(nn.Dropout):
    """nn.Dropout; on CPU each number gets 16 random bits, of which four numbers share a draw.

    So the chance to be dropped is `p` to the nearest 1/65,536, and what stays is scaled by just that chance.
    """

    def forward(self, x: Tensor) -> Tensor:
        dropped = round(self.p * STEPS)
        if not self.training or x.device.type != "cpu" or not 0 < dropped < STEPS:
            return super().forward(x)
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        bits = draws.view(torch.int16)[: x.numel()].view(x.shape)  # -32,768 to 32,767
        keep = bits >= dropped - STEPS // 2
        return x * keep.to(x.dtype).mul_(STEPS / (STEPS - dropped))
