"""The facts of a model, as data and as tables."""

import io
import json

import pytest
import torch
from rich.console import Console
from safetensors import safe_open

from bertlab import (
    BertConfig,
    BertForPreTraining,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    InputError,
    Tokenizer,
)
from bertlab.cli.main import main
from bertlab.draw.tables import print_facts
from bertlab.io.locate import data_folder
from bertlab.model.summary import model_facts, parameters_by_part


@pytest.fixture
def labelled(config, tmp_path):
    """A classifier with named labels and a cased tokenizer."""
    tokenizer = Tokenizer.train(["My dog is hairy"], 61, lowercase=False, min_frequency=1)
    kind = BertForSequenceClassification(config.changed(id2label={0: "bad", 1: "[good]", 2: "so-so"}))
    kind.save_pretrained(tmp_path / "labelled", tokenizer)
    return tmp_path / "labelled"


def test_what_a_checkpoint_lacks_is_not_counted():
    with safe_open(data_folder() / "models" / "english-scratch" / "model.safetensors", "pt") as file:
        stored = sum(file.get_tensor(name).numel() for name in file.keys())
    facts = model_facts("english-scratch")
    assert facts.total == stored and "pooler" not in facts.parameters


def test_counts_are_those_of_the_stored_tensors():
    facts = model_facts("storyworld-tiny")
    with safe_open(data_folder() / "models" / "storyworld-tiny" / "model.safetensors", "pt") as file:
        sizes = {name: file.get_tensor(name).numel() for name in file.keys()}
    assert facts.total == sum(sizes.values())
    for part, prefix in [("layer 3", "encoder.layer.2."), ("embeddings", "embeddings."), ("pooler", "pooler.")]:
        stored = sum(size for name, size in sizes.items() if name.startswith("bert." + prefix))
        assert facts.parameters[part] == stored
    heads = facts.parameters["masked-word head"] + facts.parameters["next-sentence head"]
    assert heads == sum(size for name, size in sizes.items() if name.startswith("cls."))
    assert facts.memory == {"float32": 4 * facts.total, "float16": 2 * facts.total}
    assert sum(facts.parameters.values()) == facts.total


def test_the_published_size_of_bert_base():
    counts = parameters_by_part(BertModel.without_values(BertConfig()))
    assert sum(counts.values()) == 109_482_240
    assert list(counts) == ["embeddings", *(f"layer {n}" for n in range(1, 13)), "pooler"]
    assert counts["layer 12"] == 7_087_872


def test_shapes_are_told_once_for_all_layers(checkpoint):
    modules = {module.name: module for module in model_facts(checkpoint).modules}
    qkv = modules["encoder.layers.*.attention.qkv"]
    assert (qkv.times, qkv.shapes) == (3, {"weight": (72, 24), "bias": (72,)})
    assert modules["embeddings.word"].times == 1
    assert modules["mlm.decoder"].tied and not modules["mlm.dense"].tied
    model = BertForPreTraining.from_pretrained(checkpoint)
    leaves = sum(module.times * len(module.shapes) for module in modules.values())
    assert leaves == len(model.state_dict())


def test_tokenizer_and_labels(labelled):
    facts = model_facts(labelled)
    assert facts.architecture == "BertForSequenceClassification"
    assert facts.config["id2label"] == {0: "bad", 1: "[good]", 2: "so-so"}
    assert not facts.tokenizer.lowercase
    assert facts.tokenizer.special_tokens == {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    assert facts.tokenizer.vocab_size == Tokenizer.from_pretrained(labelled).vocab_size


@pytest.mark.parametrize(
    ("changes", "part", "count"),
    [
        ({"token_decoder": "cnn"}, "word convolution", 3 * 24 * 24 + 24),
        ({"token_decoder": "crf"}, "CRF", 3 * 3 + 2 * 3),
        ({"layer_mix": "scalar-mix"}, "layer mix", 3 + 1 + 1),  # a number for each layer, for the embeddings, and gamma
    ],
)
def test_heads_of_bertlab_s_own(changes, part, count, config, tmp_path):
    BertForTokenClassification(config.changed(num_labels=3, **changes)).save_pretrained(tmp_path)
    facts = model_facts(tmp_path)
    assert facts.parameters[part] == count
    assert sum(facts.parameters.values()) == facts.total
    print_facts(facts, Console(file=io.StringIO()))


@pytest.mark.parametrize("named", [None, [], ["BertLMHeadModel"], "BertModel", [["x"]], 3])
def test_a_class_that_bertlab_does_not_have_is_an_encoder(named, config, tmp_path):
    BertModel(config).save_pretrained(tmp_path)
    stored = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(stored | {"architectures": named}))
    assert model_facts(tmp_path).architecture == "BertModel"


def test_names_and_shapes_of_the_weights_are_checked_and_their_values_not_read(labelled, monkeypatch):
    before = torch.get_rng_state()
    monkeypatch.setattr("bertlab.model.weights.check_values", lambda *_: pytest.fail("values were read"))
    model_facts(labelled)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_hub_model_whose_weights_were_not_fetched(labelled, monkeypatch):
    (labelled / "model.safetensors").unlink()
    monkeypatch.setattr("bertlab.model.summary.locate", lambda name: labelled)
    assert model_facts("org/name").architecture == "BertForSequenceClassification"


@pytest.mark.parametrize("width", [80, 40])
def test_tables_hold_every_fact(width, labelled):
    console = Console(width=width, record=True, file=io.StringIO())
    facts = model_facts(labelled)
    print_facts(facts, console)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    if width == 80:
        for told in (f"{facts.total:,}", "72 x 24", "as written (cased)", "[MASK] 4", "bad, [good], so-so", "layer 3"):
            assert told in text, told


def test_the_command(labelled, capsys):
    main(["info", str(labelled)])
    assert "classifier" in capsys.readouterr().out
    main(["info", str(labelled), "--json"])
    assert json.loads(capsys.readouterr().out)["total"] == model_facts(labelled).total


@pytest.mark.parametrize("kept", ["vocab.txt", "tokenizer.json"])
def test_a_folder_that_holds_a_vocabulary_alone(kept, labelled, tmp_path, capsys):
    (tmp_path / "words").mkdir()
    (labelled / kept).rename(tmp_path / "words" / kept)
    main(["info", str(tmp_path / "words"), "--json"])
    size = json.loads(capsys.readouterr().out)["tokenizer"]["vocab_size"]
    main(["info", str(tmp_path / "words")])
    assert size > 30 and str(size) in capsys.readouterr().out
    (labelled / "config.json").unlink()  # a model that lost its config is no vocabulary
    with pytest.raises(SystemExit):
        main(["info", str(labelled)])
    assert "config.json" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["nothing", "no tokenizer file that works", "another model"])
def test_mistakes_are_one_line_and_exit_2(what, labelled, capsys):
    name, told = labelled, "config.json"
    if what == "nothing":
        name = labelled / "config"
        told = "no folder"
    elif what == "another model":
        (labelled / "config.json").write_text('{"model_type": "roberta"}')
        told = "'roberta'"
    else:
        (labelled / "tokenizer.json").write_text("{}")
        told = "tokenizer.json"
    with pytest.raises(SystemExit) as caught:
        main(["info", str(name)])
    out, err = capsys.readouterr()
    assert caught.value.code == 2 and out == ""
    assert told in err and len(err.strip().splitlines()) == 1
    with pytest.raises(InputError):
        model_facts(name)
