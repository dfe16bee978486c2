"""Each example is held out once; classes keep their shares, and examples on the same text stay together."""

from collections import Counter

import pytest

from bertlab import InputError
from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample, TokenExample
from bertlab.corpora.labelled.parts import shared_text
from bertlab.evaluation.folds import split_folds


def held_once(examples, parts):
    assert sorted(e.id for _, held in parts for e in held) == sorted(e.id for e in examples)
    for known, held in parts:
        assert not {e.id for e in known} & {e.id for e in held} and len(known) + len(held) == len(examples)


def test_classes_keep_their_shares():
    examples = [TextExample(f"{n}", "a text", None, "rare" if n < 10 else "usual") for n in range(50)]
    parts = list(split_folds(examples, 5, seed=0))
    held_once(examples, parts)
    assert all(Counter(e.label for e in held) == {"rare": 2, "usual": 8} for _, held in parts)
    assert parts == list(split_folds(examples, 5, seed=0)) != list(split_folds(examples, 5, seed=1))


@pytest.mark.parametrize(
    "example",
    [
        lambda n: QAExample(f"{n}", "who?", f"passage {n // 2}", "", -1),
        lambda n: ChoiceExample(f"{n}", f"text {n // 2}", (f"{n}", "no"), 0),
        lambda n: TextExample(f"{n}", f"text {n // 2}", f"{n}", "yes" if n % 2 else "no"),
        lambda n: TextExample(f"{n}", f"text {n // 2}", f"{n}", n / 24),
        lambda n: TokenExample(f"{n}", ("word", f"{n // 2}"), ("O", "O")),
    ],
    ids=["questions", "choices", "pairs", "pairs with a number", "words"],
)
def test_examples_on_the_same_text_stay_together(example):
    examples = [example(n) for n in range(48)]
    parts = list(split_folds(examples, 3, seed=0))
    held_once(examples, parts)
    assert all(not {*map(shared_text, known)} & {*map(shared_text, held)} for known, held in parts)


def test_where_too_few_texts_differ_they_do_not_decide():
    examples = [TextExample(f"{n}", f"text {n % 2}", f"{n}", "yes" if n % 3 else "no") for n in range(24)]
    held_once(examples, list(split_folds(examples, 3, seed=0)))


@pytest.mark.parametrize("label", [1.5, ("a", "b")])
def test_what_has_no_class_is_cut_at_random(label):
    examples = [TextExample(f"{n}", "a text", None, label) for n in range(7)]
    held_once(examples, list(split_folds(examples, 3, seed=0)))
    words = [TokenExample(f"{n}", ("a",), ("O",)) for n in range(7)]
    held_once(words, list(split_folds(words, 3, seed=0)))


def test_too_few():
    examples = [TextExample(f"{n}", "a text", None, "a" if n else "b") for n in range(9)]
    with pytest.raises(
        InputError, match="--folds 3: each fold needs one of the examples of the label 'b', and there are only 1"
    ):
        list(split_folds(examples, 3, seed=0))
    with pytest.raises(InputError, match="there are only 2"):
        list(split_folds([TextExample("1", "a", None, 1.0)] * 2, 3, seed=0))
