import pytest
import torch

from bertlab.draw.charts.attention import role_maps, role_table
from bertlab.draw.charts.base import png
from bertlab.explain.attention.heads import ROLES, head_roles
from bertlab.explain.attention.maps import AttentionMaps


@pytest.fixture
def table():
    tokens = ["[CLS]", "a", "<b>", "[SEP]"]
    looks = torch.eye(4).roll(1, 0).expand(2, 3, 4, 4)  # each token at the one before
    even = torch.full((2, 3, 4, 4), 0.25)
    return role_table(*(head_roles(AttentionMaps(tokens, [0] * 4, weights)) for weights in (looks, even)))


def test_one_row_a_head_and_role(table):
    assert len(table) == 2 * 3 * len(ROLES)
    named = table[table["named"]]
    assert set(named["role"]) == {"previous"} and len(named) == 6
    assert named["score"].tolist() == [1.0] * 6 and named["random weights"].tolist() == [0.25] * 6
    assert (table["layer"].min(), table["layer"].max(), table["head"].max()) == (1, 2, 3)
    assert table[table["role"] == "same word"]["score"].isna().all()


def test_maps_are_drawn(table):
    chart = role_maps(table)
    assert len(chart.vconcat) == 2
    assert png(chart).startswith(b"\x89PNG")
