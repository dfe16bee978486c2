"""The English texts in data/english: format, labels, answers within the vocabulary, no text twice, no template."""

import csv
import json
import re
from collections import Counter
from itertools import chain, pairwise
from pathlib import Path
from statistics import median

import pytest

from bertlab.corpora.labelled.conll import read_conll
from bertlab.corpora.labelled.squad import read_squad
from bertlab.corpora.labelled.tabular import read_table

FOLDER = Path(__file__).parents[1] / "data" / "english"
VOCABULARY = Path(__file__).parents[2] / "shared" / "data" / "bert_official" / "bert-base-uncased" / "vocab.txt"
LIKENESS = 0.2  # Jaccard index of word trigrams above which two texts are near-duplicates
SAME_OPENING = 3  # texts of one file that may begin with the same three words
SAME_QUESTION_OPENING = 6  # questions that may begin with the same three words
SHARED_WORDS = 0.25  # bound of the median share of a question's words that stand in the sentence which answers it
QUESTION_WORDS = {"what", "when", "where", "which", "whom", "whose"}
TABLES = {
    "gaps.csv": ["id", "text", "accepted"],
    "opinions.csv": ["id", "text", "label", "topic", "split", "length", "negation", "contrast", "irony"],
    "pairs.csv": ["id", "text_a", "text_b", "label", "kind", "topic", "split"],
    "senses.csv": ["id", "word", "sense", "clue", "text"],
}
NAMES = {split: f"names-{split}.conll" for split in ("train", "test")}
LABELLED_NAMES = [*NAMES.values(), "more/names.conll"]
QUESTIONS = {split: f"questions-{split}.json" for split in ("train", "test")}
TEXTS = [*TABLES, "names-*.conll", "questions-*.json"]


