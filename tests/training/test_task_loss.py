"""Weighted classes count alike, in however many parts a batch is computed."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.utils.class_weight import compute_class_weight

from bertlab import InputError
from bertlab.corpora.examples import QAExample, TextExample
from bertlab.inputs.features import Feature
from bertlab.training.engine.micro_batches import micro_batches
from bertlab.training.finetune import task_and_fields
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.task_loss import balanced_weights, task_loss


def rows(*labels):
    return [Feature(((1, 2),), {"labels": label}) for label in labels]


def test_rare_classes_weigh_more():
    torch.testing.assert_close(balanced_weights(rows(0, 0, 0, 1), 3), torch.tensor([2 / 3, 2.0, 0.0]))
    of_words = rows([-100, 0, 0, 0], [-100, 0, 0, 2], [1, 1, -100, -100])
    torch.testing.assert_close(balanced_weights(of_words, 3), torch.tensor([8 / 15, 8 / 6, 8 / 3]))


def test_classes_are_balanced_as_by_scikit_learn():
    labels, classes = [4, 0, 4, 1, 4, 1, 4], np.array([0, 1, 4])
    ours, theirs = balanced_weights(rows(*labels), 5), compute_class_weight("balanced", classes=classes, y=labels)
    torch.testing.assert_close(ours[classes].double(), torch.from_numpy(theirs), atol=1e-6, rtol=0)
    assert ours[2] == ours[3] == 0


@pytest.mark.parametrize("shape", [(6,), (6, 4)])
def test_the_loss_is_the_weighted_sum_by_the_number_of_labels(shape):
    torch.manual_seed(0)
    logits, labels = torch.randn(*shape, 3), torch.randint(3, shape)
    labels[0] = -100
    weights = torch.tensor([0.5, 2.0, 1.0])

    def model(labels, logits, packed):
        return SimpleNamespace(logits=logits)

    each = F.cross_entropy(logits.flatten(0, -2), labels.clamp(min=0).flatten(), reduction="none")
    seen = labels.flatten() >= 0
    right = (each * weights[labels.clamp(min=0).flatten()])[seen].sum() / seen.sum()
    batch = {"logits": logits, "labels": labels}
    torch.testing.assert_close(task_loss(model, batch, weights=weights)[0], right)
    cut = [task_loss(model, part, shares, weights=weights)[0] for part, shares in micro_batches(batch, 4)]
    torch.testing.assert_close(sum(cut), right)


def test_what_has_no_classes_cannot_be_weighted(pretrained):
    with pytest.raises(InputError, match="class_weights=balanced: means nothing for the task qa"):
        task_and_fields(FinetuneRecipe("qa", pretrained, class_weights="balanced"), [QAExample("1", "?", "a", "a", 0)])
    for options in ({"problem": "regression"}, {"token_decoder": "crf"}):
        with pytest.raises(InputError, match="class_weights=balanced"):
            FinetuneRecipe(class_weights="balanced", **options)
    for label in (2.5, ("a", "b")):  # the labels tell the problem, whatever the recipe says
        with pytest.raises(InputError, match="class_weights=balanced: is for one class of several"):
            task_and_fields(
                FinetuneRecipe("sentence", pretrained, class_weights="balanced"), [TextExample("1", "a", None, label)]
            )
