"""The forms in which weights come: shards, pickles, half precision; what a damaged or foreign one says."""

import json
import os
import pickle
import shutil
import warnings

import pytest
import torch
from safetensors.torch import load_file, save_file

from bertlab import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForSequenceClassification,
    BertModel,
    InputError,
    Tokenizer,
)

SAFE, PICKLE = "model.safetensors", "pytorch_model.bin"
QUERY = "bert.encoder.layer.1.attention.self.query.weight"


def safe_shards(tensors: dict, folder) -> None:
    write_shards(tensors, folder, "model-0000{}-of-00003.safetensors", SAFE, save_file)


def pickle_shards(tensors: dict, folder) -> None:
    write_shards(tensors, folder, "pytorch_model-0000{}-of-00003.bin", PICKLE, torch.save)


def write_shards(tensors, folder, pattern, index, save):
    names = sorted(tensors)
    parts = {pattern.format(i + 1): names[i::3] for i in range(3)}
    for file, held in parts.items():
        save({name: tensors[name] for name in held}, folder / file)
    weight_map = {name: file for file, held in parts.items() for name in held}
    (folder / f"{index}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))


def old_pickle(tensors: dict, folder) -> None:
    torch.save(tensors, folder / PICKLE, _use_new_zipfile_serialization=False)


FORMS = {
    "pickle": lambda tensors, folder: torch.save(tensors, folder / PICKLE),
    "old pickle": old_pickle,
    "shards": safe_shards,
    "pickle shards": pickle_shards,
}


def reform(folder, write, change=lambda tensors: tensors):
    """The same checkpoint in another form."""
    tensors = change(load_file(folder / SAFE))
    (folder / SAFE).unlink()
    write(tensors, folder)
    return folder


def fails(folder, *parts):
    with pytest.raises(InputError) as caught, warnings.catch_warnings(action="error"):
        BertForPreTraining.from_pretrained(folder)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message


def same(one, other) -> None:
    assert one.state_dict().keys() == other.state_dict().keys()
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name]), name


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_model(form, checkpoint):
    before = BertForPreTraining.from_pretrained(checkpoint)
    reform(checkpoint, FORMS[form])
    with warnings.catch_warnings(action="error"):
        same(BertForPreTraining.from_pretrained(checkpoint), before)


@pytest.mark.parametrize("size", ["200KB", "40KB"])
def test_shards_written_by_transformers(size, batch, tmp_path):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertForPreTraining(
        transformers.BertConfig(hidden_size=24, num_attention_heads=4, intermediate_size=40, vocab_size=61)
    ).eval()
    theirs.save_pretrained(tmp_path, max_shard_size=size)
    assert len(list(tmp_path.glob("model-*-of-*.safetensors"))) > 1
    ours = BertForPreTraining.from_pretrained(tmp_path)
    torch.testing.assert_close(ours(**batch).prediction_logits, theirs(**batch).prediction_logits)


def test_safetensors_are_read_where_there_is_a_pickle_too(checkpoint):
    (checkpoint / PICKLE).write_bytes(b"not looked at")
    BertForPreTraining.from_pretrained(checkpoint)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("form", ["pickle", "shards"])
def test_other_precisions_become_float32(form, dtype, checkpoint):
    before = BertForPreTraining.from_pretrained(checkpoint)
    reform(checkpoint, FORMS[form], lambda tensors: {name: tensor.to(dtype) for name, tensor in tensors.items()})
    after = BertForPreTraining.from_pretrained(checkpoint)
    same(after, before.to(dtype).float())
    assert {tensor.dtype for tensor in after.state_dict().values()} == {torch.float32}


