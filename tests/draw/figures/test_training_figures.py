"""Pictures of pretraining show what they are given."""

import pytest

from bertlab.course.broken import Chart
from bertlab.draw.figures import training as training_figures


@pytest.fixture
def chart():
    looks = [1, 3]
    values = dict(held_out=[8.0, 7.0], again=[8.0, 7.0], padded=[8.0, 7.5])
    return Chart([8.0, 7.5, 7.0], [0.7, 0.7, 0.6], [0.5, 0.5, 1.0], [1e-3, 2e-3, 0.0], looks, **values)


def test_one_row_of_four_charts_for_each_training(chart):
    fig = training_figures.charts({"A": chart, "B": chart}, uniform=8.2, frequency=6.3)
    assert len(fig.axes) == 8
    loss, _, rate, again = fig.axes[:4]
    assert [line.get_ydata()[0] for line in loss.lines[:2]] == [8.2, 6.3]
    assert rate.lines[0].get_ydata().tolist() == [1.0, 2.0, 0.0]
    same, padded = (line.get_ydata().tolist() for line in again.lines)
    assert same == [1e-8, 1e-8] and padded[1] == pytest.approx(0.5)


def test_accuracy_is_smoothed_over_what_came_before(chart):
    assert training_figures._smooth(chart.nsp_accuracy, 2).tolist() == [0.5, 0.5, 0.75]
