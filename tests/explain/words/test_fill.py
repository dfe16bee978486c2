import math

import pytest
import torch

from bertlab import BertForMaskedLM
from bertlab.errors import InputError
from bertlab.explain.text import clean, encode
from bertlab.explain.words.fill import fill_mask
from bertlab.explain.words.follow import follow_word
from bertlab.explain.words.lens import logit_lens
from bertlab.explain.words.masking import sample_masking
from bertlab.explain.words.surprisal import sweep
from tests.alike import assert_alike

TEXT = "the animal didn't cross the street because it was too [MASK]."


def test_fill_is_the_models_softmax_at_the_mask(model, tok):
    (fill,) = fill_mask(model, tok, TEXT, k=5)
    batch = tok([TEXT])
    assert batch["input_ids"][0, fill.position] == tok.mask_token_id
    expected = model(**batch).prediction_logits[0, fill.position].softmax(-1).detach()
    best = expected.argsort(descending=True)[:5]
    assert fill.tokens == tok.convert_ids_to_tokens(best)
    assert fill.probabilities == pytest.approx(expected[best].tolist(), abs=1e-6)
    assert fill.entropy == pytest.approx(float(-(expected * expected.log()).sum()), abs=1e-4)


def test_masked_lm_model_and_pair_and_several_masks(tok, model):
    twin = BertForMaskedLM(model.config).eval()
    fills = fill_mask(twin, tok, "my dog [MASK] hairy.", "he [MASK] walks.", k=10_000)
    assert len(fills) == 2
    assert fills[0].position < fills[1].position
    assert all(math.isclose(sum(fill.probabilities), 1, abs_tol=1e-4) for fill in fills)
    assert len(fills[0].tokens) == tok.vocab_size


def test_numbers_beyond_the_tokenizer_are_not_guessed(tok, model):
    """Published models fill up their embeddings to a round number."""
    twin = BertForMaskedLM(model.config.changed(vocab_size=tok.vocab_size + 8)).eval()
    with torch.no_grad():
        twin.mlm.decoder.bias[tok.vocab_size :] = 2.0
    (fill,) = fill_mask(twin, tok, TEXT, k=10_000)
    assert sorted(fill.tokens) == sorted(tok.vocab)
    assert sum(fill.probabilities) < 0.99
    assert logit_lens(twin, tok, TEXT).answer in tok.vocab
    assert len(follow_word(twin, tok, TEXT, k=10_000).logits) == tok.vocab_size
    assert all(guess.guess in tok.vocab for guess in sample_masking(twin, tok, TEXT, seed=0, rate=1.0).guesses)
    assert all({*row.fill.tokens} <= {*tok.vocab} for row in sweep(twin, tok, TEXT, k=10_000))


def test_no_mask_and_no_text_are_named(model, tok):
    with pytest.raises(InputError, match=r"no \[MASK\]"):
        fill_mask(model, tok, "my dog is hairy")
    for empty in ("", "  \n\t", "\x00\x07"):
        with pytest.raises(InputError, match="empty"):
            fill_mask(model, tok, empty)


def test_hidden_positions_are_filled_beside_typed_masks(model, tok):
    fills = fill_mask(model, tok, TEXT, k=3, masked=[2])
    batch = tok([TEXT])
    batch["input_ids"][0, 2] = tok.mask_token_id
    expected = model(**batch).prediction_logits.softmax(-1).detach()[0]
    assert [fill.position for fill in fills] == [2, int((tok([TEXT])["input_ids"][0] == tok.mask_token_id).nonzero())]
    for fill in fills:
        assert fill.probabilities == pytest.approx(expected[fill.position].topk(3).values.tolist(), abs=1e-6)
    with pytest.raises(InputError, match="positions 0 to 5"):
        fill_mask(model, tok, "dog [MASK] dog dog", masked=[6])
    assert len(fill_mask(model, tok, "dog dog dog", masked=[2], limit=4)) == 1


def test_mask_in_any_case_and_control_characters():
    assert clean("\x00a [mask] b\x1b \ud83d") == "a [MASK] b"
    assert clean("tab\tand\nline") == "tab\tand\nline"
    assert clean("שלום 中文 👩‍👩‍👧") == "שלום 中文 👩‍👩‍👧"


def test_long_text_is_cut_and_counted(model, tok):
    encoded = encode(tok, "dog " * 10_000, limit=48)
    assert len(encoded.tokens) == 48
    assert encoded.dropped == 10_002 - 48
    assert encoded.tokens[-1] == "[SEP]"
    assert fill_mask(model, tok, "[MASK] " + "dog " * 10_000)[0].position == 1


def test_unknown_characters_are_counted(tok):
    assert encode(tok, "dog 中文").unknown == 2


@pytest.mark.parametrize("rate", [0.15, 0.5])
def test_sampled_masking_matches_its_own_account(model, tok, rate):
    drawn = sample_masking(model, tok, TEXT.replace("[MASK]", "tired"), rate=rate, seed=3)
    ordinary = drawn.special.count(False)
    assert len(drawn.guesses) == max(1, round(rate * ordinary))
    for guess in drawn.guesses:
        assert not drawn.special[guess.position]
        assert drawn.after[guess.position] == guess.shown
        assert drawn.before[guess.position] == guess.truth
        assert (guess.shown == "[MASK]") == (guess.action == 1)
        assert guess.action != 3 or guess.shown == guess.truth
        assert (guess.rank == 1) == (guess.guess == guess.truth)
        assert guess.loss == pytest.approx(-math.log(guess.probability), abs=1e-4)
    untouched = [i for i, action in enumerate(drawn.actions) if not action]
    assert all(drawn.before[i] == drawn.after[i] for i in untouched)
    expected = -sum(math.log(guess.probability) for guess in drawn.guesses) / len(drawn.guesses)
    assert drawn.loss == pytest.approx(expected, abs=1e-4)


def test_sampled_masking_repeats_with_its_seed(model, tok):
    first, same, other = (sample_masking(model, tok, TEXT, rate=0.5, seed=s) for s in (1, 1, 2))
    assert_alike(first, same)
    assert first.actions != other.actions or first.after != other.after
    assert torch.tensor(first.loss).isfinite()


def test_sampling_where_nothing_can_be_chosen(model, tok):
    drawn = sample_masking(model, tok, "[MASK]")
    assert drawn.guesses == []
    assert drawn.loss == 0
