"""What the tasks of one text or two share: the fields, and the models that are shown."""

from collections.abc import Iterator

import streamlit as st

from app.shared.model import models
from app.shared.page import state
from app.shared.page.markdown import plain
from app.shared.text import versions
from bertlab.errors import InputError
from bertlab.explain.text import clean


def texts(examples: state.Examples, kind: str, pairs: bool) -> tuple[str, str | None, str | None]:
    """Show the fields. Returns the text, a second one if there may be `pairs`, and another version of the first."""
    versions.examples_and_switch(examples)
    if pairs:
        text, pair = state.text_fields(examples, kind)
    else:
        default = state.first_texts(examples, kind)["text"]
        text, pair = state.linked_text(st.text_area, "Your text", "text", default, height=68), None
    other = versions.field(text)
    if not clean(text):
        raise InputError("the text is empty: write at least one word")
    return text, pair, other


def models_for(task: str) -> Iterator[tuple[models.Loaded, str]]:
    """Yield the chosen model and the one to compare with, each with an ending for its file names.

    A second model with random weights is left out, since those stand beside each model anyway.
    """
    first, second = models.model_for(task), models.beside(task)
    if second is None or second.random or second.stamp == first.stamp:
        yield first, ""
        return
    for loaded, ending in ((first, ""), (second, "-compared")):
        st.markdown(f"**{plain(loaded.name)}**")
        yield loaded, ending
