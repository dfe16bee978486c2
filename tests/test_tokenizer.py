import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tokenizers
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab.errors import InputError
from bertlab.tokenizer import SPECIAL_TOKENS, Tokenizer
from tests.conftest import tries

OFFICIAL = Path(__file__).parents[2] / "shared" / "data" / "bert_official"
needs_official = pytest.mark.skipif(
    not OFFICIAL.exists(), reason="the official vocabularies are not beside the clone (../shared/data)"
)
LINES = [
    "The animal didn't cross the street because it was too tired.",
    "My dog is hairy, and he likes walks in the park near the store.",
    "The man went to the store; he bought a gallon of milk!",
    "Penguins are flightless birds, unaffable but unbelievably fast swimmers.",
]
AWKWARD = [
    "",
    "   \t\n ",
    "🐶 is a dog 👩‍👩‍👧",
    "a\x00b\x07c\ufffdd\u200be",
    "שלום עולם, مرحبا",
    "我爱你 and 東京タワー",
    "<script>alert('x')</script> &amp; <b>bold</b>",
    "it was too [MASK] . [mask] [CLS] [SEP] [PAD] [UNK]",
    "É é ñ ﬁ İ ß ǅ Å",
    "line\u2028separator\u00a0and\x85next",
    "x" * 101 + " " + "y" * 100,
    "3.14, $5 -- 'tis 50%",
]


@pytest.fixture(scope="module")
def tiny() -> Tokenizer:
    return Tokenizer.train(LINES * 3, vocab_size=150)


# Equality with the reference


@needs_official
@pytest.mark.parametrize("name", ["bert-base-uncased", "bert-base-chinese"])
@pytest.mark.parametrize("max_length", [None, 32, 33])
@pytest.mark.parametrize("pair", [False, True])
def test_same_tensors_as_the_reference(name, max_length, pair):
    from transformers import BertTokenizerFast

    text = (OFFICIAL / "sample_text.txt").read_text() + (OFFICIAL / "hf_fixture_wiki_00.txt").read_text()
    lines = text.split("\n")[:300] + AWKWARD
    pairs = lines[::-1] if pair else None
    ours = Tokenizer.from_pretrained(OFFICIAL / name)(lines, pairs, max_length=max_length, offsets=True)
    reference = BertTokenizerFast(vocab=str(OFFICIAL / name / "vocab.txt"))
    options = {"padding": True, "return_offsets_mapping": True, "return_tensors": "pt"}
    if max_length:
        options |= {"truncation": True, "max_length": max_length}
    theirs = reference(lines, pairs, **options)
    assert set(ours) == set(theirs)
    for key, tensor in ours.items():
        assert torch.equal(tensor, theirs[key]), key


@needs_official
def test_the_papers_example():
    tok = Tokenizer.from_pretrained(OFFICIAL / "bert-base-uncased")
    ids = tok("my dog is hairy", "he likes playing")["input_ids"][0]
    assert tok.convert_ids_to_tokens(ids) == "[CLS] my dog is hairy [SEP] he likes playing [SEP]".split()
    assert (tok.pad_token_id, tok.unk_token_id, tok.cls_token_id, tok.sep_token_id, tok.mask_token_id) == (
        (0, 100, 101, 102, 103)
    )
    assert tok.tokenize("unaffable") == ["una", "##ffa", "##ble"]
    assert tok.vocab_size == 30522 and tok.lowercase


@pytest.mark.parametrize("lowercase", [True, False])
def test_transformers_opens_what_we_save(tmp_path, lowercase):
    from transformers import AutoTokenizer

    tok = Tokenizer.train(LINES * 3, vocab_size=150, lowercase=lowercase)
    tok.save_pretrained(tmp_path / "tok")
    reference = AutoTokenizer.from_pretrained(tmp_path / "tok")
    assert type(reference).__name__.startswith("Bert")
    for text in LINES + AWKWARD:
        assert reference(text)["input_ids"] == tok(text)["input_ids"][0].tolist()
    assert reference.mask_token_id == tok.mask_token_id


