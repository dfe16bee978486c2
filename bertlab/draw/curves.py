"""Learning curves on a ladder of baselines: the answer to "is this loss normal?" stands on the plot."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from bertlab.draw.figures import clean, figure
from bertlab.draw.palette import BLUE, GREEN, GREY, ORANGE

Row = Mapping[str, float]  # step, mlm_loss, masked_accuracy and perhaps nsp_accuracy


def learning_curves(
    rows: Sequence[Row], rungs: Sequence, steps: int, title: str = "", log_steps: bool = False
) -> Figure:
    """Loss (left) and accuracy (right) against steps; dashed lines are what the simpler guesses reach.

    `rungs` are those of bertlab.training.ladder. `log_steps` stretches the beginning of a long training.
    """
    fig = figure(3.6)
    loss, accuracy = fig.subplots(1, 2)
    fig.suptitle(title, size=11, x=0.01, ha="left")
    x = [row["step"] for row in rows]
    _curve(loss, x, [row["mlm_loss"] for row in rows], BLUE, "o", "masked words")
    _curve(accuracy, x, [row["masked_accuracy"] for row in rows], BLUE, "o", "masked words")
    if rows and "nsp_accuracy" in rows[0]:
        _curve(accuracy, x, [row["nsp_accuracy"] for row in rows], GREEN, "s", "next sentence")
    last = rows[-1] if rows else {"mlm_loss": 0, "masked_accuracy": 0}
    for rung in rungs:
        _rung(loss, rung.loss, rung.name, last["mlm_loss"])
        if rung.top1 > 0.01:
            _rung(accuracy, rung.top1, rung.name, last["masked_accuracy"])
    loss.set(xlabel="step", ylabel="loss (nats per masked word)", ylim=(0, 1.08 * max(rung.loss for rung in rungs)))
    accuracy.set(xlabel="step", ylabel="share guessed right", ylim=(0, 1))
    for ax in (loss, accuracy):
        clean(ax, "left", "bottom")
        if log_steps:
            ax.set_xscale("symlog", linthresh=100)
            ax.set_xticks(x, [f"{step / 1000:g}k" if step >= 1000 else step for step in x], size=8.5)
            ax.minorticks_off()
        ax.set_xlim(0, 1.02 * steps)
    if rows:
        accuracy.legend(frameon=False, loc="upper left", fontsize=9)
    return fig


def _curve(ax: Axes, x: Sequence[float], y: Sequence[float], colour: str, marker: str, name: str) -> None:
    ax.plot(x, y, color=colour, marker=marker, ms=4, lw=2, label=name)


def _rung(ax: Axes, value: float, name: str, curve: float) -> None:
    """A dashed line, with its name on the side where the curve does not end."""
    ax.axhline(value, color=ORANGE, ls="--", lw=1)
    side = "top" if curve > value else "bottom"
    text = ax.text(0.99, value, name, transform=ax.get_yaxis_transform(), ha="right", va=side, size=8.5, color=GREY)
    text.set(in_layout=False, zorder=1.5)
    text.set_path_effects([withStroke(linewidth=3, foreground="white")])  # readable where a curve runs through it
