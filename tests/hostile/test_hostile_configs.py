"""config.json and recipe.json that ask for too much, for nonsense, or cannot be read."""

import json
from os import mkfifo

import pytest
from damage import INFO, NESTED, PREDICT, both, config, cut, fields, gone, in_its_place, link, write

from bertlab import BertConfig, InputError

pytestmark = pytest.mark.timeout(30)
HUGE = 2**40
DEEP = json.loads("[" * 40 + "]" * 40)

FIELDS = {
    **{
        f"{name} {HUGE}": ("pretraining", {name: HUGE}, f"{name} must be at most")
        for name in (
            "hidden_size",
            "intermediate_size",
            "max_position_embeddings",
            "num_attention_heads",
            "num_hidden_layers",
            "type_vocab_size",
            "vocab_size",
        )
    },
    "hidden_size of 400 digits": ("qa", {"hidden_size": 10**400}, "hidden_size must be at most 65,536"),
    "a billion layers": ("token", {"num_hidden_layers": 10**9}, "num_hidden_layers must be at most 1,024"),
    "more layers than stored": (
        "qa",
        {"num_hidden_layers": 1024},
        "asks for 1,024 layers ... encoder.layer.2 ... is missing",
    ),
    "a billion labels": ("sentence", {"num_labels": 10**9}, "num_labels must be at most"),
    "a billion word labels": ("token", {"num_labels": 10**9}, "num_labels must be at most"),
    "more labels than stored": ("sentence", {"num_labels": 1000}, "classifier.weight is (3, 24)"),
    "a CRF of many labels": ("token", {"num_labels": 1001, "token_decoder": "crf"}, "at most 1,000 for token_dec"),
    "pad_token_id 2^70": ("pretraining", {"pad_token_id": 2**70}, "pad_token_id must be at most"),
    "epsilon 1e300": ("token", {"layer_norm_eps": 1e300}, "layer_norm_eps must be at most 1"),
    "epsilon infinite": ("token", {"layer_norm_eps": float("inf")}, "layer_norm_eps must be at most 1"),
    "epsilon nan": ("token", {"layer_norm_eps": float("nan")}, "layer_norm_eps must be positive"),
    "epsilon of 400 digits": ("token", {"layer_norm_eps": 10**400}, "layer_norm_eps must be at most 1"),
    "initializer_range 1e300": ("sentence", {"initializer_range": 1e300}, "initializer_range must be at most"),
    "dropout nan": ("sentence", {"hidden_dropout_prob": float("nan")}, "hidden_dropout_prob must be"),
    "classifier_dropout a list": ("sentence", {"classifier_dropout": [1]}, "classifier_dropout must be float"),
    "threshold of 400 digits": ("qa", {"no_answer_threshold": 10**400}, "no_answer_threshold must be at most"),
    "threshold nan": ("qa", {"no_answer_threshold": float("nan")}, "no_answer_threshold must be at most"),
    "hidden_size text": ("qa", {"hidden_size": "24"}, "hidden_size must be int, not '24'"),
    "hidden_size null": ("qa", {"hidden_size": None}, "hidden_size must be int"),
    "hidden_size a list": ("qa", {"hidden_size": [24] * 100_000}, "hidden_size must be int, not [24, 24"),
    "hidden_size true": ("qa", {"hidden_size": True}, "hidden_size must be int"),
    "hidden_size 24.0": ("qa", {"hidden_size": 24.0}, "hidden_size must be int"),
    "hidden_size 0": ("qa", {"hidden_size": 0}, "hidden_size must be positive"),
    "hidden_size of others": ("qa", {"hidden_size": 48}, "config.json asks for"),
    "vocab_size above the stored": ("pretraining", {"vocab_size": 99}, "config.json asks for (99, 24)"),
    "activation an object": ("pretraining", {"hidden_act": {"a": 1}}, "hidden_act must be str, not {'a': 1}"),
    "activation of a megabyte": ("pretraining", {"hidden_act": "x" * 10**6}, "hidden_act 'xxx"),
    "problem_type a list": ("sentence", {"problem_type": []}, "problem_type [] is unknown"),
    "model_type of a megabyte": ("sentence", {"model_type": "x" * 10**6}, "model_type is 'xxx"),
    "pruned_heads 40 levels deep": ("sentence", {"pruned_heads": DEEP}, "pruned_heads is [[["),
    "a field of a megabyte": ("sentence", {"x" * 10**6: 1}, "field 'xxx"),
    "a field with escape codes": ("sentence", {"\x1b[2J\n\x9b": 1}, "field '\\x1b[2J\\n\\x9b' is unknown"),
    "half a surrogate pair": ("sentence", {"\ud800": 1}, "'\\ud800' holds half of a surrogate pair"),
    "labels a list": ("sentence", {"id2label": ["a", "b", "c"]}, "id2label must give"),
    "labels a number": ("sentence", {"id2label": 3}, "id2label must give"),
    "labels none": ("sentence", {"id2label": {}}, "from 0 on"),
    "labels from 1": ("sentence", {"id2label": {"1": "a", "2": "b", "3": "c"}}, "from 0 on, not 1, 2, 3"),
    "labels numbered twice": ("sentence", {"id2label": {"0": "a", "00": "b", "1": "c"}}, "from 0 on, not 0, 0, 1"),
    "labels named twice": ("token", {"id2label": {"0": "O", "1": "x", "2": "x"}}, "gives 2 labels the name 'x'"),
    "label of a megabyte": ("sentence", {"id2label": {"0": "a" * 10**6, "1": "b", "2": "c"}}, "name of label 0"),
    "label an object": ("sentence", {"id2label": {"0": {}, "1": "b", "2": "c"}}, "name of label 0"),
    "label null": ("sentence", {"id2label": {"0": None, "1": "b", "2": "c"}}, "name of label 0"),
    "label number of 5,000 digits": ("sentence", {"id2label": {"9" * 5000: "a"}}, "id2label must give"),
}

