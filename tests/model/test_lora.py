"""LoRA: a merged model computes what base and changes compute together; what a damaged adapter says."""

import json
import shutil
import warnings

import pytest
import torch
from safetensors.torch import load_file, save_file

from bertlab import (
    BertConfig,
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSentenceEmbedding,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    InputError,
    Tokenizer,
)
from bertlab.config import classes_of
from bertlab.io.locate import bundled_models, locate
from bertlab.model.base import open_weights
from bertlab.model.lora import adapt, adapted_layers, merge
from bertlab.model.summary import model_facts
from bertlab.tasks.registry import open_task

KINDS = [
    BertModel,
    BertForPreTraining,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertForQuestionAnswering,
    BertForSentenceEmbedding,
]
RANK = 2
QUERY_BIAS = "base_model.model.bert.encoder.layer.1.attention.self.query.bias"
QUERY_A = "base_model.model.bert.encoder.layer.1.attention.self.query.lora_A.weight"
OUTPUTS = ("logits", "prediction_logits", "start_logits", "embeddings", "last_hidden_state")


def adapted(kind, base, **changes):
    """A model of `kind` over the folder `base`, with changes, and a head, that are far from their beginning."""
    with warnings.catch_warnings(action="ignore"):  # the head is new
        model = kind.from_pretrained(base, **changes)
    adapt(model, base, RANK, torch.Generator().manual_seed(0))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model.eval()


@torch.no_grad()
def answer(model, batch):
    """The first output that a model of its kind has."""
    found = vars(model(**batch))
    return next(found[name] for name in OUTPUTS if found.get(name) is not None)


@pytest.fixture
def folder(checkpoint):
    """The folder of an adapter with a classifier of three labels, beside its base."""
    home = checkpoint.parent / "adapter"
    adapted(BertForSequenceClassification, checkpoint, num_labels=3).save_pretrained(home)
    return home


def edit(folder, change):
    """Rewrite the adapter's tensors after `change` has worked on the dict of them."""
    tensors = load_file(folder / "adapter_model.safetensors")
    change(tensors)
    save_file(tensors, folder / "adapter_model.safetensors")


def set_fields(folder, **changes):
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def fails(folder, *parts, kind=BertForSequenceClassification):
    """Opening raises a one-line InputError with all `parts`."""
    with pytest.raises(InputError) as caught:
        kind.from_pretrained(folder)
    assert "\n" not in str(caught.value)
    for part in parts:
        assert part in str(caught.value), caught.value


@pytest.mark.parametrize("kind", KINDS)
def test_merged_and_unmerged_compute_the_same(kind, checkpoint, batch):
    model = adapted(kind, checkpoint).double()
    before = answer(model, batch)
    merge(model)
    assert not adapted_layers(model) and not model.adapted_from
    torch.testing.assert_close(answer(model, batch), before, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_adapter_opens_as_a_plain_model(kind, checkpoint, batch, tmp_path):
    model = adapted(kind, checkpoint)
    model.save_pretrained(tmp_path / "adapter")
    with warnings.catch_warnings(action="error"):
        again = kind.from_pretrained(tmp_path / "adapter")
    assert not adapted_layers(again) and again.config == model.config
    torch.testing.assert_close(answer(again, batch), answer(model, batch), rtol=0, atol=5e-5)
    base = BertModel.from_pretrained(checkpoint)
    states = (answer(one, batch) for one in (BertModel.from_pretrained(tmp_path / "adapter"), base))
    assert not torch.allclose(*states, atol=0.1)


def test_training_begins_with_the_base_and_leaves_it_alone(checkpoint, batch):
    with warnings.catch_warnings(action="ignore"):
        model = BertForSequenceClassification.from_pretrained(checkpoint)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    plain = answer(model, batch)
    adapt(model, checkpoint, RANK)
    assert torch.equal(answer(model, batch), plain)
    model.train()
    optimizer = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.1)
    for _ in range(2):  # A has no gradient as long as B is zero
        model(**batch, labels=torch.tensor([0, 1, 0]), packed=True).loss.backward()
        optimizer.step()
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before.get(name, tensor))}
    assert changed == {"bert.pooler.dense.weight", "bert.pooler.dense.bias", "classifier.weight", "classifier.bias"}
    assert all(module.lora_A.grad.any() and module.lora_B.any() for module in adapted_layers(model).values())


