"""Labels: what fine-tuned models say of a text and of its words, and which tokens pushed them to it."""

from collections.abc import Iterator

import streamlit as st

from app.pages.labels import text as labels_text
from app.pages.labels import words as labels_words
from app.shared import models, state
from bertlab.errors import InputError
from bertlab.explain.labels import label_text, label_words
from bertlab.explain.text import clean

TEXT = "Ruth Hill bought Lucky a cake in Ashford. It was delicious."
EXAMPLES = {
    "delicious": TEXT,
    "not salty": "In Ashford, Ruth Hill and Lucky, her dog, ate a cake. The soup was not salty.",
    "although": "The cake was delicious, although the soup was salty.",
    "never": "Eleanor met Zara in Valleyfield. The pudding was never bland.",
    "names or words?": "Rose gave the rose to May in may. The baker thanked Jack Baker.",
}


def looked_at(task: str) -> Iterator[tuple[models.Loaded, str]]:
    """The models that label: the chosen one, and that to compare with unless it has random weights, which stand beside
    each anyway; with an ending for the names of their files."""
    first, second = models.model_for(task), models.beside(task)
    yield first, ""
    if second is not None and not second.random and second.stamp != first.stamp:
        yield second, "-compared"


def say_once(*counts: int) -> None:
    """What was left out, unless it was told of another model already."""
    if counts not in told:
        told.add(counts)
        state.notices(*counts)


def show_text() -> None:
    st.subheader("The whole text", anchor=False)
    for loaded, ending in looked_at("text label"):
        said = models.compute(label_text, loaded, text, pair, loaded.limit)
        say_once(said.encoded.dropped, said.encoded.unknown, len(said.encoded.tokens))
        st.caption(f"Labelled by **{state.plain(loaded.name)}**.")
        labels_text.show(loaded, said, text, pair, f"text-label{ending}")


def show_words() -> None:
    st.subheader("Each word", anchor=False)
    word = None
    for loaded, ending in looked_at("word labels"):
        said = models.compute(label_words, loaded, text, loaded.limit)
        say_once(said.dropped, said.unknown, len(said.tokens))
        st.caption(f"Labelled by **{state.plain(loaded.name)}**.")
        word = labels_words.show(loaded, said, text, f"word-labels{ending}", word)


state.heading(
    "Labels",
    "A fine-tuned BERT gives a text its class, or each word its label. Which tokens pushed it there? *Integrated "
    "gradients* share out the score of the label among them: blue tokens pushed towards it, orange ones away from it.",
)
st.caption(
    "The score is the log-odds of the label, in nats; where a model gives a number, this number. It is followed from a "
    "text of nothing but [PAD] to yours, and the pushes must add up to the whole way: the check under each picture "
    "tells how nearly they do. Colours are stretched to the largest push of each picture."
)
state.example_pills("Try", {name: {"label_text": text, "label_pair": ""} for name, text in EXAMPLES.items()})
text, pair = state.text_fields("label_", TEXT)
told: set[tuple[int, ...]] = set()
with state.box():
    if not clean(text):
        raise InputError("the text is empty: write at least one word")
    for view in (show_text, show_words):
        with state.box():
            view()