def test_old_names_in_a_pickle(checkpoint):
    """gamma and beta, the decoder's copy of the words and its bias, no prefix: as in early files."""
    before = BertForPreTraining.from_pretrained(checkpoint)

    def rename(tensors):
        old = {n.replace("LayerNorm.weight", "LayerNorm.gamma"): t for n, t in tensors.items()}
        old = {n.replace("LayerNorm.bias", "LayerNorm.beta").removeprefix("bert."): t for n, t in old.items()}
        old["cls.predictions.decoder.bias"] = old.pop("cls.predictions.bias")
        return old | {"cls.predictions.decoder.weight": old["embeddings.word_embeddings.weight"].clone()}

    reform(checkpoint, FORMS["pickle"], rename)
    with warnings.catch_warnings(action="error"):
        same(BertForPreTraining.from_pretrained(checkpoint), before)


WRAPPED = {
    "DataParallel": lambda name: f"module.{name}",
    "torch.compile": lambda name: f"_orig_mod.{name}",
    "both": lambda name: f"module._orig_mod.{name}",
    "compiled layers": lambda name: name.replace("encoder.layer.0.", "encoder.layer.0._orig_mod."),
    "FSDP": lambda name: name.replace("bert.", "_fsdp_wrapped_module.bert._fsdp_wrapped_module."),
    "checkpointed layers": lambda name: name.replace("layer.1.", "layer.1._checkpoint_wrapped_module."),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wrapper", WRAPPED)
def test_names_that_wrappers_of_pytorch_add(wrapper, form, checkpoint):
    before = BertForPreTraining.from_pretrained(checkpoint)
    reform(checkpoint, FORMS[form], lambda tensors: {WRAPPED[wrapper](name): t for name, t in tensors.items()})
    with warnings.catch_warnings(action="error"):
        same(BertForPreTraining.from_pretrained(checkpoint), before)


WORDS, DECODER = "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"


@pytest.mark.parametrize("form", FORMS)
def test_the_tied_matrix_under_the_decoders_name_alone(form, checkpoint):
    before = BertForPreTraining.from_pretrained(checkpoint)
    reform(checkpoint, FORMS[form], lambda tensors: tensors | {DECODER: tensors.pop(WORDS)})
    with warnings.catch_warnings(action="error"):
        same(BertForPreTraining.from_pretrained(checkpoint), before)


@pytest.mark.parametrize("kind", [torch.float16, torch.float64])
def test_the_tied_matrix_twice_in_two_precisions(kind, checkpoint):
    before = BertForPreTraining.from_pretrained(checkpoint)
    reform(checkpoint, FORMS["shards"], lambda tensors: tensors | {DECODER: tensors[WORDS].to(kind)})
    same(BertForPreTraining.from_pretrained(checkpoint), before)


FOREIGN = {
    "an adapter of a layer": "bert.encoder.layer.0.output.adapters.task.adapter_down.0.weight",
    "LoRA that is not merged": QUERY.replace("weight", "lora_A.weight"),
    "relative positions": "bert.encoder.layer.1.attention.self.distance_embedding.weight",
    "a scale of quantised weights": QUERY + "_scale",
}


@pytest.mark.parametrize("name", FOREIGN.values(), ids=FOREIGN)
def test_a_tensor_of_the_encoder_that_no_bert_has_is_refused(name, checkpoint):
    reform(checkpoint, FORMS["pickle"], lambda tensors: tensors | {name: torch.ones(2, 2)})
    fails(checkpoint, PICKLE, name[:60], "is no part of a BERT")


def test_layers_and_heads_beyond_those_asked_for_and_buffers_may_be_stored(checkpoint):
    before = BertForPreTraining.from_pretrained(checkpoint)
    more = {"bert.embeddings.position_ids": torch.arange(8)[None], "other.head.weight": torch.ones(2)}
    further = QUERY.replace("layer.1", "layer.9")
    reform(checkpoint, FORMS["pickle"], lambda tensors: tensors | more | {further: tensors[QUERY]})
    same(BertForPreTraining.from_pretrained(checkpoint), before)


def test_weights_under_a_longer_name_are_named(checkpoint):
    reform(checkpoint, FORMS["pickle"], lambda tensors: {f"model.{name}": t for name, t in tensors.items()})
    fails(checkpoint, "word_embeddings.weight is missing (it holds 'model.bert.embeddings.word_embeddings.weight')")


@pytest.mark.parametrize("form", FORMS)
def test_an_untied_decoder_is_refused_where_it_counts(form, checkpoint):
    reform(checkpoint, FORMS[form], lambda tensors: tensors | {DECODER: tensors[WORDS] + 1})
    for kind in (BertForPreTraining, BertForMaskedLM):
        with pytest.raises(InputError, match="decoder.weight is not the word embeddings"):
            kind.from_pretrained(checkpoint)
    BertModel.from_pretrained(checkpoint)


def test_an_untied_model_of_transformers_opens_without_its_head(config, batch, tmp_path):
    transformers = pytest.importorskip("transformers")
    fields = transformers.BertConfig(**config.to_dict() | {"tie_word_embeddings": False})
    theirs = transformers.BertForMaskedLM(fields).eval()
    theirs.save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="newly initialised, to be trained: pooler"):
        ours = BertModel.from_pretrained(tmp_path)
    torch.testing.assert_close(ours(**batch).last_hidden_state, theirs.bert(**batch)[0], rtol=0, atol=1e-5)
    with pytest.raises(InputError, match="decoder.weight is not the word embeddings"):
        BertForMaskedLM.from_pretrained(tmp_path)


