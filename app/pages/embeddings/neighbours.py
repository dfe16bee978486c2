"""One text and its nearest ones, and what those nearest to the reader's own sentences say of them."""

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.pages.embeddings import cells
from app.pages.embeddings.clouds import Cloud, asked
from app.pages.embeddings.pick import NEAR, choose
from app.shared import state
from app.shared.exports import exports

LETTERS = 240  # of a text in the list; the table has all


def show(clouds: Sequence[Cloud]) -> None:
    first = clouds[0]
    show_yours(clouds)
    st.subheader("One text and its nearest", anchor=False)
    number = choose(first.texts)
    if number is None:
        return
    place = number - 1
    st.markdown(quoted(first, place))
    for column, cloud in zip(st.columns(len(clouds), gap="medium"), clouds, strict=True):
        with column:
            show_nearest(cloud, place)
    st.caption("Nearest in all dimensions, each scaled to the same spread; the flat pictures show it only in part.")
    code = cells.neighbours(*asked(clouds), place, NEAR, len(first.texts.yours))
    exports("nearest-texts", pd.concat([nearest_table(cloud, place) for cloud in clouds]), code)


def quoted(cloud: Cloud, place: int) -> str:
    label, text = cloud.texts.all_labels[place], short(cloud.texts.all_texts[place])
    return f"> **{state.plain(label)}**: {state.plain(text)}"


def short(text: str) -> str:
    """On one line, and cut where it is very long."""
    text = " ".join(text.split())
    return text if len(text) <= LETTERS else f"{text[:LETTERS]} …"


def show_nearest(cloud: Cloud, place: int) -> None:
    found = nearest_table(cloud, place)
    label = cloud.texts.all_labels[place]
    lines = [f"{rank}. **{state.plain(kind)}**: {state.plain(short(text))}" for rank, kind, text in rows_of(found)]
    st.markdown(f"**{state.plain(cloud.title)}**")
    if place < len(cloud.texts.texts):
        same = int((found["label"] == label).sum())
        st.caption(f"{same} of the {len(found)} nearest share its label.")
    st.markdown("\n".join(lines))


def rows_of(found: pd.DataFrame):
    return found[["rank", "label", "text"]].itertuples(index=False)


def nearest_table(cloud: Cloud, place: int) -> pd.DataFrame:
    """One row a neighbour, the nearest first."""
    texts = cloud.texts
    rows = [
        (cloud.loaded.name, cloud.layer, rank, distance, texts.labels[i], texts.texts[i])
        for rank, (i, distance) in enumerate(cloud.nearest(place, NEAR), 1)
    ]
    return pd.DataFrame(rows, columns=["model", "layer", "rank", "distance", "label", "text"])


def show_yours(clouds: Sequence[Cloud]) -> None:
    """For each of the reader's own sentences the label that its nearest texts vote for, in each model."""
    texts = clouds[0].texts
    if not texts.yours:
        return
    st.markdown("**Your sentences: what their five nearest texts say**")
    places = range(len(texts.texts), len(texts.all_texts))
    votes = {cloud.title: [vote(cloud, place) for place in places] for cloud in clouds}
    st.dataframe(pd.DataFrame({"your sentence": texts.yours, **votes}), hide_index=True)


def vote(cloud: Cloud, place: int) -> str:
    labels = [cloud.texts.labels[i] for i, _ in cloud.nearest(place, NEAR)]
    label, count = Counter(labels).most_common(1)[0]
    return f"{label} ({count} of {len(labels)})"
