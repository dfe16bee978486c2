from pathlib import Path

import pytest
from hypothesis import example as example_of
from hypothesis import given
from hypothesis import strategies as st

from bertlab.corpora.examples import QAExample
from bertlab.corpora.labelled.squad import read_squad
from bertlab.errors import InputError
from bertlab.inputs.spans import MAX_QUERY, cut_windows, most_context, span_features, usual_stride
from bertlab.tokenizer import Tokenizer, stack
from tests.conftest import tries

SHARED = Path(__file__).parents[3] / "shared" / "data"
PASSAGE = "Rose Hill, the baker of Millford, bought a brown dog. She named him Ash."
TOK = Tokenizer.train([PASSAGE, "Who bought a dog? What is his name?"] * 3, vocab_size=150)
NONE = {"start_positions": 0, "end_positions": 0}


def example(answer: str, question="Who bought a dog?", context=PASSAGE) -> QAExample:
    return QAExample("q1", question, context, answer, context.find(answer) if answer else -1)


def marked(feature, context: str) -> str:
    """The text that the targets mark."""
    offsets = feature.rows[0].offsets
    return context[offsets[feature.targets["start_positions"]][0] : offsets[feature.targets["end_positions"]][1]]


@pytest.mark.parametrize("answer", ["Rose Hill", "a brown dog", "Millford", "Ash.", PASSAGE])
def test_answers_are_found_again(answer):
    found, none = span_features([example(answer), example("")], TOK, 64, 21)
    assert marked(found, PASSAGE) == answer
    assert none.targets == NONE


@pytest.mark.parametrize(
    ("context", "answer", "expected"),
    [
        ("The dog (Ash)'s brown.", "Ash", "Ash"),
        ("The dog (Ash)'s brown.", "(Ash)", "(Ash)"),
        ("The naïve Rosé, née Hill.", "Rosé", "Rosé"),
        ("Die Müllers kauften Äpfel.", "Äpfel", "Äpfel"),
        ("玫瑰買了一隻狗。", "一隻狗", "一隻狗"),
        ("《战国无双3》（）是由光荣和ω-force开发的。", "光荣和ω-force", "光荣和ω-force"),
        ("于2009年12月3日发售，𠮷野家。", "2009年12月3日", "2009年12月3日"),
        ("Ash \u200b\x00 named \tRose", "named \tRose", "named \tRose"),
        ("It was his sixth dog.", "six", "sixth"),  # inside a token: all of it
    ],
)
def test_brackets_accents_scripts_and_parts_of_words(context, answer, expected):
    tok = Tokenizer.from_vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog", "ash", "(", ")", "sixth"])
    assert marked(span_features([example(answer, context=context)], tok, 64, 21)[0], context) == expected


def test_layout():
    features = span_features([example("Ash"), example("", "Who?", "Ash.")], TOK, 64, 21, learn=False)
    reference = TOK(["Who bought a dog?", "Who?"], [PASSAGE, "Ash."], offsets=True)
    rows = [feature.rows[0] for feature in features]
    batch = TOK.batch(rows) | {"offset_mapping": stack([row.offsets for row in rows], (0, 0))}
    for key, tensor in reference.items():
        assert batch[key].tolist() == tensor.tolist(), key
    for feature in features:
        positions = [p for p, kind in enumerate(feature.rows[0].types) if kind]
        assert list(feature.passage) == list(feature.max_context) == positions[:-1]  # without its [SEP]
        assert feature.targets == {}


def test_an_answer_counts_where_all_of_it_is():
    length = len(TOK.tokenize("Who bought a dog?")) + 3 + 6
    passage = TOK.encodings(PASSAGE)[0].offsets
    for answer in ("Rose Hill", "Ash", "the baker of Millford", PASSAGE):
        first = PASSAGE.index(answer)
        features = span_features([example(answer)], TOK, length, 2)
        for feature in features:
            start, stop = (feature.window * 2, feature.window * 2 + len(feature.passage))
            whole = passage[start][0] <= first and first + len(answer) <= passage[stop - 1][1]
            assert (feature.targets != NONE) == whole
            assert not whole or marked(feature, PASSAGE) == answer
            assert feature.length <= length
    assert all(feature.targets == NONE for feature in features)  # the whole passage is in no window


