import random
import sys
from statistics import mean

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from bertlab.errors import InputError
from bertlab.inputs.pairs import IS_NEXT, NOT_NEXT, Pair, Pairs, collate, sentence_pairs
from bertlab.inputs.store import FlatText
from bertlab.tokenizer import SPECIAL_TOKENS, Tokenizer
from tests.conftest import tries

TOK = Tokenizer.from_vocab([*SPECIAL_TOKENS, *"abcdefgh"])


def number(shape: list[list[int]]) -> list[list[list[int]]]:
    """Documents of sentences of the given lengths, in which every token is a number of its own."""
    fresh = iter(range(10**6))
    return [[[next(fresh) for _ in range(length)] for length in document] for document in shape]


def make(documents, max_tokens=32, seed=0, second_task="next") -> list[Pair]:
    return list(sentence_pairs(documents, max_tokens, random.Random(seed), second_task))


shapes = st.lists(st.lists(st.integers(0, 12), max_size=12), min_size=2, max_size=8)


@tries(200)
@given(shapes, st.integers(5, 60), st.integers(0, 2**31))
def test_every_promise(shape, max_tokens, seed):
    documents = number(shape)
    assume(sum(sum(map(bool, document)) >= 2 for document in documents) >= 2)
    document_of = {t: d for d, document in enumerate(documents) for s in document for t in s}
    opens = {sentence[0] for document in documents for sentence in document if sentence}
    pairs = make(documents, max_tokens, seed)
    labels = [pair.next_sentence_label for pair in pairs]
    assert 0 <= labels.count(IS_NEXT) - labels.count(NOT_NEXT) <= 1
    for pair in pairs:
        assert pair.first and pair.second and len(pair.first) + len(pair.second) + 3 <= max_tokens
        for text in (pair.first, pair.second):  # a text is one unbroken part of one document
            assert text == list(range(text[0], text[0] + len(text)))
            assert len({document_of[token] for token in text}) == 1
        assert pair.second[0] in opens
        follows = pair.second[0] == pair.first[-1] + 1
        same = document_of[pair.first[0]] == document_of[pair.second[0]]
        assert follows == same == (pair.next_sentence_label == IS_NEXT)
    assert pairs == make(documents, max_tokens, seed)


@tries(200)
@given(
    st.lists(
        st.lists(st.lists(st.integers(5, 7), min_size=1, max_size=3), min_size=2, max_size=6),
        min_size=2,
        max_size=5,
    ),
    st.integers(0, 999),
)
def test_a_negative_is_never_the_next_sentence(documents, seed):
    """Texts of three words, so that documents often agree by chance."""
    try:
        pairs = make(documents, 12, seed)
    except InputError as error:
        assert "too alike" in str(error)
        return
    sentences = [(d, i, s) for d, document in enumerate(documents) for i, s in enumerate(document)]
    for pair in pairs:
        if pair.next_sentence_label == NOT_NEXT:
            # wherever in the texts the first could stand, at least one continuation differs
            true_next = [
                documents[d][i + 1]
                for d, i, s in sentences
                if i + 1 < len(documents[d]) and pair.first[-len(s) :] == s[-len(pair.first) :]
            ]
            assert any(pair.second[: len(nxt)] != nxt[: len(pair.second)] for nxt in true_next), (
                pair,
                documents,
            )


def test_nearly_all_text_is_used_once():
    rng = random.Random(1)
    documents = number([[rng.randint(3, 15) for _ in range(rng.randint(2, 20))] for _ in range(300)])
    pairs = make(documents, 128)
    used = [token for pair in pairs for token in pair.first + pair.second]
    assert len(set(used)) == len(used)
    assert len(used) > 0.97 * sum(len(s) for document in documents for s in document)


def test_length_tells_nothing_about_the_label():
    rng = random.Random(2)
    documents = number([[rng.randint(3, 25) for _ in range(rng.randint(2, 12))] for _ in range(2000)])
    pairs = make(documents, 64)
    totals, seconds = (
        [mean(size(p) for p in pairs if p.next_sentence_label == label) for label in (IS_NEXT, NOT_NEXT)]
        for size in (lambda p: len(p.first) + len(p.second), lambda p: len(p.second))
    )
    assert abs(totals[0] - totals[1]) < 1 and abs(seconds[0] - seconds[1]) < 1


def test_some_pairs_are_short_on_purpose():
    pairs = make(number([[5] * 400, [5] * 400, [5] * 400] * 5), 103)
    short = mean(len(pair.first) + len(pair.second) <= 80 for pair in pairs)
    assert 0.05 < short < 0.5  # a tenth of the runs, which are more pairs as they use less text


def test_one_long_document_and_a_small_one():
    pairs = make(number([[8] * 1000, [8] * 6]), 40)
    assert {pair.next_sentence_label for pair in pairs} == {IS_NEXT, NOT_NEXT}


def test_long_sentences_are_cut_at_the_outer_ends():
    pairs = make(number([[100, 100], [100, 100]]), 23)
    true = next(pair for pair in pairs if pair.next_sentence_label == IS_NEXT)
    assert len(true.first) == len(true.second) == 10
    assert true.second[0] == true.first[-1] + 1


@pytest.mark.parametrize("shape", [[], [[5, 5, 5]], [[5, 5, 5], [5]], [[5], [5], [5]], [[5, 0], [0, 0]]])
def test_one_document_is_not_enough(shape):
    with pytest.raises(InputError, match="at least two documents"):
        make(number(shape))


