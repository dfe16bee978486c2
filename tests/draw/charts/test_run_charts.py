"""Curves of runs that lack the one or the other figure."""

import pytest

from bertlab.draw.charts.base import svg
from bertlab.draw.charts.runs import run_curves
from bertlab.explain.runs import Moment, TrainingRun

LOSS, SHARE = {"mlm_loss": 2.0}, {"masked_accuracy": 0.5}


@pytest.mark.parametrize(("figures", "panels"), [(LOSS | SHARE, 2), (LOSS, 1), (SHARE, 1)])
def test_only_panels_with_a_curve_are_drawn(figures, panels):
    rows = [{"step": float(step)} | figures for step in (10, 20)]
    run = TrainingRun("mine", {"steps": 20}, rows, [], [], [Moment(20, "mine")], True, 0.0)
    chart = run_curves(run)
    assert len(chart.to_dict()["hconcat"]) == panels and svg(chart)
