"""The vectors of the texts in each model that is shown: the chosen one, one beside it, and random weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from app.pages.embeddings.sets import TextSet
from app.shared import models, progress, state
from bertlab.draw.charts.projection import projection_scatter, projection_table
from bertlab.explain.vectors import LayerMeasures, Method, Pooling, layer_measures, nearest, project, vector_rows

POOLINGS: dict[Pooling, str] = {"cls": "[CLS]", "mean": "mean", "max": "maximum"}
METHODS: dict[Method, str] = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
FINE_TUNED = "storyworld-tiny-sentiment"


@dataclass(frozen=True)
class Look:
    """What all parts of the page agree on: the vector of a text, at which layer, and how it is laid flat."""

    pooling: Pooling
    method: Method
    layer: int


@dataclass(frozen=True)
class Cloud:
    """`vectors` (L+1, N, H) of the N texts of a set in one model; the reader's own sentences are the last of them."""

    loaded: models.Loaded
    texts: TextSet
    look: Look
    vectors: np.ndarray

    @property
    def layer(self) -> int:
        """The layer that is looked at: the last one where this model has fewer."""
        return min(self.look.layer, len(self.vectors) - 1)

    @property
    def here(self) -> np.ndarray:  # (N, H)
        return self.vectors[self.layer]

    @property
    def title(self) -> str:
        return f"{self.loaded.name}, layer {self.layer}"

    @property
    def key(self) -> tuple:
        return self.loaded.stamp, self.look.pooling, self.texts.all_texts, self.texts.labels

    def nearest(self, place: int, count: int) -> list[tuple[int, float]]:
        """The labelled texts nearest to one, each with its distance."""
        found = nearest(self.here, place, count + len(self.texts.yours))
        return [(i, distance) for i, distance in found if i < len(self.texts.texts)][:count]


def look(loaded: models.Loaded) -> Look:
    """The fields that choose it."""
    left, middle, right = st.columns(3, gap="medium")
    pooling = left.segmented_control(
        "The vector of a text",
        list(POOLINGS),
        default="cls",
        required=True,
        format_func=POOLINGS.__getitem__,
        key="embeddings_vector",
        bind="query-params",
        help="That of [CLS], the token before every text; or the mean, or the largest value of each dimension, over "
        "all its other tokens, [SEP] and padding left out.",
    )
    method = middle.segmented_control(
        "Laid flat by",
        list(METHODS),
        default="pca",
        required=True,
        format_func=METHODS.__getitem__,
        key="embeddings_method",
        bind="query-params",
        help="PCA looks along the two directions of largest variance. t-SNE and UMAP keep near texts near, whatever "
        "becomes of the rest.",
    )
    last = loaded.model.config.num_hidden_layers
    layer = right.slider(
        "Layer (0 = before the first)", 0, last, last, key=f"embeddings_layer{last}", bind="query-params"
    )
    return Look(pooling, method, layer)


def shown_models(loaded: models.Loaded) -> list[models.Loaded]:
    """The chosen model, the one of "compare with" or else one fine-tuned or not as this is, and random weights."""
    second = models.beside("encoder") or partner(loaded)
    control = models.control_of(loaded)
    chosen = [loaded, control] if second is None or second.random else [loaded, second, control]
    return list({model.stamp: model for model in chosen}.values())


def partner(loaded: models.Loaded) -> models.Loaded | None:
    """To the bundled model one that was fine-tuned from it, and the other way round."""
    if loaded.source.partition("/step-")[0] == models.DEFAULT_MODEL:
        return models.open_model("encoder", FINE_TUNED)
    fine_tuned = loaded.source.startswith(f"{models.DEFAULT_MODEL}-")
    return models.open_model("encoder", models.DEFAULT_MODEL) if fine_tuned else None


