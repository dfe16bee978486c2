"""Answer spans: how BERT marks an answer in a passage, and what the answer hangs on."""

import streamlit as st

from app.pages.spans import answer as spans_answer
from app.pages.spans import grid as spans_grid
from app.pages.spans import heads as spans_heads
from app.pages.spans import text as spans_text
from app.pages.spans import why as spans_why
from app.pages.spans.reading import Reading
from app.shared import models, state

VIEWS = {
    "The answer": spans_answer,
    "Starts and ends": spans_grid,
    "Why this answer?": spans_why,
    "Which head?": spans_heads,
}


def show(question: str, passage: str) -> None:
    loaded, beside = models.model_for("answer"), models.beside("answer")
    asks = [Reading(loaded, question, passage)]
    if beside and beside.stamp == loaded.stamp:
        st.info(
            f"**{state.plain(loaded.name)}** answers in any case, so nothing stands beside.", icon=":material/info:"
        )
    elif beside:
        asks.append(Reading(beside, question, passage, "-beside"))
    found = asks[0].found
    state.notices(found.dropped, found.unknown, len(found.tokens))
    with state.open_tab("spans", VIEWS) as name:
        VIEWS[name].show(asks)


state.heading(
    "Answer spans",
    "A fine-tuned BERT answers by marking: for each token it says how well an answer could start there and "
    "end there. If the [CLS] token scores best, the passage holds no answer. It can only copy, and it can be "
    "wrong.",
)
question, passage = spans_text.text_fields()
with state.box():
    show(question, passage)
