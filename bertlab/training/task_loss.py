"""The losses of fine-tuning: that of the head itself, with smoothed labels, with weighted classes."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED
from bertlab.inputs.features import Feature
from bertlab.model.base import PretrainedModel
from bertlab.tasks.base import Task
from bertlab.training.engine.loop import LossFunction
from bertlab.training.engine.micro_batches import WHOLE, Batch, Shares
from bertlab.training.finetune_recipe import FinetuneRecipe


def loss_of(recipe: FinetuneRecipe, task: Task, model: PretrainedModel, features: Sequence[Feature]) -> LossFunction:
    """Return the loss of the recipe: by default that of the head itself."""
    balanced = recipe.class_weights == "balanced"
    weights = balanced_weights(features, model.config.num_labels) if balanced else None
    return partial(task_loss, smoothing=recipe.label_smoothing, target=task.target, weights=weights)


def task_loss(
    model: nn.Module,
    batch: Batch,
    shares: Shares = WHOLE,
    smoothing: float = 0.0,
    target: str = "labels",
    weights: Tensor | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss that the head itself computes, or cross-entropy with `smoothing` (Szegedy et al. 2016) or with
    the `weights` (N,) of the classes: a mean over the entries of `target`."""
    out, labels = model(**batch, packed=True), batch[target]
    own = not smoothing and weights is None
    loss = shares[target] * (out.loss if own else cross_entropy(out.logits, labels, smoothing, weights))
    return loss, {"loss": loss}


def cross_entropy(logits: Tensor, labels: Tensor, smoothing: float, weights: Tensor | None) -> Tensor:
    """Return cross-entropy with smoothed labels or with the `weights` (N,) of the classes; logits (..., N) -> (B, N) or
    (B*S, N).

    It is divided by the number of labels, not by the sum of their weights as PyTorch has it: then a batch teaches the
    same in however many parts it is computed.
    """
    how: dict[str, Any] = {"ignore_index": IGNORED, "label_smoothing": smoothing}
    logits, labels = logits.flatten(0, -2), labels.flatten()
    if weights is None:
        return F.cross_entropy(logits, labels, **how)
    total = F.cross_entropy(logits, labels, weight=weights.to(logits), reduction="sum", **how)
    return total / (labels != IGNORED).sum().clamp(min=1)


def balanced_weights(features: Sequence[Feature], classes: int) -> Tensor:
    """Return the weight of each class (N,): the number of labels, divided by that of the class and by the number of
    classes that occur (King and Zeng 2001; class_weight="balanced" of scikit-learn). The mean over all labels is 1."""
    labels = np.hstack([np.asarray(feature.targets["labels"]) for feature in features])
    counts = np.bincount(labels[labels != IGNORED], minlength=classes)  # (N,)
    weights = np.divide(counts.sum(), counts * np.count_nonzero(counts), where=counts > 0, out=np.zeros(classes))
    return torch.from_numpy(weights).float()