def test_an_adapter_holds_its_changes_and_its_head_alone(folder, config):
    tensors = load_file(folder / "adapter_model.safetensors")
    changes = [name for name in tensors if ".lora_" in name]
    assert len(changes) == config.num_hidden_layers * 6 * 2 and tensors[QUERY_A].shape == (RANK, config.hidden_size)
    heads = {"bert.pooler.dense.weight", "bert.pooler.dense.bias", "classifier.weight", "classifier.bias"}
    assert {name.removeprefix("base_model.model.") for name in tensors.keys() - changes} == heads


def test_a_change_that_is_promised_and_missing(folder):
    def drop(tensors):
        for name in [name for name in tensors if "layer.0.attention.output.dense" in name]:
            del tensors[name]

    edit(folder, drop)
    fails(folder, "encoder.layer.0.attention.output.dense.lora_A.weight is missing, which adapter_config.json promises")


def test_half_an_adapter(checkpoint, batch, tmp_path):
    model = adapted(BertForSequenceClassification, checkpoint)
    model.save_pretrained(tmp_path / "half", dtype=torch.float16)
    assert {t.dtype for t in load_file(tmp_path / "half" / "adapter_model.safetensors").values()} == {torch.float16}
    again = BertForSequenceClassification.from_pretrained(tmp_path / "half")
    torch.testing.assert_close(answer(again, batch), answer(model, batch), rtol=0, atol=0.02)


def test_layers_that_are_frozen_get_no_change(checkpoint, tmp_path, batch):
    with warnings.catch_warnings(action="ignore"):
        model = BertForSequenceClassification.from_pretrained(checkpoint)
    model.bert.encoder.layers[0].requires_grad_(False)
    adapt(model, checkpoint, RANK)
    model.save_pretrained(tmp_path / "upper")
    assert json.loads((tmp_path / "upper" / "adapter_config.json").read_text())["layers_to_transform"] == [1, 2]
    again = BertForSequenceClassification.from_pretrained(tmp_path / "upper")
    torch.testing.assert_close(answer(again, batch), answer(model.eval(), batch), rtol=0, atol=1e-5)
    model.bert.encoder.requires_grad_(False)
    with pytest.raises(InputError, match="lora=2: all layers are frozen"):
        adapt(model, checkpoint, RANK)


def test_an_adapter_goes_on_learning_from_where_it_was(folder, checkpoint, batch, tmp_path):
    model = BertForSequenceClassification.from_pretrained(folder)
    before = answer(model, batch)
    adapt(model, folder, RANK)
    torch.testing.assert_close(answer(model, batch), before, rtol=0, atol=1e-5)
    assert model.adapted_from == str(checkpoint)
    base = BertModel.from_pretrained(checkpoint).state_dict()
    for name, module in adapted_layers(model.bert).items():
        torch.testing.assert_close(module.weight, base[f"{name}.weight"], rtol=0, atol=0)
        assert [p for p in module.parameters() if p.requires_grad] == [module.lora_A, module.lora_B]
    model.save_pretrained(tmp_path / "elsewhere" / "again")
    stored, again = (
        load_file(home / "adapter_model.safetensors") for home in (folder, tmp_path / "elsewhere" / "again")
    )
    assert stored.keys() == again.keys() and all(torch.equal(stored[name], again[name]) for name in stored)


def test_what_no_adapter_can_be_made_of(config, checkpoint, folder):
    model = BertForSequenceClassification(config)
    with pytest.raises(InputError, match="rank must be between 1 and hidden_size, 24"):
        adapt(model, checkpoint, 25)
    with pytest.raises(InputError, match="lora=3: .* has rank 2: go on with that, or merge it first"):
        adapt(model, folder, 3)
    shutil.copytree(folder, folder.with_name("whole"))
    fields = json.loads((folder / "adapter_config.json").read_text())
    fields["modules_to_save"] += ["LayerNorm"]
    (folder.with_name("whole") / "adapter_config.json").write_text(json.dumps(fields))
    found = load_file(folder / "adapter_model.safetensors")
    for name, tensor in open_weights(checkpoint).items():
        if "LayerNorm" in name and not name.startswith("cls"):
            found[f"base_model.model.bert.{name}"] = tensor.clone()
    save_file(found, folder.with_name("whole") / "adapter_model.safetensors")
    BertForSequenceClassification.from_pretrained(folder.with_name("whole"))  # it opens
    with pytest.raises(InputError, match="is an adapter of another kind; merge it first"):
        adapt(model, folder.with_name("whole"), RANK)
    model.bert.encoder.layers[0].requires_grad_(False)
    with pytest.raises(InputError, match="is an adapter of another kind; merge it first"):
        adapt(model, folder, RANK)
    with pytest.raises(InputError, match="pre_norm is no part of a plain BERT"):
        adapt(BertForSequenceClassification(config.changed(pre_norm=True)), checkpoint, RANK)


