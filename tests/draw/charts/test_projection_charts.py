import altair as alt
import numpy as np
import pytest

from bertlab.draw.charts.base import label_key, png
from bertlab.draw.charts.projection import (
    MOST_LABELS,
    OTHERS,
    YOURS,
    clickable,
    drawn_labels,
    few_labels,
    layer_lines,
    measure_table,
    projection_scatter,
    projection_table,
    without_legend,
)
from bertlab.explain.vectors import LayerMeasures, Neighbours

POINTS = np.random.default_rng(0).normal(size=(30, 2))


def scatter(labels, **options) -> dict:
    return projection_scatter(projection_table(POINTS, labels, ["<b>"] * 30), (0.5, 0.2), **options).to_dict()


def scale(chart: dict, channel: str) -> dict[str, str]:
    found = chart["layer"][0]["encoding"][channel]["scale"]
    return dict(zip(found["domain"], found["range"], strict=True))


@pytest.mark.parametrize("kinds", [1, 2, 7, 8, 30])
def test_no_two_labels_look_the_same(kinds):
    chart = scatter([f"kind {i % kinds}" for i in range(29)] + [YOURS])
    for channel in ("color", "shape"):
        looks = scale(chart, channel)
        assert len(set(looks.values())) == len(looks) == min(kinds, MOST_LABELS) + 1
        assert (OTHERS in looks) == (kinds > MOST_LABELS)


def test_one_key_stands_for_the_legend_of_several_pictures():
    labels = [f"<b>kind {i % 3}" for i in range(29)] + [YOURS]
    chart = projection_scatter(projection_table(POINTS, labels, ["x"] * 30), None)
    alone, whole = without_legend(chart).to_dict(), chart.to_dict()
    for channel in ("color", "shape"):
        assert alone["layer"][0]["encoding"][channel]["legend"] is None
        assert whole["layer"][0]["encoding"][channel]["legend"]["columns"] == 3
    looks = drawn_labels(labels)
    assert scale(whole, "color") == {name: colour for name, (colour, _) in looks.items()}
    key = label_key(looks)
    assert [key.count(sign) for sign in "●■▲★◆"] == [1, 1, 1, 1, 0] and "&lt;b&gt;kind 2" in key and "<b>" not in key


def test_the_commonest_labels_are_kept():
    labels = [*"aaabbbccdde", "f", "g", "h", *[YOURS] * 9]
    few = few_labels(labels)
    assert few[:11] == labels[:11] and few[-1] == YOURS and OTHERS in few
    assert few_labels([YOURS, "a"]) == [YOURS, "a"]


def test_rings_are_on_the_picked_text_and_those_near_it():
    *_, near, picked = scatter(["a"] * 30, picked=3, near=[1, 2])["layer"]
    assert near["transform"][0]["filter"]["oneOf"] == [1, 2]
    assert picked["transform"][0]["filter"]["oneOf"] == [3]
    assert len(scatter(["a"] * 30)["layer"]) == 1


def test_long_texts_are_cut_in_the_picture_alone():
    table = projection_table(POINTS, ["a"] * 30, ["word " * 10_000] * 30)
    assert len(str(projection_scatter(table, None).to_dict())) < 30_000
    assert len(table["text"][0]) == 50_000


def test_a_click_tells_the_number():
    table = projection_table(POINTS, ["a"] * 30, ["x"] * 30)
    chart = clickable(projection_scatter(table, None)).to_dict()
    assert [(p["name"], p["select"]["fields"]) for p in chart["params"]] == [("point", ["number"])]
    assert list(table["number"]) == list(range(1, 31))


def measured(neighbours):
    return [LayerMeasures(neighbours, -0.3), LayerMeasures(neighbours, 0.4)]


def test_each_model_has_a_line_of_its_own_colour():
    table = measure_table({"mine": measured(Neighbours(0.9, 0.1, 0.5, 5)), "random weights": measured(None)})
    assert list(table["accuracy"].isna()) == [False, False, True, True]
    lines = layer_lines(table, 1, 0.5).to_dict()["layer"][-1]["encoding"]
    assert lines["color"]["scale"]["domain"] == ["mine", "random weights"]
    assert len(set(lines["color"]["scale"]["range"])) == 2


def test_every_chart_becomes_a_png():
    table = projection_table(POINTS, ["a"] * 29 + [YOURS], ["x"] * 30)
    lines = measure_table({"mine": measured(Neighbours(0.9, 0.1, 0.5, 5))})
    panels = [projection_scatter(table, (0.5, 0.2), name, picked=1, near=[2]) for name in "xy"]
    for chart in (alt.hconcat(*panels), layer_lines(lines, 1, 0.5)):
        assert png(chart, scale=1).startswith(b"\x89PNG")
