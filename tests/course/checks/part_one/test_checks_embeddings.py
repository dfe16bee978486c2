"""Checkers of the chapter on input embeddings: the right answer passes, each known wrong one is told its mistake."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course import check_embeddings, check_lookup, check_segment_ids, check_shift_matrix, check_sinusoids
from bertlab.course.solutions.encoder import Embeddings
from bertlab.training.initial_weights import start_from_sinusoids
from tests.course.checks.checking import checker_tests


def lookup(ids, table):
    return F.one_hot(ids, len(table)).float() @ table


LOOKUP_MISTAKES = {
    "count from 0": lambda ids, table: table[ids - 1],
    "first row": lambda ids, table: table[ids[:1]].expand(2, -1, -1),
    "still one-hot": lambda ids, table: F.one_hot(ids, len(table)),
    "also where the largest": lambda ids, table: F.one_hot(ids).float() @ table,
    "one_hot @ table": lambda ids, table: table.T @ F.one_hot(ids, len(table)).float(),
    "wants floating point": lambda ids, table: F.one_hot(ids, len(table)) @ table,
    "you indexed the table": lambda ids, table: table[ids],
    "here write it with": lambda ids, table: F.embedding(ids, table),
    "one-hot rows and a product": lambda ids, table: torch.stack([torch.stack([table[i] for i in row]) for row in ids]),
    "no gradient": lambda ids, table: table[ids].detach(),
    "not the rows": lambda ids, table: table[ids] + 1,
    "the shape": lambda ids, table: table[ids].flatten(1),
    "return a tensor": lambda ids, table: table[ids].tolist(),
    "in place of": lambda ids, table: (_ for _ in ()).throw(NotImplementedError),
}


def segment_ids(ids, sep, pad):
    before = (ids == sep).cumsum(1) - (ids == sep).long()
    return ((before == 1) & (ids != pad)).long()


def changes_its_input(ids, sep, pad):
    result = segment_ids(ids, sep, pad)
    ids[:] = 0
    return result


def before(ids, sep):
    return (ids == sep).cumsum(1) - (ids == sep).long()


SEGMENT_MISTAKES = {
    "starts behind it": lambda ids, sep, pad: (((ids == sep).cumsum(1) == 1) & (ids != pad)).long(),
    "no second text": lambda ids, sep, pad: before(ids, sep).clamp(max=1),
    "not 2": lambda ids, sep, pad: before(ids, sep),
    "not a second text": lambda ids, sep, pad: (before(ids, sep) == 1).long(),
    "belongs to segment 1": lambda ids, sep, pad: segment_ids(ids, sep, pad) * (ids != sep),
    "wrong way round": lambda ids, sep, pad: 1 - segment_ids(ids, sep, pad),
    "torch.long": lambda ids, sep, pad: segment_ids(ids, sep, pad).float(),
    "changed the input_ids": changes_its_input,
    "at its own position too": lambda ids, sep, pad: (ids == sep).cumsum(1),
    "the segments are [0, 0, 0, 0, 1, 1, 0, 0], not [1,": lambda ids, sep, pad: torch.ones_like(ids),
}


def sinusoids(count, width, base):
    angles = torch.arange(count)[:, None] / base ** (torch.arange(0, width, 2) / width)  # (P, H / 2)
    table = torch.empty(count, width)
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table


def waves(angles):
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def column(count):
    return torch.arange(count)[:, None]


def own_angles(count, width, base):
    component = torch.arange(width)
    angles = column(count) / base ** (component / width)  # (P, H)
    return torch.where(component % 2 == 0, angles.sin(), angles.cos())


SINUSOID_MISTAKES = {
    "two blocks": lambda n, h, b: torch.cat([sinusoids(n, h, b)[:, 0::2], sinusoids(n, h, b)[:, 1::2]], 1),
    "sine belongs": lambda n, h, b: sinusoids(n, h, b).view(n, -1, 2).flip(-1).flatten(1),
    "count from 0": lambda n, h, b: sinusoids(n + 1, h, b)[1:],
    "half of that": lambda n, h, b: waves(column(n) / b ** (torch.arange(h // 2) / h)),
    "twice that": lambda n, h, b: waves(column(n) / b ** (4 * torch.arange(h // 2) / h)),
    "share one angle": own_angles,
    "base that is given": lambda n, h, b: sinusoids(n, h, 10_000.0),
    "is multiplied": lambda n, h, b: waves(column(n) * b ** (torch.arange(0, h, 2) / h)),
    "should have the shape": lambda n, h, b: sinusoids(n, h, b).T,
    "row 1 is": lambda n, h, b: sinusoids(n, h, b) * 2,
}


def shift_matrix(shift, width, base, sign=1):
    matrix = torch.zeros(width, width)
    for i in range(0, width, 2):
        angle = torch.tensor(sign * shift / base ** (i / width))
        block = [[angle.cos(), angle.sin()], [-angle.sin(), angle.cos()]]
        matrix[i : i + 2, i : i + 2] = torch.tensor(block)
    return matrix


def one_angle(shift, width, base):
    return torch.block_diag(*[shift_matrix(shift, 2, base)] * (width // 2))


def in_blocks(shift, width, base):
    order = [*range(0, width, 2), *range(1, width, 2)]
    return shift_matrix(shift, width, base)[order][:, order]


SHIFT_MISTAKES = {
    "depend on the shift": lambda k, h, b: torch.eye(h),
    "the transpose": lambda k, h, b: shift_matrix(k, h, b).T,
    "radians": lambda k, h, b: shift_matrix(k * torch.pi / 180, h, b),
    "two blocks": in_blocks,
    "first wave": one_angle,
    "it is not": lambda k, h, b: 2 * shift_matrix(k, h, b),
    "should have the shape": lambda k, h, b: shift_matrix(k, h, b)[:2],
}

# The module Embeddings: what the sum lacks is in test_checks_my_bert


class Shared(Embeddings):
    """The positions of the segments: 0 and 1 only."""

    def forward(self, input_ids, token_type_ids):
        positions = self.position(token_type_ids)
        return self.dropout(self.norm(self.word(input_ids) + self.segment(token_type_ids) + positions))


class Swapped(Embeddings):
    """The words' ids in the table of segments, and the other way round."""

    def forward(self, input_ids, token_type_ids):
        return super().forward(token_type_ids, input_ids)


