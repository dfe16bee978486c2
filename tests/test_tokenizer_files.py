"""The files of a tokenizer mean together what transformers makes of them."""

import json
from itertools import product
from pathlib import Path

import pytest
import tokenizers

from bertlab import BertConfig, BertModel, InputError, Tokenizer
from bertlab.explain.text import encode
from bertlab.inputs.pairs import Pair, collate
from bertlab.vocabulary import SPECIAL_TOKENS

transformers = pytest.importorskip("transformers")

MODELS = Path(__file__).parents[1] / "data" / "models"
WORDS = [*SPECIAL_TOKENS, "The", "the", "cafe", "café", "Café", "我", "爱", "##爱", "[", "]", "subj", "ran", "!"]
TEXTS = ["The Café ran!", "the\u200bran", "the cafe 我爱", "[SUBJ] ran [subj] to [MASK][SUBJ]the", " [Subj]  x[SUBJ]y"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(BertConfig(vocab_size=99).to_dict("BertForMaskedLM")))
    return tmp_path


def files(folder, json_too: bool, lowercase: bool = True, **more: dict) -> None:
    """A vocabulary, as tokenizer.json too, and the JSON files of `more`, by their names without the ending."""
    Tokenizer.from_vocab(WORDS, lowercase=lowercase).save_pretrained(folder)
    if not json_too:
        (folder / "tokenizer.json").unlink()
    for name, content in more.items():
        (folder / f"{name}.json").write_text(json.dumps(content))


def same_tokens(folder) -> Tokenizer:
    ours, theirs = Tokenizer.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
    for text in TEXTS:
        encoding = ours.encodings(text)[0]
        assert encoding.tokens == theirs.tokenize(text)
        assert encoding.ids == theirs(text, add_special_tokens=False)["input_ids"]
        assert [ours.cls_token_id, *encoding.ids, ours.sep_token_id] == theirs(text)["input_ids"]
        same_input(ours([text], ["the"]), theirs(text, "the"))
    assert ours.vocab == theirs.get_vocab()
    return ours


def same_input(ours, theirs) -> None:
    """A model that is given no token_type_ids reads 0 everywhere."""
    assert ours["input_ids"][0].tolist() == theirs["input_ids"]
    assert ours["token_type_ids"][0].tolist() == theirs.get("token_type_ids", [0] * len(theirs["input_ids"]))


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("name", ["do_lower_case", "strip_accents", "tokenize_chinese_chars"])
@pytest.mark.parametrize("value", [True, False])
def test_options_beside_tokenizer_json_count(value, name, lowercase, folder):
    files(folder, True, lowercase, tokenizer_config={"tokenizer_class": "BertTokenizer", name: value})
    same_tokens(folder)


BERTS = ["BertTokenizerFast", "DistilBertTokenizer", "DistilBertTokenizerFast", "LxmertTokenizer"]


@pytest.mark.parametrize("kind", [*BERTS, "ConvBertTokenizer", "PreTrainedTokenizerFast", "TokenizersBackend"])
def test_the_class_says_whether_options_count(kind, folder):
    files(folder, True, False, tokenizer_config={"tokenizer_class": kind, "do_lower_case": True})
    assert same_tokens(folder).lowercase == (kind in BERTS)


@pytest.mark.parametrize("kind", ["BertTokenizer", "PreTrainedTokenizerFast"])
@pytest.mark.parametrize("names", [[], ["token_type_ids"]])
def test_model_input_names_say_whether_pairs_have_segments(names, kind, folder):
    files(folder, True, tokenizer_config={"tokenizer_class": kind, "model_input_names": ["input_ids", *names]})
    ours = same_tokens(folder)
    assert collate([Pair([5], [6], 0)], ours)["token_type_ids"].any() == bool(names)
    ours.save_pretrained(folder)
    assert same_tokens(folder).reading.segments == bool(names)
    assert encode(ours, "the [SEP]", "ran", 9).texts.tolist() == [0, 0, 0, 0, 1, 1]  # the explorer tells texts apart


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_long_text_is_cut_at_its_truncation_side(side, folder):
    files(folder, False, tokenizer_config={"tokenizer_class": "BertTokenizer", "truncation_side": side})
    Tokenizer.from_pretrained(folder).save_pretrained(folder)
    ours, theirs = Tokenizer.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
    for text, pair in ((TEXTS[0], None), (TEXTS[0], TEXTS[3]), (TEXTS[3], "the")):
        pairs = None if pair is None else [pair]
        same_input(ours([text], pairs, max_length=7), theirs(text, pair, truncation=True, max_length=7))


