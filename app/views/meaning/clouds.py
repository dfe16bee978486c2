"""The vectors of the texts in each model on the page: the chosen one, one to compare with, and random weights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import streamlit as st

from app.shared.model import models
from app.shared.model.bundled import origin, specialist
from app.shared.page import layout, progress, state
from app.shared.page.exports import Cell, Name
from app.shared.page.markdown import plain
from app.views.meaning.texts import TextSet
from bertlab import Tokenizer
from bertlab.draw.percent import percent
from bertlab.explain.vectors import LayerMeasures, Method, layer_measures, nearest, text_vectors, vector_rows
from bertlab.io.locate import bundled_models
from bertlab.model.base import PretrainedModel
from bertlab.model.pooling import Pooling
from bertlab.model.sentences import OwnPooling, own_pooling

POOLINGS: dict[Pooling, str] = {"cls": "[CLS]", "mean": "mean", "max": "maximum"}
METHODS: dict[Method, str] = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
OWN = "own"
METHOD_HELP = (
    "PCA keeps the two directions of largest variance. t-SNE and UMAP keep neighbours together and distort larger "
    "distances."
)
HELP = "The vector of [CLS]; or the mean, or the maximum of each dimension, over the tokens without [CLS] and [SEP]."


@dataclass(frozen=True)
class Choices:
    """What all parts of the page have in common: the vector of a text, its layer, and the 2-D projection."""

    pooling: Pooling | OwnPooling
    method: Method
    layer: int


@dataclass(frozen=True)
class Cloud:
    """`vectors` (L+1, N, H) of the N texts of a set in one model; the visitor's own sentences come last."""

    loaded: models.Loaded
    texts: TextSet
    choices: Choices
    vectors: np.ndarray

    @property
    def layer(self) -> int:
        """The chosen layer, or the last one if this model has fewer."""
        return min(self.choices.layer, len(self.vectors) - 1)

    @property
    def here(self) -> np.ndarray:
        """The vectors (N, H) of that layer."""
        return self.vectors[self.layer]

    @property
    def title(self) -> str:
        return f"{self.loaded.name}, layer {self.layer}"

    @property
    def key(self) -> tuple:
        return self.loaded.stamp, self.choices.pooling, self.texts.all_texts, self.texts.labels

    def nearest(self, index: int, count: int) -> list[tuple[int, float]]:
        """Return the labelled texts nearest to one, each with its distance."""
        found = nearest(self.here, index, count + len(self.texts.yours))
        return [(i, distance) for i, distance in found if i < len(self.texts.texts)][:count]


def choose(loaded: models.Loaded) -> Choices:
    """Show the fields for the choices that all parts of the page share."""
    learned = [one for one in (loaded, models.beside("encoder")) if one and not one.random]
    own = next(filter(None, (own_pooling(Path(one.folder)) for one in learned)), None)  # of a sentence encoder
    last = loaded.model.config.num_hidden_layers
    layer = st.slider("Layer (0: embeddings)", 0, last, last, key=f"meaning_layer{last}", bind="query-params")
    with st.popover("Vector and projection", icon=":material/tune:"):
        pooling = choose_pooling(own)
        names = METHODS.__getitem__
        method = state.one_of("2-D projection", METHODS, "meaning_method", format_func=names, help=METHOD_HELP)
    return Choices(pooling, method, layer)


def choose_pooling(own: OwnPooling | None) -> Pooling | OwnPooling:
    """Ask for the vector of a text. A sentence encoder opens with its own."""
    names: dict[str, str] = ({OWN: "as trained"} if own else {}) | dict(POOLINGS)
    help = HELP
    if own:
        length = ", scaled to length 1" if own.unit else ""
        help += f" As the encoder was trained: {POOLINGS[own.kind]}, [CLS] and [SEP] included{length}."
    key = f"meaning_{'own_' if own else ''}vector"
    chosen = state.one_of("Vector of a text", names, key, format_func=names.__getitem__, help=help)
    return own if own and chosen == OWN else chosen


