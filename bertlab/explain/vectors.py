"""One vector for a text, layer by layer: 2-D projections of many, and the measures that a projection cannot give."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.errors import InputError, require
from bertlab.explain.text import bert_of, clean, frame_mask, longest
from bertlab.model.base import PretrainedModel, refuse_first_token
from bertlab.model.pooling import Pooling, pooled
from bertlab.model.sentences import OwnPooling, lowered
from bertlab.tokenizer import Tokenizer

Method = Literal["pca", "tsne", "umap"]

BATCH = 8  # texts that are read at once
_umap = Lock()  # its compiled loops may not run in two threads at once: with some of numba's back ends the process ends


def vector_rows(
    model: PretrainedModel,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    pooling: Pooling | OwnPooling = "cls",
    limit: int | None = None,
) -> Iterator[np.ndarray]:
    """The vector of one text after another at each layer, (L+1, H) each, [0] being the embeddings.

    `pooling` makes it of the states of the text's tokens: that of [CLS], or the mean or the largest value in each
    dimension over the other tokens, without [CLS], [SEP] and padding. An OwnPooling is that of a sentence encoder, in
    which [CLS] and [SEP] count too, and which may lower-case texts. Texts are cut to `limit` tokens, or to the length
    of the model or the encoder. Raises InputError when there is no text, or nothing to read in one, and for [CLS] of a
    left-to-right model.
    """
    if pooling == "cls" or (isinstance(pooling, OwnPooling) and pooling.kind == "cls"):
        refuse_first_token(model.config, "this model", "Choose the mean over the tokens instead")
    texts = [clean(text) for text in texts]
    if not texts or not all(texts):
        raise InputError("every line needs at least one word")
    own_limit = pooling.max_length if isinstance(pooling, OwnPooling) else None
    read = [lowered(text) for text in texts] if isinstance(pooling, OwnPooling) and pooling.lower else texts
    for start in range(0, len(texts), BATCH):
        batch = tokenizer(read[start : start + BATCH], max_length=min(longest(model, limit), longest(model, own_limit)))
        own = batch["attention_mask"].bool() & ~frame_mask(tokenizer, batch["input_ids"])  # (B, S)
        if not own.any(1).all():
            number = start + int(own.any(1).long().argmin())
            raise InputError(f"no token is left of {texts[number]!r:.40}: every line needs at least one word")
        yield from _layers(model, batch, own, pooling).transpose(0, 1).numpy()  # (L+1, B, H) -> B x (L+1, H)


@torch.inference_mode()
def _layers(model: PretrainedModel, batch: dict[str, Tensor], own: Tensor, pooling: Pooling | OwnPooling) -> Tensor:
    states = bert_of(model)(**batch, output_hidden_states=True).hidden_states  # L+1 x (B, S, H)
    kind, unit = (pooling.kind, pooling.unit) if isinstance(pooling, OwnPooling) else (pooling, False)
    own = batch["attention_mask"].bool() if isinstance(pooling, OwnPooling) else own
    vectors = torch.stack([pooled(state, own, kind) for state in states]).float()  # (L+1, B, H)
    return F.normalize(vectors, dim=-1) if unit else vectors


def text_vectors(
    model: PretrainedModel,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    pooling: Pooling | OwnPooling = "cls",
    limit: int | None = None,
) -> np.ndarray:
    """(L+1, N, H): what `vector_rows` gives, as one array."""
    return np.stack(list(vector_rows(model, tokenizer, texts, pooling, limit)), axis=1)


@dataclass(frozen=True)
class Projection:
    """`points` (N, 2); with PCA the share of the variance that each of the two axes keeps."""

    points: np.ndarray
    explained: tuple[float, float] | None = None


def project(vectors: np.ndarray, method: Method = "pca", seed: int = 0) -> Projection:
    """Project vectors (N, H) to two dimensions: along the directions of largest variance (PCA), or so that neighbours
    stay together (t-SNE, van der Maaten & Hinton 2008; UMAP, McInnes et al. 2018).

    Distances and directions mean something only with PCA: the other two stretch some distances, shrink others, and
    draw clumps even where there are none. Vectors that are all alike (the embedding of [CLS]) become
    one point, with no variance. Raises InputError for fewer than three with UMAP.
    """
    if all_alike(vectors):
        return Projection(np.zeros((len(vectors), 2)), (0.0, 0.0))
    if method == "tsne":
        return Projection(_tsne(vectors, seed))
    if method == "umap":
        return Projection(_umap_points(vectors, seed))
    return _pca(vectors, seed)


def all_alike(vectors: np.ndarray) -> bool:
    """Return whether vectors (N, H) differ by rounding alone, or there is only one."""
    return len(vectors) < 2 or bool(np.abs(vectors - vectors.mean(0)).max() <= 1e-4 * np.abs(vectors).max())


def _pca(vectors: np.ndarray, seed: int) -> Projection:
    require("sklearn", "baselines")
    from sklearn.decomposition import PCA

    width = min(2, *vectors.shape)
    pca = PCA(n_components=width, random_state=seed)
    points = np.zeros((len(vectors), 2))
    points[:, :width] = pca.fit_transform(vectors)  # (N, H) -> (N, 2)
    explained = [*np.nan_to_num(pca.explained_variance_ratio_).tolist(), 0.0][:2]
    return Projection(points, tuple(explained))


def _tsne(vectors: np.ndarray, seed: int) -> np.ndarray:
    require("sklearn", "baselines")
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(vectors) - 1) / 3)
    return TSNE(perplexity=perplexity, random_state=seed).fit_transform(vectors)  # (N, H) -> (N, 2)


def _umap_points(vectors: np.ndarray, seed: int) -> np.ndarray:
    if len(vectors) < 3:
        raise InputError("UMAP needs three texts or more")
    neighbours = min(15, len(vectors) - 1)
    start = "spectral" if len(vectors) > 4 else "random"  # spectral takes as many eigenvectors as four texts have
    with _umap, same_threads():
        from umap import UMAP

        method = UMAP(n_neighbors=neighbours, init=start, random_state=seed, n_jobs=1)
        return method.fit_transform(vectors)  # (N, H) -> (N, 2)


@contextmanager
def same_threads() -> Iterator[None]:
    """Leave PyTorch's thread count as it is: numba sets that of the OpenMP library, which PyTorch shares."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@dataclass(frozen=True)
