"""The figures of chapter 17 show what they were given."""

import pytest

from bertlab.draw.figures import cluster as figures


def test_the_roof_bends_where_both_limits_meet():
    roof, ridge, *points = figures.roofline({"a": (0.1, 1e9), "b": (100.0, 9e10)}, 1e11, 1e10).axes[0].lines
    x, y = roof.get_data()
    assert max(y) == pytest.approx(100) and y[0] == pytest.approx(10 * x[0]) and ridge.get_xdata()[0] == 10
    assert [(p.get_xdata()[0], p.get_ydata()[0]) for p in points] == [(0.1, 1.0), (100.0, 90.0)]


def test_bars_stand_end_to_end():
    ax = figures.memory_bars({"one": {"x": 1e9, "y": 2e9}, "two": {"y": 1e9, "z": 3e9}}).axes[0]
    assert [text.get_text() for text in ax.texts] == ["3.0 GB", "4.0 GB"]
    assert [bar.get_x() for bar in ax.patches] == [0, 0, 1, 0, 3, 1]
