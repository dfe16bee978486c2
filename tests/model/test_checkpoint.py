"""Folder in, folder out: what is stored, and what a damaged folder says."""

import errno
import json
import os
import re
import warnings

import pytest
import torch
from safetensors.torch import load_file, save_file

from bertlab import (
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertModel,
    InputError,
    Tokenizer,
)
from bertlab.model.weights import published_tensors
from tests.model.building import MODELS

WORDS = "bert.embeddings.word_embeddings.weight"
QUERY = "bert.encoder.layer.1.attention.self.query.weight"


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def edit(folder, change):
    """Rewrite the folder's weights after `change` has worked on the dict of tensors."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def fails(folder, *parts, kind=BertForPreTraining):
    """Loading raises a one-line InputError that names the folder and all `parts`."""
    with pytest.raises(InputError) as caught:
        kind.from_pretrained(folder)
    message = str(caught.value)
    assert "\n" not in message
    for part in (folder.name, *parts):
        assert part in message, message


@pytest.mark.parametrize("kind", MODELS)
def test_round_trip(kind, config, tmp_path):
    model = kind(config)
    model.save_pretrained(tmp_path / "new" / "folder")
    with warnings.catch_warnings(action="error"):
        again = kind.from_pretrained(tmp_path / "new" / "folder")
    assert again.config == config and not again.training
    assert model.state_dict().keys() == again.state_dict().keys()
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], tensor, rtol=0, atol=0)


@pytest.mark.parametrize("kind", MODELS)
def test_stored_names_are_those_of_transformers(kind, config):
    transformers = pytest.importorskip("transformers")
    theirs = getattr(transformers, kind.__name__)(transformers.BertConfig(**config.to_dict()))
    tied = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    shapes = {name: tensor.shape for name, tensor in theirs.state_dict().items() if name not in tied}
    assert {name: tensor.shape for name, tensor in published_tensors(kind(config)).items()} == shapes


def test_the_decoder_is_tied_and_stored_once(checkpoint):
    model = BertForPreTraining.from_pretrained(checkpoint)
    assert model.mlm.decoder.weight is model.bert.embeddings.word.weight
    shapes = [tensor.shape for tensor in load_file(checkpoint / "model.safetensors").values()]
    assert shapes.count(model.mlm.decoder.weight.shape) == 1


def test_config_file(checkpoint):
    stored = json.loads((checkpoint / "config.json").read_text())
    assert stored["architectures"] == ["BertForPreTraining"]
    assert (stored["model_type"], stored["dtype"]) == ("bert", "float32")


def test_half_precision_file_is_loaded_as_float32(config, tmp_path):
    model = BertForPreTraining(config)
    model.save_pretrained(tmp_path, dtype=torch.float16)
    assert {tensor.dtype for tensor in load_file(tmp_path / "model.safetensors").values()} == {torch.float16}
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "float16"
    again = BertForPreTraining.from_pretrained(tmp_path)
    for name, tensor in again.state_dict().items():
        torch.testing.assert_close(tensor, model.state_dict()[name].half().float(), rtol=0, atol=0)


def test_the_tokenizer_goes_along(config, tmp_path):
    tokenizer = Tokenizer.train(["my dog is hairy", "he likes walks"], vocab_size=60, min_frequency=1)
    BertModel(config).save_pretrained(tmp_path / "model", tokenizer)
    assert Tokenizer.from_pretrained(tmp_path / "model").vocab == tokenizer.vocab
    assert {"vocab.txt", "tokenizer.json", "config.json"} <= content(tmp_path / "model").keys()


def test_an_encoder_from_a_model_with_heads_and_the_reverse(config, batch, checkpoint, tmp_path):
    whole = BertForPreTraining.from_pretrained(checkpoint)
    with warnings.catch_warnings(action="error"):
        encoder = BertModel.from_pretrained(checkpoint)
    torch.testing.assert_close(encoder(**batch).pooler_output, whole.bert(**batch).pooler_output)
    encoder.save_pretrained(tmp_path / "encoder")
    with pytest.warns(UserWarning, match="cls.predictions.bias"):
        again = BertForPreTraining.from_pretrained(tmp_path / "encoder")
    torch.testing.assert_close(again.bert(**batch).pooler_output, whole.bert(**batch).pooler_output)


def test_a_missing_head_is_new_and_told(checkpoint, batch):
    with pytest.warns(UserWarning, match="newly initialised.*qa_outputs.weight, qa_outputs.bias") as told:
        model = BertForQuestionAnswering.from_pretrained(checkpoint)
    assert told[0].filename == __file__
    encoder = BertModel.from_pretrained(checkpoint)
    torch.testing.assert_close(model.bert(**batch).last_hidden_state, encoder(**batch).last_hidden_state)
    assert model.span.weight.std() > 0 and not model.span.bias.any()


def test_a_missing_pooler_is_new_and_told(config, tmp_path):
    BertForMaskedLM(config).save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="pooler.dense.weight, pooler.dense.bias"):
        BertModel.from_pretrained(tmp_path)


def test_names_of_the_original_release(checkpoint, batch):
    before = BertForPreTraining.from_pretrained(checkpoint)(**batch).prediction_logits

    def rename(tensors):
        for name in list(tensors):
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            tensors[old] = tensors.pop(name)
        tensors["bert.embeddings.position_ids"] = torch.arange(16)[None]
        tensors["cls.predictions.decoder.weight"] = tensors[WORDS].clone()

    edit(checkpoint, rename)
    with warnings.catch_warnings(action="error"):
        after = BertForPreTraining.from_pretrained(checkpoint)(**batch).prediction_logits
    torch.testing.assert_close(after, before)


# Damaged folders


@pytest.mark.parametrize("name", [WORDS, QUERY, "bert.encoder.layer.2.output.LayerNorm.bias"])
def test_a_missing_tensor_is_named(checkpoint, name):
    edit(checkpoint, lambda tensors: tensors.pop(name))
    fails(checkpoint, name.removeprefix("bert."), "missing")


@pytest.mark.parametrize("name", [WORDS, QUERY, "cls.predictions.bias", "cls.seq_relationship.weight"])
def test_a_wrong_shape_is_named(checkpoint, name):
    edit(checkpoint, lambda tensors: tensors.update({name: torch.zeros(3, 5)}))
    fails(checkpoint, name.removeprefix("bert."), "(3, 5)")


def test_a_config_of_another_size_is_told(checkpoint):
    path = checkpoint / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"vocab_size": 62}))
    fails(checkpoint, "word_embeddings.weight", "(61, 24)", "(62, 24)")


@pytest.mark.parametrize("kept", [0, 5, 300, -1])
def test_a_truncated_file(checkpoint, kept):
    path = checkpoint / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    fails(checkpoint, "model.safetensors", "damaged or cut short")


def test_a_file_of_something_else(checkpoint):
    (checkpoint / "model.safetensors").write_bytes(b"<!DOCTYPE html>" * 99)
    fails(checkpoint, "damaged or cut short")


def test_weights_of_another_model(checkpoint):
    save_file({"transformer.wte.weight": torch.zeros(2, 2)}, checkpoint / "model.safetensors")
    fails(checkpoint, "embeddings.word_embeddings.weight", "missing")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_folder_that_lacks_a_file(checkpoint, name):
    (checkpoint / name).unlink()
    fails(checkpoint, "no checkpoint", name)


def test_more_layers_than_are_stored_are_refused_before_they_are_built(checkpoint):
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 1_000}))
    fails(checkpoint, "encoder.layer.", "missing")


def test_an_empty_folder(tmp_path):
    fails(tmp_path, "no checkpoint")


def test_invalid_json(checkpoint):
    (checkpoint / "config.json").write_text('{"vocab_size": 61,')
    fails(checkpoint, "config.json", "JSON")


@pytest.mark.parametrize("field", ["rotary_base", "position_embedding_type"])
def test_a_field_that_changes_the_computation(checkpoint, field):
    path = checkpoint / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: "relative_key"}))
    fails(checkpoint, "config.json", field)


def test_a_matrix_that_is_no_longer_tied_is_not_lost_silently(config, tmp_path):
    model = BertForPreTraining(config)
    model.mlm.decoder.weight = torch.nn.Parameter(torch.rand(61, 24))
    with pytest.raises(InputError, match=r"mlm\.decoder\.weight is no longer tied"):
        model.save_pretrained(tmp_path / "new")
    with pytest.raises(InputError, match="an empty name"):
        BertForPreTraining(config).save_pretrained("")
    assert not list(tmp_path.iterdir())


# A full disk while saving


def no_space(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def save_fails(config, folder):
    with pytest.raises(InputError, match=re.escape(str(folder))) as caught:
        BertForPreTraining(config).save_pretrained(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_full_disk_keeps_the_old_checkpoint(config, checkpoint, monkeypatch):
    before = content(checkpoint)
    monkeypatch.setattr("bertlab.model.weights.save_file", no_space)
    assert "No space left on device" in save_fails(config, checkpoint)
    assert content(checkpoint) == before
    BertForPreTraining.from_pretrained(checkpoint)


def test_a_full_disk_leaves_no_new_checkpoint(config, tmp_path, monkeypatch):
    monkeypatch.setattr("bertlab.model.weights.save_file", no_space)
    save_fails(config, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_at_the_tokenizer(config, checkpoint):
    class Full:
        save_pretrained = no_space

    before = content(checkpoint)
    with pytest.raises(InputError, match="No space left"):
        BertForPreTraining(config).save_pretrained(checkpoint, tokenizer=Full())
    assert content(checkpoint) == before


def test_a_refusal_of_the_real_file_system(config, checkpoint):
    """A limit on the size of files makes every write past it fail, as a full disk does."""
    resource = pytest.importorskip("resource")
    before = content(checkpoint)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        save_fails(config, checkpoint)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert content(checkpoint) == before


def test_saving_twice_keeps_other_files(config, checkpoint):
    (checkpoint / "README.md").write_text("a model card")
    BertModel(config).save_pretrained(checkpoint)
    assert (checkpoint / "README.md").read_text() == "a model card"
    assert json.loads((checkpoint / "config.json").read_text())["architectures"] == ["BertModel"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_saved_weights_can_be_read_by_whom_other_new_files_can(config, tmp_path):
    BertModel(config).save_pretrained(tmp_path / "bert")
    (tmp_path / "other").touch()
    assert (tmp_path / "bert" / "model.safetensors").stat().st_mode == (tmp_path / "other").stat().st_mode
