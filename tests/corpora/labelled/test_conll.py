"""Sentences word by word, in columns."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bertlab.corpora.examples import TokenExample
from bertlab.corpora.labelled.columns import Columns
from bertlab.corpora.labelled.conll import has_words, read_conll
from bertlab.corpora.labelled.schemes import as_bio
from bertlab.corpora.reading import Skipped
from bertlab.errors import InputError
from tests.conftest import tries

SHARED = Path(__file__).parents[4] / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not SHARED.exists(), reason="real data sets are not beside the clone (../shared/data)"
)


def write(place: Path, text: str) -> Path:
    path = place / "words.conll"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def read(place: Path, text: str, **options) -> list[TokenExample]:
    return list(read_conll(write(place, text), **options))


def test_tabs(tmp_path):
    assert read(tmp_path, "New York\tB-place\r\nis\tO\n\t\n\n \nHi\tO") == [
        TokenExample("1", ("New York", "is"), ("B-place", "O")),
        TokenExample("6", ("Hi",), ("O",)),
    ]


CONLL_2003 = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

-DOCSTART- -X- -X- O
Peter NNP B-NP B-PER
"""


def test_the_columns_of_conll_2003(tmp_path):
    eu, peter = read(tmp_path, CONLL_2003)
    assert eu == TokenExample("3", ("EU", "rejects"), ("B-ORG", "O"))
    assert peter == TokenExample("7", ("Peter",), ("B-PER",))
    assert [one.labels for one in read(tmp_path, CONLL_2003, label_column=2)] == [("B-NP", "B-VP"), ("B-NP",)]
    assert read(tmp_path, CONLL_2003, word_column=-3, labelled=False)[0] == TokenExample("3", ("NNP", "VBZ"))


UNIVERSAL = """# sent_id = 1
# text = don't buy books
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tbuy\tbuy\tVERB\tVB\tMood=Imp\t0\troot\t_\t_
3.1\tsell\tsell\tVERB\tVB\t_\t_\t_\t_\t_
4\tbooks\tbook\tNOUN\tNNS\t_\t3\tobj\t_\tSpaceAfter=No

# newpar
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
"""


def test_universal_dependencies(tmp_path):
    """Ranges and words left unsaid are none; the number of a word is not the word."""
    dont, yes = read(tmp_path, UNIVERSAL, word_column=1, label_column=3)
    assert dont == TokenExample("3", ("do", "n't", "buy", "books"), ("AUX", "PART", "VERB", "NOUN"))
    assert yes == TokenExample("11", ("Yes",), ("INTJ",))
    assert [one.words for one in read(tmp_path, UNIVERSAL, word_column=1, labelled=False)] == [dont.words, yes.words]
    features = read(tmp_path, UNIVERSAL, word_column=1, label_column=5)  # "_" is a label beside others
    assert features[0].labels == ("_", "_", "Mood=Imp", "_")
    for skipped in (None, Skipped()):
        with pytest.raises(InputError, match="column 0 numbers the words .*--text-column 1 --label-column 3"):
            read(tmp_path, UNIVERSAL, skipped=skipped)
        with pytest.raises(InputError, match="column 0 numbers the words .*--text-column 1$"):
            read(tmp_path, UNIVERSAL, labelled=False, skipped=skipped)
        with pytest.raises(InputError, match="the last column of Universal Dependencies holds no labels"):
            read(tmp_path, UNIVERSAL, word_column=1, skipped=skipped)
        with pytest.raises(InputError, match="column 8 holds no labels, only '_'; see --label-column"):
            read(tmp_path, UNIVERSAL, word_column=1, label_column=8, skipped=skipped)


def test_numbers_may_be_words(tmp_path):
    text = "1\tCD\tO\n2\tCD\tO\n\n0-1\tCD\tO\n\n2.5\tCD\tO\n\nAsh\tNNP\tO\nran\tVBD\tO\n\nthen\tRB\tO\n"
    assert [one.words for one in read(tmp_path, text)] == [("1", "2"), ("0-1",), ("2.5",), ("Ash", "ran"), ("then",)]


def test_a_column_of_probabilities_is_no_label_column(tmp_path):
    text = "Ash\tB-PER\t0.9\nran\tO\t.75\n"
    with pytest.raises(InputError, match=r"words.conll: column -1 holds numbers such as 0.9, no labels"):
        read(tmp_path, text)
    assert read(tmp_path, text, label_column=1)[0].labels == ("B-PER", "O")


