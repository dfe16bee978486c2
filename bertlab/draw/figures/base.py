"""Matplotlib figures of what a model reads, predicts and attends to. Each function returns one 800 pixels wide."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from torch import Tensor

from bertlab.draw.palette import BLUE, GREEN, GREY, OKABE_ITO, ORANGE, PINK
from bertlab.draw.percent import signed
from bertlab.explain.attention.maps import AttentionMaps
from bertlab.explain.spans import Answer
from bertlab.explain.words.fill import Fill

WIDTH = 8.0  # inches, at 100 pixels each
INK = "#222222"
DIVERGING = LinearSegmentedColormap.from_list("orange-blue", ["#D55E00", "white", BLUE])  # blue: above zero
ACTION_COLOURS = ["white", BLUE, ORANGE, GREEN]  # by masking action: not chosen, [MASK], random, kept
ACTION_NAMES = ["not chosen", "[MASK]", "random token", "kept as it is"]
DARK = 0.85  # share of the blue end of DIVERGING above which white reads better than INK; on orange INK always does
Interval = tuple[float, float, float]  # value, and both ends of its interval


def figure(height: float, **options) -> Figure:
    """An empty figure of the common width, white on light and dark pages alike."""
    return Figure((WIDTH, height), dpi=100, facecolor="white", layout="constrained", **options)


def clean(ax: Axes, *sides: str) -> Axes:
    """Leave only the spines named."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in sides)
    return ax


def panel(height: float, *sides: str) -> tuple[Figure, Axes]:
    """A figure with a single axes, of which only the spines named are left."""
    fig = figure(height)
    return fig, clean(fig.subplots(), *sides)


def canvas(height: float) -> tuple[Figure, Axes]:
    """A figure whose one axes is measured in inches, for boxes and text."""
    fig = Figure((WIDTH, height), dpi=100, facecolor="white")
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(height, 0))
    ax.set_axis_off()
    return fig, ax


def box(ax: Axes, x: float, y: float, width: float, text: str, colour: str, size: float = 10, height=0.3) -> None:
    tint = "white" if colour == "white" else colour + "33"
    edge = "#BBBBBB" if colour == "white" else colour
    shape = "round,pad=0,rounding_size=0.06"
    ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=shape, facecolor=tint, edgecolor=edge, lw=1.2))
    style: dict = dict(ha="center", va="center", size=size, family="monospace", color=INK, parse_math=False)
    ax.text(x + width / 2, y + height / 2, text, **style)


def arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = INK, **style) -> None:
    """An arrow with a filled head; `style` as FancyArrowPatch takes it."""
    options: dict = dict(arrowstyle="-|>", mutation_scale=11, lw=1.3, shrinkA=0) | style
    ax.add_patch(FancyArrowPatch(start, end, color=colour, **options))


def wrapped(lengths: Sequence[int]) -> tuple[Figure, Axes, list[tuple[float, float, float]]]:
    """A canvas with room for boxes in rows below a legend, and x, y and width of a box for each number of letters."""
    places, x, row = [], 0.1, 0
    for letters in lengths:
        width = max(0.085 * letters + 0.16, 0.34)
        if x + width > WIDTH - 0.1:
            x, row = 0.1, row + 1
        places.append((x, 0.5 + 0.75 * row, width))
        x += width + 0.07
    return *canvas(1.1 + 0.75 * row), places


def masking_strip(before: Sequence[str], after: Sequence[str], actions: Sequence[int]) -> Figure:
    """Tokens after masking in boxes coloured by what was done; under each chosen one the token to be guessed."""
    fig, ax, places = wrapped([max(len(old), len(new)) for old, new in zip(before, after, strict=True)])
    for index, name in enumerate(ACTION_NAMES[1:], start=1):
        box(ax, 0.1 + 1.75 * (index - 1), 0.1, 1.6, name, ACTION_COLOURS[index], size=9, height=0.24)
    for (x, y, width), old, new, action in zip(places, before, after, actions, strict=True):
        box(ax, x, y, width, new, ACTION_COLOURS[action])
        if action:
            below: dict = dict(ha="center", va="center", size=9, family="monospace", color="#555555", parse_math=False)
            ax.text(x + width / 2, y + 0.42, old, **below)
    return fig


