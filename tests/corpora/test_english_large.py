"""Fiction, articles and reviews, here in little: read from archives, cleaned, held out, without overlap."""

import csv
import io
import json
import shutil
import tarfile
import zlib
from pathlib import Path

import pytest

from bertlab.cli.main import main
from bertlab.corpora.english import GENRES, LARGE_GENRES, LARGE_SOURCES, SOURCES, read_english, read_large
from bertlab.corpora.english.cleaning import article_sentences, book_parts
from bertlab.corpora.english.measured import measured_texts
from bertlab.corpora.english.overlap import Overlap, Removed, without_overlap
from bertlab.corpora.examples import Document
from bertlab.corpora.sentences import Heading
from bertlab.errors import InputError
from bertlab.evaluation import grammar
from bertlab.inputs.english_store import about, english_store
from bertlab.tokenizer import SPECIAL_TOKENS, Tokenizer

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not (SHARED / "gutenberg_fiction").exists(), reason="real texts are not beside the clone (../shared/data)"
)

STORY = """
"I do not know," said the old man, "where the road goes, and I have never asked anybody who came from there;
but it must be a very long one, I suppose."

[Illustration: THE ROAD]

He sat down. _Then_ he slept.
"""
HEAD = """Produced by A. Volunteer and the Online Distributed
Proofreading Team at http://www.pgdp.net

THE ROAD

By A. WRITER

Transcriber's Note: all of the many typographical errors in this old and much used copy of the book, and there
were a great number of them, have been corrected without any further notice to the reader.

CONTENTS

I. The Man           1
II. The Road        17

CHAPTER I

"""
BOOK = HEAD + STORY


def article(title: str) -> str:
    return f"{title}\n{title} (; born 1990) is a town on the river &amp; has two old churches.\nHistory.\nFood | 12\n"


def held_out(text: str) -> bool:
    return zlib.crc32(text.encode()) % 100 == 0


def named(wanted: bool, start: str) -> str:
    """A text that begins like this and is held out, or is not."""
    return next(text for text in (f"{start} {number}" for number in range(10_000)) if held_out(text) == wanted)


KNOWN_REVIEW = named(False, "A film about a dog. I liked the dog, and number")
NEW_REVIEW = named(True, "A film about a cat. I liked the cat, and number")
ARTICLES = [named(False, "Oldtown"), named(True, "Newtown"), named(False, "Hilltown")]
TEST_REVIEW = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"


def table(texts: list[str]) -> str:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerows([["id", "text", "label"], *([f"{n}_9", text, "pos"] for n, text in enumerate(texts))])
    return file.getvalue()


FILES = {
    "gutenberg_fiction": {"stokerbram/Road.txt": BOOK, "verne/Sea.txt": BOOK.replace("road", "sea")},
    "imdb": {
        "train.csv": table([KNOWN_REVIEW, f"Well, {TEST_REVIEW}."]),
        "test.csv": table([TEST_REVIEW]),
        "unlabelled.txt": f"{NEW_REVIEW}\n\nNot bad.\nNot good.\n",
    },
    "wikipedia_2019": {"articles.txt": "\n".join(map(article, ARTICLES))},
}


def pack(path: Path, files: dict[str, str]) -> None:
    with tarfile.open(path, "w:xz") as tar:
        for name, content in files.items():
            data = content.encode()
            member = tarfile.TarInfo(f"{path.name.partition('.')[0]}/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


@pytest.fixture
def folder(tmp_path) -> Path:
    """All corpora in little, the large ones packed."""
    for name in ("litbank_novels", "wikitext2", "masc/written", "masc/spoken", *FILES):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "litbank_novels" / "105_persuasion.txt").write_text("Chapter 1\n\nSir Walter read.")
    (tmp_path / "litbank_novels" / "1_other.txt").write_text("Another book. It ends.")
    (tmp_path / "wikitext2" / "test.txt").write_text(" = Fire = \n \n It burns . \n")
    kinds = {"written/a": "jokes", "written/b": "jokes", "spoken/c": "telephone", "spoken/d": "telephone"}
    (tmp_path / "masc" / "categories.txt").write_text("".join(f"{name}.txt {kinds[name]}\n" for name in kinds))
    for name in kinds:
        (tmp_path / "masc" / f"{name}.txt").write_text("Well_UH ,_, yes_UH ._.\n")
    for name, files in FILES.items():
        pack(tmp_path / name / f"{name}.tar.xz", files)
    return tmp_path


