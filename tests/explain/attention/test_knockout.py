import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab import BertForMaskedLM, BertForPreTraining
from bertlab.errors import InputError
from bertlab.explain.attention.knockout import fill_knockouts, fill_without, head_mask
from bertlab.explain.attribution import attribute_span
from bertlab.explain.spans import answer, window_batch
from bertlab.explain.words.fill import masked_row
from tests.conftest import tries

TEXT, PAIR, POSITION = "my dog didn't cross the street.", "it was too tired.", 3
QUESTION, PASSAGE = "what did he buy?", "the man went to the store. he bought a gallon of milk."


def fresh(kind, like, **changes):
    torch.manual_seed(2)
    return kind(like.config.changed(**changes)).eval()


def logs(model, tok, off=()):
    """(V,) by the plain forward pass with a head_mask."""
    out = model(**masked_row(model, tok, TEXT, PAIR, [POSITION])[0], head_mask=head_mask(model, off))
    return (out.prediction_logits if hasattr(out, "prediction_logits") else out.logits)[0, POSITION].log_softmax(-1)


@pytest.mark.parametrize("pre_norm", [False, True])
@pytest.mark.parametrize("kind", [BertForPreTraining, BertForMaskedLM])
def test_the_map_is_what_each_head_mask_gives(model, tok, kind, pre_norm):
    model = fresh(kind, model, pre_norm=pre_norm)
    with torch.inference_mode():
        whole = logs(model, tok)
        word = int(whole.argmax())
        expected = [[float((logs(model, tok, [(la, a)]) - whole)[word]) for a in range(4)] for la in range(3)]
    rows = fill_knockouts(model, tok, TEXT, PAIR, [POSITION], 0, tok.convert_ids_to_tokens(word))
    with pytest.raises(InputError, match="gap 2 is beyond"):
        fill_knockouts(model, tok, TEXT, PAIR, [POSITION], 1, "dog")
    assert next(rows) == pytest.approx(expected[0], abs=1e-4)  # rows come one by one
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    for row, wanted in zip(rows, expected[1:], strict=True):
        assert row == pytest.approx(wanted, abs=1e-4)
    assert max(abs(x) for row in expected for x in row) > 0.01


@tries(15)
@given(off=st.sets(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=12))
def test_any_set_of_heads(model, tok, off):
    with torch.inference_mode():
        before, after = logs(model, tok), logs(model, tok, off)
    word = int(before.argmax())
    found = fill_without(model, tok, TEXT, PAIR, [POSITION], 0, tok.convert_ids_to_tokens(word), tuple(off), k=3)
    assert found.change == pytest.approx(float(after[word] - before[word]), abs=1e-4)
    assert found.before.probabilities[0] == pytest.approx(float(before.exp().max()), abs=1e-6)
    assert found.after.tokens[0] == tok.convert_ids_to_tokens(int(after.argmax()))
    if not off:
        assert found.change == pytest.approx(0, abs=1e-4) and found.before.tokens == found.after.tokens


def test_a_head_that_adds_nothing_changes_nothing(model, tok):
    model = fresh(BertForPreTraining, model)
    with torch.no_grad():
        model.bert.encoder.layers[1].attention.out.weight[:, 6:12] = 0  # what head 1 of layer 1 writes
    rows = list(fill_knockouts(model, tok, TEXT, None, [POSITION], 0, "dog"))
    assert rows[1][1] == pytest.approx(0, abs=1e-6) and abs(rows[1][0]) > 1e-4


def test_tokens_of_an_answer_in_a_later_window(reader, tok):
    passage = " ".join([PASSAGE] * 8)
    found = answer(reader, tok, QUESTION, passage)
    start, end = found.best.start_token, found.best.end_token
    sure = found.start_probabilities[start].log() + found.end_probabilities[end].log()
    batch = window_batch(reader, tok, QUESTION, passage, found.window)
    assert found.window > 0
    assert attribute_span(reader, tok, batch, start, end).score == pytest.approx(float(sure), abs=1e-4)


def test_a_model_that_reads_from_left_to_right_is_refused(model, tok):
    with pytest.raises(InputError, match="left-to-right"):
        list(fill_knockouts(fresh(BertForMaskedLM, model, is_decoder=True), tok, TEXT, None, [POSITION], 0, "dog"))


def test_one_of_two_gaps(model, tok):
    """Both are hidden, and the second is asked about."""
    text = "my [MASK] didn't cross the street."
    batch, gaps = masked_row(model, tok, text, None, [7])
    expected = model(**batch).prediction_logits[0, gaps[1]].log_softmax(-1).exp().max()
    found = fill_without(model, tok, text, None, [7], 1, "dog", [(0, 0)])
    assert gaps == [2, 7] and found.before.position == 7
    assert found.before.probabilities[0] == pytest.approx(float(expected.detach()), abs=1e-6)


def test_a_word_that_the_vocabulary_lacks_is_named(model, tok):
    with pytest.raises(InputError, match="“platypus” is no token of this model"):
        fill_without(model, tok, TEXT, None, [3], 0, "platypus", ())
