"""The label of each word, and what pushed one of them to it."""

import streamlit as st

from app.pages.labels import cells
from app.pages.labels.contributions import show_pushes, with_control
from app.shared import models, state
from app.shared.exports import exports
from bertlab.draw.charts import base as charts
from bertlab.draw.html.marked import marked_names
from bertlab.explain.attribution import attribute_word
from bertlab.explain.labels import LabelledWords
from bertlab.tasks.token import OUTSIDE


def show(loaded: models.Loaded, said: LabelledWords, text: str, name: str, word: int | None = None) -> int:
    """The number of the word that is looked at, from 0: `word`, or else what the reader presses. `name` is that of the
    files to save."""
    with st.container(border=True):
        st.html(marked_names(said.text, said.names, said.kinds))
    if word is None:
        word = choose_word(said, f"word {hash((loaded.stamp, text))}")
    word = min(word, len(said.spans) - 1)
    label = said.prediction.labels[word]
    number = loaded.model.config.label2id[label]
    pushed, control = with_control(attribute_word, loaded, text, word, number, loaded.limit)
    st.markdown(sureness(said, word))
    bars = show_pushes(pushed, control, f"What pushed “{words_of(said)[word]}” to “{label}”", label)
    table = charts.attribution_table(pushed, control)
    table["label"] = table["position"].map(dict(zip(said.places, said.prediction.labels, strict=True)))
    code = cells.word_label(loaded.source, text, word, loaded.limit)
    exports(name, table, code, bars)
    return word


def words_of(said: LabelledWords) -> list[str]:
    return [said.text[start:stop] for start, stop in said.spans]


def choose_word(said: LabelledWords, key: str) -> int:
    """A chip for every word, the first word of a name being pressed to begin with."""
    words = words_of(said)
    named = [i for i, label in enumerate(said.prediction.labels) if label != OUTSIDE]
    first = named[0] if named else 0
    if key not in st.session_state:
        linked = state.link_value("word") or ""
        st.session_state[key] = int(linked) if linked.isdecimal() and int(linked) < len(words) else first
    names = state.chip_names(words).__getitem__
    state.keep(key)
    word = st.pills(
        "Press a word to see what its label came from",
        range(len(words)),
        key=key,
        format_func=names,
        persist_state="session",
    )
    word = first if word is None else word
    state.share("word", "" if word == first else str(word))
    return word


def sureness(said: LabelledWords, word: int) -> str:
    label, shares = said.prediction.labels[word], said.prediction.probabilities
    return f"Its label is **{state.plain(label)}**" + (
        f", with a probability of {shares[word]:.1%}." if shares else "."
    )