# Training


def test_training_twice_gives_the_same_vocabulary():
    runs = [Tokenizer.train(iter(LINES * 5), vocab_size=120).vocab for _ in range(5)]
    assert all(run == runs[0] for run in runs)


def test_trained_vocabulary(tiny):
    tokens = tiny.convert_ids_to_tokens(range(tiny.vocab_size))
    assert tuple(tokens[:5]) == SPECIAL_TOKENS
    assert tiny.vocab_size <= 150 and len(set(tokens)) == len(tokens)
    assert "##." not in tokens  # punctuation never stands inside a word
    assert tiny.tokenize("The street") == ["the", "street"]
    assert tiny.unk_token not in tiny.tokenize("unaffable tired dogs")


def test_lowercase_and_case():
    cased = Tokenizer.train(LINES * 3, vocab_size=200, lowercase=False)
    assert "The" in cased.tokenize("The") and not cased.lowercase


@pytest.mark.parametrize("texts", [[], ["", "  \n"]])
def test_training_on_nothing(texts):
    with pytest.raises(InputError, match="no text"):
        Tokenizer.train(texts)


def test_rare_characters_do_not_fill_the_vocabulary():
    many = [chr(0x4E00 + i) for i in range(1200)]
    tok = Tokenizer.train([" ".join(many[:900] * 1000), " ".join(many)], vocab_size=5000)
    assert tok.vocab_size == 5 + 1000  # they are 0.03% of the text
    assert many[0] in tok.vocab and many[-1] not in tok.vocab


def test_characters_that_a_text_needs_fill_up_to_half_of_the_vocabulary():
    many = [chr(0x4E00 + i) for i in range(1800)]
    assert Tokenizer.train([" ".join(many)], vocab_size=5000).vocab_size == 5 + 1800
    assert Tokenizer.train([" ".join(many)], vocab_size=3000).vocab_size == 5 + 1500
    syllables = [chr(0xAC00 + i) for i in range(1400)]  # each also inside a word
    tok = Tokenizer.train([" ".join(syllables)], vocab_size=4800, lowercase=False)
    assert tok.vocab_size == 5 + 2 * 1200


def test_a_file_alone(tiny, tmp_path):
    tiny.save_pretrained(tmp_path)
    for name in ("vocab.txt", "tokenizer.json"):
        again = Tokenizer.from_pretrained(tmp_path / name, lowercase=False)
        assert again.vocab == tiny.vocab and again.lowercase == tiny.lowercase  # as the files say
    (tmp_path / "tokenizer_config.json").unlink()
    assert not Tokenizer.from_pretrained(tmp_path / "vocab.txt", lowercase=False).lowercase
    assert Tokenizer.from_pretrained(tmp_path / "vocab.txt").lowercase
    (tmp_path / "short.txt").write_text("a\nb\n")
    with pytest.raises(InputError, match=r"short.txt: the vocabulary has no \[PAD\]"):
        Tokenizer.from_pretrained(tmp_path / "short.txt")


def test_training_on_one_text():
    assert Tokenizer.train(LINES[0] * 3, vocab_size=90).vocab == Tokenizer.train([LINES[0] * 3], 90).vocab


def test_training_with_too_small_a_vocabulary():
    with pytest.raises(InputError, match="vocab_size=20 is too small"):
        Tokenizer.train(LINES, vocab_size=20)


# Texts to tensors


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_text_keeps_its_offsets(tiny, text):
    batch = tiny(text, offsets=True)
    ids, offsets = batch["input_ids"][0].tolist(), batch["offset_mapping"][0].tolist()
    assert ids[0] == tiny.cls_token_id and ids[-1] == tiny.sep_token_id
    assert offsets[0] == offsets[-1] == [0, 0]
    inner = offsets[1:-1]
    assert all(0 <= start < end <= len(text) for start, end in inner)
    assert inner == sorted(inner)


