"""Answers: how BERT marks an answer in a passage, and what the answer depends on."""

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.text import fit, texts
from app.views.tasks import fields, the_answer

VIEWS = {
    "The answer": the_answer.show,
    "Starts and ends": the_answer.show_starts_and_ends,
    "Why this answer?": the_answer.show_contributions,
}


def show() -> None:
    st.container(key="intro").markdown(
        "The model marks a span of your passage as the answer, or says “no answer”. It can only copy, and it is often "
        "wrong."
    )
    examples = texts.chosen().questions
    first = state.first_texts(examples, "passage")
    state.example_pills("Try a question", examples, wrap=True)
    question = state.linked_text(st.text_input, "Your question", "question", first["question"])
    passage = state.linked_text(st.text_area, "Your passage", "text", first["text"], height=110)
    if fields.lacks_second(examples, passage, question):
        fields.offer_example("Your passage needs a question of its own: write one above.", examples)
        return
    loaded, beside = models.model_for("answer"), models.beside("answer")
    readings = [the_answer.Reading(loaded, question, passage)]
    if beside and beside.stamp != loaded.stamp:
        readings.append(the_answer.Reading(beside, question, passage, "-beside"))
    found = readings[0].found
    layout.notices(loaded.name, found.dropped, found.unknown, len(found.tokens))
    fit.notice("answer", loaded, passage)
    with layout.open_tab("spans", VIEWS) as name:
        layout.side_by_side(readings, VIEWS[name])
