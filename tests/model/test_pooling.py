"""Mixes of layers and pooling, written out beside what the classifiers do."""

import json
import warnings

import pytest
import torch

from bertlab import (
    BertForMultipleChoice,
    BertForPreTraining,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    InputError,
)
from bertlab.config import LAYER_MIXES
from bertlab.model.attend import Packing
from bertlab.model.pooling import LayerMix, mean_over_tokens

POOLED = [(pooling, mix) for pooling in ("cls", "mean") for mix in LAYER_MIXES]


def build(kind, config, **fields):
    torch.manual_seed(0)
    return kind(config.changed(num_hidden_layers=5, **fields)).double().eval()


def states(count=6):
    torch.manual_seed(1)
    return tuple(torch.randn(3, 9, 24, dtype=torch.float64) for _ in range(count))


@pytest.mark.parametrize(
    ("mix", "by_hand"),
    [
        ("last", lambda s: s[5]),
        ("second-to-last", lambda s: s[4]),
        ("sum-last-4", lambda s: s[2] + s[3] + s[4] + s[5]),
        ("concat-last-4", lambda s: torch.cat([s[2], s[3], s[4], s[5]], dim=2)),
    ],
)
def test_mixes_by_hand(mix, by_hand, config):
    module = LayerMix(config.changed(num_hidden_layers=5, layer_mix=mix))
    assert not list(module.parameters())
    mixed = module(states())
    torch.testing.assert_close(mixed, by_hand(states()))
    assert mixed.size(-1) == module.width


def test_the_scalar_mix_learns_a_share_of_every_layer(config):
    module = LayerMix(config.changed(num_hidden_layers=5, layer_mix="scalar-mix")).double()
    torch.testing.assert_close(module(states()), torch.stack(states()).mean(0))  # as it starts
    with torch.no_grad():
        module.weight.copy_(torch.tensor([0.0, 1, 2, 0, -1, 3]))
        module.gamma.fill_(1.5)
    shares = torch.tensor([0.0, 1, 2, 0, -1, 3]).double().exp()
    by_hand = 1.5 * sum(share * state for share, state in zip(shares / shares.sum(), states(), strict=True))
    torch.testing.assert_close(module(states()), by_hand)
    module(states()).sum().backward()
    assert module.weight.grad.any() and module.gamma.grad.any()


def test_a_new_model_starts_with_equal_shares(config):
    model = BertForTokenClassification(config.changed(layer_mix="scalar-mix", initializer_range=0.02))
    assert model.mix.gamma.item() == 1 and model.mix.weight.softmax(0).std() < 0.02


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_mean_is_over_tokens_alone(dtype):
    x, mask = torch.randn(3, 5, 4).to(dtype), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]])
    x[1, 2:] = float("nan")  # what stands at padding does not matter
    found = mean_over_tokens(x, mask)
    assert found.dtype == dtype and not found[2].any()
    torch.testing.assert_close(found[0], x[0].double().mean(0).to(dtype))
    torch.testing.assert_close(found[1], x[1, :2].double().mean(0).to(dtype))
    torch.testing.assert_close(mean_over_tokens(x[:1], None), found[:1])


@pytest.mark.parametrize(("pooling", "mix"), POOLED)
def test_what_the_sequence_classifier_reads(pooling, mix, config, batch):
    model = build(BertForSequenceClassification, config, pooling=pooling, layer_mix=mix, num_labels=3)
    plain = (pooling, mix) == ("cls", "last")
    assert (model.bert.pooler is not None) == plain and (model.mix is not None) == (mix != "last")
    out = model.bert(**batch, output_hidden_states=True)
    mixed = out.last_hidden_state if mix == "last" else model.mix(out.hidden_states)
    vector = out.pooler_output if plain else mixed[:, 0]
    if pooling == "mean":
        lengths = batch["attention_mask"].sum(1)
        vector = torch.stack([row[:length].mean(0) for row, length in zip(mixed, lengths, strict=True)])
    torch.testing.assert_close(model(**batch).logits, model.classifier(vector))


