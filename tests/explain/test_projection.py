import numpy as np
import pytest
import torch

from bertlab import BertModel
from bertlab.errors import InputError
from bertlab.explain.projection import cls_vectors, neighbour_accuracy, project


def test_vectors_equal_one_by_one_whatever_the_batch(model, tok):
    texts = ["my dog is hairy.", "he likes walks and the store.", "penguins", "milk"]
    vectors = cls_vectors(model, tok, texts, batch_size=3)
    assert vectors.shape == (4, 4, 24)
    with torch.inference_mode():
        alone = model.bert(**tok([texts[2]]), output_hidden_states=True).hidden_states
    np.testing.assert_allclose(vectors[:, 2], np.stack([s[0, 0].numpy() for s in alone]), atol=1e-5)
    assert np.allclose(vectors[0], vectors[0, :1])  # before the first layer [CLS] knows nothing
    assert cls_vectors(BertModel(model.config).eval(), tok, texts).shape == (4, 4, 24)


@pytest.mark.parametrize("texts", [[], ["a", " "]])
def test_empty_lines_are_named(model, tok, texts):
    with pytest.raises(InputError, match="at least one word"):
        cls_vectors(model, tok, texts)


def test_projection_keeps_what_lies_in_a_plane():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 9))
    projection = project(flat)
    assert projection.points.shape == (40, 2)
    assert sum(projection.explained) == pytest.approx(1)
    distances = np.linalg.norm(flat[:, None] - flat, axis=-1)
    shown = np.linalg.norm(projection.points[:, None] - projection.points, axis=-1)
    np.testing.assert_allclose(shown, distances, atol=1e-9)


def test_projection_of_equal_vectors_and_of_one():
    rounding = 30 + 1e-5 * np.random.default_rng(0).normal(size=(5, 3))
    for vectors in (np.ones((5, 3)), np.ones((1, 3)), np.zeros((4, 2)), rounding):
        assert project(vectors).explained == (0.0, 0.0)
        assert not project(vectors).points.any()


def test_neighbours_find_clusters_and_not_noise():
    rng = np.random.default_rng(0)
    labels = ["a"] * 30 + ["b"] * 30
    far = rng.normal(size=(60, 8)) + 9 * np.repeat([[0], [1]], 30, 0)
    found = neighbour_accuracy(far, labels)
    assert found.accuracy == 1
    assert found.chance == 0.5
    assert neighbour_accuracy(rng.normal(size=(60, 8)), labels).accuracy < 0.75


@pytest.mark.parametrize("labels", [["a"] * 8, ["a"] * 6 + ["b"] * 2])
def test_too_few_labels_give_no_number(labels):
    assert neighbour_accuracy(np.eye(8), labels) is None
