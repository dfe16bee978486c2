import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from bertlab.explain.attention.flow import Measures, measures, rollout, value_weighted
from bertlab.explain.words.fill import masked_row

TEXT, PAIR, POSITION = "my dog didn't cross the street.", "it was too tired.", 3


def random_weights(layers=3, heads=2, size=5):
    return torch.randn(layers, heads, size, size, generator=torch.Generator().manual_seed(0)).softmax(-1)


def test_rollout_by_its_own_formula():
    weights = random_weights()
    expected = torch.eye(5)
    for layer in weights:
        expected = (0.5 * layer.mean(0) + 0.5 * torch.eye(5)) @ expected
    flows = rollout(weights)
    torch.testing.assert_close(flows[-1], expected)
    torch.testing.assert_close(flows.sum(-1), torch.ones(3, 5))


def test_rollout_follows_a_path():
    """Layer 1 takes 2 from 1, layer 2 takes 3 from 2: a quarter of what is at 3 came from 1."""
    weights = torch.eye(4).repeat(2, 1, 1, 1)  # (L, A, S, S)
    weights[0, 0, 2] = torch.tensor([0, 1.0, 0, 0])
    weights[1, 0, 3] = torch.tensor([0, 0, 1.0, 0])
    assert rollout(weights)[-1, 3].tolist() == pytest.approx([0, 0.25, 0.25, 0.5])


def test_norms_are_those_of_the_vectors_that_the_heads_add(model, tok):
    """The vectors of all tokens and heads, and the bias, are the whole output of a layer's attention."""
    batch = masked_row(model, tok, TEXT, PAIR, [POSITION])[0]
    found = value_weighted(model, batch)
    out = model.bert(**batch, output_hidden_states=True, output_attentions=True)
    for number, layer in enumerate(model.bert.encoder.layers):
        states, weights, attention = out.hidden_states[number], out.attentions[number][0], layer.attention
        values = attention.qkv(states[0])[:, 48:].view(-1, 4, 6)  # (S, 3H) -> (S, A, D)
        parts = torch.stack(
            [values[:, a] @ attention.out.weight[:, 6 * a : 6 * a + 6].T for a in range(4)]
        )  # (A, S, H)
        vectors = weights[..., None] * parts[:, None]  # (A, S, S, H)
        torch.testing.assert_close(found[number], vectors.norm(dim=-1))
        torch.testing.assert_close(vectors.sum((0, 2)) + attention.out.bias, attention(states)[0][0])


def test_measures_of_a_place(model, tok):
    found = measures(model, tok, TEXT, PAIR, [POSITION], 0, "dog")
    assert found.tokens[POSITION] == "[MASK]" and not found.compared[POSITION]
    assert [token for token, kept in zip(found.tokens, found.compared, strict=True) if not kept] == [
        "[CLS]",
        "[MASK]",
        "[SEP]",
        "[SEP]",
    ]
    assert sum(found.values["attention"]) == pytest.approx(1) == sum(found.values["rollout"])
    chosen = [np.array(values)[found.compared] for values in found.values.values()]
    np.testing.assert_allclose(found.agreement, spearmanr(np.stack(chosen, 1)).statistic)


def test_no_agreement_where_there_is_no_order():
    values = {name: [0.1, 0.2, 0.3, 0.2, 0.2] for name in "abc"} | {"d": [0.2] * 5}
    assert Measures(list("vwxyz"), 0, [False] * 2 + [True] * 3, values).agreement is None
    agreement = Measures(list("vwxyz"), 0, [False] + [True] * 4, values).agreement
    assert agreement[0, 1] == pytest.approx(1) and np.isnan(agreement[3, 0])


def test_progress_is_told(model, tok):
    said = []
    measures(model, tok, TEXT, None, [POSITION], 0, "dog", progress=lambda *numbers: said.append(numbers))
    assert said[0] == (0, 136) and said[-1] == (136, 136)