@pytest.mark.parametrize(("pooling", "mix"), POOLED)
def test_packed_is_the_same(pooling, mix, config, batch):
    for kind in (BertForSequenceClassification, BertForTokenClassification):
        model = build(kind, config, pooling=pooling, layer_mix=mix)
        real = batch["attention_mask"].bool() if kind is BertForTokenClassification else slice(None)
        for packed in (True, Packing(batch["attention_mask"]).to(torch.device("cpu"))):
            torch.testing.assert_close(model(**batch).logits[real], model(**batch, packed=packed).logits[real])


@pytest.mark.parametrize(("pooling", "mix"), POOLED)
def test_choices_are_read_as_texts_are(pooling, mix, config, batch):
    model = build(BertForMultipleChoice, config, pooling=pooling, layer_mix=mix)
    text = build(BertForSequenceClassification, config, pooling=pooling, layer_mix=mix, num_labels=1)
    text.load_state_dict(model.state_dict())
    choices = {name: tensor.unsqueeze(1).expand(-1, 2, -1) for name, tensor in batch.items()}
    torch.testing.assert_close(model(**choices).logits, text(**batch).logits.expand(-1, 2))


def test_hidden_states_come_only_when_asked_for(config, batch):
    model = build(BertForTokenClassification, config, layer_mix="sum-last-4")
    assert model(**batch).hidden_states is None
    assert len(model(**batch, output_hidden_states=True).hidden_states) == 6


def test_the_plain_classifier_asks_for_no_hidden_states(config, batch, monkeypatch):
    asked = []
    forward = BertModel.forward
    monkeypatch.setattr(
        BertModel, "forward", lambda *a, **k: asked.append(k["output_hidden_states"]) or forward(*a, **k)
    )
    build(BertForTokenClassification, config)(**batch)
    assert asked == [False]


@pytest.mark.parametrize(("mix", "layers"), [("second-to-last", 1), ("sum-last-4", 3), ("concat-last-4", 3)])
def test_too_few_layers_are_told(mix, layers, config):
    with pytest.raises(InputError, match=f"layer_mix '{mix}' needs . layers, num_hidden_layers is {layers}"):
        config.changed(layer_mix=mix, num_hidden_layers=layers)


@pytest.mark.parametrize(
    ("kind", "pooling", "mix"),
    [
        *((kind, *pooled) for kind in (BertForSequenceClassification, BertForMultipleChoice) for pooled in POOLED),
        *((BertForTokenClassification, "cls", mix) for mix in LAYER_MIXES),  # it has no use for pooling
    ],
)
def test_round_trip(kind, pooling, mix, config, batch, tmp_path):
    model = build(kind, config, pooling=pooling, layer_mix=mix)
    model.save_pretrained(tmp_path)
    stored = json.loads((tmp_path / "config.json").read_text())
    assert (stored.get("pooling", "cls"), stored.get("layer_mix", "last")) == (pooling, mix)
    with warnings.catch_warnings(action="error"):
        again = kind.from_pretrained(tmp_path).double()
    if kind is BertForMultipleChoice:
        batch = {name: tensor.unsqueeze(1) for name, tensor in batch.items()}
    assert again.config == model.config
    torch.testing.assert_close(again(**batch).logits, model(**batch).logits)


def test_a_pretrained_encoder_gets_a_mix(checkpoint):
    with pytest.warns(UserWarning, match="layer_mix.weight, layer_mix.gamma.*classifier.weight") as told:
        model = BertForTokenClassification.from_pretrained(checkpoint, layer_mix="scalar-mix")
    assert model.mix.gamma.item() == 1 and len(told) == 1
    word = BertForPreTraining.from_pretrained(checkpoint).bert.embeddings.word.weight
    assert model.bert.embeddings.word.weight.equal(word)