@pytest.mark.parametrize("name", [SAFE, PICKLE])
def test_a_pointer_of_git_lfs_is_named(name, checkpoint):
    (checkpoint / SAFE).unlink()
    (checkpoint / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(InputError, match="git lfs pull"):
        BertModel.from_pretrained(checkpoint)


@pytest.mark.parametrize("file", ["a\0.safetensors", "\ud800.safetensors", "", ".", "..", "a/b", "/etc/passwd"])
def test_a_name_of_a_shard_that_is_none(file, checkpoint):
    (checkpoint / SAFE).unlink()
    (checkpoint / f"{SAFE}.index.json").write_text(json.dumps({"weight_map": {"a": file}}))
    with pytest.raises(InputError, match="index.json: .*(is no|lies outside|half of)"):
        BertModel.from_pretrained(checkpoint)


def test_training_leaves_the_mapped_file_alone(checkpoint):
    before = (checkpoint / SAFE).read_bytes()
    model = BertForPreTraining.from_pretrained(checkpoint)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    assert (checkpoint / SAFE).read_bytes() == before
    same(BertForPreTraining.from_pretrained(checkpoint), BertForPreTraining.from_pretrained(checkpoint))


@pytest.mark.parametrize("form", ["safetensors", "pickle"])
def test_a_model_outlives_its_files(form, checkpoint, batch):
    if form == "pickle":
        reform(checkpoint, FORMS["pickle"])
    model = BertForPreTraining.from_pretrained(checkpoint)
    before = model(**batch).prediction_logits
    model.save_pretrained(checkpoint)  # over the files it came from
    torch.testing.assert_close(model(**batch).prediction_logits, before)
    shutil.rmtree(checkpoint)
    torch.testing.assert_close(model(**batch).prediction_logits, before)


def test_nothing_is_drawn_for_weights_that_are_there(checkpoint):
    before = torch.get_rng_state()
    BertForPreTraining.from_pretrained(checkpoint)
    assert torch.equal(torch.get_rng_state(), before)


# Heads that are not there


def test_a_new_head_is_initialised_and_told(config, tmp_path):
    BertForMaskedLM(config).save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="newly initialised.*pooler.dense.weight.*classifier.bias"):
        model = BertForSequenceClassification.from_pretrained(tmp_path, num_labels=3)
    assert model.classifier.weight.shape == (3, 24) and model.config.num_labels == 3
    for layer in (model.bert.pooler.dense, model.classifier):
        assert layer.weight.std().item() == pytest.approx(config.initializer_range, rel=0.3)
        assert not layer.bias.any()


