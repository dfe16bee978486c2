import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab import BertForSentenceEmbedding, BertModel
from bertlab.errors import InputError
from bertlab.explain.vectors import (
    _umap,
    all_alike,
    anisotropy,
    layer_measures,
    nearest,
    neighbour_accuracy,
    project,
    text_vectors,
    vector_rows,
)
from bertlab.model.pooling import pooled
from bertlab.model.sentences import OwnPooling

TEXTS = ["my dog is hairy.", "he likes walks and the store.", "penguins", "milk"] * 5


def clumps(count=30, apart=9.0):
    """Two labels, `apart` from each other in 8 dimensions."""
    noise = np.random.default_rng(0).normal(size=(2 * count, 8))
    return noise + apart * np.repeat([[0], [1]], count, 0), ["a"] * count + ["b"] * count


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_vectors_equal_one_by_one_whatever_the_padding(model, tok, pooling):
    vectors = text_vectors(model, tok, TEXTS, pooling)
    assert vectors.shape == (4, 20, 24)
    with torch.inference_mode():
        states = model.bert(**tok([TEXTS[2]]), output_hidden_states=True).hidden_states
    own = [state[0, 1:-1].numpy() for state in states]  # without [CLS] and [SEP]
    alone = {"cls": [s[0, 0].numpy() for s in states], "mean": [s.mean(0) for s in own], "max": [s.max(0) for s in own]}
    np.testing.assert_allclose(vectors[:, 18], np.stack(alone[pooling]), atol=1e-5)  # in the third batch
    np.testing.assert_allclose(np.stack(list(vector_rows(model, tok, TEXTS, pooling)), axis=1), vectors)


def test_a_sentence_encoder_keeps_its_own_pooling(model, tok):
    encoder = BertForSentenceEmbedding(model.config).eval()
    found = text_vectors(encoder, tok, TEXTS, OwnPooling("mean", unit=True))
    with torch.inference_mode():
        expected = encoder(**tok(TEXTS)).embeddings.numpy()
    np.testing.assert_allclose(found[-1], expected, atol=1e-5)
    assert not np.allclose(text_vectors(encoder, tok, TEXTS, OwnPooling("mean", unit=False))[-1], expected)


def test_cls_before_the_first_layer_knows_nothing(model, tok):
    vectors = text_vectors(model, tok, TEXTS)
    assert all_alike(vectors[0]) and not all_alike(vectors[1])
    assert text_vectors(BertModel(model.config).eval(), tok, TEXTS).shape == (4, 20, 24)


def test_special_tokens_typed_by_hand_are_not_pooled():
    states = torch.tensor([[[5.0], [1.0], [3.0], [9.0]]])  # (1, 4, 1)
    own = torch.tensor([[False, True, True, False]])
    assert [float(pooled(states, own, how)) for how in ("cls", "mean", "max")] == [5, 2, 3]


def test_texts_are_cut(model, tok):
    whole, cut = (text_vectors(model, tok, ["milk store dog penguins"], "max", limit) for limit in (None, 4))
    assert not np.allclose(whole[-1], cut[-1])
    np.testing.assert_allclose(cut, text_vectors(model, tok, ["milk store"], "max", 4), atol=1e-5)
    assert text_vectors(model, tok, ["milk " * 999]).shape == (4, 1, 24)


@pytest.mark.parametrize("texts", [[], ["a", " "], ["milk"] * 17 + ["\u200b"], ["[SEP]"]])
def test_empty_lines_are_named(model, tok, texts):
    with pytest.raises(InputError, match="at least one word"):
        text_vectors(model, tok, texts, "mean")


def test_projection_keeps_what_lies_in_a_plane():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 9))
    projection = project(flat)
    assert projection.points.shape == (40, 2)
    assert sum(projection.explained) == pytest.approx(1)
    distances = np.linalg.norm(flat[:, None] - flat, axis=-1)
    shown = np.linalg.norm(projection.points[:, None] - projection.points, axis=-1)
    np.testing.assert_allclose(shown, distances, atol=1e-9)


@pytest.mark.parametrize("method", ["pca", "tsne", "umap"])
def test_projection_of_equal_vectors_and_of_one(method):
    rounding = 30 + 1e-5 * np.random.default_rng(0).normal(size=(5, 3))
    for vectors in (np.ones((5, 3)), np.ones((1, 3)), np.zeros((4, 2)), rounding):
        assert project(vectors, method).explained == (0.0, 0.0)
        assert not project(vectors, method).points.any()


