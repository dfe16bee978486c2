"""How sure the pages are: one wording for spans, labels and masked words, beside how often it was right on held-out
text."""

from collections.abc import Sequence

import streamlit as st

from app.shared.page.markdown import plain
from bertlab.draw.percent import percent
from bertlab.evaluation.calibration import Bin

# Below these probabilities the best one is called a guess. A word for a gap is then more likely wrong than right, the
# answer to a question wrong in more than a third; of two classes the other one has at least half as much.
ANSWER, LABEL, GAP = 2 / 3, 2 / 3, 1 / 2
FAINT = 1 / 5  # below this a first word for a gap is one of many
# Of a word with a capital letter inside an English sentence, a model that reads no capitals must be so sure that it is
# no name: those with less mostly are one (benchmarks/explorer/real_text.py --thresholds).
NO_NAME = 0.99
Ranked = Sequence[tuple[str, float]]  # what the model may say, each with its probability, the likeliest first


def doubt(ranked: Ranked, least: float, measured: Bin | None = None) -> str:
    """Say for Markdown that the first of `ranked` has less than `least`, or was right less often in the predictions
    that were `measured`, which were as sure, and what is the next best. "" if neither."""
    (_, p), *others = ranked
    if p >= least and (measured is None or measured.wrong <= 1 - least):
        return ""
    rule = f"below {percent(least)} it is a guess" if p < least else f"fewer than {percent(least)} were right then"
    next_best = "".join(f" Next best: “{plain(name)}” ({percent(share)})." for name, share in others[:1])
    return f"**Not sure**: {rule}.{next_best}"


def show(what: str, ranked: Ranked, least: float, measured: Bin | None, model: str, key: str) -> None:
    """Show the first of `ranked`, called `what` unless it is a guess, its probability, and how often the `model` was
    right when it was as sure, if that was `measured`. `key` tells such rows apart."""
    said = doubt(ranked, least, measured)
    with st.container(horizontal=True, gap="large", key=f"numbers {key}"):
        st.metric("Best guess" if said else what, plain(ranked[0][0]), width="content")
        st.metric("Its probability", percent(ranked[0][1]), width="content")
        if measured:
            share = percent(1 - measured.wrong) if measured.wrong else "all"  # "100%" would promise too much
            help = held_out(measured, model)
            st.metric("Right when so sure", f"{share} of {measured.count:,}", width="content", help=help)
    if said:
        st.markdown(said)


def held_out(measured: Bin, model: str) -> str:
    """Say how often the model was right about held-out texts when it was as sure."""
    texts = f"test texts of {measured.length}" if measured.length else "test texts"
    return (
        f"Of {measured.count:,} {texts} about which **{plain(model)}** was as sure ({measured.between}), it got "
        f"{measured.right:,} right."
    )
