"""One text, clicked, chosen or written by the visitor, with its nearest texts and the label that they vote for."""

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.shared.page import layout, state
from app.shared.page.exports import Name, exports
from app.shared.page.markdown import plain
from app.views.meaning.clouds import Cloud, begun
from app.views.meaning.texts import NO_LABEL, TextSet
from bertlab.explain.vectors import nearest

NEAREST = 5  # texts to show, as many as vote
LETTERS = 100  # of a text in the list; the table has all


def pick_key(texts: TextSet) -> str:
    return f"meaning_text {hash(texts.texts)}"


def picked(texts: TextSet) -> int | None:
    """Return the number, from 1, of the text that was clicked, chosen in the list, or named by the link."""
    key = pick_key(texts)
    state.open_with(key, "meaning_text", state.number_in)
    number = st.session_state[key]
    if number is not None and not 1 <= number <= len(texts.all_texts):
        number = st.session_state[key] = None
    return number


def choose(texts: TextSet) -> int | None:
    """Show the list of all texts, for visitors who cannot click a point. Returns the number of the chosen one."""
    both = enumerate(zip(texts.all_labels, texts.all_texts, strict=True), 1)
    names = {number: f"{number} · {label} · {text[:120]}" for number, (label, text) in both}
    options = dict(key=pick_key(texts), format_func=names.__getitem__, placeholder="Type to search")
    label = "Click a point above, or choose a text here, to see its nearest texts"
    number = st.selectbox(label, list(names), index=None, persist_state="session", **options)
    state.share("meaning_text", str(number or ""))
    return number


def show(clouds: Sequence[Cloud]) -> None:
    first = clouds[0]
    number = choose(first.texts)
    if number is None and not first.texts.yours:
        return
    index = len(first.texts.texts) if number is None else number - 1  # the first of the visitor's own sentences
    label, text = first.texts.all_labels[index], short(first.texts.all_texts[index])
    st.markdown(f"> **{plain(label)}**: {plain(text)}")
    for cloud in layout.in_columns(clouds):
        show_nearest(cloud, index)
    st.caption("Nearest in all dimensions, each scaled to the same variance.")
    exports("nearest-texts", pd.concat([nearest_table(cloud, index) for cloud in clouds]), code_of(clouds, index))


def code_of(clouds: Sequence[Cloud], index: int) -> str:
    (cell, vectors), texts = begun(clouds), clouds[0].texts
    near = [cell.call(nearest, each, index, NEAREST + len(texts.yours)) for each in vectors]
    rows = f"if i < {len(texts.texts)}][:{NEAREST}]"
    named = {
        cloud.loaded.name: Name(f"[(labels[i], round(distance, 2), texts[i]) for i, distance in {each} {rows}")
        for cloud, each in zip(clouds, near, strict=True)
    }
    return cell.shows(Name(repr(named)))


def short(text: str) -> str:
    """Return the text on one line, cut if it is very long."""
    text = " ".join(text.split())
    return text if len(text) <= LETTERS else f"{text[:LETTERS].rpartition(' ')[0] or text[:LETTERS]} …"


def show_nearest(cloud: Cloud, index: int) -> None:
    found = nearest_table(cloud, index)
    label, count = Counter(found["label"]).most_common(1)[0]
    vote = "" if label == NO_LABEL else f": {count} of the {len(found)} nearest are **{plain(label)}**"
    st.markdown(f"**{plain(cloud.title)}**{vote}")
    rows = found[["rank", "label", "text"]].itertuples(index=False)
    st.markdown("\n".join(f"{rank}. **{plain(label)}**: {plain(short(text))}" for rank, label, text in rows))


def nearest_table(cloud: Cloud, index: int) -> pd.DataFrame:
    """Return one row a neighbour, the nearest first."""
    texts = cloud.texts
    rows = [
        (cloud.loaded.name, cloud.layer, rank, distance, texts.labels[i], texts.texts[i])
        for rank, (i, distance) in enumerate(cloud.nearest(index, NEAREST), 1)
    ]
    return pd.DataFrame(rows, columns=["model", "layer", "rank", "distance", "label", "text"])
