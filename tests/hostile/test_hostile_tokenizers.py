"""vocab.txt, tokenizer.json and tokenizer_config.json that are damaged, of another kind, or traps."""

import pytest
from damage import (
    INFO,
    NESTED,
    PREDICT,
    config,
    cut,
    engine,
    fields,
    gone,
    in_its_place,
    link,
    vocabulary,
    words_alone,
    write,
)

from bertlab import Tokenizer

pytestmark = pytest.mark.timeout(30)
BOMB = "((a{1,1000}){1,1000}){1,1000}$"
SLOW = "(a|a|aa)*$"
OPTIONS = "tokenizer_config.json"


def model(**changes):
    return engine(lambda values: values["model"].update(changes))


def part(name: str, value):
    return engine(lambda values: values.update({name: value}))


def numbered(**tokens: int):
    return engine(lambda values: values["model"]["vocab"].update(tokens))


def split_at(pattern: str) -> dict:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def drop_special(values: dict) -> None:
    del values["model"]["vocab"]["[MASK]"]
    values["added_tokens"] = [token for token in values["added_tokens"] if token["content"] != "[MASK]"]


REPLACE = {"type": "Replace", "pattern": {"Regex": SLOW}, "content": "x"}
ADDED = {"content": "x", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}

WHOLE = {  # tokenizer.json
    "empty": (write("tokenizer.json", ""), "cannot be read as JSON"),
    "cut": (cut("tokenizer.json", 500), "cannot be read as JSON"),
    "brackets without end": (write("tokenizer.json", NESTED), "nested more than 50 levels"),
    "brackets in a part": (
        write("tokenizer.json", '{"normalizer":' * 200 + "1" + "}" * 200),
        "nested more than 50 levels",
    ),
    "an object without anything": (write("tokenizer.json", "{}"), "no tokenizer file"),
    "a list": (write("tokenizer.json", "[]"), "not a JSON object"),
    "33 MB": (write("tokenizer.json", b" " * 33_000_000), "such a file has at most"),
    "a folder": (in_its_place("tokenizer.json", lambda path: path.mkdir()), "not a regular file"),
    "a link to itself": (link("tokenizer.json", "tokenizer.json"), "Too many levels of symbolic links"),
    "a link to nothing": (link("tokenizer.json", "nothing"), "No such file"),
    "a regular expression that explodes": (part("pre_tokenizer", split_at(BOMB)), "regular expression"),
    "a regular expression that never ends": (part("pre_tokenizer", split_at(SLOW)), "regular expression"),
    "one deeper down": (
        part("pre_tokenizer", {"type": "Sequence", "pretokenizers": [split_at(SLOW)]}),
        "regular expression",
    ),
    "one in the normalizer": (
        part("normalizer", {"type": "Sequence", "normalizers": [REPLACE]}),
        "regular expression",
    ),
    "one in the decoder": (part("decoder", REPLACE), "regular expression"),
    "no normalizer": (part("normalizer", None), "no BertNormalizer"),
    "no words": (part("pre_tokenizer", None), "no pre_tokenizer"),
    "pieces of no length": (part("pre_tokenizer", {"type": "FixedLength", "length": 0}), "splits text by FixedLength"),
    "digits apart": (part("pre_tokenizer", {"type": "Digits", "individual_digits": True}), "splits text by Digits"),
    "bytes": (
        part(
            "pre_tokenizer", {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
        ),
        "splits text by ByteLevel",
    ),
    "two pre_tokenizers": (
        part("pre_tokenizer", {"type": "Sequence", "pretokenizers": [{"type": "BertPreTokenizer"}]}),
        "splits text by Sequence",
    ),
    "an unknown pre_tokenizer": (part("pre_tokenizer", {"type": "Nothing"}), "no tokenizer file"),
    "words of no characters": (model(max_input_chars_per_word=0), "max_input_chars_per_word must be 1 to 500"),
    "words of 10,000 characters": (model(max_input_chars_per_word=10_000), "must be 1 to 500, not 10000"),
    "words of a billion characters": (model(max_input_chars_per_word=10**9), "max_input_chars_per_word must be"),
    "words of -1 characters": (model(max_input_chars_per_word=-1), "no tokenizer file"),
    "pieces without a mark": (model(continuing_subword_prefix=""), "begin with '', BERT's with '##'"),
    "pieces marked otherwise": (model(continuing_subword_prefix="@@"), "begin with '@@'"),
    "unknown words as [PAD]": (model(unk_token="[PAD]"), "unk_token is '[PAD]'"),
    "byte pairs": (model(type="BPE", merges=[], vocab={"a": 0}), "not WordPiece"),
    "a vocabulary of none": (model(vocab={}), "[UNK] is an added token alone"),
    "a vocabulary that is a list": (model(vocab=[]), "no tokenizer file"),
    "a number that is a text": (numbered(my="one"), "no tokenizer file"),
    "a number below 0": (numbered(my=-1), "no tokenizer file"),
    "a number of 64 bits": (numbered(my=2**40), "no tokenizer file"),
    "a number left out": (numbered(my=10**6), "skips numbers"),
    "a number twice": (numbered(once=7, again=7), "both have the number 7"),
    "a special token's number": (numbered(once=0), "both have the number 0"),
    "a token twice": (
        engine(lambda values: values.update(added_tokens=[ADDED | {"id": 7}, ADDED | {"id": 8}])),
        "tokenizer.json",
    ),
    "an added token of another number": (
        engine(lambda values: values["added_tokens"].append(ADDED | {"id": 900})),
        "tokenizer.json",
    ),
    "no [MASK]": (engine(drop_special), "no [MASK]"),
    "added_tokens an object": (part("added_tokens", {"a": 1}), "no tokenizer file"),
    "half a surrogate pair": (
        write("tokenizer.json", '{"model": {"type": "WordPiece", "vocab": {"\\ud800": 0}}}'),
        "'model' holds half of a surrogate pair",
    ),
    "more tokens than embeddings": (
        engine(lambda values: [values["model"]["vocab"].update({f"new{n}": 38 + n}) for n in range(9)]),
        "47 tokens, but config.json has a vocab_size of 38",
    ),
}

WORDS = {  # vocab.txt alone
    "empty": (write("vocab.txt", ""), "vocab.txt is empty"),
    "cut to four tokens": (vocabulary(lambda tokens: tokens[:4]), "no [MASK]"),
    "zeros": (write("vocab.txt", b"\0" * 1000), "no [PAD]"),
    "not UTF-8": (write("vocab.txt", b"[PAD]\n\xff\n"), "not UTF-8 at byte 6"),
    "a blank line": (vocabulary(lambda tokens: [*tokens[:9], "", *tokens[9:]]), "vocab.txt, line 10: blank"),
    "a token twice": (vocabulary(lambda tokens: [*tokens, tokens[8]]), "line 39: repeats the token ... of line 9"),
    "a token of a megabyte twice": (
        vocabulary(lambda tokens: [*tokens, "x" * 10**6, "x" * 10**6]),
        "line 40: repeats the token 'xxx",
    ),
    "more tokens than embeddings": (vocabulary(lambda tokens: [*tokens, "new"]), "39 tokens, but config.json"),
    "40 GB of holes": (cut("vocab.txt", 40 * 10**9), "40,000,000,000 bytes"),
    "a folder": (in_its_place("vocab.txt", lambda path: path.mkdir()), "not a regular file"),
    "a link to itself": (link("vocab.txt", "vocab.txt"), "Too many levels of symbolic links"),
    "do_lower_case text": (fields(OPTIONS, do_lower_case="yes"), "do_lower_case must be true or false, not 'yes'"),
    "do_lower_case a number": (fields(OPTIONS, do_lower_case=1), "do_lower_case must be"),
    "strip_accents a list": (fields(OPTIONS, strip_accents=[]), "strip_accents must be true or false, not []"),
    "strip_accents text": (fields(OPTIONS, strip_accents="no"), "strip_accents must be"),
    "tokenize_chinese_chars an object": (fields(OPTIONS, tokenize_chinese_chars={}), "tokenize_chinese_chars must"),
    "model_input_names text": (fields(OPTIONS, model_input_names="input_ids"), "model_input_names must be a list"),
    "truncation_side another": (fields(OPTIONS, truncation_side="both"), "truncation_side must be left or right"),
    "options nested": (write(OPTIONS, NESTED), f"{OPTIONS}: JSON nested"),
    "options a list": (write(OPTIONS, "[]"), f"{OPTIONS}: not a JSON object"),
    "options empty": (write(OPTIONS, ""), f"{OPTIONS}: cannot be read as JSON"),
    "options endless": (link(OPTIONS, "/dev/zero"), f"{OPTIONS}: not a regular file"),
    "options a link to itself": (link(OPTIONS, OPTIONS), f"{OPTIONS}: Too many levels"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_tokenizer_json(name, refused, capfd):
    damage, words = WHOLE[name]
    refused("pretraining", damage, words, (INFO, PREDICT))
    assert capfd.readouterr().err == ""  # no report of a panic beside the message


@pytest.mark.parametrize("name", WORDS)
def test_vocab_txt(name, refused):
    damage, words = WORDS[name]
    refused("sentence", words_alone(damage), words, (INFO, PREDICT))


def test_no_tokenizer_at_all(refused):
    refused("sentence", gone("tokenizer.json", "vocab.txt"), "holds no tokenizer", (PREDICT,))


def test_fewer_tokens_than_embeddings_are_fine(folder_of):
    folder = folder_of("pretraining")
    vocabulary(lambda tokens: tokens[:-1])(folder)
    assert Tokenizer.from_pretrained(folder).vocab_size == 37


MAP, MORE = "special_tokens_map.json", "added_tokens.json"
BESIDE = {
    "a map that is nested": (write(MAP, NESTED), f"{MAP}: JSON nested"),
    "added tokens that are nested": (write(MORE, NESTED), f"{MORE}: JSON nested"),
    "another [CLS]": (fields(OPTIONS, cls_token="<s>"), "cls_token is '<s>', BERT's is [CLS]"),
    "another [CLS] in the map": (fields(MAP, cls_token={"content": "<s>"}), "cls_token is '<s>'"),
    "a token that is a number": (fields(OPTIONS, additional_special_tokens=[5]), "5 is no added token"),
    "a token of no letters": (fields(OPTIONS, additional_special_tokens=[""]), "'' is no added token"),
    "tokens that are no list": (fields(OPTIONS, additional_special_tokens="[X]"), "special tokens must be a list"),
    "a flag that is a text": (fields(OPTIONS, extra_token={"content": "[X]", "lstrip": "no"}), "is no added token"),
    "a number that is a name": (fields(MORE, one="first"), "added tokens need a number each"),
    "a number below 0": (fields(MORE, one=-1), "added tokens need a number each"),
    "a number left out": (fields(MORE, one=99), "has the number 99 in a file beside it, but is 38"),
    "a known token's number": (fields(MORE, my=38), "'my' has the number 38"),
    "a decoder that is a list": (fields(OPTIONS, added_tokens_decoder=[]), "added tokens need a number each"),
    "a decoder of texts": (fields(OPTIONS, added_tokens_decoder={"38": []}), "[] is no added token"),
    "more tokens than embeddings": (fields(MORE, one=38), "39 tokens, but config.json has a vocab_size of 38"),
}


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("alone", [False, True], ids=["tokenizer.json", "vocab.txt"])
def test_files_beside_a_tokenizer(alone, name, refused):
    damage, words = BESIDE[name]
    refused("sentence", words_alone(damage) if alone else damage, words, (INFO, PREDICT))


def test_null_options_are_the_published_defaults(folder_of):
    folder = folder_of("sentence")
    words_alone(write(OPTIONS, '{"do_lower_case": null, "strip_accents": null}'))(folder)
    assert Tokenizer.from_pretrained(folder).lowercase


def test_a_tokenizer_without_a_model_beside_it(folder_of):
    folder = folder_of("sentence")
    gone("config.json")(folder)
    assert Tokenizer.from_pretrained(folder).vocab_size == 38
    config(vocab_size="many")(folder)
    assert Tokenizer.from_pretrained(folder).vocab_size == 38
