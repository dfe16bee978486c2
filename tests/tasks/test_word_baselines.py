"""Baselines of counted words learn what words tell, in any language, and are left out where they cannot be had."""

import pytest

from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample
from bertlab.tasks import baselines
from bertlab.tasks.registry import find_task

TFIDF = "TF-IDF, logistic regression"


def of(name, known, new):
    return find_task(name).family(None, 64).baselines(known, new)


def texts(count, label, pattern="a {} dog number {}"):
    return [TextExample(f"{n}", pattern.format(label(n), n), None, label(n)) for n in range(count)]


def colour(number):
    return ("red", "blue", "green")[number % 3]


def test_words_tell_the_class():
    found = of("sentence", texts(120, colour), texts(30, colour))
    assert list(found) == ["always the most frequent", TFIDF]
    assert found["always the most frequent"]["accuracy"] == pytest.approx(1 / 3) and found[TFIDF]["accuracy"] == 1


def test_examples_sorted_by_class_are_learned_too(monkeypatch):
    """As in sets of one file for each class: the first ones are all of one."""
    monkeypatch.setattr(baselines, "CHOSEN", 60)
    known = sorted(texts(300, colour), key=lambda example: example.label)
    assert of("sentence", known, texts(30, colour))[TFIDF]["accuracy"] == 1


def test_characters_tell_the_class_where_words_have_no_spaces():
    known = texts(40, lambda n: "好坏"[n % 2], "这部电影真的很{}看{}")
    assert of("sentence", known, known[:10])[TFIDF]["accuracy"] == 1
    assert baselines.words("Don't 看电影 now") == ["don", "t", "看", "电", "影", "now"]


def test_numbers_and_several_classes():
    numbers = [TextExample(f"{n}", "good " * (n % 5) + "dog", None, float(n % 5)) for n in range(50)]
    found = of("sentence", numbers, numbers)
    assert list(found) == ["always the mean", "TF-IDF, ridge regression"]
    assert found["TF-IDF, ridge regression"]["pearson"] > 0.9
    several = [TextExample(f"{n}", f"a {'red ' * (n % 2)}{'big ' * (n % 3 == 0)}dog", None, ()) for n in range(60)]
    several = [TextExample(e.id, e.text, None, tuple(w for w in ("big", "red") if w in e.text)) for e in several]
    assert of("sentence", several, several)[TFIDF]["micro_f1"] == 1


def test_pairs_are_judged_by_what_they_share():
    pairs = [
        TextExample(f"{n}", f"cat{n} likes fish{n}", f"cat{n + n % 2} likes fish{n + n % 2}", "yn"[n % 2])
        for n in range(90)
    ]
    found = of("pair", pairs[:60], pairs[60:])
    assert list(found) == ["always the most frequent", TFIDF, "word overlap"]
    assert found["word overlap"]["accuracy"] == 1 and found["always the most frequent"]["accuracy"] == 0.5


@pytest.mark.parametrize("text", ["😀", "!?"])
def test_without_words_a_line_says_why(text, capsys):
    known = [TextExample(f"{n}", text, None, "ab"[n % 2]) for n in range(10)]
    assert list(of("sentence", known, known)) == ["always the most frequent"]
    assert capsys.readouterr().err.startswith(f"bertlab: no baseline “{TFIDF}”: empty vocabulary")


def test_classes_of_few_examples_each():
    """So few that there is nothing to choose the regularization by."""
    known = texts(400, lambda n: f"label{n % 100}")
    assert of("sentence", known, known[:50])[TFIDF]["accuracy"] > 0.9


def test_the_likeliest_sentence_and_the_likeliest_choice():
    passage = "Ann has a red dog. Bob has a cat. Bob feeds his old cat at noon."
    assert baselines.likeliest_sentence(QAExample("1", "What has Bob?", passage, "a cat", 27)) == "Bob has a cat."
    assert baselines.likeliest_sentence(QAExample("1", "?", "...", "", -1)) == "..."
    choices = ("He flew to the moon.", "The dog barked at Ann.")
    assert baselines.likeliest_choice(ChoiceExample("1", "Ann met a dog.", choices)) == 1
    found = of("choice", [], [ChoiceExample("1", "Ann met a dog.", choices, 1)])
    assert found["by chance"]["accuracy"] == 0.5 and found["word overlap"]["accuracy"] == 1