@pytest.mark.parametrize(
    ("own", "written"), [({}, 64), ({"model_max_length": 12}, 12), ({"model_max_length": 999}, 64)]
)
def test_transformers_cuts_texts_for_a_saved_model(own, written, folder):
    files(folder, False, tokenizer_config={"tokenizer_class": "BertTokenizer"} | own)
    model = BertModel(BertConfig.from_size("tiny", vocab_size=len(WORDS), max_position_embeddings=64))
    model.save_pretrained(folder, Tokenizer.from_pretrained(folder))
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert len(theirs("the " * 99, truncation=True)["input_ids"]) == written


@pytest.mark.parametrize("path", sorted(MODELS.rglob("tokenizer_config.json")), ids=lambda path: path.parent.name)
def test_transformers_cuts_texts_for_a_bundled_model(path):
    config = json.loads(path.with_name("config.json").read_text())
    assert json.loads(path.read_text())["model_max_length"] == config["max_position_embeddings"]


def test_a_tokenizer_json_alone_is_taken_as_it_stands(folder):
    files(folder, True, lowercase=False)
    (folder / "tokenizer_config.json").unlink()
    assert not Tokenizer.from_pretrained(folder).lowercase


def test_a_class_unknown_to_transformers_takes_tokenizer_json_as_it_stands(folder):
    files(folder, True, False, tokenizer_config={"tokenizer_class": "OwnTokenizer", "do_lower_case": True})
    assert not same_tokens(folder).lowercase


def test_the_class_may_stand_in_the_config_of_the_model(folder):
    files(folder, True, False, tokenizer_config={"do_lower_case": True})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"tokenizer_class": "PreTrainedTokenizerFast"}))
    assert not same_tokens(folder).lowercase


@pytest.mark.parametrize("place", ["tokenizer_config.json", "config.json"])
@pytest.mark.parametrize(
    ("kind", "json_too"),
    [
        *((kind, False) for kind in ("BertJapaneseTokenizer", "RobertaTokenizer", "OwnTokenizer")),
        *((kind, True) for kind in ("RobertaTokenizer", "SplinterTokenizer")),
    ],
)
def test_a_class_that_cuts_text_otherwise_is_refused(kind, json_too, place, folder):
    files(folder, json_too, tokenizer_config={"do_lower_case": False})
    path = folder / place
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tokenizer_class": kind}))
    with pytest.raises(InputError, match=f"{place}: tokenizer_class is '{kind}', which cuts text in another way"):
        Tokenizer.from_pretrained(folder)


def test_special_tokens_that_are_split_are_refused(folder):
    files(folder, False, tokenizer_config={"split_special_tokens": True})
    with pytest.raises(InputError, match=r"tokenizer_config.json: split_special_tokens is set"):
        Tokenizer.from_pretrained(folder)


@pytest.mark.parametrize(
    ("part", "field", "value"), [("model", "max_input_chars_per_word", 3), ("normalizer", "clean_text", False)]
)
def test_a_tokenizer_json_as_it_stands_keeps_its_settings_and_tokens(part, field, value, folder):
    fast = {"tokenizer_class": "PreTrainedTokenizerFast", "added_tokens_decoder": {str(NEW): SUBJ}}
    files(folder, True, tokenizer_config=fast)
    values = json.loads((folder / "tokenizer.json").read_text())
    values[part][field] = value
    values["added_tokens"].append({"id": NEW, **SUBJ, "special": False})
    (folder / "tokenizer.json").write_text(json.dumps(values))
    ours = same_tokens(folder)
    assert ours.tokenize("cafe") == (["[UNK]"] if part == "model" else ["cafe"])
    ours.save_pretrained(folder)
    same_tokens(folder)


def test_spaces_at_the_end_of_a_line_are_no_part_of_a_token(folder):
    files(folder, False, tokenizer_config=LOWER)
    (folder / "vocab.txt").write_text("".join(f"{word} \n" for word in WORDS))
    assert same_tokens(folder).tokenize("the") == ["the"]


def test_blank_lines_at_the_end_are_no_token(folder):
    files(folder, False, tokenizer_config=LOWER)
    with (folder / "vocab.txt").open("a") as file:
        file.write("\n\n")
    ours, theirs = Tokenizer.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
    assert [ours([text])["input_ids"][0].tolist() for text in TEXTS] == theirs(TEXTS)["input_ids"]
    (folder / "tokenizer_config.json").write_text(json.dumps({"extra_special_tokens": ["[SUBJ]"]}))
    with pytest.raises(InputError, match="vocab.txt: ends in a blank line"):  # there transformers counts that line
        Tokenizer.from_pretrained(folder)