def three_embeddings(tokens: Sequence[str], token_type_ids: Sequence[int]) -> Figure:
    """Draw what is added up at each position: the token's vector, its segment's, its position's (paper, figure 2)."""
    fig, ax = canvas(2.35)
    left, step = 1.15, (WIDTH - 1.25) / len(tokens)
    size = min(9.0, (step - 0.13) * 120 / max(map(len, tokens)))  # a letter is 0.6 of its size wide, an inch 72
    segments = ["A" if kind == 0 else "B" for kind in token_type_ids]
    rows = [
        ("token", tokens, [BLUE] * len(tokens)),
        ("segment", segments, [GREEN if kind == 0 else PINK for kind in token_type_ids]),
        ("position", [str(i) for i in range(len(tokens))], [ORANGE] * len(tokens)),
    ]
    for row, (name, texts, colours) in enumerate(rows):
        y = 0.15 + 0.58 * row
        ax.text(0.1, y + 0.15, name, va="center", size=11, weight="bold", color=INK)
        for i, (text, colour) in enumerate(zip(texts, colours, strict=True)):
            box(ax, left + i * step, y, step - 0.07, text, colour, size=size if row == 0 else 9)
            ax.text(left + i * step + step / 2 - 0.035, y + 0.44, "+" if row < 2 else "=", ha="center", va="center")
    ax.text(0.1, 2.04, "sum", va="center", size=11, weight="bold", color=INK)
    for i in range(len(tokens)):
        box(ax, left + i * step, 1.89, step - 0.07, f"x{i}", "white", size=9)
    return fig


def fill_bars(fills: Mapping[str, Fill], mark: Sequence[str] = ()) -> Figure:
    """Side by side, one panel for each text: the likeliest tokens and their probabilities; `mark` in orange."""
    rows = max(len(fill.tokens) for fill in fills.values())
    fig = figure(0.75 + 0.27 * rows)
    for ax, (title, fill) in zip(fig.subplots(1, len(fills), squeeze=False)[0], fills.items(), strict=True):
        positions = range(len(fill.tokens))
        colours = [ORANGE if token in mark else BLUE for token in fill.tokens]
        ax.barh(positions, fill.probabilities, color=colours, height=0.7)
        for y, value in zip(positions, fill.probabilities, strict=True):
            share = f"{value:.0%}" if value >= 0.005 else "<1%"
            ax.text(value + 0.02, y, share, va="center", size=9, color=INK)
        ax.set(xlim=(0, 1.25), xticks=[0, 0.5, 1], xticklabels=["0%", "50%", "100%"])
        ax.set_yticks(positions, fill.tokens, parse_math=False)
        ax.set_xlabel("probability", size=9)
        ax.set_title(title, size=10, loc="left")
        ax.tick_params(axis="y", length=0, labelsize=10)
        clean(ax, "bottom").invert_yaxis()
        ax.spines["bottom"].set_bounds(0, 1)
    return fig


def fills_over_time(fills: Mapping[str, Fill], answer: str) -> Figure:
    """A table: one column for each moment, its likeliest tokens from above, a bar in each cell, `answer` in orange."""
    rows, step = max(len(fill.tokens) for fill in fills.values()), (WIDTH - 0.2) / len(fills)
    fig, ax = canvas(0.8 + 0.34 * rows)
    ax.text(0.1, 0.62 + 0.34 * rows, "a bar across its whole cell: 100%", va="center", size=8.5, color=INK)
    for column, (title, fill) in enumerate(fills.items()):
        x = 0.1 + column * step
        ax.text(x + 0.05, 0.25, title, va="center", size=10, weight="bold", color=INK)
        for row, (token, value) in enumerate(zip(fill.tokens, fill.probabilities, strict=True)):
            y, colour = 0.45 + 0.34 * row, ORANGE if token == answer else BLUE
            ax.add_patch(Rectangle((x, y), step - 0.08, 0.29, facecolor="#F2F2F2"))
            ax.add_patch(Rectangle((x, y), (step - 0.08) * value, 0.29, facecolor=colour, alpha=0.45))
            ax.text(x + 0.06, y + 0.15, token[:11], va="center", size=8.5, color=INK, parse_math=False)
    return fig


