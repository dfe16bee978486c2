import pytest

from bertlab import BertForMaskedLM
from bertlab.errors import InputError
from bertlab.explain.words.next_sentence import both_orders, next_sentence
from tests.alike import assert_alike

FIRST, SECOND = "the man went to the store.", "he bought a gallon of milk."


def test_the_verdict_is_the_heads_first_class(model, tok):
    verdict = next_sentence(model, tok, FIRST, SECOND)
    logits = model(**tok([FIRST], [SECOND])).seq_relationship_logits[0].detach()
    assert verdict.probability == pytest.approx(float(logits.softmax(-1)[0]), abs=1e-6)
    assert verdict.log_odds == pytest.approx(float(logits[0] - logits[1]), abs=1e-5)
    assert (verdict.first, verdict.second) == (FIRST, SECOND)


def test_both_orders(model, tok):
    given, swapped = both_orders(model, tok, FIRST, SECOND)
    assert_alike(given, next_sentence(model, tok, FIRST, SECOND))
    assert_alike(swapped, next_sentence(model, tok, SECOND, FIRST))
    assert given.probability != swapped.probability


def test_what_cannot_be_judged(model, tok):
    for empty in ("", " \n", "\x00"):
        with pytest.raises(InputError, match="second text is empty"):
            next_sentence(model, tok, FIRST, empty)
        with pytest.raises(InputError, match="text is empty"):
            next_sentence(model, tok, empty, SECOND)
    with pytest.raises(InputError, match="no next-sentence head"):
        next_sentence(BertForMaskedLM(model.config), tok, FIRST, SECOND)
    assert 0 < next_sentence(model, tok, FIRST * 50, SECOND * 50).probability < 1