# What reads a folder


def test_the_head_takes_the_place_of_the_heads_of_the_base(folder, checkpoint):
    assert "cls.predictions.bias" in open_weights(checkpoint)
    assert {name.split(".")[0] for name in open_weights(folder)} == {"embeddings", "encoder", "pooler", "classifier"}


def test_facts_labels_and_tokenizer(checkpoint, config):
    tokenizer = Tokenizer.train(["my dog is hairy", "he likes walks"], vocab_size=60, min_frequency=1)
    tokenizer.save_pretrained(checkpoint)
    names = {0: "bad", 1: "good", 2: "mixed"}
    home = checkpoint.parent / "adapter"
    adapted(BertForSequenceClassification, checkpoint, id2label=names).save_pretrained(home)
    assert BertConfig.from_pretrained(home).id2label == names
    assert classes_of(home) == ["BertForSequenceClassification"]
    assert Tokenizer.from_pretrained(home).vocab == tokenizer.vocab
    facts = model_facts(home)
    assert facts.tokenizer and facts.parameters["classifier"] == 3 * (config.hidden_size + 1)


def test_base_and_adapter_move_together(folder, checkpoint, batch, tmp_path, monkeypatch):
    expected = answer(BertForSequenceClassification.from_pretrained(folder), batch)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(action="ignore"):
        model = BertForSequenceClassification.from_pretrained(checkpoint.name)
    adapt(model, checkpoint.name, RANK)
    model.save_pretrained("runs/near")
    assert json.loads((tmp_path / "runs/near/adapter_config.json").read_text())["base_model_name_or_path"] == (
        "../../checkpoint"
    )
    set_fields(folder, base_model_name_or_path="checkpoint")  # the folder beside it
    (tmp_path / "else").mkdir()
    for name in ("checkpoint", "adapter"):
        shutil.move(tmp_path / name, tmp_path / "else" / name)
    monkeypatch.chdir("/")
    assert torch.equal(
        answer(BertForSequenceClassification.from_pretrained(tmp_path / "else/adapter"), batch), expected
    )


def test_a_whole_model_is_not_saved_where_an_adapter_would_be_opened(folder, checkpoint):
    whole = BertForSequenceClassification.from_pretrained(folder)
    with pytest.raises(InputError, match="adapter: holds an adapter, which would be opened in place of this model"):
        whole.save_pretrained(folder)
    assert not (folder / "model.safetensors").exists()


def test_an_adapter_of_a_bundled_model(tmp_path):
    model = adapted(BertForTokenClassification, "storyworld-tiny", num_labels=5)
    model.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "adapter_config.json").read_text())["base_model_name_or_path"] == "storyworld-tiny"
    assert BertForTokenClassification.from_pretrained(tmp_path).config.num_labels == 5
    assert Tokenizer.from_pretrained(tmp_path).vocab == Tokenizer.from_pretrained("storyworld-tiny").vocab


# Faults


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"peft_type": "PROMPT_TUNING"}, ["peft_type is 'PROMPT_TUNING'", "'LORA' only"]),
        ({"use_dora": True}, ["'use_dora' is True"]),
        ({"rank_pattern": {"query": 4}}, ["'rank_pattern'"]),
        ({"never_heard_of": 1}, ["'never_heard_of' is 1"]),
        ({"bias": "all"}, ["bias is 'all'"]),
        ({"init_lora_weights": "pissa"}, ["init_lora_weights is 'pissa'"]),
        ({"r": 0}, ["r is 0"]),
        ({"lora_alpha": float("nan")}, ["lora_alpha is nan", "a number"]),
        ({"r": "2"}, ["r is '2'", "a whole number"]),
        ({"lora_alpha": None}, ["lora_alpha is None"]),
        ({"base_model_name_or_path": None}, ["base_model_name_or_path is None"]),
        ({"base_model_name_or_path": "nowhere"}, ["the base is missing: 'nowhere' is no folder"]),
        ({"base_model_name_or_path": "\0"}, ["no file can have this name"]),
        ({"base_model_name_or_path": "../adapter"}, ["is an adapter itself"]),
    ],
)
def test_what_an_adapter_asks_for_in_vain(fields, parts, folder):
    set_fields(folder, **fields)
    fails(folder, "adapter_config.json" if "target_modules" not in fields else "", *parts)


