import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab import BertForMaskedLM
from bertlab.errors import InputError
from bertlab.explain.words import surprisal
from bertlab.explain.words.fill import fill_mask
from bertlab.explain.words.surprisal import pseudo_log_likelihood, pseudo_perplexity, sweep
from tests.conftest import tries

TEXT, PAIR = "the animal didn't cross the street.", "it was too tired."


def test_each_row_is_a_fill_in_with_one_token_masked(model, tok):
    rows = list(sweep(model, tok, TEXT, PAIR, k=4))
    ids = tok([TEXT], [PAIR])["input_ids"][0]
    assert [row.token for row in rows] == [t for t in tok.convert_ids_to_tokens(ids) if t not in ("[CLS]", "[SEP]")]
    for row in rows:
        (short,) = fill_mask(model, tok, TEXT, PAIR, k=4, masked=[row.position])
        (whole,) = fill_mask(model, tok, TEXT, PAIR, k=120, masked=[row.position])
        assert row.fill.tokens == short.tokens
        assert row.fill.probabilities == pytest.approx(short.probabilities, abs=1e-6)
        assert row.rank == whole.tokens.index(row.token) + 1
        assert row.surprisal == pytest.approx(-math.log(whole.probabilities[row.rank - 1]), abs=1e-4)
    total = sum(row.surprisal for row in rows)
    assert pseudo_log_likelihood(rows) == pytest.approx(-total)
    assert pseudo_perplexity(rows) == pytest.approx(math.exp(total / len(rows)))


@pytest.mark.parametrize("tokens", [1, 40, 100_000])
def test_rows_do_not_depend_on_how_many_are_computed_at_once(model, tok, monkeypatch, tokens):
    expected = list(sweep(model, tok, TEXT, PAIR))
    monkeypatch.setattr(surprisal, "TOKENS", tokens)
    found = list(sweep(model, tok, TEXT, PAIR))
    assert [row.position for row in found] == [row.position for row in expected]
    assert [row.surprisal for row in found] == pytest.approx([row.surprisal for row in expected], abs=1e-4)


def test_rows_come_as_they_are_computed(model, tok, monkeypatch):
    monkeypatch.setattr(surprisal, "TOKENS", 1)
    passes = []
    hook = model.bert.register_forward_hook(lambda *_: passes.append(1))
    rows = sweep(model, tok, TEXT)
    next(rows), next(rows)
    hook.remove()
    assert len(passes) == 2


def test_marks_of_bert_are_not_judged_but_unknown_words_are(model, tok):
    rows = list(sweep(model, tok, "my [MASK] 中 is [SEP] hairy"))
    assert [row.token for row in rows] == [*tok.tokenize("my"), "[UNK]", *tok.tokenize("is"), *tok.tokenize("hairy")]
    with pytest.raises(InputError, match="this text has no token that can be masked"):
        next(sweep(model, tok, "[MASK] [SEP]"))
    with pytest.raises(InputError, match="empty"):
        next(sweep(model, tok, " "))


def test_a_model_for_masked_words_alone_and_one_that_reads_to_the_right(model, tok):
    assert len(list(sweep(BertForMaskedLM(model.config).eval(), tok, "my dog"))) == len(tok.tokenize("my dog"))
    with pytest.raises(InputError, match="left-to-right model"):
        next(sweep(BertForMaskedLM(model.config.changed(is_decoder=True)), tok, "my dog"))


@tries(25)
@given(text=st.text(max_size=60), limit=st.integers(4, 60))
def test_any_text_has_a_row_for_each_token_that_can_be_hidden(text, limit, model, tok):
    try:
        rows = list(sweep(model, tok, text, limit=limit, k=1))
    except InputError:
        return
    assert all(row.surprisal >= 0 and (row.rank == 1) == (row.token == row.fill.tokens[0]) for row in rows)
    positions = [row.position for row in rows]
    assert positions == sorted(set(positions)) and 0 < positions[0] and positions[-1] < min(limit, 48) - 1
