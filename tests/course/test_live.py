"""The live plot draws anew with every row."""

import IPython.display

from bertlab.course.live import LivePlot
from bertlab.evaluation.baselines import Baseline


class Handle:
    def __init__(self):
        self.drawn = []

    def update(self, figure):
        self.drawn.append(figure)


def test_every_row_is_drawn(monkeypatch):
    handle = Handle()
    monkeypatch.setattr(IPython.display, "display", lambda figure, display_id: handle)
    plot = LivePlot([Baseline("uniform: ln V", 8.1, 0.0)], 100)
    for step in (50, 100):
        plot({"step": step, "mlm_loss": 5.0, "masked_accuracy": 0.1, "nsp_accuracy": 0.5, "seconds": 3.2})
    assert len(handle.drawn) == 2
    assert handle.drawn[-1].get_suptitle() == "100 of 100 steps, 3 s, loss 5.00"