CHANGES = {
    "is missing, which": lambda t: [t.pop(name) for name in list(t) if "layer.2" in name and "query" in name],
    "lora_B.weight' has no lora_A beside it": lambda t: t.pop(QUERY_A),
    "lora_A.weight' is (2, 23), r and the base ask for (2, 24)": lambda t: t.update(
        {QUERY_A: t[QUERY_A][:, 1:].contiguous()}
    ),
    "nan or infinite": lambda t: t[QUERY_A].fill_(float("nan")),
    "not floating point": lambda t: t.update({QUERY_A: t[QUERY_A].int()}),
    "lora_A.weight' changes no query, key, value or dense": lambda t: t.update(
        {QUERY_A.replace("query", "q_proj"): t[QUERY_A].clone()}
    ),
    "query.bias' is in none of the modules_to_save": lambda t: t.update({QUERY_BIAS: torch.ones(24)}),
    "'strange.weight' is no tensor of LoRA": lambda t: t.update({"strange.weight": torch.ones(2)}),
    "classifier.weight is (2, 24), config.json asks for (3, 24)": lambda t: t.update(
        {"base_model.model.classifier.weight": torch.ones(2, 24)}
    ),
}


@pytest.mark.parametrize("part", CHANGES)
def test_damaged_tensors(part, folder):
    edit(folder, CHANGES[part])
    fails(folder, "adapter_model.safetensors", part)


def test_a_head_that_is_missing_is_none_to_predict_with(folder):
    edit(folder, lambda t: [t.pop(name) for name in list(t) if "classifier" in name])
    with pytest.raises(InputError, match="no trained classifier"):
        BertForSequenceClassification.trained(folder)


def test_a_head_that_is_promised_is_not_taken_from_the_base(folder, checkpoint, config):
    """The base has a classifier of its own, which is another one."""
    BertForSequenceClassification(config.changed(num_labels=3)).save_pretrained(checkpoint)
    edit(folder, lambda t: [t.pop(name) for name in list(t) if "classifier" in name])
    fails(folder, "classifier.bias is missing, which adapter_config.json promises in modules_to_save")


def test_files_that_are_cut_short_or_missing(folder, checkpoint):
    path = folder / "adapter_model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    fails(folder, "adapter_model.safetensors", "damaged or cut short")
    path.unlink()
    fails(folder, "adapter_model.safetensors: missing")
    path.write_bytes(whole)
    (checkpoint / "model.safetensors").unlink()
    fails(folder, "checkpoint", "model.safetensors is missing")


def test_a_base_of_another_shape(folder, checkpoint, config):
    BertModel(config.changed(hidden_size=16)).save_pretrained(checkpoint)
    fails(folder, "lora_A.weight' is (2, 24), r and the base ask for (2, 16)")


def test_adapters_beside_choices(config, checkpoint, tmp_path, batch):
    """A class that peft has no task for: its name is kept."""
    model = adapted(BertForMultipleChoice, checkpoint)
    model.save_pretrained(tmp_path / "adapter")
    (tmp_path / "adapter" / "config.json").unlink()  # as peft leaves it
    assert classes_of(tmp_path / "adapter") == ["BertForMultipleChoice"]


def test_a_bundled_model_may_be_an_adapter(tmp_path, monkeypatch):
    bundled = locate("storyworld-tiny")
    shutil.copytree(bundled, tmp_path / "models" / "base", ignore=shutil.ignore_patterns("step-*"))
    monkeypatch.setattr("bertlab.io.locate.data_folder", lambda: tmp_path)
    names = {0: "bad", 1: "good"}
    model = adapted(BertForSequenceClassification, "base", id2label=names)
    model.save_pretrained(tmp_path / "models" / "opinions")
    assert bundled_models() == ["base", "opinions"]
    opened, task = open_task("opinions")
    assert opened.config.id2label == names and not adapted_layers(opened)
    batch = task.tokenizer(["The soup was good."])
    torch.testing.assert_close(answer(opened, batch), answer(model, batch), rtol=0, atol=1e-4)
