"""Matplotlib figures of the chapter on input embeddings: tables of positions and how alike their rows are."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from torch import Tensor

from bertlab.draw.figures.base import DIVERGING, INK, clean, figure, panel
from bertlab.draw.palette import GREY, OKABE_ITO

STEPS = DIVERGING.resampled(21)  # a tenth each: noise in the smallest digits would only make the image large
DASHES = ["-", "--", ":", "-."]


def position_table(table: Tensor) -> Figure:
    """The numbers of a table of positions (P, H): a row for each position, orange below and blue above zero."""
    limit = float(table.abs().max())
    fig, ax = panel(3.2)
    image = ax.imshow(table.numpy(), cmap=DIVERGING, vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
    ax.set(xlabel="component of the vector", ylabel="position")
    fig.colorbar(image, ax=ax).set_label("value", size=9)
    return fig


def similarities(tables: Mapping[str, Tensor], border: int | None = None) -> Figure:
    """Cosines of all positions with all, (P, P) each, side by side on one scale; dashed lines at `border`."""
    fig = figure(3.1)
    axes = fig.subplots(1, len(tables), sharey=True, squeeze=False)[0]
    for ax, (name, similarity) in zip(axes, tables.items(), strict=True):
        image = clean(ax).imshow(similarity.numpy(), cmap=STEPS, vmin=-1, vmax=1, interpolation="nearest")
        ax.set_title(name, size=10, loc="left")
        ax.set_xlabel("position", size=9)
        if border:
            ax.axvline(border - 0.5, color=INK, ls="--", lw=0.8)
            ax.axhline(border - 0.5, color=INK, ls="--", lw=0.8)
    axes[0].set_ylabel("position", size=9)
    fig.colorbar(image, ax=axes, shrink=0.75).set_label("cosine", size=9)
    return fig


def curves(
    series: Mapping[str, Sequence | Tensor], xlabel: str, ylabel: str, mark: int | None = None, x: Tensor | None = None
) -> Figure:
    """One line for each series over `x`, or over 0, 1, 2, ...; a thin vertical line at `mark`."""
    fig, ax = panel(2.8, "left", "bottom")
    for number, (name, values) in enumerate(series.items()):
        over = range(len(values)) if x is None else x.tolist()
        ax.plot(over, list(map(float, values)), color=OKABE_ITO[number], ls=DASHES[number % 4], lw=2, label=name)
    if mark is not None:
        ax.axvline(mark, color=GREY, lw=1)
    ax.axhline(0, color=GREY, lw=0.8)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.margins(x=0.01)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return fig
