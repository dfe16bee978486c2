"""Encodings, and rows that are left out."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.corpora.reading import Skipped, check_text, open_text, read_text, usable
from bertlab.errors import InputError
from tests.conftest import tries

# What people write, and the encoding in which files of it are found most often.
TEXTS = {
    "cp1252": "The café’s naïve owner said “no”.\n",
    "cp1250": "Dzień dobry, książka leży na stole. Mężczyzna kupił trochę mleka.\n",
    "cp1251": "Привет, как дела? Это текст.\n",
    "gb18030": "我爱你。你好吗？这是一个中文句子。\n",
    "cp932": "日本語の文章です。これはテストです。\n",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_believed(tmp_path, encoding):
    path = tmp_path / "text.txt"
    path.write_bytes("é\r\n我".encode(encoding))
    assert read_text(path) == "é\n我"


def test_both_orders_of_utf_16(tmp_path):
    path = tmp_path / "text.txt"
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        path.write_bytes(mark + "é我".encode(encoding))
        assert read_text(path) == read_text(path, "utf-16") == read_text(path, encoding) == "é我"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_its_mark_is_named(tmp_path, encoding):
    path = tmp_path / "text.txt"
    path.write_bytes("text,label\ncafé,1\n".encode(encoding))
    with pytest.raises(InputError, match=f"it looks like {encoding}: give --encoding {encoding}"):
        read_text(path)


@pytest.mark.parametrize(
    ("beginning", "kind"), [(b"PAR1", "Parquet"), (b"PK\3\4", "Excel"), (b"%PDF-1.7\n", "PDF"), (b"\x1f\x8b", "gzip")]
)
def test_a_file_of_another_kind_is_named(tmp_path, beginning, kind):
    path = tmp_path / "text.txt"
    path.write_bytes(beginning + b"\xe2\xe3\xcf\xd3" * 9)
    with pytest.raises(InputError, match=f"text.txt: not UTF-8 at byte .*; it is a .*{kind}.* file, not text"):
        read_text(path)


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_likely_encoding_is_named(tmp_path, encoding):
    """And to give it is enough."""
    path = tmp_path / "text.txt"
    path.write_bytes(b"text,label\n" * 1000 + (TEXTS[encoding] * 5).encode(encoding))
    with pytest.raises(InputError) as error:
        read_text(path)
    assert "text.txt: not UTF-8 at byte 11" in str(error.value)
    assert f"looks like {encoding}: give --encoding {encoding}, or save it as UTF-8" in str(error.value)
    assert read_text(path, encoding).endswith(TEXTS[encoding])


@tries(30)
@given(st.integers(0, 40_000), st.sampled_from(["", "é", "\ufeff"]), st.booleans())
def test_the_byte_is_counted_from_the_start_of_the_file(tmp_path_factory, place, start, whole):
    path = tmp_path_factory.getbasetemp() / "bytes.txt"
    before = start.encode() + b"word\n" * (place // 5) + b"x" * (place % 5)
    path.write_bytes(before + b"\xe9 la carte\n" * 3)
    with pytest.raises(InputError, match=f"not UTF-8 at byte {len(before)};"):
        if whole:
            read_text(path)
        else:
            with open_text(path) as file:
                list(file)


def test_a_file_that_is_cut_within_a_character(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("我我".encode()[:-1])
    with pytest.raises(InputError, match="not UTF-8 at byte 3;"):
        read_text(path)


def test_another_encoding_than_was_said(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("日本語の文章です。\n".encode("cp932") * 5)
    with pytest.raises(InputError, match="text.txt: not EUC_KR at byte .*give --encoding cp932"):
        read_text(path, "euc_kr")
    path.write_bytes("text".encode("utf-16-le"))
    with pytest.raises(InputError, match="not UTF-16 .no byte order mark: utf-16-le or utf-16-be"):
        read_text(path, "utf-16")


def test_no_text_at_all(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(InputError, match="text.txt: not UTF-8 at byte 128; save it as UTF-8"):
        read_text(path)


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "base64", "", "utf\0"])
def test_unknown_encodings(tmp_path, encoding):
    path = tmp_path / "text.txt"
    path.write_text("text")
    with pytest.raises(InputError, match="--encoding .*no such encoding"):
        read_text(path, encoding)


def test_files_that_cannot_be_read(tmp_path):
    for path, said in ((tmp_path, "not a regular file but a folder"), (tmp_path / "none.txt", "No such file")):
        with pytest.raises(InputError, match=said):
            read_text(path)


def number(row: str) -> int:
    if not row.isdecimal():
        raise InputError(f"numbers.txt: {row} is no number")
    return int(row)


def test_bad_rows_stop_or_are_counted():
    rows = ["1", "two", "3", "four"]
    read = usable(rows, number, None)
    assert next(read) == 1
    with pytest.raises(InputError, match="two"):
        next(read)
    skipped = Skipped()
    assert list(usable(rows, number, skipped)) == [1, 3]
    assert str(skipped) == "left out 2 rows; the first: numbers.txt: two is no number"
    assert str(Skipped(1, "why")) == "left out 1 row; the first: why"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (3, "holds no text but 3"),
        (None, "None"),
        ("", "empty"),
        ("\u3000 ", "empty"),
        ("a\0", "NUL"),
        ("a\ud83d", "surrogate"),
    ],
)
def test_what_is_no_text(text, said):
    with pytest.raises(InputError, match=f"here.*{said}"):
        check_text(text, "here")
    assert check_text(" text ", "here") == " text "