def rows(name: str) -> list[dict[str, str]]:
    with open(FOLDER / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def sentences(name: str) -> list[tuple[dict[str, str], list[list[str]]]]:
    """Return the comments ("# key = value") and the rows of each sentence of a CoNLL file."""
    found = []
    for block in (FOLDER / name).read_text(encoding="utf-8").rstrip("\n").split("\n\n"):
        lines = block.split("\n")
        comments = dict(line[2:].split(" = ") for line in lines if line.startswith("# "))
        found.append((comments, [line.split("\t") for line in lines if not line.startswith("# ")]))
    return found


def articles(name: str) -> list[dict]:
    """Return the articles of a SQuAD file, with "topic", "genre", "invented" and one paragraph each."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))["data"]


def passage(article: dict) -> dict:
    """Return the one paragraph of an article: "context" and "qas"."""
    (paragraph,) = article["paragraphs"]
    return paragraph


def questions() -> list[tuple[dict, str]]:
    """Return each question of both files with its passage."""
    paragraphs = [passage(article) for file in QUESTIONS.values() for article in articles(file)]
    return [(entry, paragraph["context"]) for paragraph in paragraphs for entry in paragraph["qas"]]


def texts(name: str) -> list[tuple[str, str]]:
    """Return (id, text) of each text of a file, or of the files that fit a pattern; a pair has two texts and one id."""
    if name.endswith(".csv"):
        return [(row["id"], row[key]) for row in rows(name) for key in ("text", "text_a", "text_b") if key in row]
    files = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob(name))
    if name.endswith(".json"):
        return [(article["title"], passage(article)["context"]) for file in files for article in articles(file)]
    return [(about["sent_id"], " ".join(row[0] for row in lines)) for file in files for about, lines in sentences(file)]


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


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_clean(name):
    assert not any(b"\r" in path.read_bytes() for path in FOLDER.glob(name)), f"{name}: Windows line end"
    stray = re.compile(r"  |^\s|\s$|[\n\t\u00a0\u200b\ufeff\ufffd]")
    bad = [key for key, text in texts(name) if stray.search(text)]
    assert not bad, f"{name}: double, leading or trailing space or stray character in {bad}"


def near_duplicates(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the ids of each two texts, given as (id, text), that share too many trigrams."""
    seen = [(key, trigrams(text)) for key, text in found]
    return [
        (one, other)
        for place, (one, a) in enumerate(seen)
        for other, b in seen[:place]
        if one != other and len(a & b) > LIKENESS * len(a | b)
    ]


@pytest.mark.parametrize("name", TEXTS)
def test_no_two_texts_are_nearly_the_same(name):
    alike = near_duplicates(texts(name))
    assert not alike, f"{name}: near-duplicates {alike}"


@pytest.mark.parametrize("name", TEXTS)
def test_no_opening_is_a_template(name):
    openings = Counter(opening for _, opening in {(key, " ".join(words(text)[:3])) for key, text in texts(name)})
    many = {opening: count for opening, count in openings.items() if count > SAME_OPENING}
    assert not many, f"{name}: openings used more than {SAME_OPENING} times: {many}"


def test_each_sense_has_as_many_clues_before_its_word_as_after():
    table = rows("senses.csv")
    assert all(words(row["text"]).count(row["word"]) == 1 for row in table)
    assert set(Counter((row["word"], row["sense"], row["clue"]) for row in table).values()) == {4}
    assert {len({row["sense"] for row in table if row["word"] == word}) for word in ("bank", "bat", "bow")} == {2}


@pytest.mark.parametrize("name", LABELLED_NAMES)
def test_labels_of_names_are_bio_as_written(name):
    for about, lines in sentences(name):
        labels = ["O", *(label for _, label in lines)]
        assert set(labels) <= {"O", *(f"{prefix}-{kind}" for prefix in "BI" for kind in ("PER", "LOC", "ORG"))}
        wrong = [b for a, b in pairwise(labels) if b[0] == "I" and a not in (f"B-{b[2:]}", b)]
        assert not wrong, f"{name}, sentence {about['sent_id']}: {wrong} does not continue a name"


@pytest.mark.parametrize("name", LABELLED_NAMES)
def test_words_of_names_are_cut_as_the_rules_say(name):
    attached = re.compile(r"\w([,;:!?\"]|'s|n't)$", re.IGNORECASE)
    wrong = [word for _, lines in sentences(name) for word, _ in lines if attached.search(word)]
    assert not wrong, f"{name}: a mark or an ending is not its own word: {wrong}"


@pytest.mark.parametrize("name", LABELLED_NAMES)
def test_names_are_read_as_written(name):
    read = [(list(example.words), list(example.labels)) for example in read_conll(FOLDER / name)]
    assert read == [([word for word, _ in lines], [label for _, label in lines]) for _, lines in sentences(name)]


@pytest.mark.parametrize("name", NAMES.values())
def test_about_a_fifth_of_the_sentences_hold_no_name_and_each_kind_is_frequent(name):
    labels = [[label for _, label in lines] for _, lines in sentences(name)]
    without = sum(set(each) == {"O"} for each in labels) / len(labels)
    assert 0.15 < without < 0.25, f"{name}: {without:.0%} of the sentences hold no name"
    kinds = Counter(label[2:] for each in labels for label in each if label[0] == "B")
    assert min(kinds.values()) > 0.2 * kinds.total(), f"{name}: {kinds}"


def topics_by_split(name: str) -> dict[str, set[str]]:
    return {split: {row["topic"] for row in rows(name) if row["split"] == split} for split in NAMES}


def test_no_topic_of_a_test_split_is_trained_on():
    names = {split: {about["topic"] for about, _ in sentences(name)} for split, name in NAMES.items()}
    passages = {split: {article["topic"] for article in articles(name)} for split, name in QUESTIONS.items()}
    for topics in (names, passages, topics_by_split("opinions.csv"), topics_by_split("pairs.csv")):
        assert all(topics.values()), f"a split is empty: {topics}"
        assert not topics["train"] & topics["test"], f"in both splits: {topics['train'] & topics['test']}"


def test_genres_of_names_are_the_described_ones_in_both_splits():
    for name in NAMES.values():
        genres = {about["genre"] for about, _ in sentences(name)}
        assert genres == {"news", "mail", "chat", "notice", "minutes", "caption"}, name


def test_labels_of_pairs_follow_from_their_kind_and_are_balanced_in_each_topic():
    labels = {
        "other-words-same-meaning": "same",
        "same-words-same-meaning": "same",
        "same-words-other-meaning": "different",
        "neither": "different",
    }
    table = rows("pairs.csv")
    assert {(row["kind"], row["label"]) for row in table} == set(labels.items())
    for topic in {row["topic"] for row in table}:
        count = Counter(row["label"] for row in table if row["topic"] == topic)
        assert 0.4 <= count["same"] / count.total() <= 0.6, f"{topic}: {count}"


def test_pairs_share_words_or_not_as_their_kind_says():
    shares: dict[str, list[float]] = {}
    for row in rows("pairs.csv"):
        a, b = set(words(row["text_a"])), set(words(row["text_b"]))
        shares.setdefault(row["kind"], []).append(len(a & b) / len(a | b))
    for kind, share in shares.items():
        low, high = (0.6, 1) if kind.startswith("same-words") else (0, 0.15)
        assert low <= median(share) <= high, f"{kind}: median Jaccard index of words {median(share):.2f}"
    many, few = shares["same-words-other-meaning"], shares["other-words-same-meaning"]
    assert min(many) > max(few), f"pairs of the same words share {min(many):.2f}, of other words up to {max(few):.2f}"


def test_pairs_are_read_as_written():
    examples = list(read_table(FOLDER / "pairs.csv", text_column="text_a", pair_column="text_b"))
    table = rows("pairs.csv")
    assert [(each.text, each.pair, each.label) for each in examples] == [
        (row["text_a"], row["text_b"], row["label"]) for row in table
    ]


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


def test_opinions_are_600_and_read_as_written():
    table = rows("opinions.csv")
    assert Counter(row["split"] for row in table) == {"train": 420, "test": 180}
    read = [(each.text, each.label) for each in read_table(FOLDER / "opinions.csv")]
    assert read == [(row["text"], row["label"]) for row in table]


def test_length_of_opinions_is_counted_in_words():
    spans = {"short": range(4, 13), "long": range(30, 71)}
    wrong = {
        row["id"]: (row["length"], len(row["text"].split()))
        for row in rows("opinions.csv")
        if len(row["text"].split()) not in spans[row["length"]]
    }
    assert not wrong, f"texts outside 4 to 12 (short) or 30 to 70 words (long): {wrong}"


@pytest.mark.parametrize("column", ["topic", "length"])
def test_both_labels_of_opinions_are_about_equal_within(column):
    for value in {row[column] for row in rows("opinions.csv")}:
        labels = Counter(row["label"] for row in rows("opinions.csv") if row[column] == value)
        share = labels["positive"] / labels.total()
        assert set(labels) == {"positive", "negative"}
        assert abs(share - 0.5) < 0.06, f"{column} {value}: {share:.0%} are positive"


@pytest.mark.parametrize(
    "column, low, high", [("negation", 0.15, 0.3), ("contrast", 0.15, 0.25), ("irony", 0.03, 0.07)]
)
def test_hard_opinions_have_their_share(column, low, high):
    marks = [row[column] for row in rows("opinions.csv")]
    assert set(marks) == {"0", "1"}
    share = marks.count("1") / len(marks)
    assert low <= share <= high, f"{column}: {share:.0%} of the opinions"


def test_opinions_marked_as_negated_hold_a_negation():
    negation = re.compile(
        r"\b(not?|never|nothing|nobody|none|neither|hardly|rarely|without|cannot|(ca|do|does|did|is|wo)nt)\b|n['’]t\b",
        re.IGNORECASE,
    )
    without = [row["id"] for row in rows("opinions.csv") if row["negation"] == "1" and not negation.search(row["text"])]
    assert not without, f"marked as negated, without a word of negation: {without}"


def test_each_passage_has_four_questions_and_a_quarter_of_them_no_answer():
    for split, count in (("train", 56), ("test", 24)):
        found = [passage(article) for article in articles(QUESTIONS[split])]
        assert len(found) == count
        assert all(len(each["qas"]) == 4 for each in found), f"{split}: not four questions"
        wrong = [each["context"][:40] for each in found if not 70 <= len(each["context"].split()) <= 160]
        assert not wrong, f"{split}: not 70 to 160 words: {wrong}"
        impossible = [sum(entry["is_impossible"] for entry in each["qas"]) for each in found]
        assert max(impossible) <= 2
        assert sum(impossible) == count, f"{split}: {sum(impossible)} of {4 * count} questions have no answer"


def whole_words(context: str, text: str, start: int) -> bool:
    """Whether `text` stands at `start` of its context and cuts no word."""
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)").match(context, start) is not None


