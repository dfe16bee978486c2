"""The texts that the explorer is counted on: whole, unlike those of data/english, answered about as its guide says.

The bounds are wide: another processor, or new weights, move a text or two."""

import re
from pathlib import Path

import pytest

from benchmarks.explorer import real_text
from benchmarks.explorer.real_text import HEAD, RIGHT, TEXTS, UNSURE, WRONG, Reply
from bertlab import Tokenizer
from bertlab.corpora.labelled.squad import read_squad

LEAST = {"gaps": 2, "opinions": 10, "plain opinions": 36, "sentences with names": 12, "questions": 8}
MOST_WRONG = 6
EVERY = {"gaps": 25, "opinions": 20, "plain opinions": 48, "sentences with names": 20, "questions": 25}


@pytest.mark.parametrize("kind", real_text.KINDS)
def test_a_page_answers_its_texts(kind):
    replies = list(real_text.KINDS[kind]())
    outcomes = [reply.outcome for reply in replies]
    assert len(replies) == EVERY[kind]
    assert outcomes.count(RIGHT) >= LEAST[kind] and outcomes.count(WRONG) <= MOST_WRONG


def test_outcomes_are_counted_into_a_table():
    both = (True, False)
    replies = {"gaps": [Reply("a [MASK]", "b", "c", right, sure) for right in both for sure in both]}
    assert [one.outcome for one in replies["gaps"]] == [RIGHT, UNSURE, WRONG, UNSURE]
    assert real_text.table(replies) == f"{HEAD}\n|---|---|---|---|---|\n| gaps | 4 | 1 | 2 | 1 |\n"
    assert [line.split(":")[0] for line in real_text.misses(replies)] == [
        f"gaps, {what}" for what in (UNSURE, UNSURE, WRONG)
    ]


def test_the_guide_gets_the_new_table_and_keeps_the_rest():
    page, new = real_text.PAGE.read_text(encoding="utf-8"), f"{HEAD}\n|---|---|---|---|---|\n| gaps | 1 | 0 | 0 | 1 |\n"
    once = real_text.written(page, new)
    assert page.count(HEAD) == 1 and once.count(new) == 1 and real_text.written(once, new) == once
    assert [len(line) for line in once.splitlines() if line[:2] != "| "] == [
        len(line) for line in page.splitlines() if line[:2] != "| "
    ]


def test_gaps_have_words_of_the_vocabulary_as_answers():
    vocabulary = Tokenizer.from_pretrained("english").vocab
    for row in real_text.rows("gaps.csv"):
        answers = row["accepted"].split("|")
        assert row["text"].count("[MASK]") == 1 and 6 <= len(row["text"].split()) <= 25
        assert len(set(answers)) == len(answers) and all(answer in vocabulary for answer in answers), row


def test_answers_stand_in_their_passages_as_whole_words():
    examples = list(read_squad(TEXTS / "questions.json"))
    assert sum(example.is_impossible for example in examples) == 6
    for example in examples:
        for answer in filter(None, (example.answer, *example.others)):
            assert re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", example.context), (example.id, answer)


def test_nothing_is_copied_from_data_english():
    known = trigrams(Path(__file__).parents[2].glob("data/english/*.*"))
    typed = [row["text"] for name in ("gaps.csv", "opinions.csv") for row in real_text.rows(name)]
    typed += [text for text, _ in real_text.sentences(TEXTS / "names.conll")]
    typed += [example.context for example in read_squad(TEXTS / "questions.json")]
    for text in typed:
        own = set(of_text(text))
        assert len(own & known) < 0.5 * len(own), text  # a set phrase stands in many texts


def trigrams(files) -> set[tuple[str, ...]]:
    return {found for file in files for found in of_text(file.read_text(encoding="utf-8"))}


def of_text(text: str):
    words = re.findall(r"\w+", text.lower())
    return zip(words, words[1:], words[2:], strict=False)
