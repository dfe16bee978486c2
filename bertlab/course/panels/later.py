"""A panel that switches one change to BERT at a time: where it is made, what it costs, what it brought."""

from collections.abc import Mapping, Sequence
from html import escape

import ipywidgets as widgets

from bertlab.course.panels.base import LABEL, WIDE, Panel, bar, panel
from bertlab.draw.palette import BLUE, GREY, ORANGE

PARTS = ("loss", "layers", "feed-forward", "LayerNorm", "attention", "embeddings", "text")  # from the top
FULL = 220  # pixels of BERT's bar
Figures = Mapping[str, Mapping[str, float]]


def change_panel(figures: Figures, places: Mapping[str, Sequence[str]], first: str = "") -> Panel:
    """A menu of models. `figures[model][what]`: numbers, those of the first model to compare with; `places[model]`:
    which of PARTS it changes."""
    base, *others = figures
    menu = widgets.Dropdown(options=others, value=first or others[0], description="change", style=LABEL, layout=WIDE)
    return panel(lambda change: change_html(figures[base], figures[change], places.get(change, ()), base), change=menu)


def change_html(before: Mapping[str, float], after: Mapping[str, float], places: Sequence[str], base: str) -> str:
    """A BERT with its changed parts in colour; beside it both models' figures as bars."""
    boxes = "".join(
        f'<div style="border:1px solid {GREY};border-radius:4px;margin:3px;padding:3px 10px;text-align:center;'
        f'{f"background:{ORANGE}55;font-weight:bold" if part in places else ""}">{escape(part)}</div>'
        for part in PARTS
    )
    rows = "".join(_row(name, before.get(name), after.get(name), base) for name in {**before, **after})
    table = f'<table style="margin-left:16px">{rows}</table>'
    return f'<div style="display:flex;align-items:center"><div style="width:150px">{boxes}</div>{table}</div>'


def _row(name: str, before: float | None, after: float | None, base: str) -> str:
    most = max(before or 0.0, after or 0.0) or 1.0
    lines = "".join(
        f'<div style="display:flex;align-items:center">{bar(FULL * (value or 0.0) / most, colour)}'
        f"<small>&nbsp;{_number(value)}{f' ({base})' if colour == GREY else ''}</small></div>"
        for value, colour in ((after, BLUE), (before, GREY))
    )
    return f'<tr><td style="padding-right:10px;text-align:right">{escape(name)}</td><td>{lines}</td></tr>'


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