def test_answers_of_questions_stand_in_their_passages_as_whole_words():
    for entry, context in questions():
        assert bool(entry["answers"]) != entry["is_impossible"], entry["id"]
        spans = {(answer["answer_start"], answer["text"]) for answer in entry["answers"]}
        assert len(spans) == len(entry["answers"]), f"{entry['id']}: an answer twice"
        for start, text in spans:
            assert context.startswith(text, start), f"{entry['id']}: {text!r} is not at character {start}"
            assert whole_words(context, text, start), f"{entry['id']}: {text!r} cuts a word"


@pytest.mark.parametrize("name", QUESTIONS.values())
def test_questions_are_read_as_written(name):
    entries = [entry for article in articles(name) for entry in passage(article)["qas"]]
    read = list(read_squad(FOLDER / name))
    assert [(each.id, each.question, each.is_impossible) for each in read] == [
        (entry["id"], entry["question"], entry["is_impossible"]) for entry in entries
    ]
    golds = [[answer["text"] for answer in entry["answers"]] or [""] for entry in entries]
    assert [[each.answer, *each.others] for each in read] == golds


def test_ids_of_questions_and_titles_are_unique():
    ids = [entry["id"] for entry, _ in questions()]
    titles = [title for title, _ in texts("questions-*.json")]
    assert len(set(ids)) == len(ids) and len(set(titles)) == len(titles)


