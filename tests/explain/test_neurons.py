import torch

from bertlab.explain.attention.maps import neurons

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
