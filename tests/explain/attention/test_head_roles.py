import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab.explain.ablation import random_control
from bertlab.explain.attention.heads import MAJORITY, ROLES, head_roles, strongest_link
from bertlab.explain.attention.maps import AttentionMaps, attention_maps
from tests.conftest import tries

TOKENS = ["[CLS]", "a", "b", "a", ".", "[SEP]", "c", "d", "[SEP]"]
LAST = len(TOKENS) - 1


def one_head(looks) -> AttentionMaps:
    """One layer of one head; looks(i) tells at which tokens token i looks, in equal parts."""
    weights = torch.zeros(1, 1, len(TOKENS), len(TOKENS))
    for i in range(len(TOKENS)):
        positions = looks(i)
        weights[0, 0, i, positions] = 1 / len(positions)
    return AttentionMaps(TOKENS, [0] * len(TOKENS), weights)


PATTERNS = {
    "previous": lambda i: [max(i - 1, 0)],
    "next": lambda i: [min(i + 1, LAST)],
    "itself": lambda i: [i],
    "[CLS]": lambda i: [0],
    "[SEP]": lambda i: [5, 8],
    "[CLS] + [SEP]": lambda i: [0, 8],
    "same word": lambda i: [j for j in range(len(TOKENS)) if TOKENS[j] == TOKENS[i] and j != i] or [0],
    "punctuation": lambda i: [4],
    "broad": lambda i: list(range(len(TOKENS))),
}


@pytest.mark.parametrize("role", ROLES)
def test_a_perfect_head_gets_its_name_and_the_full_score(role):
    roles = head_roles(one_head(PATTERNS[role]))
    assert roles.name(0, 0) == role
    assert roles.scores[0, 0, ROLES.index(role)] == pytest.approx(1)


def test_uniform_attention_gets_the_uniform_scores():
    roles = head_roles(one_head(PATTERNS["broad"]))
    torch.testing.assert_close(roles.scores[0, 0], roles.uniform)
    assert roles.uniform.tolist() == pytest.approx([1 / 9, 1 / 9, 1 / 9, 1 / 9, 2 / 9, 1 / 9, 1 / 9, 3 / 9, 1])


def test_the_strongest_link_leads_to_a_word_that_is_not_beside_it():
    """Two back, with 0.6 of the weight, and heads that rest or go to a neighbour with all of it."""
    linking = one_head(lambda i: [max(i - 2, 0)]).weights * 0.6
    others = [one_head(PATTERNS[name]).weights for name in ("[CLS]", "punctuation", "previous", "next", "itself")]
    weights = torch.cat([*others[:4], linking, others[4]], dim=1)  # 6 x (1, 1, S, S) -> (1, 6, S, S)
    maps = AttentionMaps(TOKENS, [0] * len(TOKENS), weights.view(2, 3, len(TOKENS), -1))
    assert strongest_link(maps) == (1, 1)


def test_two_back_has_no_name():
    roles = head_roles(one_head(lambda i: [max(i - 2, 0)]))
    assert roles.name(0, 0) is None and roles.best.tolist() == [[-1]]


def test_a_head_that_rests_on_both_special_tokens_is_never_without_a_role():
    maps = one_head(lambda i: [0])
    maps.weights[0, 0, :, [0, 8, 2]] = torch.tensor([0.44, 0.47, 0.09])
    assert head_roles(maps).name(0, 0) == "[CLS] + [SEP]"


def test_what_special_tokens_look_at_does_not_count():
    special = [0, 5, 8]
    assert head_roles(one_head(lambda i: [0] if i in special else [i])).name(0, 0) == "itself"


def test_a_text_that_cannot_tell():
    roles = head_roles(AttentionMaps(["[CLS]", "a", "[SEP]"], [0, 0, 0], torch.eye(3).expand(2, 1, 3, 3)))
    told = dict(zip(ROLES, roles.scores[0, 0].isnan().logical_not().tolist(), strict=True))
    assert [role for role, can in told.items() if not can] == ["previous", "next", "same word", "punctuation"]
    assert roles.name(1, 0) == "itself"
    nothing = head_roles(AttentionMaps(["[CLS]", "[SEP]"], [0, 0], torch.eye(2).expand(1, 1, 2, 2)))
    assert nothing.scores.isnan().all() and nothing.name(0, 0) is None


@tries(40)
@given(st.lists(st.sampled_from(["[CLS]", "[SEP]", "[MASK]", "x", "y"]), min_size=1, max_size=9), st.integers(0, 99))
def test_scores_are_shares_and_the_best_has_more_than_half(tokens, seed):
    size = len(tokens)
    weights = (3 * torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(seed))).softmax(-1)
    roles = head_roles(AttentionMaps(tokens, [0] * size, weights))
    scores = roles.scores.nan_to_num(0)
    assert roles.scores.shape == (2, 3, len(ROLES)) and (scores >= 0).all() and (scores <= 1 + 1e-5).all()
    most = scores.max(-1).values
    assert torch.equal(roles.best >= 0, most > MAJORITY)
    exclusive = scores[..., [ROLES.index(role) for role in ("itself", "[CLS]", "[SEP]")]]
    assert (exclusive.sum(-1) <= 1 + 1e-5).all()


def test_the_bundled_model_has_heads_that_random_weights_lack():
    from bertlab import BertModel, Tokenizer

    model, tok = (kind.from_pretrained("storyworld-tiny") for kind in (BertModel, Tokenizer))
    text = "the animal didn't cross the street because it was too [MASK]."
    learned, control = (head_roles(attention_maps(m, tok, text)) for m in (model, random_control(model)))
    for role in ("previous", "next"):
        column = ROLES.index(role)
        assert learned.scores[..., column].max() > 0.9
        assert control.scores[..., column].max() < 0.2
    assert set(control.best.flatten().tolist()) == {ROLES.index("broad")}
