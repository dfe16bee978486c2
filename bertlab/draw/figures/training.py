"""Figures of a training: loss curves, schedules, updates."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from bertlab.draw.figures.base import clean, figure
from bertlab.draw.palette import BLUE, GREEN, GREY, ORANGE, PINK

PLATEAU_STYLES = [("black", "-"), (BLUE, "--"), (GREEN, "-."), (PINK, ":"), ("#D55E00", "-")]
Row = Mapping[str, float]  # step, mlm_loss, masked_accuracy and perhaps nsp_accuracy


def learning_curves(rows: Sequence[Row], baselines: Sequence, steps: int, title: str = "") -> Figure:
    """Loss (left) and accuracy (right) against steps; dashed lines are what the simpler guesses reach.

    `baselines` are those of bertlab.evaluation.baselines.
    """
    fig = figure(3.6)
    loss, accuracy = fig.subplots(1, 2)
    fig.suptitle(title, size=11, x=0.01, ha="left")
    x = [row["step"] for row in rows]
    _curve(loss, x, [row["mlm_loss"] for row in rows], BLUE, "o", "masked words")
    _curve(accuracy, x, [row["masked_accuracy"] for row in rows], BLUE, "o", "masked words")
    if rows and "nsp_accuracy" in rows[0]:
        _curve(accuracy, x, [row["nsp_accuracy"] for row in rows], GREEN, "s", "next sentence")
        _coin(accuracy)
    last = rows[-1] if rows else {"mlm_loss": 0, "masked_accuracy": 0}
    for baseline in baselines:
        _dashed(loss, baseline.loss, baseline.name, last["mlm_loss"])
        if baseline.top1 > 0.01:
            low = baseline.top1 < 0.08  # no room below the line
            _dashed(accuracy, baseline.top1, baseline.name, 0.0 if low else last["masked_accuracy"])
    top = max([baseline.loss for baseline in baselines] + [row["mlm_loss"] for row in rows[:1]])
    loss.set(xlabel="step", ylabel="loss (nats per masked word)", ylim=(0, 1.08 * top))
    accuracy.set(xlabel="step", ylabel="share guessed right", ylim=(0, 1))
    for ax in (loss, accuracy):
        clean(ax, "left", "bottom")
        ax.locator_params(axis="x", nbins=5)  # five digits side by side need room
        ax.set_xlim(0, 1.02 * steps)
    if rows:
        accuracy.legend(frameon=False, loc="upper left", fontsize=9)
    return fig


def _curve(ax: Axes, x: Sequence[float], y: Sequence[float], colour: str, marker: str, name: str) -> None:
    ax.plot(x, y, color=colour, marker=marker, ms=4, lw=2, label=name)


def _coin(ax: Axes) -> None:
    ax.axhline(0.5, color=GREY, ls=":", lw=1.4, zorder=1)
    ax.text(0.99, 0.5, "a coin", transform=ax.get_yaxis_transform(), ha="right", va="top", size=8.5, color=GREY)


def _dashed(ax: Axes, value: float, name: str, curve: float) -> None:
    """A dashed line, with its name on the side where the curve does not end."""
    ax.axhline(value, color=ORANGE, ls="--", lw=1)
    side = "top" if curve > value else "bottom"
    text = ax.text(0.99, value, name, transform=ax.get_yaxis_transform(), ha="right", va=side, size=8.5, color=GREY)
    text.set(in_layout=False, zorder=1.5)
    text.set_path_effects([withStroke(linewidth=3, foreground="white")])  # readable where a curve runs through it


FLOOR = 1e-8  # where differences of exactly 0 are drawn on a logarithmic scale


def charts(found: Mapping[str, Any], uniform: float, frequency: float) -> Figure:
    """A row for each training: losses, next sentence, learning rate, differences between measurements.

    `found` are those of bertlab.course.broken. `uniform` and `frequency` are drawn as dotted lines: ln V, and what word
    frequency reaches.
    """
    fig = figure(1 + 1.3 * len(found))
    axes = fig.subplots(len(found), 4, sharex=True, sharey="col", squeeze=False)
    titles = ("masked-word loss", "next sentence", "learning rate · 1000", "same text, again")
    for ax, title in zip(axes[0], titles, strict=True):
        ax.set_title(title, size=10, pad=34)
    for row, (letter, chart) in zip(axes, found.items(), strict=True):
        row[0].set_ylabel(letter, rotation=0, size=14, weight="bold", ha="right", va="center", labelpad=10)
        steps = range(1, len(chart.loss) + 1)
        _losses(row[0], steps, chart, uniform, frequency)
        row[1].plot(steps, chart.nsp_loss, color=ORANGE, lw=1.6, label="loss")
        row[1].plot(steps, _smooth(chart.nsp_accuracy), color=GREEN, lw=1.6, ls="-.", label="accuracy")
        row[1].set_ylim(0, 1.1)
        row[2].plot(steps, np.array(chart.rate) * 1000, color=PINK, lw=1.6)
        row[2].set_ylim(0, 1200 * max(chart.rate))
        _differences(row[3], chart)
    for ax in axes.flat:
        clean(ax, "left", "bottom").tick_params(labelsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("step", size=9)
    for ax in axes[0, [0, 1, 3]]:  # between title and chart, as they hold for the whole column
        ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), labelspacing=0.2)
    return fig


def plateau(rows: Sequence[Mapping[str, str]], baselines: Sequence) -> Figure:
    """Loss of masked words (left) and accuracy of next sentences (right) of several trainings against steps.

    `rows` are those of the CSV file of benchmarks/pretraining/plateau.py; the dashed lines are `baselines`.
    """
    fig = figure(4.4)
    loss, accuracy = fig.subplots(1, 2)
    names = dict.fromkeys(row["training"] for row in rows)
    for name, (colour, style) in zip(names, PLATEAU_STYLES, strict=False):
        steps, losses, right = (
            [float(row[key]) for row in rows if row["training"] == name] for key in ("step", "mlm_loss", "nsp_accuracy")
        )
        loss.plot(steps, losses, color=colour, ls=style, lw=1.8, label=name)
        accuracy.plot(steps, right, color=colour, ls=style, lw=1.8)
    for baseline in baselines:
        _dashed(loss, baseline.loss, baseline.name, 0)
    _coin(accuracy)
    loss.set(xlabel="step", ylabel="loss (nats per masked word)", title="masked words")
    accuracy.set(xlabel="step", ylabel="share right", ylim=(0.4, 1), title="next sentence")
    for ax in (loss, accuracy):
        clean(ax, "left", "bottom")
    fig.legend(frameon=False, fontsize=8.5, loc="outside lower center", ncols=3)
    return fig


def _losses(ax: Axes, steps: Sequence[int], chart, uniform: float, frequency: float) -> None:
    for baseline in (uniform, frequency):
        ax.axhline(baseline, color=GREY, ls=":", lw=1)
    ax.plot(steps, chart.loss, color=BLUE, lw=1.6, label="reported")
    ax.plot(chart.evaluated, chart.held_out, color=ORANGE, marker="o", ms=3, lw=1, label="on new text")
    ax.set_ylim(0, 1.1 * uniform)


def _differences(ax: Axes, chart) -> None:
    held_out, again, padded = (np.array(values) for values in (chart.held_out, chart.again, chart.padded))
    ax.semilogy(chart.evaluated, np.abs(held_out - again) + FLOOR, color=BLUE, marker="o", ms=3, lw=1, label="as it is")
    ax.semilogy(
        chart.evaluated, np.abs(held_out - padded) + FLOOR, color=ORANGE, marker="s", ms=3, lw=1, label="padded"
    )
    ax.set_ylim(FLOOR / 3, 100)
    ax.set_yticks([1e-8, 1e-4, 1])


def _smooth(values: Sequence[float], width: int = 10) -> np.ndarray:
    """Running means of the last `width` values."""
    return np.array([np.mean(values[max(0, i - width + 1) : i + 1]) for i in range(len(values))])
