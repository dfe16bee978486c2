"""[CLS] embeddings: one point a sentence, layer by layer, and a number for what the flat picture hides."""

import models
import pandas as pd
import state
import streamlit as st
from cells import embeddings as cells
from exports import exports

from bertlab.draw import charts
from bertlab.errors import InputError
from bertlab.explain.projection import cls_vectors, neighbour_accuracy, project

STORYWORLD, OWN = "storyworld sentences", "my own lines"
OWN_DEFAULT = """animals | my dog is hairy.
animals | penguins are flightless birds.
animals | the cat sleeps on the sofa.
animals | a horse stands in the field.
weather | it rained all day.
weather | the sun is out this morning.
weather | a cold wind blows from the sea.
weather | the snow lies deep."""
MOST_LINES = 500


def own_lines(text: str) -> tuple[list[str], list[str]]:
    """Lines `text`, `label<TAB>text` or `label | text`; blank lines are passed over."""
    texts, labels = [], []
    for line in filter(str.strip, text.splitlines()):
        label, mark, rest = line.partition("\t")
        if not mark:
            label, mark, rest = line.partition(" | ")
        texts.append(rest.strip() if mark and rest.strip() else line.strip())
        labels.append(label.strip() if mark and rest.strip() else "no label")
    if len(texts) < 3:
        raise InputError("a picture needs at least three lines of text")
    if len(texts) > MOST_LINES:
        st.warning(f"Only the first {MOST_LINES} of {len(texts):,} lines are shown.", icon=":material/content_cut:")
    return texts[:MOST_LINES], labels[:MOST_LINES]


@st.cache_data(show_spinner=False)
def storyworld_lines(count: int) -> tuple[list[str], list[str]]:
    from bertlab.corpora.storyworld import labelled_sentences

    sentences = list(labelled_sentences(seed=0, count=count, split="test"))
    return [s.text for s in sentences], [s.label for s in sentences]


def by_layer(model, tokenizer, texts: tuple[str, ...], labels: tuple[str, ...]):
    """Vectors of all layers, and the accuracy of the nearest neighbours at each: (L+1, N, H), L+1."""
    vectors = cls_vectors(model, tokenizer, texts)
    return vectors, [neighbour_accuracy(layer, labels) for layer in vectors]


def sentences() -> tuple[list[str], list[str], str]:
    """The texts, their labels, and the lines of code that make them."""
    source = st.segmented_control(
        "Sentences", [STORYWORLD, OWN], default=STORYWORLD, required=True, key="source", bind="query-params"
    )
    if source == OWN:
        label = "One text a line; with a label in front: `label | text`, or label, Tab, text"
        typed = state.linked_text(st.text_area, label, "lines", OWN_DEFAULT, height=220)
        texts, labels = own_lines(typed)
        return texts, labels, cells.own_source(texts, labels)
    count = st.slider("How many", 60, 300, 180, step=60, key="count", bind="query-params", width=320)
    return *storyworld_lines(count), cells.storyworld_source(count)


def accuracy_table(trained: list, control: list) -> pd.DataFrame:
    rows = [
        (layer, weights, result.accuracy, result.spread)
        for weights, results in (("trained", trained), ("random weights", control))
        for layer, result in enumerate(results)
    ]
    return pd.DataFrame(rows, columns=["layer", "weights", "accuracy", "spread"])


def show_points(title: str, vectors, labels, texts):
    flat = project(vectors)
    table = charts.projection_table(flat.points, labels, texts)
    chart = charts.projection_scatter(table, flat.explained, height=400)
    st.markdown(f"**{state.plain(title)}**")
    if sum(flat.explained) == 0:
        st.info("All points are one: before the first layer [CLS] is the same vector in every text.")
    else:
        st.altair_chart(chart, width="stretch", alt=f"[CLS] vectors of {len(texts)} texts, {title}")
        st.caption(f"The two axes keep {sum(flat.explained):.0%} of the variance; the rest is not on the picture.")
    return table, chart


def show_accuracy(trained: list, control: list, layer: int) -> None:
    st.subheader("How much of the label is really there", anchor=False)
    if trained[0] is None:
        st.caption("Give at least two labels with four lines each to see how well the vectors tell them apart.")
        return
    here, dull = trained[layer], control[layer]
    st.markdown(
        f"In the full space, at layer {layer}, the five nearest neighbours name a sentence's label in "
        f"**{here.accuracy:.0%}** of the cases ({here.folds}-fold cross-validation, ± {here.spread:.0%} "
        f"between folds); with random weights in **{dull.accuracy:.0%}**; always guessing the commonest "
        f"label would be right in {here.chance:.0%}. "
        "Random weights already keep some of the words, so only what lies above that line was learnt."
    )
    table = accuracy_table(trained, control)
    alt = "Neighbour accuracy by layer, trained and random weights"
    st.altair_chart(charts.accuracy_lines(table, here.chance, layer), width="stretch", alt=alt)


def show() -> None:
    loaded = models.model_for("encoder")
    texts, labels, source = sentences()
    last = loaded.model.config.num_hidden_layers
    layer = st.slider("Layer (0 = before the first)", 0, last, last, key=f"layer{last}", bind="query-params")
    arguments = tuple(texts), tuple(labels)
    vectors, accuracies = models.compute(by_layer, loaded, *arguments)
    dull_vectors, dull_accuracies = models.compute(by_layer, models.control_of(loaded), *arguments)
    left, right = st.columns(2, gap="large")
    with left:
        table, chart = show_points(f"{loaded.name}, layer {layer}", vectors[layer], labels, texts)
    with right:
        show_points(f"random weights, layer {layer}", dull_vectors[layer], labels, texts)
    show_accuracy(accuracies, dull_accuracies, layer)
    exports("cls-embeddings", table, cells.projection(loaded.name, source, layer), chart)


state.heading(
    "[CLS] embeddings",
    "The [CLS] token stands before every text, and its vector comes to describe the whole. Each point is "
    "one sentence: PCA lays the vectors flat along their two directions of largest variance. Point at one to "
    "read it.",
)
with state.box():
    show()
