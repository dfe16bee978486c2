"""Attention: all at once and one in full, heads switched off, attention as an explanation, and bertviz."""

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.text import fit, texts, versions
from app.views.attention import all_heads, bertviz_views, explanation, switch_off

# Each view, and the task whose head its model needs.
VIEWS = {
    "All heads": (all_heads, "encoder"),
    "Switch heads off": (switch_off, "fill"),
    "Is it an explanation?": (explanation, "fill"),
    "bertviz": (bertviz_views, "encoder"),
}

layout.heading(
    "Attention",
    "In every layer each token gathers information from the others, in several ways: the *heads*.",
)
examples = texts.chosen().heads
versions.examples_and_switch(examples)
text, pair = state.text_fields(examples, "gap")
other = versions.field(text)
with layout.open_tab("attention", VIEWS) as name:
    view, task = VIEWS[name]
    more = {"version": other} if view is all_heads else {}
    if other and not more:
        st.caption("This view reads the first version; *All heads* compares both.")
    loaded = models.model_for(task)
    fit.notice(task, loaded, text)
    view.show(loaded, text, pair, **more)
