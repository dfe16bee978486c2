"""Attention maps: what each token gets from the others, and neuron by neuron."""

import pytest
import torch

from bertlab.errors import InputError
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.maps import attention_maps, neurons


def test_maps_are_the_models_attentions(model, tok):
    maps = attention_maps(model, tok, "my dog is hairy.", "he likes walks.")
    out = model(**tok(["my dog is hairy."], ["he likes walks."]), output_attentions=True)
    assert maps.weights.shape == (3, 4, len(maps.tokens), len(maps.tokens))
    for layer, expected in enumerate(out.attentions):
        torch.testing.assert_close(maps.weights[layer], expected[0])
    torch.testing.assert_close(maps.weights.sum(-1), torch.ones(maps.weights.shape[:-1]))
    assert maps.tokens[0] == "[CLS]"
    assert maps.token_type_ids[0] == 0 and maps.token_type_ids[-1] == 1


def test_limit_and_empty_text(model, tok):
    maps = attention_maps(model, tok, "dog " * 300, limit=10_000)
    assert len(maps.tokens) == 48  # the model's own length
    assert len(attention_maps(model, tok, "dog " * 300, limit=12).tokens) == 12
    with pytest.raises(InputError, match="empty"):
        attention_maps(model, tok, " ")


def test_control_has_other_weights_and_leaves_the_random_state(model):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    control = random_control(model, seed=1)
    torch.testing.assert_close(torch.rand(3), expected)
    assert control.config == model.config
    assert not control.training
    mine, theirs = next(model.parameters()), next(control.parameters())
    assert not torch.equal(mine, theirs)
    torch.testing.assert_close(next(random_control(model, seed=1).parameters()), theirs)


TEXT, PAIR = "my dog didn't cross the street.", "it was too tired."


def test_weights_follow_from_queries_and_keys(model, tok):
    found = neurons(model, tok, TEXT, PAIR)
    scores = found.queries @ found.keys.transpose(-1, -2) / found.queries.size(-1) ** 0.5  # (L, A, S, S)
    torch.testing.assert_close(scores.softmax(-1), found.maps.weights)


def test_a_text_is_cut_alike(model, tok):
    found = neurons(model, tok, TEXT, PAIR, limit=9)
    assert found.queries.shape[2] == len(found.maps.tokens) == 9 and found.maps.dropped > 0
    scores = found.queries @ found.keys.transpose(-1, -2) / found.queries.size(-1) ** 0.5
    torch.testing.assert_close(scores.softmax(-1), found.maps.weights)
