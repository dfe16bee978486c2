import json

import pytest
import torch
from safetensors.torch import save_file

from bertlab import BertConfig, BertModel, InputError

# Encoder with pooler at vocabulary 30,522: Devlin et al. 2019, Turc et al. 2019.
PUBLISHED = {
    "tiny": 4_385_920,
    "mini": 11_170_560,
    "small": 28_763_648,
    "medium": 41_373_184,
    "base": 109_482_240,
    "large": 335_141_888,
}


@pytest.mark.parametrize("size", PUBLISHED)
def test_sizes_have_the_published_parameter_counts(size):
    with torch.device("meta"):
        model = BertModel(BertConfig.from_size(size))
    assert sum(parameter.numel() for parameter in model.parameters()) == PUBLISHED[size]


def test_defaults_are_those_of_transformers():
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertConfig().to_dict()
    assert {name: theirs[name] for name in BertConfig().to_dict()} == BertConfig().to_dict()
    assert BertConfig.from_dict(theirs) == BertConfig()


def test_from_size_takes_overrides():
    config = BertConfig.from_size("tiny", vocab_size=4000, hidden_act="relu")
    assert (config.vocab_size, config.hidden_size, config.hidden_act) == (4000, 128, "relu")


def test_round_trip_through_a_dict_and_a_file(tmp_path):
    config = BertConfig(vocab_size=99, layer_norm_eps=1e-6)
    assert BertConfig.from_dict(config.to_dict()) == config
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()))
    assert BertConfig.from_pretrained(tmp_path) == config


# As in bert-base-multilingual-cased and in checkpoints saved by old releases of transformers.
OLD_FIELDS = {
    "architectures": ["BertForMaskedLM"],
    "directionality": "bidi",
    "gradient_checkpointing": False,
    "pooler_fc_size": 768,
    "pooler_num_attention_heads": 12,
    "pooler_num_fc_layers": 3,
    "pooler_size_per_head": 128,
    "pooler_type": "first_token_transform",
    "position_embedding_type": "absolute",
    "torch_dtype": "float32",
    "transformers_version": "4.6.0.dev0",
    "use_cache": True,
}


def test_harmless_published_fields_are_ignored():
    assert BertConfig.from_dict(OLD_FIELDS) == BertConfig()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model_type", "roberta"),
        ("position_embedding_type", "relative_key"),
        ("is_decoder", 1),
        ("add_cross_attention", True),
        ("pruned_heads", {"0": [1]}),
        ("structure", ["conv"]),
        ("hidden_act", "silu"),
        ("embedding_size", 128),  # ALBERT's and ELECTRA's
        ("num_attention_heads", 7),
        ("num_attention_heads", 0),
        ("vocab_size", -3),
        ("hidden_dropout_prob", 1.0),
        ("attention_probs_dropout_prob", -0.1),
        ("layer_norm_eps", 0.0),
        ("pad_token_id", 30522),
        ("pad_token_id", -1),
    ],
)
def test_what_would_be_another_computation_is_named(field, value):
    with pytest.raises(InputError, match=field) as caught:
        BertConfig.from_dict({field: value})
    assert "\n" not in str(caught.value)


def test_unknown_size():
    with pytest.raises(InputError, match="'huge' is unknown.*tiny"):
        BertConfig.from_size("huge")


def test_an_adapter_without_a_config_has_that_of_its_base(tmp_path):
    fields = {"peft_type": "LORA", "base_model_name_or_path": "storyworld-tiny", "r": 2, "lora_alpha": 4}
    (tmp_path / "adapter_config.json").write_text(json.dumps(fields))
    save_file({"base_model.model.classifier.weight": torch.ones(5, 128)}, tmp_path / "adapter_model.safetensors")
    expected = BertConfig.from_pretrained("storyworld-tiny").changed(num_labels=5)
    assert BertConfig.from_pretrained(tmp_path) == expected


# Labels of the classifiers


def test_labels_and_their_names():
    assert BertConfig().num_labels == 2 and BertConfig().id2label == {0: "LABEL_0", 1: "LABEL_1"}
    assert BertConfig(num_labels=3).id2label == {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}
    named = BertConfig.from_dict({"id2label": {"1": "good", "0": "bad", "2": "so-so"}, "label2id": {"bad": 0}})
    assert (named.num_labels, named.id2label) == (3, {0: "bad", 1: "good", 2: "so-so"})
    other = BertConfig.from_dict({"label2id": {"good": 1, "bad": 0}})  # the names stand in this field alone
    assert (other.num_labels, other.id2label) == (2, {0: "bad", 1: "good"})
    for numbers in ({"good": "1", "bad": "0"}, {"good": 1, "bad": 2}, {"good": 0, "fine": 0}, ["good", "bad"]):
        assert BertConfig.from_dict({"label2id": numbers}).id2label == {0: "LABEL_0", 1: "LABEL_1"}
    for without in ({"label2id": {"good": 0}, "num_labels": 2}, {"label2id": {}}):
        assert BertConfig.from_dict(without).id2label == {0: "LABEL_0", 1: "LABEL_1"}
    assert named.label2id == {"bad": 0, "good": 1, "so-so": 2}
    assert BertConfig.from_dict(json.loads(json.dumps(named.to_dict()))) == named
    assert hash(named) == hash(named.changed())


