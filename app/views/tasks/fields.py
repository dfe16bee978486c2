"""What the tasks of one text or two share: the fields, the models that are shown, and a text in colours."""

from collections.abc import Iterator

import streamlit as st

from app.shared.model import models
from app.shared.page import state
from app.shared.page.markdown import plain
from app.shared.text import mask, versions
from bertlab.draw.html.marked import attributed_text
from bertlab.errors import InputError
from bertlab.explain.attribution import Attribution
from bertlab.explain.text import Encoded, clean

Span = tuple[int, int]


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
    if "[MASK]" in text:
        offer_example("A gap says nothing here, so the answer means little: write a word for [MASK].", examples)
    return text, pair, other


def lacks_second(examples: state.Examples, text: str, second: str | None) -> bool:
    """Return whether there is no second text, or question, for a text: none at all, or that of an example, of whose own
    text not half of the words are left."""
    own = [first for first, two in (tuple(example.values()) for example in examples.values()) if two == second]
    kept = any(2 * len({*first.split()} & {*text.split()}) > len({*first.split()}) for first in own)
    return not clean(second or "") or bool(own and clean(text)) and not kept


def offer_example(needed: str, examples: state.Examples) -> None:
    """Say what a view needs that the visitor's text lacks, beside a button for the first example."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/edit: {plain(needed)}", width="content")
        st.button("Take an example", on_click=state.fill, args=[next(iter(examples.values()))])


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


def words_in(found: Attribution, encoded: Encoded, segment: int) -> tuple[list[Span], list[float]]:
    """Return first and last+1 character of each word of the first or second text, and what its pieces contribute."""
    positions = [i for i in mask.words(encoded) if encoded.texts[i] == segment]
    words = dict.fromkeys(mask.word_of(encoded, i) for i in positions)
    spans = [(int(encoded.offsets[word[0]][0]), int(encoded.offsets[word[-1]][1])) for word in words]
    return spans, [float(found.values[word.start : word.stop].sum()) for word in words]


def show_coloured(text: str, spans: list[Span], values: list[float]) -> None:
    """Show a text, each span of it coloured by what it contributes."""
    with st.container(border=True):
        st.html(attributed_text(text, spans, values))