@pytest.mark.parametrize("heading", ["word\tpos", "Token\tLabel", "# FORM\tUPOS", "words\tner_tags\n"])
def test_names_of_columns_are_no_word_and_its_label(tmp_path, heading):
    with pytest.raises(InputError, match="words.conll, line 1: '.+' and '.+' name the columns: delete the line"):
        read(tmp_path, f"{heading}\nAsh\tNOUN\nran\tVERB\n")
    assert read(tmp_path, "words\tNOUN\nran\tVERB\n")[0].words == ("words", "ran")


@pytest.mark.parametrize("mark", ["_", "-", "*"])
def test_a_column_that_holds_nothing_is_no_label_column(tmp_path, mark):
    with pytest.raises(InputError, match=f"words.conll: column -1 holds no labels, only '[{mark}]'"):
        read(tmp_path, f"Ash\t{mark}\nran\t{mark}\n")


def test_comments_of_files_with_blanks(tmp_path):
    text = "#begin document (x); part 000\n# sent_id = 5\nAsh NNP x O\nran VBD x O\n\n#end document\n"
    assert [one.words for one in read(tmp_path, text)] == [("Ash", "ran")]


def test_comments_that_number_the_sentences(tmp_path):
    text = "# sentence 5\nAsh NNP O\nran VBD O\n\n# sentence 6\nHi UH O\n"
    assert [one.words for one in read(tmp_path, text)] == [("Ash", "ran"), ("Hi",)]


def test_the_comments_of_multiconer(tmp_path):
    """They have as many columns as the words; the file as its makers write it."""
    text = "# id 5e1f-02\tdomain=mix\nAsh _ _ B-PER\nran _ _ O\n"
    (one,) = read(tmp_path, text)
    assert (one.words, one.labels) == (("Ash", "ran"), ("B-PER", "O"))


def test_comments_stand_before_a_sentence(tmp_path):
    text = "# newdoc\n# text = Ash ran\n1\tAsh\tB-per\n2\tran\tO\n\n# only this\n\n# two words\n1\tHi\tO\n"
    assert [one.words for one in read(tmp_path, text, word_column=1)] == [("Ash", "ran"), ("Hi",)]


@pytest.mark.parametrize("between", ["\t", " "])
def test_a_word_may_begin_with_a_hash(tmp_path, between):
    words = ["#", "#photo", "now", "#"]
    text = "".join(f"{word}{between}O\n" for word in words)
    assert [one.words for one in read(tmp_path, f"{text}\n#{between}O\n")] == [tuple(words), ("#",)]


def test_blanks_of_other_kinds_belong_to_words(tmp_path):
    (one,) = read(tmp_path, "10\u00a0000 O\na\u2028b O\n\u00a0 O\n")
    assert one.words == ("10\u00a0000", "a\u2028b", "\u00a0")


def test_words_without_labels(tmp_path):
    assert read(tmp_path, "Ash\nran\n\nHi\n", labelled=False) == [
        TokenExample("1", ("Ash", "ran")),
        TokenExample("4", ("Hi",)),
    ]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["sentence_id\tbody", "1\tAsh ran to Rome .", "2\tHe is there now ."], False),
        (["văn phòng phẩm\tN", "học sinh\tN", "10 000\tM"], True),
        (["Ash  \tNNP \tO", "ran  \tVBD \tO"], True),
    ],
)
def test_a_table_of_texts_is_told_from_words(tmp_path, lines, words):
    """The words of Vietnamese have blanks within, and some columns are filled up with them."""
    path = write(tmp_path, "\n".join(lines)).rename(tmp_path / "new.tsv")
    assert has_words(path, Columns()) == words


def test_other_encodings(tmp_path):
    path = tmp_path / "words.conll"
    path.write_bytes("Zoë\tB-per\n".encode("cp1252"))
    assert [one.words for one in read_conll(path, encoding="cp1252")] == [("Zoë",)]
    with pytest.raises(InputError, match="not UTF-8 at byte 2; .*--encoding cp1252"):
        list(read_conll(path))
    path.write_text("\ufeffZoë\tB-per\n", encoding="utf-16")
    assert len(list(read_conll(path))) == 1


def test_sentences_with_an_unwanted_label_are_left_out(tmp_path):
    skipped = Skipped(stop=True, unwanted=frozenset(["?", "!"]))
    text = "a\tDET\nb\t?\nc\t?\n\nd\tDET\n\ne\t?\n"
    assert [one.words for one in read(tmp_path, text, skipped=skipped)] == [("d",)]
    assert str(skipped) == "left out 2 rows labelled '?'"
    with pytest.raises(InputError, match="line 9: '' is no label"):  # what cannot be used still stops the reading
        read(tmp_path, f"{text}\nf\t\n", skipped=skipped)


