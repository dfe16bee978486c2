"""Words uncovered from the gap on, and left out one by one: against one forward pass each."""

import pytest
import torch

from bertlab import InputError
from bertlab.explain.words.context import leave_one_out, uncover, uncovered
from bertlab.explain.words.fill import fill_mask
from tests.alike import assert_alike

TEXT = "my dog [MASK] hairy he likes"


def by_hand(model, tok, hidden):
    """Probabilities (V,) at the gap with these positions hidden too."""
    batch = tok([TEXT])
    gap = batch["input_ids"][0].tolist().index(tok.mask_token_id)
    batch["input_ids"][0, hidden] = tok.mask_token_id
    with torch.inference_mode():
        return model(**batch).prediction_logits[0, gap].softmax(-1)


def test_uncovering_is_masking_what_is_further_away(model, tok):
    size = len(tok.tokenize(TEXT)) + 2
    gap = 1 + tok.tokenize(TEXT).index("[MASK]")
    found = uncover(model, tok, TEXT, ["dog", "he"])
    assert found.shape == (2, gap, size - 1 - gap)
    words = [tok.vocab["dog"], tok.vocab["he"]]
    for left in range(gap):
        for right in range(size - 1 - gap):
            hidden = [*range(1, gap - left), *range(gap + right + 1, size - 1)]
            torch.testing.assert_close(found[:, left, right], by_hand(model, tok, hidden)[words], atol=1e-5, rtol=1e-4)


def test_leaving_out_hides_one_token_each(model, tok):
    found = leave_one_out(model, tok, TEXT, ["dog"])[0]
    size = len(tok.tokenize(TEXT)) + 2
    assert found.shape == (size,)
    for position in range(size):
        hidden = [position] if 0 < position < size - 1 else []
        torch.testing.assert_close(found[position], by_hand(model, tok, hidden)[tok.vocab["dog"]], atol=1e-5, rtol=1e-4)


def test_what_is_shown_and_guessed(model, tok):
    tokens, fill = uncovered(model, tok, TEXT, 1, 0, k=3)
    assert [t for t in tokens if t != "[MASK]"] == ["[CLS]", "dog", "[SEP]"]
    whole, best = uncovered(model, tok, TEXT, 99, 99, k=3)
    assert whole == ["[CLS]", *tok.tokenize(TEXT), "[SEP]"]
    assert_alike(best, fill_mask(model, tok, TEXT, k=3)[0])
    assert best.tokens != fill.tokens


def test_mistakes_are_named(model, tok):
    with pytest.raises(InputError, match="holds no"):
        uncover(model, tok, "my dog", ["dog"])
    with pytest.raises(InputError, match="2 .MASK.: leave one"):
        uncovered(model, tok, "[MASK] dog [MASK]", 1, 1)
    with pytest.raises(InputError, match="“zebra” is no token of this model"):
        leave_one_out(model, tok, TEXT, ["zebra"])
