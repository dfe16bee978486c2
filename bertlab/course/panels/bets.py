"""A betting panel: put the models of a comparison into an order, then see what was measured, and where one can tell."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import ipywidgets as widgets

from bertlab.compare.published import PUBLISHED
from bertlab.compare.statistics import Figure
from bertlab.course.panels.base import LABEL, WIDE, Panel, panel
from bertlab.draw.palette import BLUE
from bertlab.errors import InputError

if TYPE_CHECKING:
    from bertlab.compare.report import Comparison

TRACK = 260  # pixels of the widest interval
WORDING = {"holds": "✓ you are right", "reversed": "✗ the other way round", "cannot tell": "? cannot tell"}


def bets_panel(comparisons: Mapping[str, "Comparison"]) -> Panel:
    """A table, its models in the order of your bet, best first, and a button that shows what was measured."""
    names = {name: contenders(one) for name, one in comparisons.items()}
    first = next(iter(names))
    table = widgets.Dropdown(options=list(names), description="table", style=LABEL)
    order = widgets.TagsInput(value=names[first], allowed_tags=names[first], allow_duplicates=False, layout=WIDE)
    shown = widgets.ToggleButton(False, description="show what was measured", layout=widgets.Layout(width="220px"))

    def begin_anew(change: Mapping) -> None:
        shown.value, order.value = False, []
        order.allowed_tags = names[change["new"]]
        order.value = names[change["new"]]

    table.observe(begin_anew, names="value")

    def show(table: str, order: Sequence[str], shown: bool) -> str:
        if {*order} != {*names[table]}:
            raise InputError(f"your order lacks {', '.join(n for n in names[table] if n not in order)}: type it in")
        return (measured_html if shown else question_html)(comparisons[table], order)

    return panel(show, table=table, order=order, shown=shown)


def contenders(comparison: "Comparison") -> list[str]:
    """Return the systems that can be put into one order: those tried on the same tasks as the first."""
    tasks = comparison.tasks_of(comparison.systems[0])
    return [name for name in comparison.systems if comparison.tasks_of(name) == tasks]


def question_html(comparison: "Comparison", order: Sequence[str]) -> str:
    tasks = ", ".join(comparison.tasks_of(order[0]))
    return (
        f"<p><b>{escape(comparison.table.question)}</b> Measured on: {escape(tasks)}.</p>"
        "<p>Put the names into your order, best first: drag them, or delete one and type it elsewhere.</p>"
    )


def measured_html(comparison: "Comparison", order: Sequence[str]) -> str:
    """The models in the order of the bet, each with its interval, and what can be said of every two neighbours."""
    figures = {name: figure_of(comparison, name) for name in order}
    low, high = min(one.low for one in figures.values()), max(one.high for one in figures.values())
    rows, verdicts = [], []
    for above, name in zip([None, *order], order, strict=False):
        if above:
            verdicts.append(comparison.between(above, name).verdict)
            rows.append(f'<tr><td></td><td colspan="2" style="opacity:.75">{WORDING[verdicts[-1]]}</td></tr>')
        one = figures[name]
        rows.append(f"<tr><td>{escape(name)}</td><td>{_track(one, low, high)}</td><td>{one}</td></tr>")
    counts = ", ".join(f"{verdict} {verdicts.count(verdict)}" for verdict in WORDING)
    seeds = len({one.seed for one in comparison.results})
    return (
        f"<table>{''.join(rows)}</table><p>Of {len(verdicts)} neighbours in your order: {counts} ({seeds} seeds).</p>"
        f"{paper_html(comparison.name, order)}<p><small>{escape(comparison.note)}</small></p>"
    )


def paper_html(table: str, order: Sequence[str]) -> str:
    """The order of the paper, by the mean of its measures, of the models that it has too."""
    known = PUBLISHED.get(table)
    named = [name for name in order if known and name in known.rows]
    if not known or len(named) < 2:
        return ""
    ranked = sorted(named, key=known.mean, reverse=True)
    listed = ", ".join(f"{escape(name)} ({known.mean(name):.1f})" for name in ranked)
    return f"<p>The order of {escape(known.source)}, mean of its measures: {listed}.</p>"


def figure_of(comparison: "Comparison", name: str) -> Figure:
    """The mean over the tasks of a learner."""
    return list(comparison.figures(name).values())[-1]


def _track(one: Figure, low: float, high: float) -> str:
    """A line from low to high end of an interval with a dot at its value, as SVG."""
    scale = (TRACK - 12) / max(high - low, 1e-9)
    a, x, b = (6 + scale * (value - low) for value in (one.low, one.value, one.high))
    return (
        f'<svg width="{TRACK}" height="16"><line x1="{a:.0f}" x2="{b:.0f}" y1="8" y2="8" stroke="{BLUE}" '
        f'stroke-width="3"/><circle cx="{x:.0f}" cy="8" r="5" fill="{BLUE}"/></svg>'
    )
