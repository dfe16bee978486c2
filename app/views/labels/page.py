"""Labels: the class of a text and the labels of its by fine-tuned models, with what contributed to each."""

from collections.abc import Iterator

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.page.markdown import explained, plain
from app.shared.text import fit, texts, versions
from app.views.labels import label_views
from bertlab.errors import InputError
from bertlab.explain.labels import label_text, label_words
from bertlab.explain.text import clean


def models_for(task: str) -> Iterator[tuple[models.Loaded, str]]:
    """Yield the chosen model and the one to compare with, each with an ending for its file names.

    A second model with random weights is left out, since those stand beside each model anyway.
    """
    first, second = models.model_for(task), models.beside(task)
    yield first, ""
    if second is not None and not second.random and second.stamp != first.stamp:
        yield second, "-compared"


def show_text() -> None:
    st.subheader("The whole text", anchor=False)
    for loaded, ending in models_for("text label"):
        labelled = models.compute(label_text, loaded, text, pair, loaded.limit)
        layout.notices(loaded.name, labelled.encoded.dropped, labelled.encoded.unknown, len(labelled.encoded.tokens))
        if not ending:
            fit.notice("text label", loaded, text)
        st.caption(f"Labelled by **{plain(loaded.name)}**.")
        if other:
            theirs = models.compute(label_text, loaded, other, pair, loaded.limit)
            st.markdown(label_views.text_change(loaded, labelled, theirs))
        label_views.show_text(loaded, labelled, text, pair, f"text-label{ending}")


def show_words() -> None:
    st.subheader("Each word", anchor=False)
    word, read, changed = None, text, other
    for loaded, ending in models_for("word labels"):
        if not ending and not texts.suits(loaded.name):
            read, changed = example_of(loaded), None
        labelled = models.compute(label_words, loaded, read, loaded.limit)
        layout.notices(loaded.name, labelled.dropped, labelled.unknown, len(labelled.tokens))
        st.caption(f"Labelled by **{plain(loaded.name)}**.")
        if changed:
            label_views.show_word_changes(labelled, models.compute(label_words, loaded, changed, loaded.limit))
        word = label_views.show_words(loaded, labelled, read, f"word-labels{ending}", word)


def example_of(loaded: models.Loaded) -> str:
    """Say that no bundled model finds names in real English. Return a text that suits the one that is shown instead."""
    st.markdown(
        "No bundled model finds names in real English: on your text this one would only guess. So below it reads a "
        "text of its own small world."
    )
    return next(iter(texts.of(loaded.name).labels.values()))["label_text"]


SCORE = (
    "The score is the log-odds of the label, in nats; for a model that predicts a number, that number. The gradients "
    "are followed from a baseline of nothing but [PAD] to your text, and the attributions must add up to the whole "
    "difference: the check under each picture shows how nearly they do. Colours are scaled to the largest attribution "
    "of each picture."
)

layout.heading(
    "Labels",
    "A fine-tuned BERT gives a text its class, or each word its label. Which tokens contributed? *Integrated "
    "gradients* divide the logit of the label among them: blue tokens raise it, orange ones lower it.",
    help=f"{SCORE}\n\n{explained(SCORE)}",
)
examples = texts.chosen().labels
versions.examples_and_switch("label_", examples)
text, pair = state.text_fields(examples, "label_")
other = versions.field("label_", text)
with layout.box():
    if not clean(text):
        raise InputError("the text is empty: write at least one word")
    for view in (show_text, show_words):
        with layout.box():
            view()
