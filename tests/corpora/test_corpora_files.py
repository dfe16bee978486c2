from pathlib import Path

import pytest

from bertlab.corpora.documents import check_sources, read_documents, text_files
from bertlab.corpora.examples import Document
from bertlab.corpora.sentences import split_sentences
from bertlab.errors import InputError
from bertlab.search.units import read_units

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="real texts are not beside the clone (../shared/data)")


def test_spaces_and_nothing():
    assert split_sentences("") == split_sentences(" \n ") == []
    assert split_sentences("a  long\n line.") == ["a long line."]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_chapters_and_length_make_documents(tmp_path):
    text = "Preface.\n\nCHAPTER I. The Dog\n\n" + "It ran. It _sat_.\n\n" * 60 + "II\n\nThe end.\r\n"
    documents = list(read_documents(write(tmp_path / "novel.txt", text)))
    assert [len(document.sentences) for document in documents] == [1, 50, 50, 20, 1]
    assert documents[1].title == "novel: CHAPTER I. The Dog"
    assert documents[1].sentences[:2] == ("It ran.", "It sat.")
    assert documents[-1] == Document(("The end.",), "novel: II")
    assert documents[0].text == "Preface."


@pytest.mark.parametrize("text", ["Part I liked best: the end.", "Book I read last summer on the beach."])
def test_a_sentence_that_begins_like_a_heading_is_none(tmp_path, text):
    path = write(tmp_path / "a.txt", f"{text}\n\nChapter I. The end.\n\nIt was good.")
    assert [document.text for document in read_documents(path)] == [text, "It was good."]


def test_gutenberg_words_are_left_out(tmp_path):
    text = "Licence.\n\n*** START OF THE PROJECT ***\n\nText.\n\n*** END OF THE PROJECT ***\nMore."
    assert [d.text for d in read_documents(write(tmp_path / "a.txt", text))] == ["Text."]
    joined = f"{text}\n{text.replace('Text', 'Another')}"
    assert [d.text for d in read_documents(write(tmp_path / "a.txt", joined))] == ["Text. Another."]


def test_folders_and_several_files(tmp_path):
    write(tmp_path / "b.txt", "Second.")
    write(tmp_path / "a.txt", b"\xef\xbb\xbfFirst.")
    write(tmp_path / "c.md", "# Third\n\nThird.")
    write(tmp_path / "d.csv", "Not text.")
    assert [d.text for d in read_documents(tmp_path)] == ["First.", "Second.", "Third."]
    assert [d.text for d in read_documents([tmp_path / "b.txt", tmp_path])] == [
        "Second.",
        "First.",
        "Second.",
        "Third.",
    ]


def test_a_folder_is_read_with_its_subfolders_alike_everywhere(tmp_path):
    for name in (
        "B.TXT",
        "README.MD",
        "sub/x.txt",
        "sub/deep/y.md",
        ".hidden/z.txt",
        "sub/._x.txt",
        "sub/vocab.txt",
        "table.csv",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write(tmp_path / name, f"# {name}\n\nA text of few words." if name.endswith("MD") else "A text of few words.")
    (tmp_path / "folder.txt").mkdir()
    names = ["B.TXT", "README.MD", "sub/deep/y.md", "sub/x.txt"]
    assert [file.relative_to(tmp_path).as_posix() for file in text_files(tmp_path)] == names
    assert {d.text for d in read_documents(tmp_path)} == {"A text of few words."}
    assert {unit.name.rpartition(":")[0] for unit in read_units([tmp_path])} == {str(tmp_path / name) for name in names}
    assert read_units([tmp_path / "B.TXT"])


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file"), ("", "holds no text"), (" \n\n ", "holds no text"), (b"abc\xe9", "byte 3")],
)
def test_bad_text_files_are_named(tmp_path, content, message):
    path = tmp_path / "text.txt"
    if content is not None:
        write(path, content)
    with pytest.raises(InputError, match=f"text.txt.*{message}"):
        list(read_documents(path))


def test_a_table_is_no_running_text(tmp_path):
    path = write(tmp_path / "reviews.CSV", "text,label\nGood.,1\n")
    with pytest.raises(InputError, match="reviews.CSV: a table, not running text: write its texts to a .txt file"):
        check_sources([path])


def test_a_folder_without_text(tmp_path):
    with pytest.raises(InputError, match="no .txt or .md file"):
        list(read_documents(tmp_path))


@needs_shared
def test_a_real_novel():
    novel = SHARED / "litbank_novels" / "11_alices_adventures_in_wonderland.txt"
    documents = list(read_documents(novel))
    sentences = [sentence for document in documents for sentence in document.sentences]
    assert len({document.title for document in documents}) >= 12  # the twelve chapters
    assert all(1 <= len(document.sentences) < 100 for document in documents)
    kept = sum(len(sentence.split()) for sentence in sentences)
    assert kept > 0.99 * len(novel.read_text().split())
    assert 10 < kept / len(sentences) < 25
    assert not any(sentence.endswith((" Mr.", " Mrs.", " Dr.")) for sentence in sentences)
