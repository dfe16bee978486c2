"""The tokenizer against transformers on whole corpora, and the cases that BERT's own release tests."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bertlab.tokenizer import SPECIAL_TOKENS, Tokenizer
from tests.conftest import is_nightly

SHARED = Path(__file__).parents[2] / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not (SHARED / "bert_official").exists(), reason="vocabularies and corpora are not beside the clone (../shared/data)"
)
CORPORA = {
    "litbank_novels": "*.txt",
    "wikitext2": "*.txt",
    "masc": "**/*.txt",
    "sentence_polarity": "rt-polarity.*",
    "zh_cmrc2018": "*.json",
}
EVERY = [
    ("bert-base-uncased", "masc"),  # twenty genres, from jokes and trials to tweets and unwanted mail
    ("bert-base-chinese", "zh_cmrc2018"),
    pytest.param("bert-base-uncased", "litbank_novels", marks=pytest.mark.nightly),
    pytest.param("bert-base-uncased", "wikitext2", marks=pytest.mark.nightly),
    pytest.param("bert-base-uncased", "sentence_polarity", marks=pytest.mark.nightly),
    pytest.param("bert-base-chinese", "sentence_polarity", marks=pytest.mark.nightly),
]


def strings_in(value) -> Iterator[str]:
    """All texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings_in(part)


@cache
def lines_of(corpus: str) -> list[str]:
    """Every different line of a corpus, with its spaces."""
    lines: dict[str, None] = {}
    for path in sorted((SHARED / corpus).glob(CORPORA[corpus])):
        text = path.read_bytes().decode("latin-1" if corpus == "sentence_polarity" else "utf-8", errors="replace")
        texts = strings_in(json.loads(text)) if path.suffix == ".json" else [text]
        lines.update(dict.fromkeys(line for text in texts for line in text.split("\n")))
    assert len(lines) > 1000
    return list(lines)


@cache
def official(name: str) -> Tokenizer:
    return Tokenizer.from_pretrained(SHARED / "bert_official" / name)


def comes_from(source: str, token: str, tokenizer: Tokenizer) -> bool:
    """Is the token what the tokenizer makes of this piece of the text?"""
    if token == "[UNK]":
        return bool(source.strip())
    made = tokenizer.backend.normalizer.normalize_str(source).strip()
    # One Korean syllable falls into its letters, and each of these stands for the whole of it.
    return token.removeprefix("##") == made or (len(source) == 1 and token.removeprefix("##") in made)


@needs_shared
@pytest.mark.parametrize(("vocabulary", "corpus"), EVERY)
def test_every_line_as_transformers(vocabulary, corpus):
    """Ids and offsets; and every offset leads to the piece of the line that the token is.

    `make test` takes every third line: those of all genres, and the test below has every word.
    """
    from transformers import BertTokenizerFast

    ours, lines, pieces = official(vocabulary), lines_of(corpus)[:: 1 if is_nightly() else 3], set()
    theirs = BertTokenizerFast(vocab=str(SHARED / "bert_official" / vocabulary / "vocab.txt")).backend_tokenizer
    # So equal ids are equal tokens. They strip the lines of vocab.txt; one of the Chinese is a line separator.
    assert theirs.get_vocab() == {token.strip(): number for token, number in ours.vocab.items()}
    for start in range(0, len(lines), 5000):
        batch = lines[start : start + 5000]
        references = theirs.encode_batch(batch, add_special_tokens=False)
        for line, one, other in zip(batch, ours.encodings(batch), references, strict=True):
            assert one.ids == other.ids and one.offsets == other.offsets, line
            pieces.update((token, line[a:b]) for token, (a, b) in zip(one.tokens, one.offsets, strict=True))
    assert len(pieces) > 2000
    assert [piece for piece in pieces if not comes_from(piece[1], piece[0], ours)] == []


