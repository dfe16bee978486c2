import pytest
import torch

from bertlab.errors import InputError
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.maps import attention_maps


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