def test_the_seed_decides_about_a_new_head(checkpoint):
    heads = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        with pytest.warns(UserWarning, match="classifier.weight"):
            heads.append(BertForSequenceClassification.from_pretrained(checkpoint).classifier.weight)
    assert torch.equal(heads[0], heads[1]) and not torch.equal(heads[0], heads[2])


def test_a_new_norm_of_a_head_is_one_and_zero(config, tmp_path):
    BertModel(config).save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="cls.predictions.transform.LayerNorm.weight"):
        model = BertForMaskedLM.from_pretrained(tmp_path)
    assert (model.mlm.norm.weight == 1).all() and not model.mlm.norm.bias.any() and not model.mlm.decoder.bias.any()
    assert model.mlm.decoder.weight is model.bert.embeddings.word.weight


def test_label_names_come_along(config, tmp_path):
    names = {0: "O", 1: "PERSON", 2: "PLACE"}
    BertForSequenceClassification(config.changed(id2label=names)).save_pretrained(tmp_path)
    again = BertForSequenceClassification.from_pretrained(tmp_path)
    assert again.config.id2label == names and again.config.label2id == {"O": 0, "PERSON": 1, "PLACE": 2}
    assert again.classifier.weight.shape == (3, 24)
    fails_with = pytest.raises(InputError, match=r"classifier.weight is \(3, 24\), config.json asks for \(5, 24\)")
    with fails_with:
        BertForSequenceClassification.from_pretrained(tmp_path, num_labels=5)


# Folders of other libraries


@pytest.mark.parametrize("place", [".", "0_Transformer", "0_BERT"])
def test_a_sentence_transformers_folder_is_an_encoder(place, config, batch, tmp_path):
    encoder, tokenizer = BertModel(config).eval(), Tokenizer.train(["my dog is hairy"], 40, min_frequency=1)
    encoder.save_pretrained(tmp_path / place, tokenizer)
    first = {"idx": 0, "name": "0", "path": "" if place == "." else place, "type": "sentence_transformers.models.X"}
    pooling = {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}
    (tmp_path / "modules.json").write_text(json.dumps([first, pooling]))
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"word_embedding_dimension": 24}')
    (tmp_path / "config_sentence_transformers.json").write_text("{}")
    again = BertModel.from_pretrained(tmp_path)
    torch.testing.assert_close(again(**batch).last_hidden_state, encoder(**batch).last_hidden_state)
    assert Tokenizer.from_pretrained(tmp_path).vocab == tokenizer.vocab


@pytest.mark.parametrize("kind", ["roberta", "modernbert"])
def test_another_model_is_refused_by_its_name(kind, checkpoint):
    stored = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps({"vocab_size": -1} | stored | {"model_type": kind}))
    fails(checkpoint, "config.json", f"'{kind}'", "BERT")


def test_another_model_without_a_type_is_refused_by_its_class(checkpoint):
    stored = json.loads((checkpoint / "config.json").read_text())
    del stored["model_type"]
    (checkpoint / "config.json").write_text(json.dumps(stored))
    BertForPreTraining.from_pretrained(checkpoint)
    (checkpoint / "config.json").write_text(json.dumps(stored | {"architectures": ["RobertaForMaskedLM"]}))
    fails(checkpoint, "RobertaForMaskedLM")


def test_a_config_of_an_old_release():
    """Saved by transformers 2.x: every setting of text generation stands in it."""
    old = dict(num_beams=1, do_sample=False, top_k=50, length_penalty=1.0, bad_words_ids=None, xla_device=None)
    old |= dict(_num_labels=3, finetuning_task="mnli", output_past=True, id2label={"0": "no", "1": "yes", "2": "?"})
    assert BertConfig.from_dict(old).id2label == {0: "no", 1: "yes", 2: "?"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("emb_size", 312),
        ("pre_trained", ""),
        ("training", ""),
        ("cell", {}),
        ("structure", []),
        ("sbert_ce_default_activation_function", "torch.nn.modules.linear.Identity"),
    ],
)
def test_a_field_that_nobody_computes_with_is_left_unread(field, value):
    """rubert-tiny2, TinyBERT and cross-encoders of older releases of sentence-transformers have such."""
    assert BertConfig.from_dict({"model_type": "bert", field: value}) == BertConfig()


