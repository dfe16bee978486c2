"""Questions in the format of SQuAD."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.corpora.examples import QAExample
from bertlab.corpora.labelled.squad import read_squad
from bertlab.corpora.reading import Skipped, is_blank
from bertlab.errors import InputError
from tests.conftest import tries

SHARED = Path(__file__).parents[4] / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not SHARED.exists(), reason="real data sets are not beside the clone (../shared/data)"
)
CONTEXT = "Dog Ash ran."
ASH = {"text": "Ash", "answer_start": 4}


def question(**changes) -> dict:
    return {"id": "q7", "question": "Who?", "answers": [ASH]} | changes


def squad(*questions: dict, context: str = CONTEXT) -> str:
    return json.dumps({"data": [{"title": "T", "paragraphs": [{"context": context, "qas": list(questions)}]}]})


def write(place: Path, content: str) -> Path:
    path = place / "s.json"
    path.write_text(content, encoding="utf-8")
    return path


def test_a_question(tmp_path):
    (one,) = read_squad(write(tmp_path, squad(question())))
    assert one == QAExample("q7", "Who?", CONTEXT, "Ash", 4)
    assert not one.is_impossible


def test_all_gold_answers_count_once_each(tmp_path):
    texts = ["Ash", "Dog Ash", "Ash", "", "Dog Ash", "ran"]
    answers = [{"text": text, "answer_start": CONTEXT.find(text)} for text in texts]
    (one,) = read_squad(write(tmp_path, squad(question(answers=answers))))
    assert (one.answer, one.answer_start, one.others) == ("Ash", 4, ("Dog Ash", "ran"))


@pytest.mark.parametrize("changes", [{"answers": []}, {"is_impossible": True, "answers": [ASH | {"text": ""}]}])
def test_without_answer(tmp_path, changes):
    (one,) = read_squad(write(tmp_path, squad(question(**changes))))
    assert (one.answer, one.answer_start, one.is_impossible) == ("", -1, True)


def test_questions_to_be_answered_need_no_answers(tmp_path):
    """Nor are those that are there looked at."""
    asked = [{"id": 1, "question": "Who?"}, {"id": 2, "question": "Who?", "answers": [{"text": "cat"}]}]
    path = write(tmp_path, squad(*asked))
    assert [example.id for example in read_squad(path, labelled=False)] == ["1", "2"]
    with pytest.raises(InputError, match='"answers"'):
        list(read_squad(path))


def test_another_encoding(tmp_path):
    path = tmp_path / "s.json"
    content = squad(question(question="À qui?")).replace("\\u00c0", "À")
    path.write_bytes(content.encode("cp1252"))
    (one,) = read_squad(path, encoding="cp1252")
    assert one.question == "À qui?"
    with pytest.raises(InputError, match="not UTF-8 at byte .* give --encoding cp1252"):
        list(read_squad(path))


BROKEN = {
    "no JSON": ("{", "no SQuAD file"),
    "a list": ("[1]", "no SQuAD file"),
    "no data": ('{"version": "1.1"}', "no SQuAD file"),
    "a number": ('{"data": 3}', '"data"'),
    "no paragraphs": ('{"data": [{"title": "T"}]}', 'article 1: "paragraphs"'),
    "no context": ('{"data": [{"paragraphs": [{"qas": []}]}]}', 'article 1, paragraph 1: "context"'),
    "no paragraph": ('{"data": [{"paragraphs": [3]}]}', "article 1, paragraph 1"),
}
BAD = {
    "no id": (question(id=None), 'paragraph 1, question 1: "id"'),
    "a number": (question(question=3), r'\(id q7\): "question"'),
    "nothing asked": (question(question=" "), r'\(id q7\): "question" is empty'),
    "no start": (question(answers=[{"text": "Ash"}]), r'\(id q7\): "answer_start"'),
    "no text": (question(answers=[ASH, {"answer_start": 4}]), r'\(id q7\): "text"'),
    "elsewhere": (question(answers=[ASH | {"answer_start": 5}]), r"\(id q7\).*'Ash'.*5.*stands at 4"),
    "nowhere": (question(answers=[{"text": "cat", "answer_start": 0}]), r"\(id q7\).*'cat' is not at"),
    "from the end": (question(answers=[{"text": "n.", "answer_start": -2}]), r"\(id q7\).*'n.' is not at"),
    "empty": (question(answers=[{"text": "", "answer_start": 0}]), r"\(id q7\).*'' is not at"),
    "nothing that shows": (
        question(answers=[{"text": " ", "answer_start": 3}]),
        r"\(id q7\): the answer ' ' holds nothing",
    ),
    "no question": (3, 'paragraph 1, question 1: "id"'),
    "a word for no": (question(is_impossible="False"), r'\(id q7\): "is_impossible" is missing or of the wrong type'),
    "a number for no": (question(is_impossible=0), r'\(id q7\): "is_impossible" is missing or of the wrong type'),
    "null": (question(is_impossible=None), r'\(id q7\): "is_impossible" is missing or of the wrong type'),
    "a switch as start": (question(answers=[{"text": "T", "answer_start": False}]), r'\(id q7\): "answer_start"'),
    "a switch as id": (question(id=True), 'question 1: "id"'),
    "impossible with an answer": (question(is_impossible=True), r'\(id q7\): "is_impossible" is true, but "answers"'),
    "possible without an answer": (
        *(question(is_impossible=False, answers=[]),),
        r'\(id q7\): "is_impossible" is false, but "answers" holds none',
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named(tmp_path, name):
    content, said = BROKEN[name]
    for skipped in (None, Skipped()):
        with pytest.raises(InputError, match=f"s.json.*{said}"):
            list(read_squad(write(tmp_path, content), skipped=skipped))


@pytest.mark.parametrize("name", BAD)
def test_a_bad_question_is_named_or_left_out(tmp_path, name):
    bad, said = BAD[name]
    path = write(tmp_path, squad(bad, question(id="next")))
    with pytest.raises(InputError, match=f"s.json: article 1, paragraph 1, question 1.*{said}|s.json.*{said}"):
        list(read_squad(path))
    skipped = Skipped()
    assert [example.id for example in read_squad(path, skipped=skipped)] == ["next"]
    assert skipped.count == 1 and "question 1" in skipped.first


def test_an_id_that_comes_again(tmp_path):
    path = write(tmp_path, squad(question(), question(id="q8"), question(question="Again?")))
    with pytest.raises(InputError, match="question 3: the id q7 is that of an earlier question"):
        list(read_squad(path))
    skipped = Skipped()
    assert [example.question for example in read_squad(path, skipped=skipped)] == ["Who?", "Who?"]
    assert skipped.count == 1


def test_an_empty_passage(tmp_path):
    with pytest.raises(InputError, match=r'\(id q7\): "context" is empty'):
        list(read_squad(write(tmp_path, squad(question(answers=[]), context=" "))))


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
    lambda text: not is_blank(text)
)


@tries(50)
@given(st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), max_size=5))
def test_what_is_written_is_read(tmp_path_factory, rows):
    """Any context, question and answer, wherever it stands."""
    examples = [
        QAExample(str(number), asked, before + answer + after, answer, (before + answer + after).find(answer))
        for number, (before, answer, after, asked) in enumerate(rows)
    ]
    paragraphs = [{"context": one.context, "qas": [as_squad(one)]} for one in examples]
    path = write(tmp_path_factory.mktemp("squad"), json.dumps({"data": [{"paragraphs": paragraphs}]}))
    assert list(read_squad(path)) == examples


def as_squad(example: QAExample) -> dict:
    answers = [{"text": example.answer, "answer_start": example.answer_start}]
    return {"id": example.id, "question": example.question, "answers": answers}


REAL = {  # questions, unanswerable ones, those with several answers, those left out
    "squad/train-v1.1.head.json": (4373, 0, 0, 0),
    "squad/dev-v2.0.half.json": (6078, 3168, 1517, 0),
    "squad/xquad.en.json": (1190, 0, 0, 0),
    "zh_cmrc2018/cmrc2018_dev.json": (3216, 0, 917, 3),
    "zh_cmrc2018/cmrc2018_trial.json": (995, 0, 0, 7),
}


@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_real_files(name):
    skipped = Skipped()
    examples = list(read_squad(SHARED / name, skipped=skipped))
    impossible = sum(example.is_impossible for example in examples)
    several = sum(bool(example.others) for example in examples)
    assert (len(examples), impossible, several, skipped.count) == REAL[name]