@needs_shared
@pytest.mark.parametrize(("vocabulary", "corpus"), EVERY)
def test_every_word_as_the_original_code(vocabulary, corpus):
    """The release's own algorithm in Python, on each different word between spaces: another engine than ours."""
    legacy = pytest.importorskip("transformers.models.bert.tokenization_bert_legacy")
    ours = official(vocabulary)
    basic = legacy.BasicTokenizer(do_lower_case=True)
    pieces = legacy.WordpieceTokenizer(ours.vocab, unk_token="[UNK]")
    words = sorted({word for line in lines_of(corpus) for word in line.split()})
    differing = []
    for word, encoding in zip(words, ours.encodings(words), strict=True):
        wanted = [piece for part in basic.tokenize(word) for piece in pieces.tokenize(part)]
        if encoding.tokens != wanted:
            differing.append((word, encoding.tokens, wanted))
    assert differing == []


# Cases of google-research/bert, tokenization_test.py


def make(words: str, **options) -> Tokenizer:
    return Tokenizer.from_vocab([*SPECIAL_TOKENS, *words.split()], **options)


LOWER = "hello ! how are you ? ah 博 推 zz want ##want ##ed wa un runn ##ing , a b"
PUBLISHED = {
    "spaces and capitals": (" \tHeLLo!how  \n Are yoU?  ", "hello ! how are you ?"),
    "accents": ("H\u00e9llo", "hello"),
    "accents as marks": ("He\u0301llo", "hello"),
    "chinese characters are words": ("ah\u535a\u63a8zz", "ah 博 推 zz"),
    "pieces": ("unwanted running", "un ##want ##ed runn ##ing"),
    "no pieces": ("unwantedX running", "[UNK] runn ##ing"),
    "all at once": ("UNwant\u00e9d,running", "un ##want ##ed , runn ##ing"),
    "nothing": ("", ""),
    "control characters go": ("he\x00l\x05l\u200bo\ufffd", "hello"),
    "every space is a space": ("a\u00a0b\u2003a\tb\r\na\u3000b", "a b a b a b"),
    "a hundred letters": ("un" + "want" * 24 + "ed", "un" + " ##want" * 24 + " ##ed"),
    "more than a hundred": ("un" + "want" * 25, "[UNK]"),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_cases(case):
    text, tokens = PUBLISHED[case]
    assert make(LOWER).tokenize(text) == tokens.split()


def test_published_cases_that_keep_case():
    tokenizer = make("HeLLo ! how Are yoU ? héllo", lowercase=False)
    assert tokenizer.tokenize(" \tHeLLo!how  \n Are yoU?  ") == "HeLLo ! how Are yoU ?".split()
    assert tokenizer.tokenize("héllo") == ["héllo"]


def test_published_ids():
    tokenizer = make("want ##want ##ed wa un runn ##ing ,")
    start = len(SPECIAL_TOKENS)
    assert tokenizer.encode_batch(["UNwant\u00e9d,running"]) == [[start + i for i in (4, 1, 2, 7, 5, 6)]]


@pytest.mark.parametrize("mark", "!$+<=>^`|~-_\u2014\u3002\u00bf\u00a7")
def test_a_mark_is_a_word(mark):
    assert make(f"a b {mark}").tokenize(f"a{mark}b") == ["a", mark, "b"]


def test_offsets_of_what_is_changed():
    """Accents fall off, control characters vanish, capitals shrink: offsets count the text as it was written."""
    text = "Ah\u00e9\u0301 \x00博推 UNwant\u00e9d"
    encoding = make("ahe 博 推 un ##want ##ed").encodings(text)[0]
    found = [(token, text[a:b]) for token, (a, b) in zip(encoding.tokens, encoding.offsets, strict=True)]
    assert [token for token, _ in found] == "ahe 博 推 un ##want ##ed".split()
    assert [source.strip("\x00\u0301") for _, source in found] == ["Ah\u00e9", "博", "推", "UN", "want", "\u00e9d"]