def test_what_else_tokenizer_json_says_is_not_followed(folder):
    """How special tokens are put around a text, how tokens become text again, cut and padding: BERT's."""
    files(folder, True)
    path = folder / "tokenizer.json"
    values = json.loads(path.read_text())
    roberta = {"type": "RobertaProcessing", "sep": ["!", 17], "cls": ["!", 17], "trim_offsets": True}
    values |= {"post_processor": roberta | {"add_prefix_space": True}, "decoder": {"type": "Fuse"}}
    values["truncation"] = {"direction": "Left", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    path.write_text(json.dumps(values))
    plain = Tokenizer.from_vocab(WORDS)
    ours = Tokenizer.from_pretrained(folder)
    assert ours(TEXTS)["input_ids"].tolist() == plain(TEXTS)["input_ids"].tolist()
    assert ours.decode(plain.encode_batch(TEXTS)[0]) == "the cafe ran!"


def test_a_tokenizer_json_as_it_stands_that_frames_texts_otherwise_is_refused(folder):
    files(folder, True, tokenizer_config={"tokenizer_class": "PreTrainedTokenizerFast"})
    path = folder / "tokenizer.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"post_processor": None}))
    with pytest.raises(InputError, match=r"tokenizer.json: post_processor makes '\[UNK\]' of a, BERT's adds \[CLS\]"):
        Tokenizer.from_pretrained(folder)


SUBJ = {"content": "[SUBJ]", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
NEW = len(WORDS)
LOWER = {"do_lower_case": True}
ADDED = {
    "added_tokens.json": {"added_tokens": {"[SUBJ]": NEW}},
    "and the map": {
        "added_tokens": {"[SUBJ]": NEW},
        "special_tokens_map": {"additional_special_tokens": ["[SUBJ]"], "cls_token": "[CLS]"},
    },
    "the map alone": {"special_tokens_map": {"additional_special_tokens": ["[SUBJ]"]}},
    "the map's own names": {"special_tokens_map": {"subject_token": SUBJ, "extra_special_tokens": [SUBJ]}},
    "a list in the options": {"tokenizer_config": LOWER | {"additional_special_tokens": ["[SUBJ]"]}},
    "further tokens": {"tokenizer_config": LOWER | {"extra_special_tokens": ["[SUBJ]", "ran"]}},
    "further tokens by name": {"tokenizer_config": LOWER | {"extra_special_tokens": {"subject_token": "[SUBJ]"}}},
    "a name of its own": {"tokenizer_config": LOWER | {"subject_token": "[SUBJ]", "bos_token": "[BOS]"}},
    "a decoder": {"tokenizer_config": LOWER | {"added_tokens_decoder": {str(NEW): SUBJ | {"special": True}}}},
    "a decoder beside older files": {
        "tokenizer_config": LOWER | {"added_tokens_decoder": {str(NEW): SUBJ | {"special": False}}},
        "added_tokens": {"[OBJ]": NEW},
    },
    "one that is normalised": {
        "tokenizer_config": LOWER | {"added_tokens_decoder": {str(NEW): SUBJ | {"special": False, "normalized": True}}}
    },
    "one that takes spaces": {
        "tokenizer_config": LOWER | {"added_tokens_decoder": {str(NEW): SUBJ | {"special": True, "lstrip": True}}}
    },
    "one that is a whole word": {
        "tokenizer_config": LOWER | {"added_tokens_decoder": {str(NEW): SUBJ | {"special": True, "single_word": True}}}
    },
    "a token of the vocabulary": {"tokenizer_config": LOWER | {"additional_special_tokens": ["subj"]}},
}


@pytest.mark.parametrize(("json_too", "name"), list(product([True, False], ADDED)))
def test_added_tokens(json_too, name, folder):
    files(folder, json_too, **ADDED[name])
    ours = same_tokens(folder)
    ours.save_pretrained(folder / "again")
    (folder / "again" / "config.json").write_text((folder / "config.json").read_text())
    again = same_tokens(folder / "again")
    assert [again.tokenize(text) for text in TEXTS] == [ours.tokenize(text) for text in TEXTS]


@pytest.mark.parametrize("part", [tokenizers.pre_tokenizers.Whitespace(), tokenizers.pre_tokenizers.Digits()])
def test_a_pipeline_of_your_own_splits_as_bert_does(part):
    backend = Tokenizer.from_vocab(WORDS).backend
    backend.pre_tokenizer = part
    with pytest.raises(InputError, match="splits text by"):
        Tokenizer(backend)
