"""Charts of comparisons: every learner, interval and guess is drawn, and curves where the table has them."""

import pytest

from bertlab.compare.tables import TABLES, points_of
from bertlab.draw.charts.base import svg
from bertlab.draw.charts.comparison import in_two_lines, score_chart, score_panels, score_table, side_panels
from bertlab.draw.palette import ORANGE
from bertlab.explain.words.fill import Fill

TASKS = {
    "entities": {"constructor": (0.5, 0.4, 0.6), "80% [MASK]": (0.7, 0.6, 0.8)},
    "mean": {"constructor": (0.5, 0.5, 0.5)},
}
POINTS = {"constructor": ("masked", 0.5), "80% [MASK]": ("masked", 1.0)}


def kinds(chart) -> set[str]:
    return {layer["mark"]["type"] for layer in chart.to_dict()["layer"]}


def test_a_row_for_each_task_and_learner():
    table = score_table(TASKS, {"entities": 0.45})
    assert table[["task", "learner"]].values.tolist() == [[task, name] for task in TASKS for name in TASKS[task]]
    assert table["guess"].notna().tolist() == [True, True, False]
    drawn = svg(score_chart(table)).decode()
    for words in ("constructor", "80% [MASK]", "a guess 0.450", "mean"):
        assert f">{words}</text>" in drawn


def test_a_long_name_is_whole_on_two_lines():
    mix = "80% [MASK], 10% same, 10% random"
    assert in_two_lines(f"{mix}, features") == "80% [MASK], 10% same,\n10% random, features"
    assert in_two_lines("the last four side by side") == "the last four\nside by side"
    assert in_two_lines("w" * 40) == "w" * 40 and in_two_lines("left, right") == "left, right"
    tasks = {"entities": {name: (0.5, 0.4, 0.6) for name in (mix, f"{mix}, features", "short")}}
    drawn = svg(score_chart(score_table(tasks, {}))).decode()
    assert "…" not in drawn
    for words in ("80% [MASK], 10% same,", "10% random", "10% random, features", "short"):
        assert f">{words}</" in drawn


def test_a_task_without_a_guess_has_no_rule_for_it():
    with_guess, without = score_panels(score_table(TASKS, {"entities": 0.45})).values()
    assert "text" in kinds(with_guess) and "text" not in kinds(without)


def test_learners_that_differ_by_their_steps_lie_on_curves():
    panels = score_panels(score_table(TASKS, {}, POINTS))
    assert {"line", "area"} <= kinds(panels["entities"])
    assert "masked" in svg(panels["entities"]).decode()


@pytest.mark.parametrize("name", TABLES)
def test_only_the_table_of_steps_has_curves(name):
    points = points_of(TABLES[name])
    assert bool(points) == (name == "steps")
    assert not points or points["left to right, 25% of the steps"] == ("left to right", 0.25)


def test_guesses_side_by_side_with_marked_ones():
    fills = {"one": [Fill(1, ["a"], [0.7], 0.8), Fill(1, ["b"], [0.7], 0.8)]}
    assert ORANGE not in svg(side_panels(fills, {"one": [set(), set()]})).decode()
    drawn = svg(side_panels(fills, {"one": [set(), {"b"}]})).decode()
    assert ORANGE in drawn and "one, version 2" in drawn
