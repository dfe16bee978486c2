"""The saved comparisons: what each learner reached, and which claims of the papers that supports."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from app.shared.page import layout
from app.shared.page.exports import exports
from app.shared.page.markdown import plain, signed
from app.views.comparisons import cells
from bertlab.compare.learners import Claim
from bertlab.compare.report import MEAN, Comparison, verdict
from bertlab.compare.saved import open_saved, path_of, saved_names
from bertlab.compare.tables import points_of
from bertlab.draw.charts.comparison import score_chart, score_panels, score_table

ACROSS = 2  # charts in a row
COLOURS = {"holds": "blue", "reversed": "orange", "cannot tell": "gray"}
TO = "\u00a0to\u00a0"  # an interval stays on one line
ASKS = {"entities": "names in a text", "qa": "answers to questions"}
READ_SO = "Each point is the score of a model, the mean over seeds, and around it lies its 95% interval."
GUESSED = " The dashed line is the best guess without a model."
HELP = (
    "**holds**: interval and test both say that the first is better (p below 0.05). **reversed**: both say that the "
    "second is. **cannot tell**: anything else, with what would decide it."
)


@dataclass(frozen=True)
class Judged:
    """A comparison as the page shows it: its question and note, a row for each score, and one for each claim."""

    question: str
    note: str
    scores: pd.DataFrame
    claims: pd.DataFrame


def show() -> None:
    name = st.selectbox("Comparison", saved_names(), key="comparison", bind="query-params", width=260)
    judged = judge(name, path_of(name).stat().st_mtime_ns)
    st.markdown(f"**{plain(judged.question)}**")
    if "toy models" in judged.note:
        st.markdown(":orange[:material/toys:] A quick run of toy models: it shows the form, not the findings.")
    st.markdown(f"{counted(judged.claims)} They are in the table below.", help=HELP)
    show_panels(judged.scores, lambda: show_notes(judged))
    st.markdown("**What papers claim, and what this comparison says**", help=HELP)
    st.table(shown(judged.claims))
    exports(f"comparison-{name}", judged.scores, cells.comparison(name), score_chart(judged.scores))


def counted(claims: pd.DataFrame) -> str:
    """Say how many claims hold, are reversed, or cannot be told."""
    found = claims["verdict"].str.partition(";")[0].value_counts()
    counts = [f"{number} {coloured(verdict)}" for verdict in COLOURS if (number := found.get(verdict, 0))]
    return f"Of {len(claims)} claim{'s' * (len(claims) != 1)} of papers: {', '.join(counts)}."


def show_panels(scores: pd.DataFrame, notes: Callable[[], None]) -> None:
    """Show a chart for each task, and for their mean; the `notes` beside the last one if there is room."""
    panels = list(score_panels(scores).items())
    across = min(ACROSS, len(panels))
    for first in range(0, len(panels), across):
        row = panels[first : first + across]
        columns = st.columns(across, gap="medium")
        for column, (task, panel) in zip(columns, row, strict=False):
            with column:
                st.markdown("**The mean of the tasks**" if task == MEAN else f"Task: {named(task)}")
                layout.show_chart(panel, in_words(task, scores))
    with columns[-1] if len(row) < across else st.container():
        notes()


def named(task: str) -> str:
    """Return the name of a task with what it asks for."""
    return f"**{plain(task)}**" + (f" ({ASKS[task]})" if task in ASKS else "")


def show_notes(judged: Judged) -> None:
    """Say how the models were made, and how to read the charts."""
    st.caption(READ_SO + (GUESSED if judged.scores["guess"].notna().any() else ""))
    st.caption(judged.note)
    st.caption("Chapter 15 builds these intervals and tests by hand. How to read them: docs/comparisons.md.")
    st.caption("The model in the bar on the left has no part in this page.")


@st.cache_data(max_entries=20, show_spinner="Resampling seeds and examples")
def judge(name: str, changed: int) -> Judged:
    """Return a saved comparison with its intervals and verdicts; `changed`: the time of its file."""
    comparison = open_saved(name)
    scores = score_table(comparison.intervals(), comparison.guesses, points_of(comparison.table))
    claims = pd.DataFrame([judge_claim(comparison, claim) for claim in comparison.claims])
    return Judged(comparison.table.question, comparison.note, scores, claims)


def judge_claim(comparison: Comparison, claim: Claim) -> dict[str, object]:
    found = comparison.difference(claim)
    return {
        "claim": f"{claim.better} is better than {claim.worse}",
        "verdict": verdict(found, comparison.beats_guess(claim)),
        "difference": found.figure.value,
        "low": found.figure.low,
        "high": found.figure.high,
        "p": found.p,
        "paper": claim.source,
    }


def shown(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the claims as Markdown, the verdict in colour."""
    rows = [
        {
            "claim": plain(row.claim),
            "verdict": coloured(row.verdict),
            "difference (95% interval)": f"{three(row.difference)} ({three(row.low)}{TO}{three(row.high)})",
            "p": f"{row.p:.2g}",
            "paper": plain(row.paper),
        }
        for row in claims.itertuples()
    ]
    return pd.DataFrame(rows).set_index("claim")


def three(number: float) -> str:
    return signed(number, "+.3f")


def coloured(verdict: str) -> str:
    word, _, advice = verdict.partition("; ")
    return f":{COLOURS[word]}[**{word}**]" + (f": :small[{plain(advice)}]" if advice else "")


def in_words(task: str, scores: pd.DataFrame) -> str:
    of_task = scores[scores["task"] == task].sort_values("score", ascending=False)
    best = [f"{row.learner} {row.score:.3f}" for row in of_task.head(3).itertuples()]
    return f"Scores with intervals on the task {task}, the best: {', '.join(best)}"
