from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bertlab.errors import InputError
from bertlab.inputs.masking import KEPT, MASKED, NOT_CHOSEN, RANDOM, Masking, mask_tokens
from bertlab.tokenizer import SPECIAL_TOKENS, Tokenizer

# Special tokens on purpose not in front: the draw must step over each of them.
TOKENS = [SPECIAL_TOKENS[0], *"abcde", *SPECIAL_TOKENS[1:4], *"fghij", SPECIAL_TOKENS[4]]
TOK = Tokenizer.from_vocab(TOKENS)
rows = st.integers(1, 8).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, len(TOKENS) - 1), min_size=width, max_size=width), min_size=1, max_size=8
    )
)
shares = st.sampled_from([Masking(), Masking(rate=0.4), Masking(mask=1.0, random=0.0), Masking(1.0, 0.0, 0.5)])


def run(input_ids, masking=Masking(), seed=0):  # noqa: B008
    generator = torch.Generator().manual_seed(seed)
    return mask_tokens(input_ids, TOK.special_mask(input_ids), TOK, generator, masking)


@settings(max_examples=200, deadline=None)
@given(rows, shares, st.integers(0, 2**31))
def test_every_promise(rows, masking, seed):
    ids = torch.tensor(rows)
    special = TOK.special_mask(ids)
    before = ids.clone()
    out = run(ids, masking, seed)
    chosen = out.action != NOT_CHOSEN
    assert torch.equal(ids, before)
    assert not (chosen & special).any()
    for n, count in zip((~special).sum(1).tolist(), chosen.sum(1).tolist(), strict=True):
        assert count == (max(1, round(n * masking.rate)) if n else 0)
    assert torch.equal(out.labels, torch.where(chosen, ids, -100))
    assert (out.input_ids[out.action == MASKED] == TOK.mask_token_id).all()
    assert not TOK.special_mask(out.input_ids[out.action == RANDOM]).any()
    untouched = (out.action == NOT_CHOSEN) | (out.action == KEPT)
    assert torch.equal(out.input_ids[untouched], ids[untouched])
    total = int(chosen.sum())
    split = [int((out.action == action).sum()) for action in (MASKED, RANDOM, KEPT)]
    wanted = [total * masking.mask, total * masking.random, total * (1 - masking.mask - masking.random)]
    assert sum(split) == total
    assert all(abs(got - want) < 1 for got, want in zip(split, wanted, strict=True))
    again = run(ids, masking, seed)
    assert torch.equal(out.input_ids, again.input_ids) and torch.equal(out.action, again.action)


def test_paper_counts():
    ids = torch.full((100, 100), TOK.vocab["a"])
    out = run(ids)
    assert out.action.dtype == torch.uint8
    assert [int((out.action == action).sum()) for action in range(4)] == [8500, 1200, 150, 150]
    assert ((out.action != NOT_CHOSEN).sum(1) == 15).all()


def test_all_positions_and_all_tokens_get_their_turn():
    out = run(torch.full((4000, 20), TOK.vocab["a"]), Masking(mask=0.0, random=1.0))
    by_position = (out.action != NOT_CHOSEN).float().mean(0)  # 3 of 20 each
    assert (by_position - 0.15).abs().max() < 0.03
    drawn = out.input_ids[out.action == RANDOM].bincount(minlength=len(TOKENS)).float()
    ordinary = torch.tensor([token not in SPECIAL_TOKENS for token in TOKENS])
    assert (drawn[~ordinary] == 0).all()
    assert (drawn[ordinary] / drawn.sum() - 0.1).abs().max() < 0.02


def test_other_seed_other_choice():
    ids = torch.full((10, 50), TOK.vocab["a"])
    assert not torch.equal(run(ids, seed=1).action, run(ids, seed=2).action)


def test_nothing_to_choose():
    ids = torch.full((2, 3), TOK.pad_token_id)
    out = run(ids)
    assert torch.equal(out.input_ids, ids) and (out.labels == -100).all()


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"rate": 1.5}, {"mask": 0.9, "random": 0.2}, {"random": -0.1}])
def test_impossible_shares(wrong):
    with pytest.raises(InputError, match="masking"):
        replace(Masking(), **wrong)
