"""Answer spans: how BERT marks an answer in a passage, and what the answer depends on."""

import streamlit as st

from app.shared.model import models
from app.shared.page import layout
from app.shared.page.markdown import plain
from app.shared.text import fit
from app.views.spans import reading, starts_and_ends, the_answer, which_head, why
from app.views.spans.reading import Reading

VIEWS = {
    "The answer": the_answer,
    "Starts and ends": starts_and_ends,
    "Why this answer?": why,
    "Which head?": which_head,
}


def show(question: str, passage: str) -> None:
    loaded, beside = models.model_for("answer"), models.beside("answer")
    readings = [Reading(loaded, question, passage)]
    if beside and beside.stamp == loaded.stamp:
        text = f"**{plain(loaded.name)}** answers in both cases, so there is no comparison."
        st.info(text, icon=":material/info:")
    elif beside:
        readings.append(Reading(beside, question, passage, "-beside"))
    found = readings[0].found
    layout.notices(loaded.name, found.dropped, found.unknown, len(found.tokens))
    fit.notice("answer", loaded, passage)
    with layout.open_tab("spans", VIEWS) as name:
        VIEWS[name].show(readings)


layout.heading(
    "Answer spans",
    "A fine-tuned BERT answers by marking a span of the passage: each token gets a logit for the start and one for "
    "the end of the answer. A model trained for it says “no answer” by giving [CLS] the highest ones. The model can "
    "only copy, and it can be wrong.",
)
question, passage = reading.fields(models.chosen())
with layout.box():
    show(question, passage)
