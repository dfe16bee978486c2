"""Muon: a matrix moves by its momentum with all singular values made about 1 (Jordan et al. 2024).

torch.optim.Muon computes in bfloat16 whatever the run computes in, which takes most of a step where a processor only
emulates that format. This one computes in the format of the run, and all matrices of one shape at once.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

Coefficients = Sequence[tuple[float, float, float]]  # (a, b, c) of each step: x becomes ax + bx^3 + cx^5

# Of torch.optim.Muon and of Jordan et al. 2024: singular values of 0.002 or more end between 0.68 and 1.14.
JORDAN: Coefficients = ((3.4445, -4.7750, 2.0315),) * 5
# The best polynomial of each step for what the steps before leave of 0.01 to 1 (Amsel et al. 2025, theorem 3.1): these
# singular values end between 0.987 and 1.013, in a step less.
POLAR: Coefficients = (
    (8.0934, -23.6204, 17.4462),
    (3.6366, -2.7219, 0.5365),
    (2.6613, -1.9772, 0.4526),
    (1.9562, -1.3375, 0.3839),
)
LEAST_NORM = 1e-7  # a matrix of zeros stays one


class Muon(Optimizer):
    """Move matrices by orthogonalised Nesterov momentum, with decoupled weight decay.

    A step of a matrix (m, n) has about the root mean square of one of AdamW (Liu et al. 2025, section 2.2), so both
    share a learning rate. `products` is the format in which matrices are multiplied (None: that of the weights).
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        coefficients: Coefficients = POLAR,
        products: torch.dtype | None = None,
    ):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})
        self.coefficients, self.products = coefficients, products

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update all matrices that have a gradient. A closure, which torch's optimizers allow, is not called."""
        for group in self.param_groups:
            alike: dict[tuple[int, ...], list[Tensor]] = {}
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike.setdefault(tuple(sorted(matrix.shape)), []).append(matrix)
            for matrices in alike.values():
                self._update(matrices, group["lr"], group["weight_decay"], group["momentum"])

    def _update(self, matrices: list[Tensor], rate: float, weight_decay: float, momentum: float) -> None:
        """Update matrices (m, n) or (n, m) of one group."""
        directions = orthogonalised(self._directions(matrices, momentum), self.coefficients, self.products)
        torch._foreach_mul_(matrices, 1 - rate * weight_decay)
        torch._foreach_add_(matrices, directions, alpha=-0.2 * math.sqrt(max(matrices[0].shape)) * rate)

    def _directions(self, matrices: list[Tensor], momentum: float) -> list[Tensor]:
        """Add the gradients to the momenta and return where these lead to (Nesterov)."""
        gradients: list[Tensor] = []
        momenta: list[Tensor] = []
        for matrix in matrices:
            assert matrix.grad is not None
            gradients.append(matrix.grad)
            state = self.state[matrix]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = torch.zeros_like(matrix)
            momenta.append(state["momentum_buffer"])
        torch._foreach_lerp_(momenta, gradients, 1 - momentum)
        return list(torch._foreach_lerp(gradients, momenta, momentum))


def orthogonalised(
    matrices: Sequence[Tensor], coefficients: Coefficients = POLAR, products: torch.dtype | None = None
) -> list[Tensor]:
    """Return U V^T, about, of the singular value decomposition U S V^T of each matrix (m, n) or (n, m).

    Each step of this Newton-Schulz iteration applies an odd polynomial to all singular values, which the division by
    the Frobenius norm has brought to at most 1. `products`: the format of the products (None: that of the matrices).
    """
    wide = [matrix.mT if matrix.size(0) > matrix.size(1) else matrix for matrix in matrices]
    x = torch.stack(wide)  # (N, m, n), m <= n
    x = (x / torch.linalg.matrix_norm(x, keepdim=True).clamp(min=LEAST_NORM)).to(products or x.dtype)
    for a, b, c in coefficients:
        gram = x @ x.mT  # (N, m, m)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)  # (N, m, n)
    x = x.to(matrices[0].dtype)
    return [y.mT if matrix.size(0) > matrix.size(1) else y for matrix, y in zip(matrices, x, strict=True)]