def by_genre(documents) -> dict[str, list[tuple[str, ...]]]:
    genres = {genre: [] for genre in LARGE_GENRES}
    for document in documents:
        genres.get(document.genre, []).append(document.sentences)
    return genres


def test_each_genre_has_its_documents_in_the_right_split(folder):
    train, test = (by_genre(read_large(folder, split)) for split in ("train", "test"))
    assert [text[-2:] for text in test["fiction"]] == [("He sat down.", "Then he slept.")]
    assert "where the sea goes" in train["fiction"][0][0] and len(train["fiction"]) == 1
    assert [text[0].partition(" (")[0] for text in train["article"]] == [ARTICLES[0], ARTICLES[2]]
    assert [text[0].partition(" (")[0] for text in test["article"]] == [ARTICLES[1]]
    assert " ".join(test["review"][0]) == NEW_REVIEW
    assert [" ".join(text) for text in train["review"]] == [KNOWN_REVIEW, f"Well, {TEST_REVIEW}.", "Not bad. Not good."]


def test_the_small_corpora_stay_as_they_are(folder):
    for split in ("train", "test"):
        small = list(read_english(folder, split))
        assert list(read_large(folder, split))[: len(small)] == small


def test_unpacked_folders_give_the_same_text(folder):
    packed = sorted(d.sentences for d in read_large(folder))
    for name in FILES:
        archive = folder / name / f"{name}.tar.xz"
        with tarfile.open(archive) as tar:
            tar.extractall(folder / name, filter="data")
        archive.unlink()
    assert sorted(d.sentences for d in read_large(folder)) == packed


def test_books_lose_their_heads_and_marks():
    parts = list(book_parts(BOOK))
    assert [len(part) for part in parts] == [1, 2]
    assert parts[0][0].startswith('"I do not know," said') and parts[1] == ["He sat down.", "Then he slept."]
    later = list(book_parts(BOOK + "\n\nCHAPTER II\n\nIt rained.\n\nI. The Man\n\nUnd dann ging er ins Dorf hinunter"))
    assert later[2:] == [Heading("CHAPTER II"), ["It rained."]]


def test_articles_lose_headings_lists_and_sentences_with_a_hole():
    lines = ["History.", "Singles", "It (; ) has two churches & a school. The hill is high. Its top is .", "- 1990: x"]
    assert list(article_sentences(lines)) == [["It has two churches & a school.", "The hill is high."]]


@pytest.mark.parametrize("name", FILES)
def test_what_is_missing_is_named_with_its_licence(folder, name):
    (folder / name / f"{name}.tar.xz").unlink()
    with pytest.raises(InputError, match=f"{name}: put there .*https://.*licence"):
        list(read_large(folder))
    shutil.rmtree(folder / name)
    with pytest.raises(InputError, match=f"{name}: no such folder; put there .*https://.*licence"):
        list(read_large(folder))


def test_a_damaged_archive_is_named(folder):
    path = folder / "imdb" / "imdb.tar.xz"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match=r"imdb.tar.xz: cannot be read"):
        list(read_large(folder))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("id,review\n1,Good\n", "line 2: no column 'text'; download"),
        ("id,text\n1\n", "line 2: no column 'text'"),
        (f"id,text\n1,{'x' * 1_000_001}\n", "cannot be read .field larger"),
    ],
)
def test_a_damaged_table_is_named(folder, table, said):
    for name in ("train.csv", "test.csv"):
        pack(folder / "imdb" / "imdb.tar.xz", FILES["imdb"] | {name: table})
        with pytest.raises(InputError, match=f"imdb.tar.xz: .*{said}"):
            measured_texts(folder) if name == "test.csv" else list(read_large(folder))


def words(count: int, start: int = 0) -> str:
    return " ".join(f"w{number}" for number in range(start, start + count))


def test_overlap_is_thirteen_words_in_a_row():
    overlap = Overlap({"a": [words(20)], "b": [words(13, 5), "too short"], "none": []})
    assert overlap.shared_with(f"Before, {words(13).upper()}, after.") == ["a"]
    assert overlap.shared_with(f"before {words(13, 5).replace(' ', '; ')} after") == ["a", "b"]
    assert overlap.shared_with(f"{words(12)} {words(12, 12)[::-1]}") == []
    assert overlap.shared_with("too short") == overlap.shared_with("") == []