def test_mask_typed_by_hand(tiny):
    ids = tiny("it was [MASK].")["input_ids"][0].tolist()
    assert ids.count(tiny.mask_token_id) == 1
    assert tiny.mask_token_id not in tiny("it was [mask].")["input_ids"]
    mask = tiny("it was [MASK].", special_tokens_mask=True)["special_tokens_mask"][0]
    assert mask.dtype == torch.bool
    assert mask.tolist() == [index in tiny.all_special_ids for index in ids]


def test_ten_thousand_words(tiny):
    assert tiny("street " * 10_000)["input_ids"].shape == (1, 10_002)
    assert tiny("street " * 10_000, max_length=64)["input_ids"].shape == (1, 64)


@tries(100)
@given(st.text(max_size=60), st.text(max_size=60), st.integers(5, 40))
def test_pairs_fit_and_lose_as_little_as_possible(tiny, first, second, max_length):
    whole = [len(ids) for ids in tiny.encode_batch([first, second])]
    batch = tiny(first, second, max_length=max_length, offsets=True)
    types = batch["token_type_ids"][0]
    kept = [int((types == 0).sum()) - 2, int((types == 1).sum()) - 1]
    assert sum(kept) == min(sum(whole), max_length - 3)
    cut = [whole[i] > kept[i] for i in (0, 1)]
    if any(cut):  # only the longer is cut, or both to the same length
        longer = cut.index(True)
        assert kept[longer] >= kept[1 - longer] - 1


@pytest.mark.parametrize(("max_length", "kept"), [(10, [3, 4]), (9, [3, 3]), (13, [5, 5])])
def test_an_odd_token_goes_to_the_second_of_equals(tiny, max_length, kept):
    """As the reference does it."""
    types = tiny("dog " * 5, "dog " * 5, max_length=max_length)["token_type_ids"][0]
    assert [int((types == 0).sum()) - 2, int((types == 1).sum()) - 1] == kept


def test_padding(tiny):
    batch = tiny([LINES[0], "dog"], ["", "the street"])
    lengths = batch["attention_mask"].sum(1).tolist()
    assert lengths[0] > lengths[1]
    assert (batch["input_ids"][1, lengths[1] :] == tiny.pad_token_id).all()
    assert all(tensor.dtype == torch.long for tensor in batch.values())
    with pytest.raises(InputError, match="padding=True"):
        tiny([LINES[0], "dog"], padding=False)


def test_a_call_leaves_no_trace_and_threads_may_share(tiny):
    jobs = [(LINES[i % 4] * (1 + i % 3), None if i % 2 else 8 + i % 7) for i in range(200)]
    alone = [tiny(text, max_length=length)["input_ids"] for text, length in jobs]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda job: tiny(job[0], max_length=job[1])["input_ids"], jobs))
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))
    assert tiny.backend.truncation is None and tiny.backend.padding is None


