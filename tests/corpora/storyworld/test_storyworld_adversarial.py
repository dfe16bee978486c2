"""Adversarial sentences of the storyworld mislead in words alone: the right answer stays right, and where it was."""

import json
import re

import pytest

from bertlab.corpora import storyworld
from bertlab.corpora.examples import QAExample
from bertlab.corpora.storyworld.export import write_storyworld
from bertlab.corpora.storyworld.tasks.adversarial import added, distractor, neutral

BOUGHT = QAExample("q", "What did Leila buy?", "Leila bought a kite. She paid nine coins.", "kite", 15, "item")


@pytest.fixture(scope="module")
def examples():
    return list(storyworld.questions(3, 250, "test"))


@pytest.fixture(scope="module")
def misled(examples):
    found = [(example, distractor(example)) for example in examples]
    return [(example, sentence) for example, sentence in found if sentence]


def test_most_questions_have_a_distractor(examples, misled):
    assert len(misled) > 0.75 * len(examples)


def test_it_never_contains_a_right_answer(misled):
    for example, sentence in misled:
        assert example.is_impossible or example.answer.lower() not in sentence.lower()


@pytest.mark.parametrize("before", [False, True])
def test_the_answer_is_where_it_was_and_no_other_joins_it(misled, before):
    for example, sentence in misled:
        longer = added(example, sentence, before)
        assert longer.answer == example.answer and sentence in longer.context and example.context in longer.context
        if example.is_impossible:
            assert longer.is_impossible and longer.answer_start == -1
            continue
        assert longer.context[longer.answer_start :].startswith(example.answer)
        same = re.compile(re.escape(example.answer), re.I)
        assert len(same.findall(longer.context)) == len(same.findall(example.context))


def test_it_has_many_words_of_the_question_and_somebody_or_something_new(misled):
    shared = []
    for example, sentence in misled:
        asked, told = (set(re.findall(r"\w+", text.lower())) for text in (example.question, sentence))
        shared.append(len(asked & told))
        assert told - asked - set(re.findall(r"\w+", example.context.lower()))
        assert sentence[0].isupper() and sentence.endswith(".") and not re.search(r"[{}<>]|  ", sentence)
    assert sum(shared) / len(shared) > 1


def test_tense_is_that_of_the_question():
    assert re.fullmatch(r"[A-Z]\w+ bought the [\w -]+\.", distractor(BOUGHT))
    present = QAExample("q", "Where does Max wait?", "Max waits at the dock.", "dock", 17)
    assert re.fullmatch(r"[A-Z]\w+ waits at the [\w -]+\.", distractor(present))


def test_only_the_person_changes_where_the_question_names_a_thing():
    found = QAExample("q", "Where did Max find the cap?", "Max found the cap in the attic.", "in the attic", 18)
    assert re.fullmatch(r"(?!Max)[A-Z]\w+ found the cap (?!in the attic)[\w ]+\.", distractor(found))


def test_the_same_seed_gives_the_same_sentence(examples):
    assert [distractor(e, 1) for e in examples[:30]] == [distractor(e, 1) for e in examples[:30]]
    assert [distractor(e, 1) for e in examples[:30]] != [distractor(e, 2) for e in examples[:30]]
    assert neutral(BOUGHT, 1) == neutral(BOUGHT, 1)


def test_a_question_that_names_nothing_has_none():
    assert distractor(QAExample("q", "What did they drink?", "They drank tea.", "tea", 11)) is None


def test_neutral_sentences_share_fewer_words_with_the_question(misled):
    def shared(example, sentence):
        return len(set(re.findall(r"\w+", example.question.lower())) & set(re.findall(r"\w+", sentence.lower())))

    some = misled[:80]
    assert sum(shared(e, neutral(e)) for e, _ in some) < 0.7 * sum(shared(e, s) for e, s in some)
    assert all(e.is_impossible or e.answer.lower() not in neutral(e).lower() for e, _ in some)


def test_adversarial_questions_are_those_of_the_world_with_a_sentence_behind():
    plain = {e.id: e for e in storyworld.questions(5, 60, "dev")}
    found = list(storyworld.adversarial(5, 30, "dev"))
    assert len(found) == 30
    for example in found:
        assert example.context.startswith(plain[example.id].context + " ")
        assert example.question == plain[example.id].question


def test_they_are_written_as_squad(tmp_path):
    path = write_storyworld("adversarial", tmp_path / "hard", 5, 0, "test")
    data = json.loads(path.read_text(encoding="utf-8"))["data"][0]["paragraphs"]
    assert len(data) == 5
    for paragraph in data:
        for answer in paragraph["qas"][0]["answers"]:
            assert paragraph["context"][answer["answer_start"] :].startswith(answer["text"])
