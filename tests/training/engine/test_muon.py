"""Muon against torch's, against the singular value decomposition, and in the format it is asked for."""

from collections import Counter

import pytest
import torch
from torch.overrides import TorchFunctionMode

from bertlab import BertForPreTraining
from bertlab.training.engine.muon import JORDAN, Muon, orthogonalised
from bertlab.training.engine.optim import Optimization, make_optimizers

SHAPES = [(48, 16), (16, 16), (64, 16), (16, 64), (16, 16), (64, 16)]
FORMATS = [None, torch.bfloat16]


def random_matrices(shapes=SHAPES, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def with_singular_values(values: torch.Tensor, columns: int, seed=0) -> torch.Tensor:
    """A random matrix (len(values), columns) of these singular values."""
    rows = len(values)
    left, right = (torch.linalg.qr(m)[0] for m in random_matrices([(rows, rows), (columns, rows)], seed))
    return left @ values.diag() @ right.mT


def trained(optimizer_of, steps=4):
    """The matrices after so many steps with gradients of their own."""
    matrices = [torch.nn.Parameter(matrix) for matrix in random_matrices()]
    optimizer = optimizer_of(matrices)
    for step in range(steps):
        for matrix, gradient in zip(matrices, random_matrices(seed=step + 1), strict=True):
            matrix.grad = gradient
        optimizer.step()
    return matrices


@pytest.mark.parametrize(("products", "tolerance"), [(torch.bfloat16, 2e-2), (None, 3e-2)])
def test_with_the_coefficients_of_torch_it_is_torchs_within_the_rounding_of_bfloat16(products, tolerance):
    ours = trained(lambda matrices: Muon(matrices, 0.1, weight_decay=0.3, coefficients=JORDAN, products=products))
    theirs = trained(lambda matrices: torch.optim.Muon(matrices, 0.1, weight_decay=0.3, adjust_lr_fn="match_rms_adamw"))
    start = random_matrices()
    for one, other, before in zip(ours, theirs, start, strict=True):
        off = float((one - other).norm() / (other - before).norm())
        assert off < tolerance, f"{tuple(one.shape)}: {off:.4f} of the way it moved"


@pytest.mark.parametrize(("products", "low", "high"), [(None, 0.98, 1.02), (torch.bfloat16, 0.95, 1.05)])
@pytest.mark.parametrize("columns", [64, 256])
def test_singular_values_end_about_one(columns, products, low, high):
    """Those of 0.01 of the Frobenius norm or more, as the coefficients promise; smaller ones grow and stay below."""
    values = torch.logspace(0, -1.5, 64)
    assert values.min() / values.norm() > 0.01
    matrix = with_singular_values(values, columns)
    found = torch.linalg.svdvals(orthogonalised([matrix], products=products)[0])
    assert low < found.min() and found.max() < high, (found.min(), found.max())
    tiny = torch.linalg.svdvals(orthogonalised([with_singular_values(torch.logspace(0, -4, 64), columns)])[0])
    assert tiny.min() > 100 * 1e-4 / torch.logspace(0, -4, 64).norm() and tiny.max() < high


def test_directions_are_those_of_the_singular_value_decomposition():
    for matrix in random_matrices([(48, 16), (16, 64), (32, 64)]):
        (found,) = orthogonalised([matrix])
        left, _, right = torch.linalg.svd(matrix, full_matrices=False)
        assert found.shape == matrix.shape
        assert torch.linalg.matrix_norm(found - left @ right, 2) < 0.02


def test_matrices_of_one_shape_do_not_mix():
    alone = [orthogonalised([matrix])[0] for matrix in random_matrices([(16, 64)] * 3)]
    torch.testing.assert_close(orthogonalised(random_matrices([(16, 64)] * 3)), alone)


def test_a_matrix_of_zeros_and_one_of_huge_or_tiny_numbers():
    zeros, large, small = torch.zeros(4, 8), 1e18 * torch.ones(4, 8), 1e-12 * torch.eye(4)
    assert not orthogonalised([zeros])[0].any()
    assert float(torch.linalg.svdvals(orthogonalised([large])[0])[0]) == pytest.approx(1, abs=0.02)
    assert orthogonalised([small])[0].isfinite().all()


class Formats(TorchFunctionMode):
    """Counts the formats in which matrices are multiplied."""

    def __init__(self):
        self.seen = Counter()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in ("matmul", "__matmul__", "baddbmm", "bmm", "addmm", "mm"):
            self.seen[args[0].dtype] += 1
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("products", FORMATS)
def test_products_are_in_the_format_of_the_run(products, config):
    model = BertForPreTraining(config)
    muon, _ = make_optimizers(model, Optimization("muon"), products)
    for parameter in model.parameters():
        parameter.grad = parameter.detach().sin()
    with Formats() as formats:
        muon.step()
    assert formats.seen.keys() == {products or torch.float32}


def test_a_matrix_without_a_gradient_stays():
    matrices = [torch.nn.Parameter(matrix) for matrix in random_matrices([(8, 8)] * 2)]
    before = matrices[1].detach().clone()
    matrices[0].grad = torch.ones(8, 8)
    Muon(matrices, 0.1).step()
    assert matrices[1].equal(before) and not matrices[0].equal(random_matrices([(8, 8)])[0])
