"""Altair charts of comparisons: what each learner reached on each task, curves over the steps, guesses side by side."""

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import altair as alt
import pandas as pd

from bertlab.draw.charts.base import PLAIN
from bertlab.draw.charts.masking import fill_bars
from bertlab.draw.palette import BLUE, GREY, OKABE_ITO
from bertlab.explain.words.fill import Fill

Interval = tuple[float, float, float]  # a figure and the bounds of its 95% interval
Points = Mapping[str, tuple[str, float]]  # learner -> its line and its share of the steps
NO_POINTS: Points = MappingProxyType({})
SCORE = "accuracy or F1"
ROW, HIGH, WIDE = 28, 340, 420  # pixels: of a learner, of curves, of a panel
TALL = 36  # pixels of a learner whose name needs two lines
LETTERS = 24  # of a learner's name on one line


def score_table(
    tasks: Mapping[str, Mapping[str, Interval]], guesses: Mapping[str, float], points: Points = NO_POINTS
) -> pd.DataFrame:
    """One row a task and learner: its figure, the bounds of its interval, and the best guess without a model, if any.

    `points`, if the learners lie on curves, adds the columns line and steps.
    """
    rows = [
        (task, learner, *interval, guesses.get(task))
        for task, learners in tasks.items()
        for learner, interval in learners.items()
    ]
    table = pd.DataFrame(rows, columns=["task", "learner", "score", "low", "high", "guess"])
    if points:
        table[["line", "steps"]] = [points[learner] for learner in table["learner"]]
    return table


def score_panels(table: pd.DataFrame) -> dict[str, alt.LayerChart]:
    """Return a chart for each task of a score_table: curves where its learners lie on some, else a row for each."""
    draw = score_curves if "steps" in table else score_rows
    return {str(task): draw(one) for task, one in table.groupby("task", sort=False)}


def score_chart(table: pd.DataFrame) -> alt.ConcatChart:
    """Return the panels of all tasks in one picture, each below the name of its task."""
    panels = [panel.properties(title=task, width=WIDE) for task, panel in score_panels(table).items()]
    return alt.concat(*panels, columns=2)


def score_rows(table: pd.DataFrame) -> alt.LayerChart:
    """Draw one task: a row for each learner, the point its score, the line its interval; a rule at the guess."""
    table = table.assign(row=table["learner"].map(in_two_lines))
    two_lines = bool(table["row"].str.contains("\n").any())
    base = alt.Chart(table).encode(
        y=alt.Y("row:N", sort=None, title=None, axis=_names(two_lines)),
        tooltip=_tooltip("learner"),
    )
    intervals = base.mark_rule(color=BLUE, strokeWidth=2, opacity=0.6)
    low = alt.X("low:Q", title=SCORE, scale=_near(table), axis=alt.Axis(gridOpacity=0.4, tickCount=6))
    points = base.mark_point(color=BLUE, size=80, filled=True, opacity=1).encode(x=alt.X("score:Q"))
    layers = [intervals.encode(x=low, x2=alt.X2("high:Q")), points, *_guess(table, "x")]
    return alt.layer(*layers).properties(height=alt.Step(TALL if two_lines else ROW))


def in_two_lines(name: str) -> str:
    """Return a long name with a line break after the last comma that fits into a line, or else near its middle."""
    commas = [at.start() for at in re.finditer(r"(?<=,) ", name) if at.start() <= LETTERS]
    spaces = [at.start() for at in re.finditer(" ", name)]
    if len(name) <= LETTERS or not spaces:
        return name
    at = commas[-1] if commas else min(spaces, key=lambda space: abs(2 * space - len(name)))
    return f"{name[:at]}\n{name[at + 1 :]}"


def _names(two_lines: bool) -> alt.Axis:
    """The names of the rows. Vega puts the first line of a label beside its row: a second one moves both up."""
    look = dict(labelLimit=250, labelFontSize=13, labelFlush=False, **PLAIN)
    if not two_lines:
        return alt.Axis(**look)
    up = alt.condition("indexof(datum.label, '\\n') > 0", alt.value(-7), alt.value(0))
    return alt.Axis(labelExpr="split(datum.label, '\\n')", labelLineHeight=15, labelOffset=up, **look)


def score_curves(table: pd.DataFrame) -> alt.LayerChart:
    """Draw one task: the score against the share of the steps, a line for each objective, its interval as a band."""
    shares, lines = sorted(set(table["steps"])), list(dict.fromkeys(table["line"]))
    ticks = alt.Axis(values=shares, format="%", grid=False)
    colours = alt.Scale(domain=lines, range=OKABE_ITO[: len(lines)])
    legend = alt.Legend(title=None, orient="top", labelFontSize=13, symbolOpacity=1)
    base = alt.Chart(table).encode(
        x=alt.X("steps:Q", title="share of the steps", scale=alt.Scale(domain=[0, 1], nice=False), axis=ticks),
        color=alt.Color("line:N", scale=colours, legend=legend),
    )
    height = alt.Y("score:Q", title=SCORE, scale=_near(table), axis=alt.Axis(gridOpacity=0.4))
    bands = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=SCORE, scale=_near(table)), y2=alt.Y2("high:Q"))
    curves = base.mark_line(strokeWidth=2.5, point=alt.OverlayMarkDef(size=70, filled=True))
    layers = [bands, curves.encode(y=height, tooltip=_tooltip("line", "steps")), *_guess(table, "y")]
    return alt.layer(*layers).properties(height=HIGH)


def side_panels(
    fills: Mapping[str, Sequence[Fill]], marked: Mapping[str, Sequence[Collection[str]]]
) -> alt.ConcatChart:
    """Return the guesses of each model, a column each, at the gap of each version of a text, a row each.

    `marked`: the tokens to draw in another colour, of each model in each version.
    """
    count = len(next(iter(fills.values())))
    panels = [
        fill_bars(fills[model][i], marked=marked[model][i]).properties(title=f"{model}, version {i + 1}", width=WIDE)
        for i in range(count)
        for model in fills
    ]
    return alt.concat(*panels, columns=len(fills))


def _near(table: pd.DataFrame) -> alt.Scale:
    """The part of the axis that the intervals and the guess need: from 0 a difference would hardly be seen."""
    known = table[["low", "high", "guess"]].stack()
    room = 0.06 * (known.max() - known.min() or 1)
    return alt.Scale(domain=[known.min() - room, known.max() + room], nice=False, zero=False)


def _guess(table: pd.DataFrame, axis: str) -> list[alt.Chart]:
    """A dashed rule at the guess without a model, named at its end; nothing for a task that cannot be guessed."""
    value = table["guess"].iloc[0]
    if pd.isna(value):
        return []
    base = alt.Chart(pd.DataFrame({"guess": [value]})).encode(**{axis: alt.datum(value)})
    place = dict(align="right", baseline="top", dy=4) if axis == "y" else dict(baseline="bottom", dy=-4)
    words = base.mark_text(fontSize=12, color=GREY, text=f"a guess {value:.3f}", **place)
    at = {"y": alt.value(0)} if axis == "x" else {"x": alt.value("width")}  # the curves rise from left to right
    return [base.mark_rule(color=GREY, strokeDash=[5, 4], strokeWidth=1.5), words.encode(**at)]


def _tooltip(*names: str) -> list[alt.Tooltip]:
    figures = [alt.Tooltip(f"{name}:Q", format=".3f") for name in ("score", "low", "high")]
    return [
        alt.Tooltip(name, format=".0%") if name == "steps" else alt.Tooltip(f"{name}:N") for name in names
    ] + figures
