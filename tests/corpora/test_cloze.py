"""Questions made without labels: the passage holds the answer at its place, the question does not give it away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.corpora.cloze import PASSAGE_WORDS, candidates, cloze_questions
from bertlab.corpora.examples import Document

MARIE = Document(
    (
        "Marie Curie was born in Warsaw in 1867 and studied at the University of Paris.",
        "She shared the prize of 1903 with Pierre Curie and Henri Becquerel.",
        "About 3,500 people came to her lectures in the spring of that year.",
    ),
    "Wikipedia: Marie Curie",
    "article",
)


@pytest.mark.parametrize(
    "text, word",
    [
        ("1867", "when"),
        ("Warsaw", "where"),
        ("Marie Curie", "who"),
        ("University of Paris", "what"),
        ("3,500", "how many"),
    ],
)
def test_what_asks_for_a_span(text, word):
    sentence = next(sentence for sentence in MARIE.sentences if text in sentence)
    found = {sentence[c.start : c.end]: c.word for c in candidates(sentence)}
    assert found[text] == word


@pytest.mark.parametrize("sentence", ["The man went home.", "He said so.", "It was late, and nobody came."])
def test_a_capital_at_the_start_is_no_name(sentence):
    assert candidates(sentence) == []


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("Ángel De Marín scored twice in the match.", "Ángel De Marín"),
        ("Stefan Lo\u0308vdal became head of the club.", "Stefan Lo\u0308vdal"),
        ("Nobody knew that Rene\u0301 moved.", "Rene\u0301"),
        ("They met Żaneta Øster there.", "Żaneta Øster"),
        ("They met Conan O’Brien there.", "Conan O’Brien"),
        ("They met Ch’en Tu‑hsiu there.", "Ch’en Tu‑hsiu"),
        ("They met Mary‐Jane Ka‘iulani there.", "Mary‐Jane Ka‘iulani"),
        ("They saw that Anna Berg’s dog ran.", "Anna Berg"),
        ("They say that Anna Berg’ll come.", "Anna Berg"),
        ("He saw Алла Пугачёва there.", "Алла Пугачёва"),
    ],
)
def test_names_are_whole_whatever_their_letters(sentence, name):
    assert name in [sentence[c.start : c.end] for c in candidates(sentence)]


def test_answers_stand_where_they_are_said_to():
    examples = list(cloze_questions([MARIE] * 20, seed=1))
    assert len(examples) >= 40
    for example in examples:
        assert example.context[example.answer_start :].startswith(example.answer)
        assert example.context.count(example.answer) == 1
        assert example.question.startswith(example.kind) and example.question.endswith("?")
        assert example.answer not in example.question


def test_the_same_seed_gives_the_same_questions():
    assert list(cloze_questions([MARIE], seed=3)) == list(cloze_questions([MARIE], seed=3))
    assert list(cloze_questions([MARIE] * 5, seed=3)) != list(cloze_questions([MARIE] * 5, seed=4))


WORDS = st.lists(
    st.sampled_from("Ann Lee in 1999 the old 12 dogs Paris May river, saw; and University".split()),
    min_size=1,
    max_size=30,
)


@given(st.lists(WORDS.map(" ".join), min_size=1, max_size=12), st.integers(0, 5))
def test_any_text(sentences, seed):
    for example in cloze_questions([Document(tuple(sentences))], seed):
        assert example.context[example.answer_start :].startswith(example.answer)
        assert len(example.context.split()) <= max(PASSAGE_WORDS, *(len(s.split()) for s in sentences))
        assert example.kind in ("who", "what", "where", "when", "how many")
