"""Folder in, folder out: what is stored, what goes along, and what a full disk leaves."""

import json
import os
import re
import warnings

import pytest
import torch
from safetensors.torch import load_file

from bertlab import (
    BertForPreTraining,
    BertForQuestionAnswering,
    BertModel,
    InputError,
    Tokenizer,
)
from bertlab.model.weights import published_tensors
from tests.io.test_files_io import full_disk
from tests.model.building import MODELS


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


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


def test_a_matrix_that_is_no_longer_tied_is_not_lost_silently(config, tmp_path):
    model = BertForPreTraining(config)
    model.mlm.decoder.weight = torch.nn.Parameter(torch.rand(61, 24))
    with pytest.raises(InputError, match=r"mlm\.decoder\.weight is no longer tied"):
        model.save_pretrained(tmp_path / "new")
    with pytest.raises(InputError, match="an empty name"):
        BertForPreTraining(config).save_pretrained("")
    assert not list(tmp_path.iterdir())


# A full disk while saving


def save_fails(config, folder):
    with pytest.raises(InputError, match=re.escape(str(folder))) as caught:
        BertForPreTraining(config).save_pretrained(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_full_disk_keeps_the_old_checkpoint(config, checkpoint, monkeypatch):
    before = content(checkpoint)
    monkeypatch.setattr("bertlab.model.weights.save_file", full_disk)
    assert "No space left on device" in save_fails(config, checkpoint)
    assert content(checkpoint) == before
    BertForPreTraining.from_pretrained(checkpoint)


def test_a_full_disk_at_the_tokenizer(config, checkpoint):
    class Full:
        save_pretrained = full_disk

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