def test_pieces_and_numbers(tiny):
    ids = tiny.encode_batch(["the dog is tired."])[0]
    assert tiny.convert_tokens_to_ids(tiny.convert_ids_to_tokens(ids)) == ids
    assert tiny.decode(ids) == tiny.decode(torch.tensor(ids)) == "the dog is tired."
    assert tiny.decode(tiny("the dog")["input_ids"][0], skip_special_tokens=True) == "the dog"
    assert tiny.convert_tokens_to_ids("no such token") == tiny.unk_token_id
    assert tiny.id_of("[MASK]") == 4
    assert tiny.convert_ids_to_tokens(4) == "[MASK]"
    assert tiny.encode_batch([]) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tok: tok([]), "no text given"),
        (lambda tok: tok(["a", 3]), "text 2 is a int"),
        (lambda tok: tok(["a", None]), "text 2 is a NoneType"),
        (lambda tok: tok("a\ud800"), "surrogate"),
        (lambda tok: tok(5), "give a text or a list of them, not a int"),
        (lambda tok: tok(b"ab"), "not a bytes"),
        (lambda tok: tok({"a": "b"}), "not a dict"),
        (lambda tok: tok({"a", "b"}), "not a set"),
        (lambda tok: tok([("a", "b")]), "text 1 is a tuple"),  # a pair: two lists say which is which
        (lambda tok: tok(np.array([["a", "b"]])), "text 1 is a ndarray"),
        (lambda tok: tok("a", ["b"]), "give texts and pairs alike"),
        (lambda tok: tok(["a"], "b"), "give texts and pairs alike"),
        (lambda tok: tok("a", max_length=3.5), "max_length must be a whole number, not 3.5"),
        (lambda tok: tok.tokenize(["a", "b"]), "tokenize takes one text, not a list"),
        (lambda tok: tok.convert_tokens_to_ids([None]), "token 1 is a NoneType"),
        (lambda tok: tok.decode([1.5]), "whole numbers in one row, not 1.5"),
        (lambda tok: tok.decode(torch.tensor([[1, 2]])), "whole numbers in one row"),
        (lambda tok: tok.decode("12"), "give a list of token ids"),
        (lambda tok: tok(["a", "b"], ["c"]), "2 texts but 1 pairs"),
        (lambda tok: tok("a", "b", max_length=4), "max_length=4"),
        (lambda tok: tok.decode([99_999]), "token id 99999"),
        (lambda tok: tok.convert_ids_to_tokens(-1), "token id -1"),
    ],
)
def test_wrong_arguments(tiny, call, message):
    with pytest.raises(InputError, match=message):
        call(tiny)


def test_columns_of_other_libraries_are_texts(tiny):
    expected = tiny(["dog", "a dog"])["input_ids"]
    assert torch.equal(tiny(np.array(["dog", "a dog"]))["input_ids"], expected)
    assert torch.equal(tiny(text for text in ("dog", "a dog"))["input_ids"], expected)
    assert tiny.decode(np.array(expected[0])) == tiny.decode(expected[0])


# Files


def test_save_and_load(tiny, tmp_path):
    tiny.save_pretrained(tmp_path)
    whole = Tokenizer.from_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    words = Tokenizer.from_pretrained(tmp_path)
    for text in LINES + AWKWARD:
        expected = tiny(text)["input_ids"]
        assert torch.equal(whole(text)["input_ids"], expected)
        assert torch.equal(words(text)["input_ids"], expected)


def test_options_beside_vocab_txt(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join([*SPECIAL_TOKENS, "É", "é", "e", "我爱"]) + "\n")
    assert Tokenizer.from_pretrained(tmp_path).tokenize("É 我爱") == ["e", "[UNK]", "[UNK]"]
    options = {"do_lower_case": True, "strip_accents": False, "tokenize_chinese_chars": False}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(options))
    assert Tokenizer.from_pretrained(tmp_path).tokenize("É 我爱") == ["é", "我爱"]
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert Tokenizer.from_pretrained(tmp_path).tokenize("É") == ["É"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_mark(mark, end, tmp_path):
    """As editors on Windows and old Macs write them."""
    (tmp_path / "vocab.txt").write_bytes((mark + end.join([*SPECIAL_TOKENS, "dog", ""])).encode())
    tokenizer = Tokenizer.from_pretrained(tmp_path)
    assert tokenizer.tokenize("dog") == ["dog"] and tokenizer.vocab_size == 6


def test_truncation_kept_in_a_file_is_switched_off(tiny, tmp_path):
    backend = tokenizers.Tokenizer.from_str(tiny.backend.to_str())
    backend.enable_truncation(4)
    backend.enable_padding(length=9)
    backend.save(str(tmp_path / "tokenizer.json"))
    assert Tokenizer.from_pretrained(tmp_path)(LINES[0])["input_ids"].shape[1] > 9


def test_saving_where_a_file_stands(tiny, tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(InputError, match="taken"):
        tiny.save_pretrained(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"
