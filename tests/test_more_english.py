"""What the adapters of `english` practise on (data/english/more): formats, answers, and nothing of what is measured."""

import json
import lzma
import runpy
from collections import Counter
from pathlib import Path
from statistics import median

import pytest
from test_english_texts import (
    FOLDER,
    LIKENESS,
    articles,
    passage,
    rows,
    sentences,
    texts,
    trigrams,
    whole_words,
    words,
    words_shared,
)

from benchmarks.explorer import real_text
from bertlab.corpora.english.large import read_articles
from bertlab.corpora.examples import QAExample
from bertlab.corpora.labelled.squad import read_squad
from bertlab.corpora.labelled.tabular import read_table

DATA = Path(__file__).parents[2] / "shared" / "data"
MORE = FOLDER / "more"
with lzma.open(MORE / "wikipedia-questions.jsonl.xz", "rt", encoding="utf-8") as questions_on_wikipedia:
    ASKED = list(map(json.loads, questions_on_wikipedia))
OPINIONS = ("more/opinions.csv", "more/plain-opinions.csv")
FILES = ("more/names.conll", *OPINIONS, "more/questions.json")
FEW = 12  # groups of three words
LEFT_OPEN = (0.04, 0.25)  # share of the questions that the passage does not answer


def held_out() -> list[str]:
    """The texts of data/english that models are tested on, and those that the explorer is counted on."""
    found = [
        row["text"] for row in [*rows("opinions.csv"), *real_text.rows("opinions.csv")] if row.get("split") != "train"
    ]
    found += [row["text"] for row in real_text.rows("plain-opinions.csv")]
    found += [text for name in ("names-test.conll", "questions-test.json") for _, text in texts(name)]
    found += [text for text, _ in real_text.sentences(real_text.TEXTS / "names.conll")]
    return found + [example.context for example in read_squad(real_text.TEXTS / "questions.json")]


def test_no_text_is_nearly_one_that_is_measured_on():
    measured = list(map(trigrams, held_out()))
    among: dict[tuple[str, ...], set[int]] = {}
    for number, found in enumerate(measured):
        for three in found:
            among.setdefault(three, set()).add(number)
    for text in (text for name in FILES for _, text in texts(name)):
        own = trigrams(text)
        shared = Counter(number for three in own for number in among.get(three, ()))
        alike = [count / len(own | measured[number]) for number, count in shared.items() if len(measured[number]) > 3]
        # of few words a set phrase ("and far too long") is a large share
        assert max(alike, default=0) <= (LIKENESS if len(own) > FEW else 2 * LIKENESS), text


def test_no_topic_of_a_test_is_practised():
    tested = {about["topic"] for about, _ in sentences("names-test.conll")}
    assert not tested & {about["topic"] for about, _ in sentences("more/names.conll")}
    tested = {article["topic"] for article in articles("questions-test.json")}
    assert not tested & {article["topic"] for article in articles("more/questions.json")}
    tested = {row["topic"] for row in rows("opinions.csv") if row["split"] == "test"}
    assert not tested & {row["topic"] for name in OPINIONS for row in rows(name)}


@pytest.mark.parametrize("name", FILES)
def test_no_text_occurs_twice(name):
    repeated = [text for text, count in Counter(" ".join(words(text)) for _, text in texts(name)).items() if count > 1]
    assert not repeated, f"{name}: {repeated}"


def test_passages_are_short_and_each_leaves_something_open():
    found = list(map(passage, articles("more/questions.json")))
    assert all(60 <= len(each["context"].split()) <= 150 for each in found)
    assert all(sum(entry["is_impossible"] for entry in each["qas"]) <= 2 for each in found)
    examples = list(read_squad(MORE / "questions.json"))
    assert len(examples) == sum(len(each["qas"]) for each in found)
    assert all(whole_words(e.context, e.answer, e.answer_start) for e in examples if not e.is_impossible)
    assert LEFT_OPEN[0] < sum(e.is_impossible for e in examples) / len(examples) < LEFT_OPEN[1]
    assert 0.3 < shared(examples) < 0.4  # many are put as plainly as a visitor puts them


def shared(examples: list[QAExample]) -> float:
    """The median share of a question's words that stand in the sentence which answers it."""
    return median(share for e in examples for share in words_shared(e.question, e.context, e.answer_start))


def test_questions_of_wikipedia_differ_and_have_a_short_answer_or_none():
    asked = [question for entry in ASKED for question in entry["questions"]]
    assert all(bool(answer) == (start >= 0) and len(answer.split()) < 10 for _, answer, start in asked)
    assert all(len({q.lower() for q, _, _ in entry["questions"]}) == len(entry["questions"]) for entry in ASKED)
    assert len({(entry["title"], *entry["sentences"]) for entry in ASKED}) == len(ASKED)
    assert LEFT_OPEN[0] < sum(start < 0 for _, _, start in asked) / len(asked) < LEFT_OPEN[1]


@pytest.mark.nightly
@pytest.mark.skipif(not (DATA / "wikipedia_2019").is_dir(), reason="wikipedia_2019 is not beside the clone (../shared)")
def test_each_passage_of_wikipedia_is_found_and_holds_the_answers(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parents[1]))
    on_articles = runpy.run_path(str(FOLDER.parent / "make" / "siblings.py"))["on_articles"]
    found = list(on_articles(read_articles(DATA)))
    assert len(found) == sum(len(entry["questions"]) for entry in ASKED)
    assert all(whole_words(e.context, e.answer, e.answer_start) for e in found if not e.is_impossible)
    assert 0.25 < shared(found) < 0.3


def test_names_are_of_three_kinds_and_some_sentences_have_none():
    labels = [{label for _, label in lines} for _, lines in sentences("more/names.conll")]
    assert set().union(*labels) == {"O", *(f"{prefix}-{kind}" for prefix in "BI" for kind in ("PER", "LOC", "ORG"))}
    assert 0.15 < sum(each == {"O"} for each in labels) / len(labels) < 0.35


@pytest.mark.parametrize("name", OPINIONS)
def test_opinions_are_balanced_on_films_and_on_other_things(name):
    table = rows(name)
    assert [(e.text, e.label) for e in read_table(FOLDER / name)] == [(row["text"], row["label"]) for row in table]
    assert len({row["id"] for row in table}) == len(table)
    for film in (True, False):
        labels = Counter(row["label"] for row in table if (row["topic"] == "film") == film)
        assert set(labels) == {"positive", "negative"}
        assert abs(labels["positive"] / labels.total() - 0.5) < 0.05