def test_numbers_and_names_of_labels_that_differ():
    names = {0: "LABEL_0", 1: "LABEL_1"}
    assert BertConfig.from_dict({"num_labels": 3, "id2label": names}).num_labels == 3  # as old releases wrote them
    with pytest.raises(InputError, match="num_labels is 3.*names 2"):
        BertConfig(num_labels=3, id2label=names)


def test_changing_labels():
    named = BertConfig(id2label={0: "no", 1: "yes"})
    assert named.changed(num_labels=2) == named == named.changed()
    assert named.changed(num_labels=3).id2label == {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}
    assert named.changed(id2label={0: "a", 1: "b", 2: "c"}).num_labels == 3
    assert named.changed(hidden_act="relu").id2label == named.id2label


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"num_labels": 0}, "num_labels"),
        ({"num_labels": "3"}, "num_labels"),
        ({"id2label": {"first": "a"}}, "id2label must give"),
        ({"problem_type": "guessing"}, "problem_type 'guessing'.*regression"),
        ({"problem_type": "single_label_classification", "num_labels": 1}, "needs 2 labels or more"),
        ({"classifier_dropout": 1.5}, "classifier_dropout must be"),
    ],
    ids=str,
)
def test_labels_that_cannot_be(fields, words):
    with pytest.raises(InputError, match=words) as caught:
        BertConfig.from_dict(fields)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["dtype", "output_attentions", "revision"])
def test_only_fields_can_be_changed(name):
    with pytest.raises(InputError, match=f"'{name}' is no field"):
        BertConfig().changed(**{name: 1})


def test_padding_of_no_number_is_the_default():
    assert BertConfig.from_dict({"pad_token_id": None}) == BertConfig()


# Fields of our own

OWN = dict(pooling="mean", layer_mix="scalar-mix", token_decoder="crf", no_answer_threshold=-1.5)


def test_own_fields_are_written_only_where_they_differ_from_a_plain_bert():
    assert not OWN.keys() & BertConfig().to_dict().keys()
    assert {name: BertConfig(**OWN).to_dict()[name] for name in OWN} == OWN
    one = BertConfig(layer_mix="sum-last-4").to_dict()
    assert one == BertConfig().to_dict() | {"layer_mix": "sum-last-4"}


def test_own_fields_are_read_back(tmp_path):
    config = BertConfig(**OWN)
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()))
    assert BertConfig.from_pretrained(tmp_path) == config != BertConfig()
    assert (
        config.changed(pooling="cls", layer_mix="last", token_decoder="linear", no_answer_threshold=0.0) == BertConfig()
    )


def test_a_plain_class_with_a_head_of_ours_is_refused():
    """transformers would leave the field unread."""
    fields = {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "pooling": "mean"}
    with pytest.raises(InputError, match="pooling is no part of a BERT: the model_type must be 'bert-variant'"):
        BertConfig.from_dict(fields)
    assert BertConfig.from_dict(fields | {"architectures": ["BertForQuestionAnswering"]}).pooling == "mean"


def test_transformers_leaves_own_fields_alone(tmp_path):
    transformers = pytest.importorskip("transformers")
    model = BertModel(BertConfig.from_size("tiny", vocab_size=50, **OWN | {"layer_mix": "second-to-last"})).eval()
    model.save_pretrained(tmp_path)
    written = json.loads((tmp_path / "config.json").read_text())
    assert OWN.keys() & written.keys() == {"no_answer_threshold"}  # the others are for heads that this one has not
    ids = torch.randint(50, (2, 7))
    opened = transformers.AutoModel.from_pretrained(tmp_path).eval()
    torch.testing.assert_close(opened(ids).last_hidden_state, model(ids).last_hidden_state, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("pooling", "max", "pooling 'max' is unknown; known: cls, mean"),
        ("pooling", None, "pooling must be str"),
        ("layer_mix", "sum", "layer_mix 'sum' is unknown; known: last, .*scalar-mix"),
        ("token_decoder", "lstm", "token_decoder 'lstm' is unknown; known: linear, cnn, crf"),
        ("no_answer_threshold", "high", "no_answer_threshold must be float"),
        ("no_answer_threshold", float("nan"), "no_answer_threshold must be at most"),
    ],
)
def test_own_fields_that_cannot_be(field, value, words):
    with pytest.raises(InputError, match=words):
        BertConfig.from_dict({field: value})
