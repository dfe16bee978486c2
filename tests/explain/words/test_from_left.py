"""A gap filled from the left alone: what follows changes no bit, and texts without one gap are refused."""

import pytest
import torch

from bertlab.errors import InputError
from bertlab.explain.words.from_left import fill_from_left, one_gap
from bertlab.explain.words.guess import no_words
from tests.alike import assert_alike

TIRED = "the animal didn't cross the [MASK] because it was too tired."
ENDS = [TIRED, "the animal didn't cross the [MASK]", "the animal didn't cross the [mask] of milk."]


@torch.inference_mode()
def test_the_guesses_are_those_of_the_next_word(left_to_right, tok):
    fill = fill_from_left(left_to_right, tok, TIRED, k=5)
    ids = tok([TIRED])["input_ids"][0]  # (S,)
    assert ids[fill.position] == tok.mask_token_id
    expected = left_to_right(input_ids=ids[None, : fill.position]).prediction_logits[0, -1].softmax(-1)
    expected[no_words(tok)] = 0  # as a BERT's guesses beside it
    assert fill.probabilities == pytest.approx(expected.topk(5).values.tolist(), abs=1e-5)
    assert fill.tokens == tok.convert_ids_to_tokens(expected.topk(5).indices.tolist())


def test_what_follows_the_gap_changes_nothing(left_to_right, tok):
    first, *others = (fill_from_left(left_to_right, tok, text) for text in ENDS)
    assert_alike(others, [first, first])
    assert fill_from_left(left_to_right, tok, "my dog is [MASK]") != first


def test_a_gap_at_the_start_is_filled_from_nothing(left_to_right, tok):
    assert fill_from_left(left_to_right, tok, "[MASK] is hairy").position == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (" \x00", "empty"),
        ("my dog", r"holds no \[MASK\]"),
        ("[MASK] [mask]", r"holds 2 \[MASK\]"),
        ("dog " * 60 + "[MASK]", "shorten the text"),
    ],
)
def test_texts_without_one_gap_are_refused(left_to_right, tok, text, told):
    with pytest.raises(InputError, match=told):
        fill_from_left(left_to_right, tok, text)


def test_the_limit_counts_what_stands_before_the_gap(left_to_right, tok):
    position = fill_from_left(left_to_right, tok, TIRED).position
    assert fill_from_left(left_to_right, tok, TIRED, limit=position + 2)  # [CLS], the gap and [SEP] fit
    with pytest.raises(InputError, match="shorten"):
        fill_from_left(left_to_right, tok, TIRED, limit=position + 1)


def test_a_bert_does_not_pass_for_a_left_to_right_model(model, tok):
    with pytest.raises(InputError, match="sees both sides"):
        fill_from_left(model, tok, TIRED)


def test_the_parts_around_a_gap(tok):
    assert one_gap(tok, " my [mask] is hairy. ") == ("my ", " is hairy.")