class Everywhere(Embeddings):
    """All rows of the table of positions, not the first S."""

    def forward(self, input_ids, token_type_ids):
        return self.norm(self.word(input_ids) + self.segment(token_type_ids) + self.position.weight)


class NormOfEach(Embeddings):
    def forward(self, input_ids, token_type_ids):
        positions = self.position(torch.arange(input_ids.size(1)))
        return self.dropout(self.norm(self.word(input_ids)) + self.norm(self.segment(token_type_ids) + positions))


class DropoutFirst(Embeddings):
    def forward(self, input_ids, token_type_ids):
        positions = self.position(torch.arange(input_ids.size(1)))
        return self.norm(self.dropout(self.word(input_ids) + self.segment(token_type_ids) + positions))


def changed(**parts):
    """Embeddings with other parts, made from the config."""

    class Changed(Embeddings):
        def __init__(self, config):
            super().__init__(config)
            for name, part in parts.items():
                setattr(self, name, part(config))

    return Changed


EMBEDDINGS_MISTAKES = {
    "the result is not": Shared,
    "a row that it does not have": Swapped,
    "stopped on inputs of shape (2, 7)": Everywhere,
    "is not the library's": NormOfEach,
    "dropout comes last": DropoutFirst,
    "use the number in config": changed(dropout=lambda config: nn.Dropout(0.1)),
    "config.layer_norm_eps": changed(norm=lambda config: nn.LayerNorm(config.hidden_size)),
    "only in yours: positions.weight": changed(positions=lambda config: nn.Embedding(9, config.hidden_size)),
    "another shape": changed(position=lambda config: nn.Embedding(config.vocab_size, config.hidden_size)),
    "your code stopped: 'BertConfig'": changed(norm=lambda config: nn.LayerNorm(config.hidden)),
    "in place of": changed(norm=lambda config: (_ for _ in ()).throw(NotImplementedError)),
}

RIGHT = {
    check_lookup: lookup,
    check_segment_ids: segment_ids,
    check_embeddings: Embeddings,
    check_sinusoids: sinusoids,
    check_shift_matrix: shift_matrix,
}
MISTAKES = {
    check_lookup: LOOKUP_MISTAKES,
    check_segment_ids: SEGMENT_MISTAKES,
    check_embeddings: EMBEDDINGS_MISTAKES,
    check_sinusoids: SINUSOID_MISTAKES,
    check_shift_matrix: SHIFT_MISTAKES,
}

test_right_answer_passes, test_mistake_is_named = checker_tests(RIGHT, MISTAKES)


def by_comparing(ids, table):
    return (ids[..., None] == torch.arange(len(table))).float() @ table


def by_einsum(ids, table):
    return torch.einsum("bsv,vh->bsh", F.one_hot(ids, len(table)).float(), table)


def by_linear(ids, table):
    return F.linear(F.one_hot(ids, len(table)).float(), table.T)


def by_adding_up(ids, table):
    return (F.one_hot(ids, len(table))[..., None] * table).sum(-2)


def row_by_row(ids, table):
    return torch.stack([F.one_hot(row, len(table)).float() @ table for row in ids])


@pytest.mark.parametrize("product", [by_comparing, by_einsum, by_linear, by_adding_up, row_by_row])
def test_any_product_is_right(product):
    check_lookup(product)


def test_the_waves_are_those_that_training_starts_from():
    table = torch.empty(20, 16)
    start_from_sinusoids(table, size=0.5**0.5)
    assert torch.allclose(table, sinusoids(20, 16, 1000.0), atol=1e-5)