def test_overlap_agrees_with_a_slow_search():
    import random

    rng = random.Random(0)
    tests, texts = ([" ".join(rng.choices("abc", k=60)) for _ in range(n)] for n in (150, 300))
    known = {text[i : i + 25] for text in tests for i in range(0, len(text) - 24, 2)}
    overlap = Overlap({"test": tests})
    slow = [any(text[i : i + 25] in known for i in range(0, len(text) - 24, 2)) for text in texts]
    assert [bool(overlap.shared_with(text)) for text in texts] == slow and 0 < sum(slow) < 300


def test_what_is_removed_is_counted():
    removed = Removed()
    documents = [Document((words(15),), genre="review"), Document(("One.", "Two words."), genre="review")]
    kept = list(without_overlap(documents, Overlap({"test": [words(13)]}), removed))
    assert kept == documents[1:] and removed.kept == {"review": 3} and removed.removed == {"review": 15}
    table = removed.describe()
    assert "| test | 1 |" in table and "| words removed with them | 15 |" in table


def test_nothing_that_is_measured_is_learned(folder):
    (folder / "sentence_polarity").mkdir()
    for label in ("neg", "pos"):
        (folder / "sentence_polarity" / f"rt-polarity.{label}").write_text(f"{words(20)}\nshort .\n")
    assert measured_texts(folder).keys() == {
        *(f"held out: {genre}" for genre in GENRES + LARGE_GENRES),
        *("IMDB test", "MR"),
    }
    kept = by_genre(without_overlap(read_large(folder), Overlap(measured_texts(folder)), Removed()))
    assert [" ".join(text) for text in kept["review"]] == [KNOWN_REVIEW, "Not bad. Not good."]


def test_the_store_holds_the_text_and_is_made_once(folder, tmp_path):
    store = english_store(folder, tmp_path / "store", 120, progress=False)
    overlap = Overlap(measured_texts(folder))
    texts = [document.sentences for document in without_overlap(read_large(folder), overlap, Removed())]
    assert [store[number] for number in range(len(store))] == [
        store.tokenizer.encode_batch(list(text)) for text in texts
    ]
    as_given = english_store(folder, tmp_path / "other", 999, tokenizer=store.tokenizer, progress=False)
    assert as_given.header == store.header
    shutil.rmtree(folder / "imdb")
    assert english_store(folder, tmp_path / "store", 120).header == store.header
    with pytest.raises(InputError, match="store: made with another vocabulary"):
        english_store(folder, tmp_path / "store", 6, tokenizer=Tokenizer.from_vocab([*SPECIAL_TOKENS, "a"]))
    card = about(tmp_path / "store")
    assert all(source.licence in card for source in LARGE_SOURCES) and "| IMDB test |" in card


def test_from_the_archives_to_a_model(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(grammar, "PAIRS", 2)
    options = ["--steps", "2", "--batch-size", "2", "--device", "cpu", "--set", "vocab_size=120"]
    main(["pretrain", "english-scratch", "--data", str(folder), "--out", str(tmp_path / "run"), *options])
    measures = json.loads((tmp_path / "run" / "measures.json").read_text())
    assert {f"masked_top1:{genre}" for genre in GENRES} < measures.keys() and "unigram_grammar" in measures
    assert about(tmp_path / "english-120") in (tmp_path / "run" / "README.md").read_text()


@needs_shared
@pytest.mark.nightly
def test_the_real_archives():
    test = list(read_large(SHARED, "test"))
    counts = {genre: sum(len(d.text.split()) for d in test if d.genre == genre) for genre in LARGE_GENRES}
    assert all(count > 80_000 for count in counts.values()), counts
    text = " ".join(d.text for d in test if d.genre in LARGE_GENRES)
    assert not any(mark in text for mark in ("Project Gutenberg", "&amp;", "<br", "pgdp", "Proofread"))


def test_all_that_is_missing_is_named_at_once(tmp_path):
    with pytest.raises(InputError) as caught:
        list(read_large(tmp_path))
    assert all(source.folder in str(caught.value) for source in SOURCES + LARGE_SOURCES)
    assert str(caught.value).count("licence: ") == 1