BAD = {
    "a column more": ("a\tO\nb\tx\tO", {}, "line 2: 3 columns, but 2 where the sentence begins, line 1"),
    "a column less": ("a\tb\tO\nb\tO", {}, "line 2: 2 columns, but 3"),
    "no tab": ("a b\nc\tO", {}, "line 2: 2 columns, but 1"),
    "no such column": ("a\tO", {"label_column": 2}, "line 1: there is no column 2, only 2 .*--label-column"),
    "nor from the right": ("a\tO", {"word_column": -3}, "line 1: there is no column -3, only 2 .*--text-column"),
    "no word": ("a\tO\n\tO", {}, "line 2: '' is no word"),
    "nul": ("a\tO\nb\0\tO", {}, r"line 2: 'b.x00' is no word"),
    "no label": ("a\tO\nb\t", {}, "line 2: '' is no label"),
    "plain among others": ("a\tB-x\nb\tx", {}, "line 2: 'x' is no label: all are plain .DET., or .*--label-column"),
    "a prefix among plain ones": ("a\tO\nb\tx\nc\tB-x", {}, "line 3: 'B-x' is no label"),
    "half a label": ("a\tB-", {}, "line 1: 'B-' is no label"),
    "brackets": ("a\t(PER*\nb\t*)", {}, r"line 1: '\(PER\*' marks names by brackets: write O, B-x and I-x"),
    "words only": (
        "Ash\n",
        {},
        "line 1: one column, 'Ash'; each line holds a word and its label, with a tab or a blank",
    ),
    "commas": ("a,O\nb,O", {}, "line 1: one column, 'a,O'; each line holds"),
    "a table": ("id,a word,label\n1,b,O", {}, "line 2: 1 columns, but 2 .*; each line holds a word and its label"),
    "the same column": ("O\tO\n", {"word_column": 1}, "line 1: column 1 cannot hold both"),
}


@pytest.mark.parametrize("name", BAD)
def test_mistakes_are_named_or_left_out(tmp_path, name):
    text, options, said = BAD[name]
    with pytest.raises(InputError, match=f"words.conll, {said}"):
        read(tmp_path, text, **options)
    skipped = Skipped()
    left = read(tmp_path, f"{text}\n\nlast\tO\n", **options, skipped=skipped)
    assert [one.words for one in left] == ([] if options else [("last",)])
    assert skipped.count == (2 if options else 1) and "words.conll, line" in skipped.first


NAMES = st.sampled_from(["person", "creative-work", "x"])
LABELS = st.one_of(st.just("O"), st.tuples(st.sampled_from("BIES"), NAMES).map("-".join))
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\r\n "), min_size=1)
SENTENCES = st.lists(st.tuples(WORDS, LABELS), min_size=1, max_size=8)


@tries(100)
@given(st.lists(SENTENCES, max_size=4), st.sampled_from(["\t", " ", "\tx\t"]), st.sampled_from(["\n", "\r\n"]))
@example([[("#", "O")], [("#", "O"), ("a", "O")]], "\t", "\n")
def test_what_is_written_is_read(tmp_path_factory, sentences, between, end):
    sentences = [pairs for pairs in sentences if not pairs[0][0].startswith(("-DOCSTART-", "\ufeff"))]
    if between == " ":  # where a sentence of the one word # looks like a comment
        sentences = [pairs for pairs in sentences if {word for word, _ in pairs} != {"#"}]
    text = "".join("".join(f"{word}{between}{label}{end}" for word, label in pairs) + end for pairs in sentences)
    read = list(read_conll(write(tmp_path_factory.getbasetemp(), text)))
    assert [one.words for one in read] == [tuple(word for word, _ in pairs) for pairs in sentences]
    assert [one.labels for one in read] == [as_bio([label for _, label in pairs]) for pairs in sentences]


REAL = {
    "wnut17train.conll": (3394, 62730),
    "emerging.dev.conll": (1009, 15733),
    "emerging.test.annotated": (1287, 23394),
}


@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_real_files(name):
    """No word is lost, and no label changes: these are BIO throughout."""
    path = SHARED / "wnut17" / name
    examples = list(read_conll(path))
    words = [word for one in examples for word in one.words]
    labels = [label for one in examples for label in one.labels]
    assert (len(examples), len(words)) == REAL[name]
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    assert (words, labels) == tuple(map(list, zip(*lines, strict=True)))