COMPILED = pytest.param("umap", marks=[pytest.mark.slow, pytest.mark.nightly])  # which takes 12 seconds


@pytest.mark.parametrize("method", ["tsne", COMPILED])
def test_near_texts_stay_near_and_a_seed_repeats(method):
    vectors, labels = clumps()
    flat = project(vectors, method)
    assert flat.explained is None
    assert neighbour_accuracy(flat.points, labels).accuracy == 1
    np.testing.assert_array_equal(flat.points, project(vectors, method).points)
    for few in (3, 4, 5, 17):
        assert np.isfinite(project(vectors[:few], method).points).all()


@pytest.mark.slow
@pytest.mark.nightly
def test_umap_in_several_threads():
    vectors, _ = clumps()
    alone = project(vectors, "umap").points
    with ThreadPoolExecutor(4) as pool:
        for flat in pool.map(lambda _: project(vectors, "umap"), range(4)):
            np.testing.assert_array_equal(flat.points, alone)


def test_umap_of_two_texts_is_a_mistake():
    with pytest.raises(InputError, match="three texts"):
        project(clumps()[0][:2], "umap")


def test_umap_runs_by_itself_and_leaves_the_threads_of_pytorch_alone(monkeypatch):
    """What numba does when UMAP first runs in a process: it sets the thread count of the OpenMP library."""

    class Greedy:
        def __init__(self, **_):
            torch.set_num_threads(before + 1)

        def fit_transform(self, points):
            torch.set_num_threads(before + 2)
            assert _umap.locked()  # a second one waits
            return points[:, :2]

    before = torch.get_num_threads()
    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=Greedy))
    project(clumps()[0], "umap")
    assert torch.get_num_threads() == before


def test_neighbours_find_clusters_and_not_noise():
    vectors, labels = clumps()
    found = neighbour_accuracy(vectors, labels)
    assert found.accuracy == 1 and found.chance == 0.5 and found.separates
    mixed = neighbour_accuracy(clumps(apart=0)[0], labels)
    assert mixed.accuracy < 0.75 and not mixed.separates


def test_vectors_that_are_alike_tell_no_label():
    rounding = 30 + 1e-6 * clumps()[0]  # the labels stand in the rounding
    found = neighbour_accuracy(rounding, ["a"] * 30 + ["b"] * 20 + ["c"] * 10)
    assert found.accuracy == found.chance == 0.5


@pytest.mark.parametrize("labels", [["a"] * 8, ["a"] * 6 + ["b"] * 2])
def test_too_few_labels_give_no_number(labels):
    assert neighbour_accuracy(np.eye(8), labels) is None


@given(st.integers(2, 9), st.integers(0, 1000))
def test_anisotropy_is_the_mean_cosine_of_different_texts(count, seed):
    vectors = np.random.default_rng(seed).normal(size=(count, 4))
    pairs = [(i, j) for i in range(count) for j in range(count) if i != j]
    cosines = [vectors[i] @ vectors[j] / np.linalg.norm(vectors[i]) / np.linalg.norm(vectors[j]) for i, j in pairs]
    assert anisotropy(vectors) == pytest.approx(np.mean(cosines))
    assert anisotropy(np.repeat(vectors[:1], 3, axis=0)) == pytest.approx(1)


def test_anisotropy_of_one_is_named():
    with pytest.raises(InputError, match="two texts"):
        anisotropy(np.ones((1, 3)))


def test_nearest_count_each_dimension_alike():
    loud = np.array([[0.0, 0.0], [90.0, 0.1], [0.0, 1.0], [100.0, 1.0]])  # the first dimension drowns the second
    assert [place for place, _ in nearest(loud, 0, 3)] == [1, 2, 3]
    by_hand = (loud - loud.mean(0)) / loud.std(0)
    assert [d for _, d in nearest(loud, 0)] == pytest.approx(
        [np.linalg.norm(by_hand[i] - by_hand[0]) for i in (1, 2, 3)]
    )


def test_measures_of_each_layer():
    vectors, labels = clumps()
    mixed, apart = layer_measures(np.stack([clumps(apart=0)[0], vectors]), labels)
    assert mixed.neighbours.accuracy < apart.neighbours.accuracy
    assert mixed.anisotropy < 0.2 < apart.anisotropy
