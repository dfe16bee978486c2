"""The figures of chapter 10: costs, cosines."""

import numpy as np

from bertlab.draw.figures.tasks import sentences


def texts(figure) -> set[str]:
    return {text.get_text() for ax in figure.axes for text in ax.texts}


def test_costs_beyond_what_was_measured_are_dashed():
    fig = sentences.cost_curves([10, 100, 1000], {"a": [1, 10, 100], "b": [1, 1, 1]}, measured=100)
    (ax,) = fig.axes
    assert ax.get_xscale() == ax.get_yscale() == "log"
    whole, known = ax.lines[0], ax.lines[1]
    assert list(whole.get_xdata()) == [10, 100, 1000] and whole.get_linestyle() == "--"
    assert list(known.get_xdata()) == [10, 100] and known.get_linestyle() == "-"
    assert {"measured", "calculated", "a minute"} <= texts(fig)


def test_shares_of_cosines_add_up_to_one():
    fig = sentences.cosine_histograms({"one": (np.linspace(0, 0.5, 40), np.linspace(0.2, 0.9, 7))})
    heights = [patch.get_height() for patch in fig.axes[0].patches]
    assert sum(heights) == 2.0 or abs(sum(heights) - 2) < 1e-9
