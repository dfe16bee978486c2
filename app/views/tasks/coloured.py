"""What contributes to a label: the text in colours, and folded away each token beside random weights."""

import altair as alt
import streamlit as st

from app.shared import contributions
from app.shared.page.markdown import plain, signed
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


def show_rest(found: Attribution, control: Attribution, title: str, label: str) -> alt.Chart:
    """Say which words contribute most, and fold each token beside random weights away. Returns the chart of both."""
    st.markdown(contributions.in_a_sentence(label, found))
    with st.expander("Each token, beside random weights", icon=":material/bar_chart:"):
        st.markdown(f"**{plain(title)}**")
        st.markdown(effect(found))
        bars = contributions.show_bars(found, control, title)
        st.caption(contributions.completeness(found))
        st.caption(f"With random weights: {effect(control)} {contributions.completeness(control)}")
    return bars


def effect(found: Attribution) -> str:
    """Say how much of the logit is due to the words at all."""
    added = found.score - found.baseline
    start = f"Without any words the logit of this label is **{signed(found.baseline)}**"
    return f"{start}; these words {'add' if added >= 0 else 'lower it:'} **{signed(added)}**."
