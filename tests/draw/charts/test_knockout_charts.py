import math

import pytest

from bertlab.draw.charts.base import png
from bertlab.draw.charts.knockout import (
    agreement_map,
    agreement_table,
    knockout_map,
    knockout_table,
    largest,
    measure_map,
    measure_table,
)
from bertlab.explain.attention.flow import Measures

ROWS = [[-1.5, 0.25, 0.0], [0.0, -0.5, 0.1]]
VALUES = {"attention": [9, 0.4, 0.3, 0.2, 0.1], "rollout": [0, 0.1, 0.2, 0.3, 0.4]}
MEASURES = Measures(["[CLS]", "'</script>", "b", "c", "b"], 0, [False, *[True] * 4], VALUES | {"flat": [1, 1, 1, 1, 1]})


def test_a_row_for_each_head_counted_from_one():
    table = knockout_table({"mine": ROWS, "random weights": ROWS})
    assert len(table) == 12 and list(table.loc[4]) == ["mine", 2, 2, -0.5]
    assert largest(ROWS, [[2.0]]) == 2 and largest([[0.0], [-1e-7]]) == 0.01


def test_heads_that_are_off_are_framed():
    chart = knockout_map(ROWS, 1.5, off=[(1, 0)])
    framed = chart.data[chart.data["off"]]
    assert list(zip(framed["layer"], framed["head"], strict=True)) == [(2, 1)]


def test_only_a_map_to_click_has_a_selection():
    assert "params" not in knockout_map(ROWS, 1.5).to_dict()
    assert knockout_map(ROWS, 1.5, clickable=True).to_dict()["params"][0]["name"] == "cell"


@pytest.mark.parametrize(
    "chart",
    [
        knockout_map(ROWS, 1.5, layers=4, off=[(0, 0)], clickable=True),
        knockout_map([[0.1] * 12] * 2, 1.5),
        measure_map(MEASURES),
        agreement_map(MEASURES),
    ],
    ids=["heads", "many heads", "measures", "agreement"],
)
def test_charts_become_files(chart):
    assert png(chart, scale=1).startswith(b"\x89PNG")


def test_ranks_leave_out_what_is_not_compared():
    table = measure_table(MEASURES)
    assert math.isnan(table["rank by attention"][0]) and list(table["rank by attention"][1:]) == [1, 2, 3, 4]


def test_agreement_in_pairs():
    table = agreement_table(MEASURES).set_index(["measure", "other"])["correlation"]
    assert table["attention", "rollout"] == pytest.approx(-1) and math.isnan(table["attention", "flat"])
    assert list(agreement_map(MEASURES).data["shown"][:2]) == ["−1.00", "–"]


def test_a_change_of_nothing_has_no_sign():
    table = next(iter(knockout_map([[-0.001, 0.3], [-0.3, 0.004]], 1.0).to_dict()["datasets"].values()))
    assert [row["shown"] for row in table] == ["0.00", "+0.30", "−0.30", "0.00"]