def _thumbnail(ax: Axes, weights: Tensor):
    ax.set(xticks=[], yticks=[])
    return clean(ax).imshow(weights.numpy(), cmap="cividis", vmin=0, vmax=1)


def heads_grid(maps: AttentionMaps, control: AttentionMaps) -> Figure:
    """All heads of a trained model, and beside them the same heads with random weights, on one scale 0..1."""
    layers, heads = maps.weights.shape[:2]
    fig = figure(0.75 + (WIDTH - 0.9) / (2 * heads) * layers)
    *halves, right = fig.subfigures(1, 3, squeeze=False, width_ratios=[1, 1, 0.16], wspace=0.02)[0]
    for half, part, name in zip(halves, (maps, control), ("trained", "random weights (control)"), strict=True):
        axes = half.subplots(layers, heads, squeeze=False)
        half.suptitle(name, size=11)
        for layer in range(layers):
            axes[layer, 0].set_ylabel(f"layer {layer + 1}", size=9)
            for head in range(heads):
                image = _thumbnail(axes[layer, head], part.weights[layer, head])
        for head in range(heads):
            axes[-1, head].set_xlabel(f"head {head + 1}", size=9)
    bar = right.colorbar(image, cax=right.add_axes((0.1, 0.2, 0.2, 0.6)))
    bar.set_label("attention weight", size=9)
    return fig


def one_head(
    maps: AttentionMaps, layer: int, head: int, control: AttentionMaps, mark: tuple[int, int] | None = None
) -> Figure:
    """One head (counted from 0) as a matrix with its tokens, and the same head with random weights; a frame around the
    weight in row and column `mark`."""
    fig = figure(0.6 + 0.24 * len(maps.tokens))
    positions = range(len(maps.tokens))
    for ax, part, name in zip(fig.subplots(1, 2), (maps, control), ("trained", "random weights"), strict=True):
        image = _thumbnail(ax, part.weights[layer, head])
        if mark:
            row, column = mark
            ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=ORANGE, lw=2))
        ax.set_title(f"layer {layer + 1}, head {head + 1}: {name}", size=10)
        ax.set_xticks(positions, maps.tokens, rotation=90, size=8, parse_math=False)
        ax.set_yticks(positions, maps.tokens, size=8, parse_math=False)
        ax.set_xlabel("attended to", size=9)
        ax.set_ylabel("attends", size=9)
    fig.colorbar(image, ax=fig.axes, shrink=0.8, aspect=30).set_label("attention weight", size=9)
    return fig


def change_grid(changes: Mapping[str, Tensor], label: str = "change") -> Figure:
    """Under each title one number for each head (L, A), orange below and blue above zero, as knockout_charts has it;
    `label` says what the numbers are."""
    layers = next(iter(changes.values())).shape[0]
    limit = max(float(change.abs().max()) for change in changes.values()) or 1.0
    fig = figure(0.85 + 0.42 * layers)
    axes = fig.subplots(1, len(changes), squeeze=False, sharey=True)[0]
    for ax, (title, change) in zip(axes, changes.items(), strict=True):
        heads = [f"head {i + 1}" for i in range(change.shape[1])]
        image = number_grid(ax, change.numpy(), [f"layer {i + 1}" for i in range(layers)], heads, limit=limit)
        ax.set_title(title, size=10)
    fig.colorbar(image, ax=axes).set_label(label, size=9)
    return fig