def test_no_two_questions_are_nearly_the_same_and_no_opening_is_a_template():
    asked = [(entry["id"], entry["question"]) for entry, _ in questions()]
    assert not near_duplicates(asked)
    openings = Counter(" ".join(words(text)[:3]) for _, text in asked)
    many = {opening: count for opening, count in openings.items() if count > SAME_QUESTION_OPENING}
    assert not many, f"openings of questions used more than {SAME_QUESTION_OPENING} times: {many}"


def words_shared(question: str, context: str, start: int) -> list[float]:
    """Return the share of the question's words that stand in the sentence with the answer; of none, none."""
    asked = {word for word in words(question) if len(word) > 3 and word not in QUESTION_WORDS}
    first = max(context.rfind(mark, 0, max(start, 0)) for mark in (". ", "? ", "! ")) + 1
    sentence = re.split(r"(?<=[.?!]) ", context[first:].lstrip(), maxsplit=1)[0]
    return [len(asked & set(words(sentence))) / len(asked)] if asked and start >= 0 else []


def test_questions_mostly_avoid_the_words_of_the_sentence_that_answers():
    answered = [(entry, context) for entry, context in questions() if not entry["is_impossible"]]
    shares = [words_shared(e["question"], context, e["answers"][0]["answer_start"]) for e, context in answered]
    middle = median(chain.from_iterable(shares))
    assert middle <= SHARED_WORDS, f"half of the questions share over {middle:.2f} of their words"