TEXTS = {
    "empty": ("", "cannot be read as JSON"),
    "cut": ('{"hidden_size": 2', "cannot be read as JSON"),
    "brackets without end": (NESTED, "nested more than 50 levels"),
    "objects without end": ('{"a":' * 200_000, "nested more than 50 levels"),
    "60 levels": ('{"architectures":' + "[" * 60 + "]" * 60 + "}", "nested more than 50 levels"),
    "a list": ("[]", "not a JSON object"),
    "null": ("null", "not a JSON object"),
    "a field twice": ('{"hidden_size": 24, "hidden_size": 48}', "'hidden_size' is given twice"),
    "a number of 5,000 digits": ('{"hidden_size": ' + "9" * 5000 + "}", "cannot be read as JSON"),
    "not UTF-8": (b"\xff\xfe{\x00}\x00", "not UTF-8 at byte 0"),
    "a byte order mark": (b"\xef\xbb\xbf{", "cannot be read as JSON"),
    "zeros": (b"\0" * 1000, "cannot be read as JSON"),
    "33 MB": (b" " * 33_000_000, "33,000,000 bytes; such a file has at most"),
}

FILES = {
    "missing": (gone("config.json"), "no checkpoint ... config.json is missing"),
    "a folder": (in_its_place("config.json", lambda path: path.mkdir()), "not a regular file"),
    "a link to itself": (link("config.json", "config.json"), "config.json: Too many levels of symbolic links"),
    "a link to nothing": (link("config.json", "nothing"), "config.json: No such file"),
    "100 GB of holes": (cut("config.json", 100 * 10**9), "100,000,000,000 bytes"),
}

MODULES = {
    "nested": (NESTED, "modules.json: JSON nested"),
    "an absolute path": ('[{"path": "/etc"}]', "'/etc' lies outside this folder"),
    "a path upwards": ('[{"path": "a/../../x"}]', "lies outside this folder"),
    "no path": ('[{"name": "a"}]', "no list of modules"),
    "a path that is a number": ('[{"path": 3}]', "3 is no name of a file"),
    "an object": ('{"path": "a"}', "no list of modules"),
}

RECIPES = {
    "max_length text": ({"max_length": "long"}, "max_length must be a positive whole number, not 'long'"),
    "max_length a list": ({"max_length": []}, "max_length must be"),
    "max_length infinite": ({"max_length": float("inf")}, "max_length must be"),
    "max_length -1": ({"max_length": -1}, "max_length must be"),
    "stride -1": ({"stride": -1}, "stride must be"),
    "stride text": ({"stride": "x"}, "stride must be"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field(name, refused):
    kind, changes, words = FIELDS[name]
    refused(kind, config(**changes), f"config.json ... {words}" if "asks for" not in words else words, (INFO, PREDICT))


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_no_config(name, refused):
    content, words = TEXTS[name]
    refused("qa", write("config.json", content), f"config.json ... {words}", (INFO, PREDICT))


@pytest.mark.parametrize("name", FILES)
def test_a_config_that_is_no_file(name, refused):
    refused("sentence", *FILES[name], (INFO, PREDICT))


@pytest.mark.parametrize("name", MODULES)
def test_a_list_of_modules(name, refused):
    content, words = MODULES[name]
    refused("pretraining", both(gone("config.json"), write("modules.json", content)), words, (INFO, PREDICT))


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe(name, refused):
    changes, words = RECIPES[name]
    refused("qa", fields("recipe.json", **changes), f"recipe.json: {words}", (PREDICT,))


@pytest.mark.parametrize(
    "damage",
    [*(write("recipe.json", content) for content in (NESTED, "[]", "", b"\xff")), in_its_place("recipe.json", mkfifo)],
    ids=["nested", "a list", "empty", "not UTF-8", "a pipe"],
)
def test_a_recipe_that_cannot_be_read(damage, refused):
    refused("token", damage, "recipe.json", (PREDICT,))


def test_bounds_hold_in_the_library_too():
    for changes in ({"num_hidden_layers": 10**9}, {"num_labels": 10**9}, {"hidden_size": HUGE}):
        with pytest.raises(InputError, match="must be at most"):
            BertConfig(**changes)
        with pytest.raises(InputError, match="must be at most"):
            BertConfig().changed(**changes)


def test_large_published_shapes_pass():
    sizes = dict(hidden_size=4096, num_hidden_layers=96, num_attention_heads=64, intermediate_size=16384)
    BertConfig(vocab_size=1_000_000, max_position_embeddings=32768, **sizes)
    BertConfig(num_labels=30_000)


def test_label_names_stay_as_they_are_in_the_file(folder_of):
    """They are matched with the labels of data sets, and escaped where they are printed: see test_hostile_commands."""
    folder = folder_of("sentence")
    names = {"0": "bad\x1b[31m", "1": "so\nso", "2": "go\u202eod \u05d8\u05d5\u05d1"}
    config(id2label=names)(folder)
    assert list(BertConfig.from_pretrained(folder).id2label.values()) == list(names.values())
