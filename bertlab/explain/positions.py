"""How alike the position vectors of a model are."""

import torch.nn.functional as F
from torch import Tensor


def position_similarity(positions: Tensor) -> Tensor:
    """Cosine of each position vector with each other: (P, H) -> (P, P), 1 on the diagonal."""
    unit = F.normalize(positions.detach().float(), dim=-1)  # (P, H)
    return unit @ unit.T


def similarity_by_distance(similarity: Tensor, first: int, last: int) -> Tensor:
    """Mean similarity of positions that are 0, 1, 2, ... apart, among those from `first` to before `last`: (D,).

    The farthest quarter is left out: too few pairs are that far apart.
    """
    part = similarity[first:last, first:last]
    far = 3 * (last - first) // 4
    return part.new_tensor([float(part.diagonal(distance).mean()) for distance in range(far)])
