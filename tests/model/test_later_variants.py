"""What later papers changed: the same numbers as transformers' ModernBERT and ALBERT, and no way into a plain BERT."""

import json

import pytest
import torch

from bertlab import BertConfig, BertForMaskedLM, BertForPreTraining, BertModel, InputError
from bertlab.cli.main import main
from bertlab.config import VARIANTS
from bertlab.model.attend import rotate
from bertlab.model.summary import model_facts
from bertlab.training.engine.throughput import encoder_operations
from tests.model.building import ALL, MODELS, build, each_variant

transformers = pytest.importorskip("transformers")

SIZES = dict(vocab_size=61, hidden_size=24, num_hidden_layers=3, num_attention_heads=4, intermediate_size=40)


def disturb(model):
    """Random biases and LayerNorms too."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return model.double().eval()


def copy(ours, theirs, names):
    """Copy tensors of `theirs` into parameters of ours; all that is not named becomes 0 (biases) or 1 (LayerNorm)."""
    with torch.no_grad():
        for name, parameter in ours.named_parameters():
            parameter.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
        for name, other in names.items():
            ours.get_parameter(name).copy_(theirs.get_parameter(other) if isinstance(other, str) else torch.cat(other))


def test_rotary_pre_norm_and_gated_are_modernbert(batch):
    """Its layers without local attention. It has no first LayerNorm, no biases, no segments and no pooler."""
    sizes = dict(max_position_embeddings=16, norm_eps=1e-12, attn_implementation="eager", pad_token_id=0)
    theta = {"full_attention": {"rope_type": "default", "rope_theta": 10_000.0}}
    theirs = transformers.ModernBertModel(
        transformers.ModernBertConfig(
            **SIZES, **sizes, layer_types=["full_attention"] * 3, rope_parameters=theta, bos_token_id=1, eos_token_id=2
        )
    )
    disturb(theirs)
    with torch.no_grad():
        theirs.embeddings.norm.weight.fill_(1.0)  # so that a LayerNorm on it changes nothing
    variants = {name: value for name, value in ALL.items() if name != "shared_layers"}
    ours = BertModel(BertConfig(**SIZES, max_position_embeddings=16, **variants), add_pooler=False).double().eval()
    names = {"embeddings.word.weight": "embeddings.tok_embeddings.weight", "encoder.norm.weight": "final_norm.weight"}
    for number in range(3):
        layer, other = f"encoder.layers.{number}", f"layers.{number}"
        names |= {
            f"{layer}.attention.qkv.weight": f"{other}.attn.Wqkv.weight",
            f"{layer}.attention.out.weight": f"{other}.attn.Wo.weight",
            f"{layer}.feed_forward.up.weight": f"{other}.mlp.Wi.weight",
            f"{layer}.feed_forward.down.weight": f"{other}.mlp.Wo.weight",
            f"{layer}.feed_forward_norm.weight": f"{other}.mlp_norm.weight",
        }
        if number:
            names[f"{layer}.attention_norm.weight"] = f"{other}.attn_norm.weight"
    copy(ours, theirs, names)
    mask = batch["attention_mask"]
    other = theirs(batch["input_ids"], mask).last_hidden_state[mask.bool()]
    for packed in (False, True):
        mine = ours(batch["input_ids"], mask, packed=packed).last_hidden_state[mask.bool()]
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-6)  # both turn by angles in float32


def test_shared_layers_are_alberts(batch):
    """With its embeddings as wide as its states."""
    sizes = dict(max_position_embeddings=16, embedding_size=24, hidden_act="gelu", attn_implementation="eager")
    theirs = disturb(transformers.AlbertModel(transformers.AlbertConfig(**SIZES, **sizes)))
    into = theirs.encoder.embedding_hidden_mapping_in
    with torch.no_grad():
        into.weight.copy_(torch.eye(24))
        into.bias.zero_()
    ours = BertModel(BertConfig(**SIZES, max_position_embeddings=16, shared_layers=True)).double().eval()
    layer, other = "encoder.layers.0", theirs.encoder.albert_layer_groups[0].albert_layers[0]
    names = {
        "embeddings.word": "embeddings.word_embeddings",
        "embeddings.position": "embeddings.position_embeddings",
        "embeddings.segment": "embeddings.token_type_embeddings",
        "embeddings.norm": "embeddings.LayerNorm",
        "pooler.dense": "pooler",
    }
    inner = {
        "attention.out": "attention.dense",
        "attention_norm": "attention.LayerNorm",
        "feed_forward.up": "ffn",
        "feed_forward.down": "ffn_output",
        "feed_forward_norm": "full_layer_layer_norm",
    }
    group = "encoder.albert_layer_groups.0.albert_layers.0"
    names |= {f"{layer}.{mine}": f"{group}.{theirs_}" for mine, theirs_ in inner.items()}
    tensors = {
        f"{mine}.{leaf}": f"{theirs_}.{leaf}"
        for mine, theirs_ in names.items()
        for leaf in ("weight", "bias")
        if leaf == "weight" or mine not in ("embeddings.word", "embeddings.position", "embeddings.segment")
    }
    parts = other.attention.query, other.attention.key, other.attention.value
    for leaf in ("weight", "bias"):
        tensors[f"{layer}.attention.qkv.{leaf}"] = [getattr(part, leaf) for part in parts]
    copy(ours, theirs, tensors)
    mine, others = ours(**batch), theirs(**batch)
    torch.testing.assert_close(mine.last_hidden_state, others.last_hidden_state)
    torch.testing.assert_close(mine.pooler_output, others.pooler_output)


def test_products_of_turned_vectors_depend_on_the_distance_alone():
    query, key = torch.randn(2, 8, dtype=torch.float64)
    near, far, other = (
        rotate(query, torch.tensor(at)) @ rotate(key, torch.tensor(at + away)) for at, away in ((3, 2), (90, 2), (3, 5))
    )
    torch.testing.assert_close(near, far, rtol=0, atol=1e-5)
    assert abs(near - other) > 1e-3


# Checkpoints


@each_variant
@pytest.mark.parametrize("kind", MODELS)
def test_a_variant_is_saved_and_opened(kind, fields, config, batch, tmp_path):
    if kind.__name__ == "BertForMultipleChoice":
        batch = {name: tensor[None] for name, tensor in batch.items()}
    model = build(kind, config.changed(**fields))
    model.save_pretrained(tmp_path)
    again = kind.from_pretrained(tmp_path).double()
    assert again.config == model.config
    for one, two in zip(vars(model(**batch)).values(), vars(again(**batch)).values(), strict=True):
        if isinstance(one, torch.Tensor):
            torch.testing.assert_close(one, two, rtol=0, atol=1e-5)


@each_variant
def test_transformers_takes_no_variant_for_a_bert(fields, config, tmp_path):
    BertForMaskedLM(config.changed(**fields)).save_pretrained(tmp_path)
    written = json.loads((tmp_path / "config.json").read_text())
    assert (written["model_type"], written["architectures"]) == ("bert-variant", ["BertVariantForMaskedLM"])
    assert {name: written[name] for name in fields} == fields
    for kind in ("AutoModel", "BertModel", "BertForMaskedLM"):
        with pytest.raises((ValueError, KeyError), match="bert-variant"):
            getattr(transformers, kind).from_pretrained(tmp_path)


def test_a_plain_config_does_not_know_of_variants(config):
    written = config.to_dict("BertForMaskedLM")
    assert (written["model_type"], written["architectures"]) == ("bert", ["BertForMaskedLM"])
    assert not {*VARIANTS} & written.keys() and config.variants == []


def test_a_variant_that_calls_itself_a_bert_is_refused(config, tmp_path):
    BertModel(config.changed(pre_norm=True)).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(path.read_text().replace("bert-variant:", "").replace('"bert-variant"', '"bert"'))
    with pytest.raises(InputError, match="config.json: pre_norm is no part of a BERT"):
        BertModel.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (dict(position_embedding_type="rotary", hidden_size=12, num_attention_heads=4), "must be even"),
        (dict(position_embedding_type="relative_key"), "known: absolute, rotary"),
        (dict(pre_norm=1), "pre_norm must be bool"),
    ],
)
def test_what_no_variant_can_have(fields, message):
    with pytest.raises(InputError, match=message):
        BertConfig(**fields)


# Cost


def test_shared_layers_are_stored_and_counted_once(config, tmp_path, capsys):
    plain, shared = (BertForPreTraining(config.changed(shared_layers=value)) for value in (False, True))
    layer = sum(parameter.numel() for parameter in plain.bert.encoder.layers[0].parameters())
    count = [sum(parameter.numel() for parameter in model.parameters()) for model in (plain, shared)]
    assert count[0] - count[1] == (config.num_hidden_layers - 1) * layer
    shared.save_pretrained(tmp_path)
    assert model_facts(tmp_path).total == count[1]
    main(["info", str(tmp_path)])
    assert "bert-variant" in capsys.readouterr().out


def test_the_final_norm_is_a_part_of_its_own(config, tmp_path):
    BertModel(config.changed(pre_norm=True)).save_pretrained(tmp_path)
    assert model_facts(tmp_path).parameters["final LayerNorm"] == 2 * config.hidden_size


def test_operations_of_a_gated_network(config, batch):
    """Three matrices instead of two: at two thirds of the width as many operations."""
    gated = config.changed(gated_feed_forward=True, intermediate_size=2 * config.intermediate_size // 3)
    wide = config.changed(intermediate_size=3 * gated.intermediate_size // 2)
    assert encoder_operations(gated, batch) == encoder_operations(wide, batch)