def clouds(loaded: models.Loaded, texts: TextSet, look: Look) -> list[Cloud]:
    """The same texts in each model. Where the reader stops one, the others show no more than it read."""
    found = []
    for model in shown_models(loaded):
        found.append(cloud(model, texts, look))
        texts = found[-1].texts
    return [replace(one, texts=texts, vectors=one.vectors[:, : len(texts.all_texts)]) for one in found]


def cloud(loaded: models.Loaded, texts: TextSet, look: Look) -> Cloud:
    """The vectors in one model; where that takes long with a bar, and the points so far. After a press of Stop, only
    of the texts that were read by then."""

    def draw(rows: list[np.ndarray]) -> None:
        if len(rows) < 3:  # two always lie on a line
            return
        begun = Cloud(loaded, texts.first(len(rows)), look, np.stack(rows, axis=1))  # n x (L+1, H) -> (L+1, n, H)
        table = projection_table(project(begun.here).points, begun.texts.labels, begun.texts.texts)
        chart = projection_scatter(table, None, loaded.name, f"layer {begun.layer}")
        st.altair_chart(chart, width="stretch", alt=f"The first {len(rows)} texts as points, in {begun.title}")

    rows = vectors_of(loaded, texts.texts, look.pooling, draw)
    if len(rows) < 2:
        raise state.Stopped
    if len(rows) < len(texts.texts):
        texts = texts.first(len(rows))
    elif texts.yours:
        rows = [*rows, *vectors_of(loaded, texts.yours, look.pooling)]
    return Cloud(loaded, texts.first(len(rows)), look, np.stack(rows, axis=1))  # N x (L+1, H) -> (L+1, N, H)


def measures(cloud: Cloud) -> list[LayerMeasures]:
    """Of every layer, by the labelled texts alone. After a press of Stop, state.Stopped is raised."""
    texts, vectors = cloud.texts, cloud.vectors[:, : len(cloud.texts.texts)]  # (L+1, N, H)

    def rows(model, tokenizer, *key) -> Iterator[LayerMeasures]:
        return layer_measures(vectors, texts.labels)

    found = progress.rows(rows, cloud.loaded, cloud.look.pooling, texts.texts, texts.labels, total=len(vectors))
    if len(found) < len(vectors):
        raise state.Stopped
    return found


def vectors_of(loaded: models.Loaded, texts: tuple[str, ...], pooling: Pooling, draw=None) -> list[np.ndarray]:
    return progress.rows(vector_rows, loaded, texts, pooling, loaded.limit, total=len(texts), draw=draw)


def say_what_is_missing(loaded: models.Loaded, texts: TextSet) -> None:
    """What the model could not read of the texts."""
    cut, unknown, total = models.compute(left_out, loaded, texts.all_texts, loaded.limit)
    if cut:
        said = f"{cut} of {len(texts.all_texts)} texts are longer than {loaded.limit} tokens: their ends were not read."
        st.warning(said, icon=":material/content_cut:")
    if unknown > total / 50:
        said = f"{unknown / total:.0%} of the tokens are [UNK]: the vocabulary of {loaded.name} does not hold them."
        st.warning(state.plain(said), icon=":material/help:")


def left_out(model, tokenizer, texts: tuple[str, ...], limit: int) -> tuple[int, int, int]:
    """How many texts are cut to `limit` tokens, how many tokens are unknown, and how many there are."""
    rows = tokenizer.encode_batch(texts)
    unknown = sum(row.count(tokenizer.unk_token_id) for row in rows)
    return sum(len(row) > limit - 2 for row in rows), unknown, sum(map(len, rows))  # [CLS] and [SEP] need two


def asked(clouds: Sequence[Cloud], yours: bool = True) -> tuple:
    """What every notebook cell of the page needs first: models, texts, pooling, limit, layer."""
    first = clouds[0]
    sources = [(cloud.loaded.source, cloud.loaded.random) for cloud in clouds]
    texts = first.texts.all_code if yours else first.texts.code
    return sources, texts, first.look.pooling, models.DRAWN_TOKENS, first.look.layer
