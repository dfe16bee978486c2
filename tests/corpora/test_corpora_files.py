import json
from pathlib import Path

import pytest

from bertlab.corpora.examples import Document
from bertlab.corpora.files import read_documents, read_squad
from bertlab.corpora.sentences import split_sentences
from bertlab.errors import InputError

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="real texts are not beside the clone (../shared/data)")


@pytest.mark.parametrize(
    "sentences",
    [
        ["One.", "Two!", "Three?", "Four"],
        ["Mr. Smith met Dr. J. R. Watson at 4 A.M. in St. Paul.", "He left."],
        ["Mrs. Lynde came.", "So did I.", "Then Prof. Hill spoke, e.g. of U.S. Grant."],
        ['"No!" cried Alice.', '"Why?" he asked.', '"Because."'],
        ['He said: "Is it true?', 'Yes."', "(She nodded.)", "Then he left."],
        ["“Is it?” she asked.", "“It is.”", "‘Well!’"],
        ["Wait... what?", "Yes!!", "No?!", "It cost 3.50 or 4.", "No. 5 is alive."],
        ["I said no.", "Then I left."],
        ["我爱你。", "你好吗？", "“好！”", "他说。"],
        ["Élan is a word.", "Ünder too."],
        ["<b>Bold.</b> it is", "no stop at the end"][:1],
        ["🐶 barked.", "Then it slept."],
    ],
)
def test_sentences_are_found_again(sentences):
    assert split_sentences(" ".join(sentences)) == sentences
    assert split_sentences("\n  ".join(sentences)) == sentences


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


def test_gutenberg_words_are_left_out(tmp_path):
    text = "Licence.\n\n*** START OF THE PROJECT ***\n\nText.\n\n*** END OF THE PROJECT ***\nMore."
    assert [d.text for d in read_documents(write(tmp_path / "a.txt", text))] == ["Text."]


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


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read"), ("", "holds no text"), (" \n\n ", "holds no text"), (b"abc\xe9", "byte 3")],
)
def test_bad_text_files_are_named(tmp_path, content, message):
    path = tmp_path / "text.txt"
    if content is not None:
        write(path, content)
    with pytest.raises(InputError, match=f"text.txt.*{message}"):
        list(read_documents(path))


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


# SQuAD


def squad(**changes) -> dict:
    question = {
        "id": "q7",
        "question": "Who?",
        "answers": [{"text": "Ash", "answer_start": 4}, {"text": "x", "answer_start": 0}],
    } | changes
    return {"data": [{"title": "T", "paragraphs": [{"context": "Dog Ash ran.", "qas": [question]}]}]}


def test_squad(tmp_path):
    path = write(tmp_path / "s.json", json.dumps(squad()))
    (one,) = read_squad(path)
    assert (one.id, one.question, one.context) == ("q7", "Who?", "Dog Ash ran.")
    assert (one.answer, one.answer_start, one.is_impossible) == ("Ash", 4, False)


@pytest.mark.parametrize("changes", [{"answers": []}, {"is_impossible": True}])
def test_squad_without_answer(tmp_path, changes):
    (one,) = read_squad(write(tmp_path / "s.json", json.dumps(squad(**changes))))
    assert (one.answer, one.answer_start, one.is_impossible) == ("", -1, True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no SQuAD file"),
        ("[1]", "no SQuAD file"),
        ('{"version": "1.1"}', "no SQuAD file"),
        ('{"data": 3}', '"data"'),
        ('{"data": [{"title": "T"}]}', 'article 1: "paragraphs"'),
        ('{"data": [{"paragraphs": [{"qas": []}]}]}', 'article 1, paragraph 1: "context"'),
        ('{"data": [{"paragraphs": [3]}]}', "article 1, paragraph 1"),
        (json.dumps(squad(id=None)), 'paragraph 1, question 1: "id"'),
        (json.dumps(squad(question=3)), r'\(id q7\): "question"'),
        (json.dumps(squad(answers=[{"text": "Ash"}])), r'\(id q7\): "answer_start"'),
        (
            json.dumps(squad(answers=[{"text": "Ash", "answer_start": 5}])),
            r"\(id q7\).*'Ash'.*5.*stands at 4",
        ),
        (json.dumps(squad(answers=[{"text": "cat", "answer_start": 0}])), r"\(id q7\).*'cat' is not at"),
        (json.dumps(squad(answers=[{"text": "n.", "answer_start": -2}])), r"\(id q7\).*'n.' is not at"),
    ],
)
def test_bad_squad_files_are_named(tmp_path, content, message):
    with pytest.raises(InputError, match=f"s.json.*{message}"):
        list(read_squad(write(tmp_path / "s.json", content)))


@needs_shared
@pytest.mark.parametrize(("name", "count"), [("train-v1.1.head", 4373), ("dev-v2.0.half", 6078)])
def test_real_squad(name, count):
    examples = list(read_squad(SHARED / "squad" / f"{name}.json"))
    assert len(examples) == count
    assert any(example.is_impossible for example in examples) == ("v2.0" in name)
