from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bertlab.corpora.examples import QAExample
from bertlab.corpora.files import read_squad
from bertlab.errors import InputError
from bertlab.inputs.spans import answer_from_logits, best_spans, null_score, qa_features
from bertlab.tokenizer import Tokenizer

SHARED = Path(__file__).parents[3] / "shared" / "data"
PASSAGE = "Rose Hill, the baker of Millford, bought a brown dog. She named him Ash."
TOK = Tokenizer.train([PASSAGE, "Who bought a dog? What is his name?"] * 3, vocab_size=150)


def example(answer: str, question="Who bought a dog?", context=PASSAGE) -> QAExample:
    return QAExample("q1", question, context, answer, context.find(answer) if answer else -1)


def text_at(batch, row: int, context: str) -> str:
    offsets = batch["offset_mapping"][row]
    start, end = batch["start_positions"][row], batch["end_positions"][row]
    return context[offsets[start, 0] : offsets[end, 1]]


@pytest.mark.parametrize("answer", ["Rose Hill", "a brown dog", "Millford", "Ash.", PASSAGE])
def test_answers_are_found_again(answer):
    batch = qa_features([example(answer), example("")], TOK, 64)
    assert text_at(batch, 0, PASSAGE) == answer
    assert batch["start_positions"][1] == batch["end_positions"][1] == 0


def test_an_answer_between_brackets():
    context = "The dog (Ash)'s brown."
    batch = qa_features([example("Ash", context=context), example("(Ash)", context=context)], TOK, 64)
    assert [text_at(batch, row, context) for row in (0, 1)] == ["Ash", "(Ash)"]


def test_layout():
    batch = qa_features([example("Ash"), example("", "Who?", "Ash.")], TOK, 64)
    reference = TOK(["Who bought a dog?", "Who?"], [PASSAGE, "Ash."], offsets=True)
    for key, tensor in reference.items():
        assert torch.equal(batch[key], tensor), key
    expected = (batch["token_type_ids"] == 1) & (batch["input_ids"] != TOK.sep_token_id)
    assert torch.equal(batch["passage_mask"], expected)


def test_only_the_passage_is_cut():
    length = len(TOK.tokenize("Who bought a dog?")) + 3 + 6
    batch = qa_features([example("Rose Hill"), example("Ash"), example(PASSAGE)], TOK, length)
    assert batch["input_ids"].shape == (3, length)
    assert batch["passage_mask"].sum(1).tolist() == [6, 6, 6]
    assert batch["start_positions"][0] > 0
    assert batch["start_positions"][1:].tolist() == batch["end_positions"][1:].tolist() == [0, 0]


def test_a_question_without_room_is_named():
    with pytest.raises(InputError, match="'q1' takes"):
        qa_features([example("Ash", question="what " * 70)], TOK, 64)
    with pytest.raises(InputError, match="no examples"):
        qa_features([], TOK, 64)


def test_empty_passage():
    batch = qa_features([example("", context="")], TOK, 64)
    logits = torch.zeros(batch["input_ids"].shape[1])
    mask, offsets = batch["passage_mask"][0], batch["offset_mapping"][0]
    assert best_spans(logits, logits, mask, offsets, "") == []
    assert answer_from_logits(logits, logits, mask, offsets, "").text == ""


@pytest.mark.skipif(not SHARED.exists(), reason="SQuAD is not beside the clone (../shared/data)")
def test_squad():
    tok = Tokenizer.from_pretrained(SHARED / "bert_official" / "bert-base-uncased")
    examples = list(read_squad(SHARED / "squad" / "train-v1.1.head.json"))[:500]
    batch = qa_features(examples, tok, 384)
    found = [text_at(batch, row, e.context) for row, e in enumerate(examples) if batch["start_positions"][row]]
    answers = [e.answer for row, e in enumerate(examples) if batch["start_positions"][row]]
    assert len(found) > 490
    assert sum(a == b for a, b in zip(found, answers, strict=True)) > 0.98 * len(found)
    assert all(answer in text for text, answer in zip(found, answers, strict=True))  # "six" in "sixth"


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 30))
def test_best_spans_equal_trying_all(seed, n, longest):
    batch = qa_features([example("Ash")], TOK, 48)
    mask, offsets = batch["passage_mask"][0], batch["offset_mapping"][0]
    generator = torch.Generator().manual_seed(seed)
    starts, ends = torch.randn(2, len(mask), generator=generator)
    spans = best_spans(starts, ends, mask, offsets, PASSAGE, n, longest)
    inside = mask.nonzero().flatten().tolist()
    tried = sorted(
        ((float(starts[i] + ends[j]), i, j) for i in inside for j in inside if i <= j < i + longest),
        reverse=True,
    )
    assert [(span.score, span.start_token, span.end_token) for span in spans] == tried[:n]
    for span in spans:
        assert span.text == PASSAGE[span.start_char : span.end_char] != ""
        assert (span.start_char, span.end_char) == (offsets[span.start_token, 0], offsets[span.end_token, 1])


def test_no_answer():
    batch = qa_features([example("Ash")], TOK, 48)
    mask, offsets = batch["passage_mask"][0], batch["offset_mapping"][0]
    starts, ends = torch.zeros(2, len(mask))
    start, end = batch["start_positions"][0], batch["end_positions"][0]
    starts[start], ends[end] = 3.0, 3.0
    starts[0], ends[0] = 2.0, 3.5
    assert null_score(starts, ends) == 5.5
    assert answer_from_logits(starts, ends, mask, offsets, PASSAGE).text == "Ash"
    none = answer_from_logits(starts, ends, mask, offsets, PASSAGE, threshold=1.0)
    assert (none.text, none.start_token, none.score) == ("", 0, 5.5)
