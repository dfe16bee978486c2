"""What contributes to a label: the text in colours."""

import streamlit as st

from bertlab.draw.html.marked import attributed_text
from bertlab.explain.attribution import Attribution
from bertlab.explain.labels import LabelledWords
from bertlab.explain.text import Encoded, clean

Span = tuple[int, int]


def show_texts(found: Attribution, encoded: Encoded, text: str, pair: str | None) -> None:
    """Show a text, and the second one if there is one, with the words coloured by what they contribute."""
    for segment, read in enumerate(filter(None, (clean(text), clean(pair or "")))):
        spans, values = words_in(found, encoded, segment)
        show_coloured(read, spans, values)


def words_in(found: Attribution, encoded: Encoded, segment: int) -> tuple[list[Span], list[float]]:
    """Return first and last+1 character of each word of the first or second text, and what its pieces contribute."""
    spans: list[Span] = []
    values: list[float] = []
    rows = zip(found.tokens, found.values.tolist(), encoded.offsets.tolist(), strict=True)
    for (token, value, (start, stop)), which, frame in zip(
        rows, encoded.token_type_ids.tolist(), encoded.special.tolist(), strict=True
    ):
        if which != segment or frame:
            continue
        if token.startswith("##") and spans:
            spans[-1], values[-1] = (spans[-1][0], stop), values[-1] + value
        else:
            spans.append((start, stop))
            values.append(value)
    return spans, values


def show_words(found: Attribution, labelled: LabelledWords) -> None:
    """Show the text of labelled words, coloured by what they contribute to the label of one of them."""
    ends = (*labelled.positions[1:], len(found.tokens))
    values = [float(found.values[start:stop].sum()) for start, stop in zip(labelled.positions, ends, strict=True)]
    show_coloured(labelled.text, labelled.spans, values)


def show_coloured(text: str, spans: list[Span], values: list[float]) -> None:
    with st.container(border=True):
        st.html(attributed_text(text, spans, values))
