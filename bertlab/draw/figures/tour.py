"""Figures of the tour: the whole model, the whole training, and what one head does at a masked position."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from torch import Tensor

from bertlab.draw.figures.base import INK, arrow, box, canvas, clean, figure
from bertlab.draw.palette import BLUE, GREEN, GREY, ORANGE, PINK

SOFT = "#555555"


def model_overview() -> Figure:
    """The whole model from text to its heads, from above to below; beside each part the chapter that builds it."""
    fig, ax = canvas(5.85)
    middle = 3.25
    box(ax, 0.9, 0.1, 4.7, "My dog is hairy. | He likes walks.", "white", size=9)
    pieces = ["[CLS]", "my", "[MASK]", "is", "hairy", ".", "[SEP]", "he", "likes", "walks", ".", "[SEP]"]
    width = 6.3 / len(pieces)
    for i, piece in enumerate(pieces):
        box(ax, 0.1 + i * width, 0.65, width - 0.05, piece, ORANGE if piece == "[MASK]" else "white", size=7)
    for x, name, colour in ((0.4, "token", BLUE), (2.4, "segment", GREEN), (4.4, "position", ORANGE)):
        box(ax, x, 1.2, 1.7, f"{name} vector", colour, size=9)
    for x in (2.25, 4.25):
        ax.text(x, 1.35, "+", ha="center", va="center", size=13, color=INK)
    frame: dict = dict(boxstyle="round,pad=0,rounding_size=0.08", facecolor="none", edgecolor=GREY, lw=1.4)
    ax.add_patch(FancyBboxPatch((0.3, 1.12), 5.9, 0.46, **frame))
    ax.add_patch(FancyBboxPatch((0.9, 1.8), 4.7, 2.0, **frame))
    ax.text(0.5, 2.8, "× L", ha="center", va="center", size=13, weight="bold", color=INK)
    box(ax, 1.05, 1.95, 4.4, "self-attention: tokens exchange information", PINK, size=9)
    box(ax, 2.0, 2.43, 2.5, "add and LayerNorm", "white", size=8.5, height=0.24)
    box(ax, 1.05, 2.88, 4.4, "feed-forward: each token by itself", BLUE, size=9)
    box(ax, 2.0, 3.36, 2.5, "add and LayerNorm", "white", size=8.5, height=0.24)
    box(ax, 0.9, 4.05, 4.7, "one vector of H numbers for each token", "white", size=9)
    heads = [
        (0.1, 2.05, "masked language model:\nwhich piece at [MASK]?", ORANGE),
        (2.3, 1.9, "next sentence:\ndoes text 2 follow?", GREEN),
        (4.4, 2.0, "a head for your task:\nwhere is the answer?", "white"),
    ]
    for x, wide, text, colour in heads:
        arrow(ax, (x + wide / 2, 4.35), (x + wide / 2, 4.7), shrinkB=0)
        box(ax, x, 4.7, wide, text, colour, size=8.5, height=0.5)
    gaps = [(0.4, 0.65), (0.95, 1.12), (1.58, 1.95), (2.25, 2.43), (2.67, 2.88), (3.18, 3.36), (3.6, 4.05)]
    for above, below in gaps:
        arrow(ax, (middle, above), (middle, below), shrinkB=0, mutation_scale=9)
    rows = [
        (0.25, "a text or a pair"),
        (0.8, "02 word pieces"),
        (1.35, "03 embeddings"),
        (2.1, "04 attention"),
        (3.03, "05 layer"),
        (4.2, "05 encoder"),
        (4.95, "heads"),
    ]
    for y, text in rows:
        ax.text(6.6, y, text, va="center", size=9, color=SOFT)
    for x, text in ((1.125, "chapter 06"), (3.25, "chapter 07"), (5.4, "after pretraining")):
        ax.text(x, 5.34, text, ha="center", va="center", size=9, color=SOFT)
    ax.plot([0.1, 0.1, 4.2, 4.2], [5.46, 5.54, 5.54, 5.46], color=GREY, lw=1)
    ax.text(2.15, 5.68, "trained in pretraining", ha="center", va="center", size=9, color=SOFT)
    return fig


def training_overview() -> Figure:
    """Above pretraining, a loop from raw text to the optimizer; below fine-tuning, which starts from its weights."""
    fig, ax = canvas(3.6)
    ax.text(0.1, 0.18, "pretraining, on plain text", va="center", size=11, weight="bold", color=INK)
    steps = [
        (0.1, 0.95, "raw text,\nin pieces", "white", "chapter 02"),
        (1.35, 0.95, "pairs of\ntexts", GREEN, "chapter 07"),
        (2.6, 1.05, "hide some\nwords", ORANGE, "chapter 06"),
        (3.95, 0.9, "BERT", BLUE, "03 to 05"),
        (5.15, 1.15, "two losses,\nadded", ORANGE, "06 and 07"),
        (6.6, 1.3, "gradient,\noptimizer", PINK, "chapter 08"),
    ]
    _row(ax, 0.6, steps)
    ax.text(0.1, 2.2, "fine-tuning, on labelled examples", va="center", size=11, weight="bold", color=INK)
    tuned = [
        (0.1, 2.2, "question, passage,\nand the right answer", "white", ""),
        (3.95, 0.9, "BERT", BLUE, ""),
        (5.15, 1.15, "a new head,\none loss", "white", ""),
        (6.6, 1.3, "gradient,\noptimizer", PINK, ""),
    ]
    _row(ax, 2.5, tuned)
    arrow(ax, (4.15, 1.1), (4.15, 2.5), BLUE, ls="--", shrinkB=0)
    ax.text(4.05, 1.75, "its weights", ha="right", va="center", size=9, color=BLUE)
    return fig


def _row(ax: Axes, y: float, steps: Sequence[tuple[float, float, str, str, str]]) -> None:
    """Boxes from left to right, a note above each; from the last one back to BERT, for the next batch."""
    for (x, width, text, colour, note), after in zip(steps, [*steps[1:], None], strict=True):
        box(ax, x, y, width, text, colour, size=8.5, height=0.5)
        ax.text(x + width / 2, y - 0.12, note, ha="center", va="center", size=8.5, color=SOFT)
        if after:
            arrow(ax, (x + width, y + 0.25), (after[0], y + 0.25), shrinkB=0)
    ax.plot([7.25, 7.25, 4.5], [y + 0.5, y + 0.85, y + 0.85], color=GREY, lw=1.5)
    arrow(ax, (4.5, y + 0.86), (4.5, y + 0.5), GREY, shrinkB=0)
    ax.text(5.85, y + 0.8, "new weights; the next batch", ha="center", va="bottom", size=8.5, color=SOFT)


def mask_rows(tokens: Sequence[Sequence[str]], rows: Mapping[str, Tensor], mark: Sequence[int] = ()) -> Figure:
    """One row of attention weights (S,) for each title, with its tokens; those at the positions `mark` are framed."""
    fig = figure(0.55 + 0.85 * len(rows))
    axes = fig.subplots(len(rows), 1, squeeze=False)[:, 0]
    for ax, words, (title, weights) in zip(axes, tokens, rows.items(), strict=True):
        image = clean(ax).imshow(weights[None].numpy(), cmap="cividis", vmin=0, vmax=1, aspect="auto")
        ax.set_xticks(range(len(words)), words, size=7, parse_math=False)
        ax.set_yticks([])
        ax.tick_params(length=0)
        ax.set_title(title, size=9.5, loc="left", parse_math=False)
        for position in mark:
            shown, ink = f"{float(weights[position]):.2f}", "white" if weights[position] < 0.6 else INK
            ax.text(position, 0, shown, ha="center", va="center", size=8.5, color=ink)
    fig.colorbar(image, ax=axes, aspect=12).set_label("attention weight", size=9)
    return fig
