"""Learning curves of a run on their ladder of baselines, drawn anew while it is under way."""

import time
from collections.abc import Sequence

import streamlit as st

from app.pages.training import cells
from app.shared.exports import exports
from app.shared.state import box, plain
from bertlab.draw.charts import runs as run_charts
from bertlab.explain.runs import Baseline, Row, TrainingRun, read_run

LOOK_AGAIN = 2  # seconds
STALLED = 120  # seconds without a new figure
UNKNOWN = "–"  # nothing was measured so early
GUESSES = {  # baselines, for those who meet them first
    "uniform: ln V": ", evenly among all V entries of the vocabulary",
    "word frequency": ", what is frequent anywhere",
    "two neighbours": ", what is frequent between the words left and right of the gap",
    "the word before": ", what is frequent after it",
    "coin toss": ", of the two answers about the next sentence",
}
PLATEAU = 0.03  # closer than this share of it, a loss is at the level of word frequency


def show(run: TrainingRun, source: str, step: int | None) -> None:
    """`source` is what a cell opens; `step` is marked."""
    log_steps = st.toggle("Stretch the beginning", True, key="training_log", bind="query-params")
    again = None if run.finished else LOOK_AGAIN
    st.fragment(look, run_every=again)(run.name, source, log_steps, step, (run.finished, run.moments))


def look(name: str, source: str, log_steps: bool, step: int | None, known: tuple) -> None:
    """What the folder tells now. When a snapshot or the end has come, the whole page is made anew."""
    with box():
        run = read_run(name)
        if (run.finished, run.moments) != known:
            st.rerun()
        if not run.finished:
            show_progress(run)
        if not run.rows:
            st.info("No figures yet: the first row comes after a few dozen steps.", icon=":material/hourglass_empty:")
            return
        show_figures(run, step)
        st.markdown(verdict(run))
        show_curves(run, log_steps, step)
        table = run_charts.curve_table(run, list(dict.fromkeys([*run.measures, *run.shares])))
        exports("learning-curves", table, cells.curves(source, log_steps), run_charts.run_curves(run, log_steps))


def show_progress(run: TrainingRun) -> None:
    since = time.time() - run.written
    if run.planned:
        st.progress(min(run.step / run.planned, 1.0), f"{run.step:,} of {run.planned:,} steps")
    if since < STALLED:
        st.caption(f"Under way: its last figures came {since:.0f} s ago. This page looks every {LOOK_AGAIN} s.")
    else:
        said = f"No new figures for {duration(since)}. If it was stopped, the same command with `--resume` goes on."
        st.warning(said, icon=":material/pause_circle:")


def show_figures(run: TrainingRun, step: int | None) -> None:
    """Those of the chosen step; at the last that can be chosen, and without any, the newest."""
    if step is None or step >= run.moments[-1].step:
        step = run.step
    logged, looked = up_to(step, run.rows), up_to(step, run.looks)
    figures = {"Steps": f"{step:,}"}
    if run.loss:
        figures["Loss"] = f"{logged[run.loss]:.2f} nats" if logged else UNKNOWN
    for name in run.shares[:1] if run.looks else run.shares[:2]:
        row = looked if run.looks else logged
        figures[f"{run_charts.curve_name(name).capitalize()}{'' if run.looks else ', right'}"] = (
            f"{row[name]:.0%}" if row else UNKNOWN
        )
    if "seconds" in run.rows[0]:
        figures["Time"] = duration(logged["seconds"]) if logged else duration(0)
    with st.container(horizontal=True, gap="medium"):
        for label, value in figures.items():
            st.metric(plain(label), value, width="content")


def up_to(step: int, rows: Sequence[Row]) -> Row | None:
    """The last row by that step; None before the first."""
    return next((row for row in reversed(rows) if row["step"] <= step), None)


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def show_curves(run: TrainingRun, log_steps: bool, step: int | None) -> None:
    drawn = {name: draw(run, log_steps, step) for name, draw in run_charts.panels(run).items()}
    for column, (name, chart) in zip(st.columns(len(drawn), gap="large"), drawn.items(), strict=True):
        alt = f"The {name} against training steps, with dashed lines for guesses that need no network"
        column.altair_chart(chart, width="stretch", alt=alt)
    st.caption(explained(run))


def explained(run: TrainingRun) -> str:
    """What is drawn, in words."""
    said = ["The loss is of the text as it was learned from, the mean since the point before."] if run.loss else []
    if run.looks:
        where = "On the right, examples" if run.loss else "Examples"
        said.append(f"{where} that were kept away from the training; a pale band is the 95% interval.")
    if run.baselines:
        names = dict.fromkeys(one.name for one in run.baselines)
        rungs = "; ".join(f"{plain(name)}{GUESSES.get(name, '')}" for name in names)
        said.append(f"Dashed: what guesses without a network reach on held-out text ({rungs}).")
    if run.measured_later:
        said.append(
            "They were measured with 15% of the words hidden; where the training hides more, its own guesses have it "
            "a little harder than they had."
        )
    if step_bar := "The grey bar is the step chosen above." if run.moments[1:] else "":
        said.append(step_bar)
    return " ".join(said)


def verdict(run: TrainingRun) -> str:
    """Whether this loss is normal: which guesses the model has left behind, and when."""
    ladder = sorted((one for one in run.baselines if one.measure == run.loss), key=lambda one: -one.value)
    if ladder:
        return f"**Is this loss normal?** {climbed(run, ladder)}"
    if run.looks:
        return compared(run)
    return "This run tells no baselines, so its loss can only be compared with itself."


def climbed(run: TrainingRun, ladder: list[Baseline]) -> str:
    beaten = {rung: run.beaten_at(rung) for rung in ladder}
    passed = [f"{plain(rung.name)} ({rung.value:.2f}) by step {step:,}" for rung, step in beaten.items() if step]
    ahead = [rung for rung, step in beaten.items() if not step]
    said = f"It fell below {', '.join(passed)}. " if passed else ""
    frequency = next((rung.value for rung in ladder if rung.name == "word frequency"), None)
    if frequency and abs(run.rows[-1][run.loss] - frequency) < PLATEAU * frequency:
        return said + "It sits at the level of word frequency: so far it knows which words are frequent, and no more."
    if ahead:
        return said + f"Not yet below {plain(ahead[0].name)} ({ahead[0].value:.2f})."
    return said + "So by its last step it reads further than the words beside a gap."


def compared(run: TrainingRun) -> str:
    """A fine-tuning, in its own words: where it began, where it came, and what needs no model."""
    name = run.shares[0] if run.shares else None
    if name is None:
        return "This run measures nothing between 0 and 1 on held-out examples; its table has the figures."
    first, last = run.looks[0], run.looks[-1]
    label = plain(run_charts.curve_name(name))
    said = f"On held-out examples the {label} was {first[name]:.0%} at step {first['step']:,.0f}"
    said += f" and {last[name]:.0%} at step {last['step']:,.0f}." if len(run.looks) > 1 else "."
    rungs = [f"{plain(one.name)}: {one.value:.0%}" for one in run.baselines if one.measure == name]
    return said + (f" Without a model, {'; '.join(rungs)}." if rungs else "")