# Damage


class Runs:
    """Unpickled, it would make a folder."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


@pytest.mark.parametrize("form", ["pickle", "old pickle", "plain pickle"])
def test_a_pickle_that_runs_code_is_refused(form, checkpoint):
    trap = checkpoint / "trap"
    content = {QUERY: torch.zeros(2), "evil": Runs(trap)}
    write = FORMS.get(form, lambda tensors, folder: (folder / PICKLE).write_bytes(pickle.dumps(tensors, protocol=2)))
    reform(checkpoint, write, lambda _: content)
    fails(checkpoint, PICKLE, "refused", "run code", "" if form == "plain pickle" else "mkdir")
    assert not trap.exists()


def test_a_pickle_of_a_later_protocol_gives_no_advice_to_trust_it(checkpoint):
    (checkpoint / SAFE).unlink()
    (checkpoint / PICKLE).write_bytes(pickle.dumps({"evil": Runs(checkpoint / "trap")}))
    fails(checkpoint, PICKLE, "a protocol that PyTorch does not read as plain tensors")
    with pytest.raises(InputError) as caught:
        BertModel.from_pretrained(checkpoint)
    assert "weights_only" not in str(caught.value) and not (checkpoint / "trap").exists()


@pytest.mark.parametrize("start", [b"<!DOCTYPE html>", b"\x1f\x8b\x08", None], ids=["page", "gzip", "safetensors"])
def test_what_is_no_file_of_torch_is_not_called_a_pickle(start, checkpoint):
    content = (checkpoint / SAFE).read_bytes()
    (checkpoint / SAFE).unlink()
    (checkpoint / PICKLE).write_bytes((start or b"") + content)
    fails(checkpoint, f"{PICKLE}: no file of torch.save; copy or download it again")


@pytest.mark.parametrize("kept", [0, 5, 3000, -1])
@pytest.mark.parametrize("form", ["pickle", "old pickle"])
def test_a_truncated_pickle(form, kept, checkpoint):
    path = reform(checkpoint, FORMS[form]) / PICKLE
    path.write_bytes(path.read_bytes()[:kept])
    fails(checkpoint, PICKLE, "damaged or cut short")


def test_a_missing_shard_is_named(checkpoint):
    (shard,) = reform(checkpoint, pickle_shards).glob("*00002-of*")
    shard.unlink()
    fails(checkpoint, shard.name, "missing")


def test_a_shard_that_lacks_a_promised_tensor(checkpoint):
    reform(checkpoint, safe_shards)
    index = checkpoint / f"{SAFE}.index.json"
    shard = checkpoint / json.loads(index.read_text())["weight_map"][QUERY]
    tensors = load_file(shard)
    del tensors[QUERY]
    save_file(tensors, shard)
    fails(checkpoint, shard.name, QUERY, "missing")


def test_a_wrong_shape_names_its_shard(checkpoint):
    reform(checkpoint, safe_shards, lambda tensors: tensors | {QUERY: torch.zeros(2, 3)})
    fails(checkpoint, "-of-00003.safetensors", QUERY.removeprefix("bert."), "(2, 3)")


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"weight_map": 3}', '{"weight_map": {"x": "../../etc/passwd"}}', '{"weight_map": {}}']
)
def test_a_damaged_index(content, checkpoint):
    reform(checkpoint, safe_shards)
    (checkpoint / f"{SAFE}.index.json").write_text(content)
    fails(checkpoint, "model.safetensors.index.json")
