"""Learning curves beside their baselines, as Altair charts for light and dark pages."""

from collections.abc import Callable, Sequence
from typing import Literal

import altair as alt
import pandas as pd

from bertlab.draw.palette import BLUE, GREY, OKABE_ITO, ORANGE
from bertlab.draw.percent import percent
from bertlab.explain.runs import CurveBaseline, TrainingRun

MOST_POINTS = 600  # of one curve; more than a picture has room for
MARKED_POINTS = 40  # of fewer, each is marked
MOST_SHARES = 4
THOUSANDS = "datum.value < 1000 ? datum.value : format(datum.value / 1000, '~g') + 'k'"
NAMES = {
    "mlm_loss": "masked words",
    "masked_accuracy": "masked words",
    "nsp_accuracy": "next sentence",
    "order_accuracy": "sentence order",
    "next_token_loss": "next words",
    "next_token_accuracy": "next words",
    "exact": "exact match",
    "f1": "F1",
    "has_answer_f1": "F1 if answerable",
    "no_answer": "no answer seen",
}


def curve_name(measure: str) -> str:
    return NAMES.get(measure, measure.replace("_", " "))


def curve_table(run: TrainingRun, measures: Sequence[str]) -> pd.DataFrame:
    """One row a step and measure: its value and, where the run tells them, the ends of its 95% interval."""
    rows = [
        (int(row["step"]), measure, row[measure], row.get(f"{measure}_low"), row.get(f"{measure}_high"))
        for measure in measures
        for row in _thinned(run.evaluations if run.evaluations and measure in run.evaluations[0] else run.rows)
    ]
    return pd.DataFrame(rows, columns=["step", "measure", "value", "low", "high"])


def _thinned(rows: Sequence) -> Sequence:
    """Every so-manieth row, and the last."""
    every = -(-len(rows) // MOST_POINTS)
    return [*rows[:-1:every], *rows[-1:]] if every > 1 else rows


def run_curves(run: TrainingRun) -> alt.HConcatChart:
    """Loss and shares side by side, whichever of them there is."""
    drawn = [draw(run).properties(width=420) for draw in panels(run).values()]
    return alt.hconcat(*drawn).resolve_scale(color="independent")


def panels(run: TrainingRun) -> dict[str, Callable[..., alt.LayerChart]]:
    """What draws the loss and the shares, by name, whichever of them there is."""
    every = {"loss": (loss_curve, run.loss), "share correct": (share_curves, run.shares)}
    return {name: draw for name, (draw, there) in every.items() if there}


def loss_curve(run: TrainingRun, step: int | None = None) -> alt.LayerChart:
    """The loss of the training against steps; `step` is marked."""
    baselines = [baseline for baseline in run.baselines if baseline.measure == run.loss]
    top = max([baseline.value for baseline in baselines] + [row[run.loss] for row in run.rows])
    title = "loss (nats per word)" if run.loss in NAMES else "loss of the training (nats)"
    y = alt.Y("value:Q", title=title, scale=alt.Scale(domain=[0, 1.05 * top]), axis=alt.Axis(gridOpacity=0.4))
    return _curves(run, [run.loss], y, _dashed(baselines, "{:.2f}".format), step)


def share_curves(run: TrainingRun, step: int | None = None) -> alt.LayerChart:
    """What grows while the model learns: the share of words guessed right, or the measures of the dev set."""
    measures = run.shares[:MOST_SHARES]
    shown = measures[:1] if run.evaluations else measures  # the other figures of a dev set show much the same
    baselines = [baseline for baseline in run.baselines if baseline.measure in shown and baseline.value >= 0.01]
    title = "on held-out examples" if run.evaluations else "share correct"
    least = min([0.0] + [row[name] for row in run.evaluations for name in measures])
    scale = alt.Scale(domain=[least, 1])
    y = alt.Y("value:Q", title=title, scale=scale, axis=alt.Axis(format="%", gridOpacity=0.4))
    return _curves(run, measures, y, _dashed(baselines, percent), step)


def _steps(run: TrainingRun) -> alt.X:
    """The axis of the steps, its beginning stretched; while the run goes on, up to the last that is planned."""
    last = max(0 if run.finished else run.planned or 0, run.step, 1)
    ticks = [0, *(n * 10**power for power in range(2, 7) for n in (1, 3) if n * 10**power < last)]
    axis = alt.Axis(grid=False, labelExpr=THOUSANDS, values=ticks)
    scale = alt.Scale(type="symlog", constant=100, domain=[0, last], nice=False)
    return alt.X("step:Q", title="training steps (the beginning stretched)", scale=scale, axis=axis)


def _curves(
    run: TrainingRun, measures: Sequence[str], y: alt.Y, dashed: Sequence[alt.Chart], step: int | None
) -> alt.LayerChart:
    table, x = curve_table(run, measures), _steps(run)
    names = [curve_name(measure) for measure in measures]
    base = alt.Chart(table.assign(curve=table["measure"].map(curve_name))).encode(x=x, color=_colour(names))
    point = alt.OverlayMarkDef(size=55, filled=True) if len(table) <= MARKED_POINTS * len(measures) else False
    tooltip = [alt.Tooltip("curve:N"), alt.Tooltip("step:Q", format=","), alt.Tooltip("value:Q", format=".4f")]
    lines = base.mark_line(strokeWidth=2.5, point=point).encode(y=y, tooltip=tooltip)
    layers = [*dashed, lines]
    if table["low"].notna().any():
        layers.insert(0, base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=None), y2=alt.Y2("high:Q")))
    if step is not None:
        here = alt.Chart(pd.DataFrame({"step": [step]})).mark_rule(color=GREY, opacity=0.3, strokeWidth=8)
        layers.insert(0, here.encode(x=x))
    return alt.layer(*layers).properties(height=300)


def _colour(names: Sequence[str]) -> alt.Color:
    colours = [BLUE, *OKABE_ITO[2:]][: len(names)]  # orange is for the baselines
    # even for one curve: two charts side by side then have the same height
    legend = alt.Legend(title=None, orient="top", labelFontSize=13, symbolStrokeWidth=3, symbolOpacity=1, columns=2)
    return alt.Color("curve:N", scale=alt.Scale(domain=list(names), range=colours), legend=legend)


def _dashed(baselines: Sequence[CurveBaseline], form: Callable[[float], str]) -> list[alt.Chart]:
    """Dashed lines with their names and values beside the picture, where no curve runs through them."""
    layers = []
    span = max([1.0, *(baseline.value for baseline in baselines)])
    for baseline in baselines:
        above = [one.value - baseline.value for one in baselines if 0 < abs(one.value - baseline.value) < span / 12]
        side: Literal["middle", "top", "bottom"] = "middle" if not above else "top" if above[0] > 0 else "bottom"
        base = alt.Chart(pd.DataFrame({"value": [baseline.value]})).encode(y=alt.Y("value:Q"))
        text = f"{baseline.name.partition(':')[0]} {form(baseline.value)}"
        words = base.mark_text(align="left", baseline=side, dx=4, fontSize=12, color=GREY, text=text)
        layers += [base.mark_rule(strokeDash=[5, 4], color=ORANGE, strokeWidth=1.5), words.encode(x=alt.value("width"))]
    return layers