def test_documents_that_are_all_the_same():
    with pytest.raises(InputError, match="too alike"):
        make([[[5, 6], [7]]] * 4)


@tries(200)
@given(shapes, st.integers(5, 60), st.integers(0, 2**31))
def test_order_every_promise(shape, max_tokens, seed):
    documents = number(shape)
    assume(any(sum(map(bool, document)) >= 2 for document in documents))
    document_of = {t: d for d, document in enumerate(documents) for s in document for t in s}
    opens = {sentence[0] for document in documents for sentence in document if sentence}
    pairs = make(documents, max_tokens, seed, "order")
    labels = [pair.next_sentence_label for pair in pairs]
    assert 0 <= labels.count(IS_NEXT) - labels.count(NOT_NEXT) <= 1
    for pair in pairs:
        assert len(pair.first) + len(pair.second) + 3 <= max_tokens
        swapped = pair.next_sentence_label == NOT_NEXT
        earlier, later = (pair.second, pair.first) if swapped else (pair.first, pair.second)
        assert earlier + later == list(range(earlier[0], earlier[0] + len(earlier) + len(later)))
        assert document_of[earlier[0]] == document_of[later[-1]] and later[0] in opens
    used = [token for pair in pairs for token in pair.first + pair.second]
    assert len(set(used)) == len(used)
    assert pairs == make(documents, max_tokens, seed, "order")


@tries(200)
@given(shapes, st.integers(3, 60), st.integers(0, 2**31))
def test_texts_alone_every_promise(shape, max_tokens, seed):
    documents = number(shape)
    assume(any(sentence for document in documents for sentence in document))
    texts = make(documents, max_tokens, seed, "none")
    assert all(text.second == [] and text.next_sentence_label == -100 for text in texts)
    everything = [[token for sentence in document for token in sentence] for document in documents]
    found = sorted(text.first for text in texts)
    assert sum(found, []) == sum(everything, [])  # every token once
    opens = {sentence[0] for document in documents for sentence in document if sentence}
    for text, following in zip(found, [*found[1:], [-1]], strict=True):
        assert len(text) <= max_tokens - 2
        assert any(text[0] in document and text[-1] in document for document in everything)
        if following[0] in opens and text[0] in opens:  # full: not even the next sentence would fit
            whole = [s for document in documents for s in document if s and s[0] == following[0]][0]
            same = any(text[0] in document and whole[0] in document for document in everything)
            assert not same or len(text) + len(whole) > max_tokens - 2
    assert texts == make(documents, max_tokens, seed, "none")


@pytest.mark.parametrize(("second_task", "least"), [("order", "two sentences"), ("none", "no text")])
def test_no_text_for_the_other_tasks(second_task, least):
    with pytest.raises(InputError, match=least):
        make([[], [[]]], second_task=second_task)
    assert make(number([[5, 5]]), second_task=second_task)  # one document is enough


def test_parts_of_pairs():
    pairs = sentence_pairs(number([[3, 4, 5]] * 6), 20, random.Random(0))
    everything = list(pairs)
    assert list(pairs[1:4]) == everything[1:4] and pairs[-1] == everything[-1]
    assert pairs[np.int64(2)] == everything[2] and list(pairs[np.array([3, 0])]) == [everything[3], everything[0]]
    assert list(Pairs.of(everything)) == everything and list(Pairs.of([])) == []
    alone = pairs.alone(np.arange(len(pairs)) == 2)
    assert list(alone) == [Pair(p.first, [], -100) if i == 2 else p for i, p in enumerate(everything)]


def test_too_short():
    with pytest.raises(InputError, match="max_tokens=4"):
        make(number([[5, 5], [5, 5]]), 4)


def calls(count: int) -> int:
    """How often any function is called while `count` documents become pairs: time, but the same on every machine."""
    rng, seen = random.Random(3), []
    documents = FlatText.of(number([[rng.randint(1, 9) for _ in range(10)] for _ in range(count)]))
    sys.setprofile(lambda frame, event, argument: seen.append(event))
    try:
        sentence_pairs(documents, 128, rng)
    finally:
        sys.setprofile(None)
    return seen.count("call") + seen.count("c_call")


def test_work_grows_with_the_text_and_no_faster():
    few, many = calls(500), calls(2000)
    assert many < 4.4 * few and many < 60 * 2000  # no call for each token: a document has 50


def test_collate():
    pairs = [Pair([5, 6], [7], 0), Pair([8], [9, 10, 11], 1)]
    batch = collate(pairs, TOK)
    cls, sep, pad = TOK.cls_token_id, TOK.sep_token_id, TOK.pad_token_id
    assert batch["input_ids"].tolist() == [[cls, 5, 6, sep, 7, sep, pad], [cls, 8, sep, 9, 10, 11, sep]]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1]]
    assert batch["attention_mask"].tolist() == [[1] * 6 + [0], [1] * 7]
    assert batch["special_tokens_mask"].dtype == torch.bool
    assert batch["special_tokens_mask"][0].tolist() == [True, False, False, True, False, True, True]
    assert batch["next_sentence_label"].tolist() == [0, 1]
    assert collate(pairs, TOK, length=12)["input_ids"].shape == (2, 12)
    with pytest.raises(InputError, match="takes 7 tokens"):
        collate(pairs, TOK, length=6)


def test_collate_equals_the_tokenizer():
    pair = Pair(*TOK.encode_batch(["a b c", "d e"]), 0)
    ours, theirs = collate([pair], TOK), TOK("a b c", "d e", special_tokens_mask=True)
    assert all(torch.equal(ours[key], theirs[key]) for key in theirs)
