"""Probes find what was planted, where it was planted; control tasks are memorised where words can be told apart."""

import numpy as np
import pytest
import torch

from bertlab import BertConfig, BertForPreTraining, Tokenizer
from bertlab.errors import InputError
from bertlab.explain.probes import Probed, control_labels, majority, probe, probe_layers, split_by, word_states

TYPES, TIMES, WIDE, LAYERS = 20, 30, 24, 3


@pytest.fixture(scope="module")
def planted():
    """States (L, N, H) whose words can be told apart in every layer; the label is in the middle layer alone."""
    rng = np.random.default_rng(0)
    words = [f"w{number % TYPES}" for number in range(TYPES * TIMES)]
    labels = rng.choice(["yes", "no"], len(words)).tolist()
    vectors = rng.normal(size=(TYPES, WIDE))
    states = np.stack([vectors[[int(word[1:]) for word in words]] for _ in range(LAYERS)])
    states += 0.1 * rng.normal(size=states.shape)
    states[1, :, 0] += np.where(np.array(labels) == "yes", 3.0, -3.0)
    return states, words, labels, np.arange(len(words)) < 400


def test_a_property_in_one_layer_is_found_there_alone(planted):
    found = [each.accuracy for each in probe_layers(*planted)]
    assert found[1] > 0.95 and max(found[0], found[2]) < 0.65


def test_the_control_task_is_memorised_where_words_can_be_told_apart(planted):
    assert all(each.control > 0.95 for each in probe_layers(*planted))


def test_a_label_that_belongs_to_the_word_is_not_selective(planted):
    states, words, _, train = planted
    of_words = control_labels(words, ["a", "b", "c"], seed=7)
    assert all(abs(each.selectivity) < 0.05 for each in probe_layers(states, words, of_words, train))


def test_words_that_were_not_met_cannot_be_memorised(planted):
    states, words, labels, _ = planted
    drawn = control_labels(words, labels, seed=3)
    assert probe(states[0], drawn, split_by(words)) < 0.8 < probe(states[1], labels, split_by(words))


def test_control_labels_belong_to_types_and_follow_the_distribution():
    words = [f"w{number % 2000}" for number in range(4000)]
    drawn = control_labels(words, ["a"] * 7 + ["b"] * 3)
    assert drawn[:2000] == drawn[2000:]
    assert drawn.count("a") / len(drawn) == pytest.approx(0.7, abs=0.04)
    assert drawn == control_labels(words, ["a"] * 7 + ["b"] * 3) != control_labels(words, ["a"] * 7 + ["b"] * 3, 1)


def test_measures():
    assert Probed(0.9, 0.7, 0.5).selectivity == pytest.approx(0.2)
    train = np.array([True, True, True, False, False])
    assert majority(["a", "a", "b", "b", "a"], train) == 0.5


def test_states_are_standardised_by_the_training_part():
    values = [1.0] * 30 + [-1.0] * 10 + [1.0] * 50 + [-1.0] * 50 + [1e6]
    labels = ["a" if value > 0 else "b" for value in values]
    assert probe(np.array(values)[:, None], labels, np.arange(len(values)) < 40) == 1.0


def test_groups_are_on_one_side():
    groups = [number // 3 for number in range(300)]
    train = split_by(groups)
    assert {group for group, known in zip(groups, train, strict=True) if known}.isdisjoint(
        group for group, known in zip(groups, train, strict=True) if not known
    )
    assert train.sum() == 201 and (split_by(groups) == train).all() and (split_by(groups, seed=1) != train).any()


@pytest.mark.parametrize(
    ("labels", "train"), [(["a", "b"], [True, True]), (["a", "b"], [True, False]), (["a", "b"], [False, False])]
)
def test_a_probe_needs_something_to_learn_and_to_measure(labels, train):
    with pytest.raises(InputError, match="a probe needs"):
        probe(np.zeros((2, 3)), labels, np.array(train))


@pytest.fixture(scope="module")
def small():
    tok = Tokenizer.train(["the penguinologist was too tired to cross"] * 9, vocab_size=60)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=tok.vocab_size,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
    )
    return BertForPreTraining(config).eval(), tok


def test_a_word_has_the_state_of_its_first_piece(small):
    model, tok = small
    sentences = [["tired", "the"], ["the", "cross", "tired"]]
    states = word_states(model, tok, sentences)
    row = tok([" ".join(sentences[1])])
    with torch.inference_mode():
        alone = torch.stack(model.bert(**row, output_hidden_states=True).hidden_states)[:, 0]
    positions = 1 + np.cumsum([0, *(len(tok.tokenize(word)) for word in sentences[1][:-1])])
    assert states.shape == (3, 5, 16)
    assert np.allclose(states[:, 2:], alone[:, positions].numpy(), atol=1e-5)


def test_a_sentence_that_does_not_fit_is_refused(small):
    with pytest.raises(InputError, match="cut it"):
        word_states(*small, [["the"] * 60])