def shown_models(loaded: models.Loaded, opinions: bool) -> list[models.Loaded]:
    """Return the chosen model, the one to compare with, and random weights.

    Of opinions, without one to compare with, a bundled model stands beside the one fine-tuned from it to tell them
    apart, and a fine-tuned one beside its base.
    """
    base, second = origin(loaded.source), models.beside("encoder")
    partner = specialist("text label", base) if loaded.source.partition("/step-")[0] == base else base
    if second is None and opinions and partner in bundled_models():
        second = models.open_model("encoder", partner)
    chosen = [loaded, *([] if second is None or second.random else [second]), models.control_of(loaded)]
    return list({model.stamp: model for model in chosen}.values())


def clouds(loaded: models.Loaded, texts: TextSet, choices: Choices) -> list[Cloud]:
    """Return the same texts in each model. If the visitor stops one, all show only the texts that it read."""
    found = []
    for model in shown_models(loaded, texts.opinions):
        found.append(cloud_of(model, texts, choices))
        texts = found[-1].texts
    return [replace(one, texts=texts, vectors=one.vectors[:, : len(texts.all_texts)]) for one in found]


def cloud_of(loaded: models.Loaded, texts: TextSet, choices: Choices) -> Cloud:
    """Return the vectors in one model. A long computation shows a bar and can be stopped."""
    asked = choices.pooling, loaded.limit
    rows = progress.rows(vector_rows, loaded, texts.texts, *asked, total=len(texts.texts))
    if len(rows) < 2:
        raise layout.Stopped
    if len(rows) < len(texts.texts):
        texts = texts.first(len(rows))
    elif texts.yours:
        rows = [*rows, *progress.rows(vector_rows, loaded, texts.yours, *asked, total=len(texts.yours))]
    return Cloud(loaded, texts.first(len(rows)), choices, np.stack(rows, axis=1))  # N x (L+1, H) -> (L+1, N, H)


def measures(cloud: Cloud) -> list[LayerMeasures]:
    """Return the measures of every layer, on the labelled texts. Raises Stopped if the visitor presses Stop."""
    texts, vectors = cloud.texts, cloud.vectors[:, : len(cloud.texts.texts)]  # (L+1, N, H)
    key = progress.work_key(layer_measures, cloud.loaded, (cloud.choices.pooling, texts.texts, texts.labels))
    found = progress.rows_of(key, lambda: layer_measures(vectors, texts.labels), len(vectors))
    if len(found) < len(vectors):
        raise layout.Stopped
    return found


def notices(loaded: models.Loaded, texts: TextSet, pooling: Pooling | OwnPooling) -> None:
    """Warn of texts that are cut and of tokens that are not in the vocabulary."""
    own = pooling.max_length if isinstance(pooling, OwnPooling) else None
    limit = min(loaded.limit, own or loaded.limit)
    cut, unknown, total = models.compute(left_out, loaded, texts.all_texts, limit)
    if cut:
        text = f"{cut} of {len(texts.all_texts)} texts are longer than {limit} tokens: their ends were not read."
        st.warning(text, icon=":material/content_cut:")
    if unknown > total / 50:
        text = f"{percent(unknown / total)} of the tokens are [UNK]: they are not in the vocabulary of {loaded.name}."
        st.warning(plain(text), icon=":material/help:")


def left_out(model: PretrainedModel, tokenizer: Tokenizer, texts: tuple[str, ...], limit: int) -> tuple[int, int, int]:
    """Return how many texts are cut to `limit` tokens, how many tokens are unknown, and how many there are."""
    rows = tokenizer.encode_batch(texts)
    unknown = sum(row.count(tokenizer.unk_token_id) for row in rows)
    return sum(len(row) > limit - 2 for row in rows), unknown, sum(map(len, rows))  # [CLS] and [SEP] need two


def begun(clouds: Sequence[Cloud], yours: bool = True) -> tuple[Cell, list[Name]]:
    """Return a cell that makes the texts, and the vectors (N, H) in each model at the layer that is drawn.

    Without `yours`, the visitor's own sentences are left out, and the vectors (L+1, N, H) are those of all layers.
    """
    first = clouds[0]
    cell = first.texts.cell(yours)
    asked = {one.loaded.name: (one.loaded, Name("texts"), first.choices.pooling) for one in clouds}
    vectors = cell.each(text_vectors, asked, limit=models.DRAWN_TOKENS).values()
    if not yours:
        return cell, list(vectors)
    return cell, [Name(f"{name}[{one.layer}]") for name, one in zip(vectors, clouds, strict=True)]