def test_the_same_answer_twice():
    context = "Ash saw Rose. Rose saw Ash."
    second = QAExample("q1", "Who?", context, "Rose", context.rindex("Rose"))
    feature = span_features([second], TOK, 64, 21)[0]
    assert feature.rows[0].offsets[feature.targets["start_positions"]][0] == second.answer_start


def published_windows(tokens: int, room: int, stride: int) -> list[range]:
    """As run_squad.py tells it."""
    found, start = [], 0
    while start < tokens:
        length = min(tokens - start, room)
        found.append(range(start, start + length))
        if start + length == tokens:
            break
        start += min(length, stride)
    return found


def published_max_context(windows: list[range], token: int) -> int:
    """As run_squad.py tells it: the number of the window."""
    best, chosen = None, None
    for number, window in enumerate(windows):
        if token in window:
            score = min(token - window.start, window.stop - 1 - token) + 0.01 * len(window)
            if best is None or score > best:
                best, chosen = score, number
    return chosen


@tries(300)
@given(st.integers(1, 400), st.integers(1, 120), st.integers(1, 150))
@example_of(305, 300, 290)  # a last window so short that its length counts
def test_windows_and_most_context_are_the_published_ones(tokens, room, stride):
    windows = cut_windows(tokens, room, stride)
    assert windows == published_windows(tokens, room, stride)
    best = most_context(windows)
    for token in range(tokens):
        assert [n for n, shares in enumerate(best) if token in shares] == [published_max_context(windows, token)]


@tries(60)
@given(st.text(min_size=1, max_size=200), st.integers(12, 40), st.integers(1, 40))
def test_rows_hold_the_passage_at_its_offsets(context, length, stride):
    ids, offsets = TOK.encodings(context)[0].ids, TOK.encodings(context)[0].offsets
    if not ids:
        return
    features = span_features([example("", context=context)], TOK, length, stride)
    seen, fullest = {}, []
    for feature in features:
        row = feature.rows[0]
        assert len(row.ids) == len(row.types) == len(row.offsets) <= length
        for position in feature.passage:
            token = feature.window * min(stride, len(features[0].passage)) + position - feature.passage.start
            assert seen.setdefault(token, (row.ids[position], row.offsets[position])) == (ids[token], offsets[token])
            fullest += [token] * (position in feature.max_context)
    assert sorted(seen) == fullest == list(range(len(ids)))


def test_a_long_question_is_cut_and_counted():
    features = span_features([example("Ash", question="dog " * 70)], TOK, MAX_QUERY + 3 + 10, 5)
    assert len(features) > 1 and [feature.cut for feature in features] == [6] + [0] * (len(features) - 1)
    assert all(feature.passage.start == MAX_QUERY + 2 for feature in features)


def test_what_cannot_be_read_is_named():
    with pytest.raises(InputError, match="'q1' takes 64 tokens"):
        span_features([example("Ash", question="what " * 70)], TOK, 64, 21)
    for context in ("", " \n", "\x00"):
        with pytest.raises(InputError, match="passage of question 'q1' is empty"):
            span_features([example("", context=context)], TOK, 64, 21, learn=False)
    with pytest.raises(InputError, match="answer ' ' of question 'q1'"):
        span_features([example(" ")], TOK, 64, 21)
    with pytest.raises(InputError, match="stride must be"):
        span_features([example("Ash")], TOK, 64, 0)
    assert span_features([], TOK, 64, 21) == []


def test_usual_stride_is_the_published_one():
    assert usual_stride(384) == 128 and usual_stride(2) == 1


@pytest.mark.skipif(not SHARED.exists(), reason="SQuAD is not beside the clone (../shared/data)")
@pytest.mark.parametrize("file", ["train-v1.1.head.json", "dev-v2.0.half.json"])
def test_squad(file):
    tok = Tokenizer.from_pretrained(SHARED / "bert_official" / "bert-base-uncased")
    examples = [e for e in read_squad(SHARED / "squad" / file)][:800]
    features = span_features(examples, tok, 384, 128)
    pairs = [
        (marked(f, examples[f.example].context), examples[f.example].answer) for f in features if f.targets != NONE
    ]
    assert {f.example for f in features if f.targets != NONE} == {n for n, e in enumerate(examples) if e.answer}
    assert sum(found == answer for found, answer in pairs) > 0.98 * len(pairs)
    assert all(answer in found for found, answer in pairs)  # "six" in "sixth"
