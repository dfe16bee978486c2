"""A training that is watched: one figure in the notebook, drawn anew with every row that is logged."""

from collections.abc import Sequence

from bertlab.draw.figures.training import learning_curves
from bertlab.evaluation.baselines import Baseline


class LivePlot:
    """Pass it as `on_log` to a training; when that ends the last drawing stays as a picture."""

    def __init__(self, baselines: Sequence[Baseline], steps: int):
        """Draw `baselines` as dashed lines; the horizontal axis ends at `steps`."""
        from IPython.display import display

        self.baselines, self.steps = list(baselines), steps
        self.rows: list[dict[str, float]] = []
        self._handle = display(self._figure(), display_id=True)

    def __call__(self, row: dict[str, float]) -> None:
        self.rows.append(row)
        self._handle.update(self._figure())

    def _figure(self):
        title = f"0 of {self.steps:,} steps"
        if self.rows:
            row = self.rows[-1]
            title = f"{row['step']:,} of {self.steps:,} steps, {row['seconds']:.0f} s, loss {row['mlm_loss']:.2f}"
        return learning_curves(self.rows, self.baselines, self.steps, title)
