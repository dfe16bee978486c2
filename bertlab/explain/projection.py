"""[CLS] vectors layer by layer: a flat picture of them, and a number that the picture cannot give."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertlab.errors import InputError
from bertlab.explain.text import clean


@torch.inference_mode()
def cls_vectors(model, tokenizer, texts: Sequence[str], batch_size: int = 32) -> np.ndarray:
    """The [CLS] vector of each text after each layer: (L+1, N, H), [0] being the embeddings.

    Texts are cut to the model's length. Raises InputError when there is no text, or one is empty.
    """
    texts = [clean(text) for text in texts]
    if not texts or not all(texts):
        raise InputError("every line needs at least one word")
    encoder, limit = getattr(model, "bert", model), model.config.max_position_embeddings
    batches = []
    for start in range(0, len(texts), batch_size):
        batch = tokenizer(texts[start : start + batch_size], max_length=limit)
        states = encoder(**batch, output_hidden_states=True).hidden_states
        batches.append(torch.stack([state[:, 0] for state in states]))  # L+1 x (b, S, H) -> (L+1, b, H)
    return torch.cat(batches, dim=1).float().numpy()  # (L+1, N, H)


@dataclass(frozen=True)
class Projection:
    """`points` (N, 2) and the share of the variance that each of the two axes keeps."""

    points: np.ndarray
    explained: tuple[float, float]


def project(vectors: np.ndarray, seed: int = 0) -> Projection:
    """The two directions of largest variance of (N, H) vectors (PCA), signs fixed by scikit-learn.

    Vectors that are all alike (the [CLS] embedding before the first layer) give zeros and no variance.
    """
    from sklearn.decomposition import PCA

    spread = np.abs(vectors - vectors.mean(0)).max()
    if len(vectors) < 2 or spread <= 1e-4 * np.abs(vectors).max():  # rounding alone
        return Projection(np.zeros((len(vectors), 2)), (0.0, 0.0))
    width = min(2, *vectors.shape)
    pca = PCA(n_components=width, random_state=seed)
    points = np.zeros((len(vectors), 2))
    points[:, :width] = pca.fit_transform(vectors)  # (N, H) -> (N, 2)
    explained = [*np.nan_to_num(pca.explained_variance_ratio_).tolist(), 0.0][:2]
    return Projection(points, tuple(explained))


@dataclass(frozen=True)
class Neighbours:
    """How often a vote of the nearest vectors names a text's label: mean and spread over folds.

    `chance` is the share of the commonest label: what always guessing it would give.
    """

    accuracy: float
    spread: float
    chance: float
    folds: int


def neighbour_accuracy(vectors: np.ndarray, labels: Sequence[str], k: int = 5, seed: int = 0) -> Neighbours | None:
    """Cross-validated k-nearest-neighbour accuracy of (N, H) vectors, all H dimensions, standardised.

    None where it would mean nothing: fewer than two labels, or a label with fewer than four texts.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    counts = Counter(labels)
    if len(counts) < 2 or min(counts.values()) < 4:
        return None
    folds = min(5, *counts.values())
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
    k = min(k, len(labels) // 2)
    scores = cross_val_score(make_pipeline(StandardScaler(), KNeighborsClassifier(k)), vectors, list(labels), cv=splits)
    return Neighbours(float(scores.mean()), float(scores.std()), max(counts.values()) / len(labels), folds)
