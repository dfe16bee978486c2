"""Learning curves of a run beside its baselines, redrawn while the run is under way."""

import time
from collections.abc import Sequence

import streamlit as st

from app.shared.page import layout
from app.shared.page.exports import Cell, exports
from app.shared.page.markdown import explained, plain
from bertlab.draw.charts import runs as run_charts
from bertlab.draw.percent import percent
from bertlab.explain.runs import CurveBaseline, Moment, Row, TrainingRun, read_run

REFRESH = 2  # seconds
STALLED = 120  # seconds without a new figure
UNKNOWN = "–"  # nothing was measured so early
EXPLAINED = {  # baselines, for visitors who meet them for the first time
    "uniform": ", the same probability for all entries of the vocabulary",
    "word frequency": ", the words that are frequent anywhere",
    "two neighbours": ", the words that are frequent between the gap's left and right neighbours",
    "the word before": ", the words that are frequent after it",
    "coin toss": ", for the two answers of next sentence prediction",
}
LEARNED = {"two neighbours": "the two words beside a gap", "the word before": "the word before"}  # what they read
PLATEAU = 0.03  # a loss within this share of the word-frequency baseline is at its level


def show(run: TrainingRun, step: int | None) -> None:
    every = None if run.finished else REFRESH
    st.fragment(refresh, run_every=every)(run.name, step, (run.finished, run.moments))


def refresh(name: str, step: int | None, known: tuple[bool, list[Moment]]) -> None:
    """Show what the folder holds now. A new snapshot, or the end of the training, reruns the whole page."""
    with layout.box():
        run = read_run(name)
        if (run.finished, run.moments) != known:
            st.rerun()
        if not run.finished:
            show_progress(run)
        if not run.rows:
            text = "No figures yet: the first row comes after a few dozen steps."
            st.info(text, icon=":material/hourglass_empty:")
            return
        show_figures(run, step)
        st.markdown(verdict(run))
        drawn = {name: draw(run, step) for name, draw in run_charts.panels(run).items()}
        for name, chart in layout.in_columns(drawn.items(), "large"):
            layout.show_chart(chart, f"The {name} against training steps, with dashed lines for the baselines")
        st.caption(explanation(run))
        table = run_charts.curve_table(run, list(dict.fromkeys([*run.measures, *run.shares])))
        cell = Cell()
        code = cell.picture(run_charts.run_curves, cell.call(read_run, run.name))
        exports("learning-curves", table, code, run_charts.run_curves(run))


def show_progress(run: TrainingRun) -> None:
    since = time.time() - run.written
    if run.planned:
        st.progress(min(run.step / run.planned, 1.0), f"{run.step:,} of {run.planned:,} steps")
    if since < STALLED:
        st.caption(f"Under way: the last figures came {since:.0f} s ago. This page refreshes every {REFRESH} s.")
    else:
        text = f"No new figures for {duration(since)}. If the training was stopped, run the same command with "
        st.warning(f"{text}`--resume` to continue it.", icon=":material/pause_circle:")


def show_figures(run: TrainingRun, step: int | None) -> None:
    """Show the figures of the chosen step; at the last snapshot, and without any, the newest."""
    if step is None or step >= run.moments[-1].step:
        step = run.step
    logged, evaluated = up_to(step, run.rows), up_to(step, run.evaluations)
    figures = {"Steps": f"{step:,}"}
    if run.loss:
        figures["Loss"] = f"{logged[run.loss]:.2f} nats" if logged else UNKNOWN
    for name in run.shares[:1] if run.evaluations else run.shares[:2]:
        row = evaluated if run.evaluations else logged
        label = run_charts.curve_name(name).capitalize() + ("" if run.evaluations else ", correct")
        figures[label] = percent(row[name]) if row else UNKNOWN
    if "seconds" in run.rows[0]:
        figures["Time"] = duration(logged["seconds"]) if logged else duration(0)
    with st.container(horizontal=True, gap="medium"):
        for label, value in figures.items():
            where = "On the machine that trained it." if label == "Time" else None
            st.metric(plain(label), value, width="content", help=where or explained(value))


def up_to(step: int, rows: Sequence[Row]) -> Row | None:
    """Return the last row up to that step; None before the first."""
    return next((row for row in reversed(rows) if row["step"] <= step), None)


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def explanation(run: TrainingRun) -> str:
    """Say what the curves show."""
    parts = ["The loss is that on the training text, the mean since the point before."] if run.loss else []
    if run.evaluations:
        where = "The right panel is measured" if run.loss else "Measured"
        parts.append(f"{where} on examples that were held out of the training. A pale band is the 95% interval.")
    if run.baselines:
        names = dict.fromkeys(map(short, run.baselines))
        baselines = "; ".join(f"{name}{EXPLAINED.get(name, '')}" for name in names)
        parts.append(f"Dashed: baselines, which guess without a network, on held-out text ({baselines}).")
    if run.measured_later:
        parts.append("They were measured with 15% of the words masked; with more, a training is a little harder.")
    return " ".join(parts)


def verdict(run: TrainingRun) -> str:
    """Say whether this loss is normal: which baselines the model has passed, and when."""
    baselines = sorted((one for one in run.baselines if one.measure == run.loss), key=lambda one: -one.value)
    if baselines:
        return f"**Is this loss normal?** {passed_baselines(run, baselines)}"
    if run.evaluations:
        return evaluated(run)
    return "This run has no baselines, so its loss can only be compared with itself."


def short(baseline: CurveBaseline) -> str:
    """Return the name of a baseline as it stands in the chart, without its formula."""
    return plain(baseline.name.partition(":")[0])


def passed_baselines(run: TrainingRun, baselines: Sequence[CurveBaseline]) -> str:
    beaten: dict[int | None, list[str]] = {}  # the step by which it fell below these
    for one in baselines:
        beaten.setdefault(run.beaten_at(one), []).append(f"{short(one)} ({one.value:.2f})")
    beaten.pop(None, None)
    passed = [f"{', '.join(names)} by step {step:,}" for step, names in beaten.items()]
    text = f"It fell below {'; '.join(passed)}. " if passed else ""
    last = run.rows[-1][run.loss]
    frequency = next((one.value for one in baselines if one.name == "word frequency"), None)
    if frequency and abs(last - frequency) < PLATEAU * frequency:
        return text + "It is at the level of word frequency: so far the model knows which words are frequent, no more."
    ahead = [f"{short(one)} ({one.value:.2f})" for one in baselines if last >= one.value]  # of a loss that rose again
    if ahead:
        return text + f"At its last step it is not below {ahead[0]}."
    read = [LEARNED[short(one)] for one in baselines if short(one) in LEARNED]
    return text + "".join(f"So by its last step the model uses more than {one}." for one in read)


def evaluated(run: TrainingRun) -> str:
    """Say where a fine-tuning began, where it ended, and what needs no model."""
    name = run.shares[0] if run.shares else None
    if name is None:
        return "This run measures nothing between 0 and 1 on held-out examples. Its table has the figures."
    first, last = run.evaluations[0], run.evaluations[-1]
    label = plain(run_charts.curve_name(name))
    text = f"On held-out examples the {label} was {percent(first[name])} at step {first['step']:,.0f}"
    text += f" and {percent(last[name])} at step {last['step']:,.0f}." if len(run.evaluations) > 1 else "."
    baselines = [f"{plain(one.name)}: {percent(one.value)}" for one in run.baselines if one.measure == name]
    return text + (f" Without a model, {'; '.join(baselines)}." if baselines else "")