def number_grid(
    ax: Axes,
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    form: str = "+.2f",
    limit: float | None = None,
    size: float = 9.5,
    bold_from: float = np.inf,
) -> AxesImage:
    """Draw numbers as colours and, in the format `form`, as text: from 0 to 1, or with a `limit` from -limit (orange)
    to limit (blue). The largest of each row is bold if it is at least `bold_from`. Return the image, for a colour bar.
    """
    low, high, colours = (0.0, 1.0, "cividis") if limit is None else (-limit, limit, DIVERGING)
    image = clean(ax).imshow(values, cmap=colours, vmin=low, vmax=high, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        weight = "bold" if column == values[row].argmax() and value >= bold_from else "normal"
        dark = value <= 0.55 if limit is None else value > DARK * limit
        style: dict = dict(ha="center", va="center", size=size, color="white" if dark else INK, weight=weight)
        ax.text(column, row, signed(value, form), **style)
    ax.set_xticks(range(len(columns)), columns, size=size, parse_math=False)
    ax.set_yticks(range(len(rows)), rows, size=size, parse_math=False)
    ax.tick_params(length=0)
    return image


def answer_bars(answers: Mapping[str, Answer]) -> Figure:
    """One row for each title: how probable each token of the passage is as start and as end of the answer.

    The first token of a row is [CLS], which stands for "no answer".
    """
    fig = figure(0.3 + 1.85 * len(answers))
    axes = fig.subplots(len(answers), 1, squeeze=False)[:, 0]
    for ax, (title, answer) in zip(axes, answers.items(), strict=True):
        positions = [0, *range(*answer.passage_slice)]
        x = np.arange(len(positions))
        clean(ax, "left", "bottom")
        ax.bar(x - 0.2, answer.start_probabilities[positions].numpy(), 0.4, color=BLUE, label="start")
        ends = answer.end_probabilities[positions].numpy()
        ax.bar(x + 0.2, ends, 0.4, color=ORANGE, hatch="///", edgecolor="white", label="end")
        names = ["no answer", *(answer.tokens[i] for i in positions[1:])]
        ax.set_xticks(x, names, rotation=90, size=8, parse_math=False)
        ax.set(ylim=(0, 1), yticks=[0, 0.5, 1], xlim=(-0.8, len(positions) - 0.2))
        ax.set_ylabel("probability", size=9)
        ax.set_title(title, size=10, loc="left", parse_math=False)
    axes[0].legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    return fig


def bars(
    values: Mapping[str, float],
    label: str,
    limit: float | None = None,
    colours: Sequence[str] = (),
    form: str = ".2f",
    chance: float | None = None,
) -> Figure:
    """One horizontal bar for each name, with its value, in the format `form`, written at its end; a dashed line at
    `chance`. A `limit` a little above 1 leaves room for the numbers: the axis ends at 1."""
    fig, ax = panel(0.65 + 0.34 * len(values), "bottom")
    limit = limit or 1.15 * max(values.values())
    positions = range(len(values))
    ax.barh(positions, list(values.values()), color=colours or BLUE, height=0.68)
    for y, value in zip(positions, values.values(), strict=True):
        ax.text(value + 0.01 * limit, y, f"{value:{form}}", va="center", size=10, color=INK)
    ax.set(yticks=positions, yticklabels=list(values), xlim=(0, limit), xlabel=label)
    if 1 < limit < 1.2:
        ax.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
        ax.spines["bottom"].set_bounds(0, 1)
    if chance is not None:
        ax.axvline(chance, color=INK, ls="--", lw=1)
    ax.tick_params(axis="y", length=0, labelsize=10.5)
    ax.invert_yaxis()
    return fig


def lines(
    x: Sequence,
    series: Mapping[str, Sequence[float]],
    xlabel: str,
    ylabel: str,
    names: Sequence[str] | None = None,
    styles: Sequence[tuple[str, str]] = (),
) -> Figure:
    """One line for each series. `names` are tick labels for x; `styles` a colour and a dash pattern for each line. Grey
    ones are references: below the others, without markers."""
    fig, ax = panel(3.0, "left", "bottom")
    styles = styles or [(colour, "-") for colour in OKABE_ITO]
    for (name, values), (colour, dashes), marker in zip(series.items(), styles, "osD^v", strict=False):
        reference: dict = dict(zorder=1.5) if colour == GREY else dict(marker=marker)
        ax.plot(x, values, color=colour, ls=dashes, lw=2, label=name, clip_on=False, **reference)
    if names:
        ax.set_xticks(x, names, size=9)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_ylim(bottom=0)
    ax.grid(axis="y", alpha=0.25, color=GREY)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return fig
