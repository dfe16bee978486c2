"""Attention maps: what each token gets from the others, and neuron by neuron."""

import pytest
import torch

from bertlab.errors import InputError
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


TEXT, PAIR = "my dog didn't cross the street.", "it was too tired."


@pytest.mark.parametrize("limit", [512, 9])
def test_weights_follow_from_queries_and_keys(model, tok, limit):
    found = neurons(model, tok, TEXT, PAIR, limit=limit)
    assert found.queries.shape[2] == len(found.maps.tokens) and (found.maps.dropped > 0) == (limit == 9)
    scores = found.queries @ found.keys.transpose(-1, -2) / found.queries.size(-1) ** 0.5  # (L, A, S, S)
    torch.testing.assert_close(scores.softmax(-1), found.maps.weights)
