from dataclasses import replace
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bertlab.corpora.examples import TextExample, TokenExample
from bertlab.errors import InputError
from bertlab.explain.labels import capital_inside, label_text, label_words, name_kinds
from bertlab.tasks.sequence import SequenceTask
from bertlab.tasks.token import TokenTask
from tests.alike import assert_alike
from tests.conftest import tries

TEXT, PAIR = "my dog didn't cross the street.", "it was too tired."


@pytest.mark.parametrize("pair", [None, PAIR])
def test_a_text_is_labelled_as_the_task_does(classifier, tok, pair):
    said = label_text(classifier, tok, TEXT, pair)
    expected = next(SequenceTask(tok, 48).predict(classifier, [TextExample("1", TEXT, pair)]))
    assert said.prediction.label == expected.label == classifier.config.id2label[said.label]
    assert said.prediction.probabilities == pytest.approx(expected.probabilities, abs=1e-6)


def test_a_long_text_is_labelled_whole(classifier, tok):
    text = " ".join([TEXT, PAIR] * 9)
    said = label_text(classifier, tok, text, limit=20)
    (expected,) = SequenceTask(tok, 20).predict(classifier, [TextExample("1", text)])
    assert said.said == said.whole != said.prediction and said.encoded.dropped
    assert_alike(said.whole, expected)
    assert label_text(classifier, tok, TEXT).whole is None
    assert label_text(classifier, tok, text, PAIR, limit=20).whole is None


@tries(25)
@example("a\u0301b [MASK] \u200d \x00 didn't", 48)
@given(
    st.lists(st.sampled_from([*TEXT.split(), "zebra", "动", "[mask]"]), min_size=1).map(" ".join), st.integers(3, 48)
)
def test_words_are_labelled_as_the_task_does(tagger, tok, text, limit):
    said = label_words(tagger, tok, text, limit)
    words = tuple(said.text[start:stop] for start, stop in said.spans)
    assert_alike(said.prediction, next(TokenTask(tok, limit).predict(tagger, [TokenExample("1", words)])))
    assert len(said.positions) == len(words) == len(said.prediction.labels)
    assert len(said.tokens) <= limit
    for word, position in zip(words, said.positions, strict=True):
        assert said.tokens[position] in ("[UNK]", word) or word.lower().startswith(said.tokens[position])
    assert said.unknown == said.tokens.count("[UNK]")


def test_words_that_do_not_fit_are_counted(tagger, tok):
    whole = label_words(tagger, tok, "my dog is hairy")
    cut = label_words(tagger, tok, "my dog is hairy", limit=len(whole.tokens) - 1)
    assert (whole.dropped, len(cut.spans)) == (0, len(whole.spans) - 1)
    assert len(cut.tokens) + cut.dropped == len(whole.tokens)


def test_names_are_places_in_the_text(tagger, tok):
    said = label_words(tagger, tok, "my dog is hairy")
    labelled = replace(said.prediction, labels=("O", "B-pet", "I-pet", "O"))
    (name,) = replace(said, prediction=labelled).names
    assert (said.text[name.start : name.stop], name.kind) == ("dog is", "pet")
    nouns = replace(said.prediction, labels=("O", "NOUN", "VERB", "O"))
    found = replace(said, prediction=nouns, kinds=["NOUN", "VERB"]).names
    assert [(said.text[name.start : name.stop], name.kind) for name in found] == [("dog", "NOUN"), ("is", "VERB")]


@pytest.mark.parametrize(
    ("labels", "kinds"),
    [(["O", "B-pet", "I-pet"], ["pet"]), (["NOUN", "O"], ["NOUN"]), (["B-pet", "O", "X"], ["B-pet", "X"]), (["O"], [])],
)
def test_every_name_is_of_a_known_kind(labels, kinds, tagger, tok):
    assert name_kinds(labels) == kinds
    said = replace(label_words(tagger, tok, "my dog is hairy"), kinds=kinds)
    for position, label in product(range(4), labels):
        chosen = ["O"] * 4
        chosen[position] = label
        names = replace(said, prediction=replace(said.prediction, labels=tuple(chosen))).names
        assert len(names) == (label != "O") and all(name.kind in kinds for name in names)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("We met Ana . Then I left", ["Ana"]),
        ('She said : " Hello " to Bo', ["Bo"]),
        ("NO SMOKING HERE", []),
        ("ana saw bo", []),
        ("In Rome it rained", ["Rome"]),
    ],
)
def test_capitals_inside_a_sentence(text, inside):
    words, spans = text.split(), []
    for word in words:
        start = text.index(word, spans[-1][1] if spans else 0)
        spans.append((start, start + len(word)))
    found = capital_inside(text, spans)
    assert [word for word, capital in zip(words, found, strict=True) if capital] == inside


@pytest.mark.parametrize("text", ["", " \n", "\x00\x01"])
def test_empty_texts_are_named(classifier, tagger, tok, text):
    for label, model in ((label_text, classifier), (label_words, tagger)):
        with pytest.raises(InputError, match="text is empty"):
            label(model, tok, text)
