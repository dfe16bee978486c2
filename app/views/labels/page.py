"""Labels: the class of a text, the labels of its words, and whether a second text follows, with what contributed."""

from collections.abc import Iterator

import streamlit as st

from app.shared.model import models
from app.shared.model.bundled import origin
from app.shared.page import layout, state
from app.shared.page.markdown import explained, plain
from app.shared.text import fit, texts, versions
from app.views.labels import next_sentence, whole_text, words
from bertlab.errors import InputError
from bertlab.explain.labels import label_text, label_words
from bertlab.explain.text import clean


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


def fields() -> tuple[str, str | None, str | None]:
    """Show the fields of the first two views. Returns the text, a second one, and another version of the first."""
    examples = texts.chosen().labels
    versions.examples_and_switch("label_", examples)
    reads_pairs = any(example["label_pair"] for example in examples.values())
    alone = origin(models.chosen()) is not None and not reads_pairs
    text, pair = state.text_fields(examples, "label_", alone)
    other = versions.field("label_", text)
    if not clean(text):
        raise InputError("the text is empty: write at least one word")
    return text, pair, other


def show_text() -> None:
    text, pair, other = fields()
    for loaded, ending in models_for("text label"):
        labelled = models.compute(label_text, loaded, text, pair, loaded.limit)
        encoded = labelled.encoded
        layout.notices(loaded.name, 0 if labelled.whole else encoded.dropped, encoded.unknown, len(encoded.tokens))
        if not ending:
            fit.notice("text label", loaded, text)
        theirs = models.compute(label_text, loaded, other, pair, loaded.limit) if other else None
        whole_text.show(loaded, labelled, theirs, text, pair, f"text-label{ending}")


def show_words() -> None:
    text, _, other = fields()
    word = None
    for loaded, ending in models_for("word labels"):
        labelled = models.compute(label_words, loaded, text, loaded.limit)
        layout.notices(loaded.name, labelled.dropped, labelled.unknown, len(labelled.tokens))
        if not ending:
            fit.notice("word labels", loaded, text)
        theirs = models.compute(label_words, loaded, other, loaded.limit) if other else None
        word = words.show(loaded, labelled, theirs, text, f"word-labels{ending}", word)


def views() -> dict:
    """Return the views; that of the words comes first if the chosen model labels words."""
    both = {"The whole text": show_text, "Each word": show_words}
    labels_words = models.open_model("word labels", models.chosen()) is not None
    return (dict(reversed(both.items())) if labels_words else both) | {"Next sentence": next_sentence.show}


SCORE = (
    "The score is the log-odds of the label, in nats; for a model that predicts a number, that number. The gradients "
    "are followed from a baseline of nothing but [PAD] to your text, and the attributions must add up to the whole "
    "difference: the check under each picture shows how nearly they do. Colours are scaled to the largest attribution "
    "of each text."
)

layout.heading(
    "Labels",
    "A fine-tuned BERT gives a text its class or each word its label, or it says if a second text follows. "
    "*Integrated gradients* tell which words contributed: blue ones to the label, orange ones against it.",
    help=f"{SCORE}\n\n{explained(SCORE)}",
)
with layout.open_tab("labels", shown := views()) as name:
    shown[name]()
