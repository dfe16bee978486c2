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


def test_cosines_have_their_middle_half_and_median_on_one_axis():
    fig = sentences.cosine_ranges({"one": (np.linspace(0, 0.4, 41), np.linspace(0.2, 1, 41))})
    (ax,) = fig.axes
    assert np.allclose([(bar.get_x(), bar.get_width()) for bar in ax.patches], [(0.1, 0.2), (0.4, 0.4)])
    assert np.allclose([line.get_xdata()[0] for line in ax.lines[1::2]], [0.2, 0.6])
