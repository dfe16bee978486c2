"""The English texts in data/english: format, answers within the vocabulary, no text twice, no template."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "data" / "english"
VOCABULARY = Path(__file__).parents[2] / "shared" / "data" / "bert_official" / "bert-base-uncased" / "vocab.txt"
LIKENESS = 0.3  # Jaccard index of word trigrams above which two texts are near-duplicates
SAME_OPENING = 3  # texts of one file that may begin with the same three words
TABLES = {"gaps.csv": ["id", "text", "accepted"]}


def rows(name: str) -> list[dict[str, str]]:
    with open(FOLDER / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def words(text: str) -> list[str]:
    return re.findall(r"\w+(?:['’]\w+)*", text.lower())


def trigrams(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[start : start + 3]) for start in range(len(found) - 2)} or {tuple(found)}


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_full_and_ids_are_unique(name):
    table = rows(name)
    assert all(list(row) == TABLES[name] and all(row.values()) for row in table), f"{name}: column missing or empty"
    repeated = [key for key, count in Counter(row["id"] for row in table).items() if count > 1]
    assert not repeated, f"{name}: ids used twice: {repeated}"


@pytest.mark.parametrize("name", TABLES)
def test_text_is_clean(name):
    assert "\r" not in (FOLDER / name).read_bytes().decode("utf-8"), f"{name}: Windows line end"
    stray = re.compile(r"  |^\s|\s$|[\n\t\u00a0\u200b\ufeff\ufffd]")
    bad = [row["id"] for row in rows(name) if stray.search(row["text"])]
    assert not bad, f"{name}: double, leading or trailing space or stray character in {bad}"


@pytest.mark.parametrize("name", TABLES)
def test_no_two_texts_are_nearly_the_same(name):
    seen = [(row["id"], trigrams(row["text"])) for row in rows(name)]
    alike = [
        (one, other)
        for place, (one, a) in enumerate(seen)
        for other, b in seen[:place]
        if len(a & b) > LIKENESS * len(a | b)
    ]
    assert not alike, f"{name}: near-duplicates {alike}"


@pytest.mark.parametrize("name", TABLES)
def test_no_opening_is_a_template(name):
    openings = Counter(" ".join(words(row["text"])[:3]) for row in rows(name))
    many = {opening: count for opening, count in openings.items() if count > SAME_OPENING}
    assert not many, f"{name}: openings used more than {SAME_OPENING} times: {many}"


def test_each_gap_has_one_mask_and_answers_in_lower_case():
    for row in rows("gaps.csv"):
        answers = row["accepted"].split("|")
        assert row["text"].count("[MASK]") == 1, f"{row['id']}: not one [MASK]"
        assert len(set(answers)) == len(answers), f"{row['id']}: an answer twice"
        assert all(re.fullmatch(r"[a-z]+|\d+", answer) for answer in answers), f"{row['id']}: {answers}"
    assert len(rows("gaps.csv")) == 25


@pytest.mark.skipif(not VOCABULARY.exists(), reason="bert-base-uncased's vocab.txt is not beside the clone (../shared)")
def test_every_answer_is_one_word_of_the_vocabulary():
    vocabulary = set(VOCABULARY.read_text(encoding="utf-8").split("\n"))
    missing = {
        row["id"]: [answer for answer in row["accepted"].split("|") if answer not in vocabulary]
        for row in rows("gaps.csv")
    }
    assert not any(missing.values()), {key: answers for key, answers in missing.items() if answers}