class Neighbours:
    """How often a vote of the nearest vectors names a text's label: mean and spread over folds.

    `chance` is the share of the commonest label: what always guessing it would give.
    """

    accuracy: float
    spread: float
    chance: float
    folds: int

    @property
    def separates(self) -> bool:
        """Whether the vote comes at least half of the way from guessing to being always right."""
        return self.accuracy >= (1 + self.chance) / 2


def neighbour_accuracy(vectors: np.ndarray, labels: Sequence[str], k: int = 5, seed: int = 0) -> Neighbours | None:
    """Cross-validated k-nearest-neighbour accuracy of (N, H) vectors, all H dimensions, standardised.

    None where it would mean nothing: fewer than two labels, or a label with fewer than four texts.
    """
    require("sklearn", "baselines")
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    counts = Counter(labels)
    if len(counts) < 2 or min(counts.values()) < 4:
        return None
    folds, chance = min(5, *counts.values()), max(counts.values()) / len(labels)
    if all_alike(vectors):  # scaled up, rounding would pass for a difference
        return Neighbours(chance, 0.0, chance, folds)
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
    k = min(k, len(labels) // 2)
    scores = cross_val_score(make_pipeline(StandardScaler(), KNeighborsClassifier(k)), vectors, list(labels), cv=splits)
    return Neighbours(float(scores.mean()), float(scores.std()), chance, folds)


def anisotropy(vectors: np.ndarray) -> float:
    """The mean cosine between two different texts of (N, H): 0 if vectors point everywhere, 1 if all point one way
    (Ethayarajh 2019, who takes words). Raises InputError for fewer than two."""
    count = len(vectors)
    if count < 2:
        raise InputError("one vector alone has nothing to compare with: give two texts or more")
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)  # (N, H)
    total = units.sum(0)  # (H,), whose square holds the cosine of every ordered pair, and N of a text with itself
    return float((total @ total - count) / (count * (count - 1)))


def nearest(vectors: np.ndarray, index: int, count: int = 5) -> list[tuple[int, float]]:
    """The `count` vectors of (N, H) nearest to number `index`, each with its distance, in all H dimensions,
    standardised as in `neighbour_accuracy`."""
    scaled = _standardised(vectors)
    distances = np.linalg.norm(scaled - scaled[index], axis=1)  # (N, H) -> (N,)
    order = [int(i) for i in distances.argsort(kind="stable") if i != index]
    return [(i, float(distances[i])) for i in order[:count]]


def _standardised(vectors: np.ndarray) -> np.ndarray:
    require("sklearn", "baselines")
    from sklearn.preprocessing import StandardScaler

    return np.zeros_like(vectors) if all_alike(vectors) else StandardScaler().fit_transform(vectors)


@dataclass(frozen=True)
class LayerMeasures:
    """What the vectors of one layer tell about the labels, and how alike they all are; None where it has no meaning."""

    neighbours: Neighbours | None
    anisotropy: float


def layer_measures(vectors: np.ndarray, labels: Sequence[str]) -> Iterator[LayerMeasures]:
    """The measures of each layer of (L+1, N, H) in turn. Raises InputError for fewer than two texts."""
    for layer in vectors:  # (N, H)
        yield LayerMeasures(neighbour_accuracy(layer, labels), anisotropy(layer))


def position_similarity(positions: Tensor) -> Tensor:
    """Cosine of each position vector with each other: (P, H) -> (P, P), 1 on the diagonal."""
    unit = F.normalize(positions.detach().float(), dim=-1)  # (P, H)
    return unit @ unit.T


def similarity_by_distance(similarity: Tensor, first: int, last: int) -> Tensor:
    """Mean similarity of positions that are 0, 1, 2, ... apart, among those from `first` to before `last`: (D,).

    The farthest quarter is left out: too few pairs are that far apart.
    """
    part = similarity[first:last, first:last]
    far = 3 * (last - first) // 4
    return part.new_tensor([float(part.diagonal(distance).mean()) for distance in range(far)])
