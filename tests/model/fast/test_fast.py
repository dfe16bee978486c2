"""What is only speed changes nothing: every way of attention, packed rows and gradient checkpointing beside the plain
encoder, in outputs and gradients."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from bertlab import BertConfig, BertForPreTraining, BertModel
from bertlab.model import encoder, variants
from bertlab.model.fast import Dropout, Packing
from bertlab.model.fast.encoder import FastAttention, Request
from tests.model.building import build, gradients, masked_labels

ROUGH = {"rtol": 0.05, "atol": 0.05}
TOLERANCES = {"float64": {}, "float32": {}, "bfloat16": ROUGH, "autocast": ROUGH}


def plain_and_fast(config, dtype=torch.float64):
    """The encoder as the papers tell it and the one that users get, with the same weights."""
    plain = variants.BertModel(config)
    fast = BertModel(config)
    fast.load_state_dict(plain.state_dict())
    return plain.to(dtype), fast.to(dtype)


def of_tokens(output, mask):
    """Last state and pooler output, those of padding and of texts without a token left out."""
    return output.last_hidden_state[mask.bool()], output.pooler_output[mask[:, 0].bool()]


def assert_same_values(plain, fast, mask, tolerance, seed=1):
    """Outputs, and the gradients of a random sum of them."""
    (one, pooled), (two, other) = of_tokens(plain[1], mask), of_tokens(fast[1], mask)
    torch.testing.assert_close(one, two, **tolerance)
    torch.testing.assert_close(pooled, other, **tolerance)
    weights = torch.randn(one.shape, generator=torch.Generator().manual_seed(seed)).to(one)
    left = gradients(plain[0], (one * weights).sum() + pooled.sum())
    right = gradients(fast[0], (two * weights).sum() + other.sum())
    assert left.keys() == right.keys() == dict(plain[0].named_parameters()).keys()
    for name in left:
        size = left[name].abs().max().clamp(min=1)  # of gradients that are sums of many, small ones are the noise
        torch.testing.assert_close(
            left[name] / size, right[name] / size, **tolerance, msg=lambda m, n=name: f"{n}: {m}"
        )


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize(
    ("way", "packed"), [("fused", False), ("fused", True), ("explicit", False), ("explicit", True), ("rows", True)]
)
def test_each_way_is_the_plain_encoder(way, packed, precision, training, config, batch, monkeypatch):
    monkeypatch.setattr(FastAttention, "way", lambda *_: way)
    config = config.changed(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    dtype = torch.float32 if precision == "autocast" else getattr(torch, precision)
    plain, fast = (model.train(training) for model in plain_and_fast(config, dtype))
    with torch.autocast("cpu", torch.bfloat16) if precision == "autocast" else nullcontext():
        outputs = plain(**batch), fast(**batch, packed=packed)
    assert_same_values((plain, outputs[0]), (fast, outputs[1]), batch["attention_mask"], TOLERANCES[precision])


VARIANTS = {
    "rotary": {"position_embedding_type": "rotary"},
    "pre-norm": {"pre_norm": True},
    "gated": {"gated_feed_forward": True},
    "shared": {"shared_layers": True},
}
ALL = {name: value for one in VARIANTS.values() for name, value in one.items()}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("fields", [*VARIANTS.values(), ALL], ids=[*VARIANTS, "all"])
@pytest.mark.parametrize("way", ["fused", "explicit", "rows", "checkpointed"])
@pytest.mark.parametrize("packed", [False, True])
def test_each_variant_is_as_fast(way, packed, fields, config, batch, monkeypatch):
    if way != "checkpointed":
        monkeypatch.setattr(FastAttention, "way", lambda *_: way)
    config = config.changed(**fields, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    plain, fast = (model.train() for model in plain_and_fast(config))
    fast.encoder.gradient_checkpointing = way == "checkpointed"
    outputs = plain(**batch), fast(**batch, packed=packed)
    assert_same_values((plain, outputs[0]), (fast, outputs[1]), batch["attention_mask"], {})


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("whole", [False, True], ids=["plainly", "attentions asked for"])
def test_the_way_that_is_chosen_is_the_plain_encoder(causal, masked, whole, config, batch):
    plain, fast = (model.eval() for model in plain_and_fast(config.changed(is_decoder=causal)))
    extra = {"head_mask": torch.rand(3, 4, dtype=torch.float64)} if masked else {}
    one = plain(**batch, **extra)
    two = fast(**batch, **extra, output_attentions=whole, output_hidden_states=whole)
    assert_same_values((plain, one), (fast, two), torch.ones(3, 9), {})
    assert (two.hidden_states is None) == (two.attentions is None) == (not whole)
    if whole:
        torch.testing.assert_close(one.hidden_states, two.hidden_states)
        torch.testing.assert_close(one.attentions, two.attentions)


def test_the_plain_modules_became_fast_ones(config):
    plain, fast = plain_and_fast(config)
    changed = {
        (type(one).__name__, type(two).__name__)
        for one, two in zip(plain.modules(), fast.modules(), strict=True)
        if type(one) is not type(two)
    }
    assert changed == {
        ("BertModel", "BertModel"),
        ("Encoder", "FastEncoder"),
        ("MultiHeadAttention", "FastAttention"),
        ("Dropout", "Dropout"),
    }
    assert isinstance(fast.embeddings.dropout, Dropout) and isinstance(fast, encoder.BertModel)


def test_the_same_seed_draws_the_same_weights(config):
    models = []
    for kind in (encoder.BertModel, BertModel):
        torch.manual_seed(5)
        models.append(kind(config).state_dict())
    assert all(models[0][name].equal(models[1][name]) for name in models[0])


@pytest.mark.parametrize(
    ("device", "training", "dropout", "request_", "masked", "way"),
    [
        ("cpu", False, 0.1, Request(), False, "fused"),
        ("cpu", True, 0.0, Request(), False, "fused"),
        ("cpu", True, 0.1, Request(), False, "explicit"),
        ("cpu", False, 0.1, Request(probabilities=True), False, "explicit"),
        ("cpu", False, 0.1, Request(), True, "explicit"),
        ("cpu", False, 0.1, Request(packing="some"), False, "fused"),
        ("cuda", True, 0.1, Request(), False, "fused"),
        ("cuda", True, 0.1, Request(packing="some"), False, "rows"),
        ("cuda", True, 0.1, Request(packing="some"), True, "explicit"),
        ("cuda", True, 0.1, Request(torch.ones(2, 1, 3, 3), "some"), False, "fused"),  # causal
        ("cuda", True, 0.1, Request(torch.ones(2, 1, 1, 3), "some"), False, "rows"),
    ],
)
def test_which_way_is_chosen(device, training, dropout, request_, masked, way, config):
    attention = BertModel(config.changed(attention_probs_dropout_prob=dropout)).encoder.layers[0].attention
    x = SimpleNamespace(device=torch.device(device))
    assert attention.train(training).way(x, request_, torch.ones(4) if masked else None) == way


@pytest.mark.parametrize(("training", "wanted"), [(False, {}), (True, {}), (False, {"output_attentions": True})])
def test_the_fused_kernel_runs_where_it_is_chosen(config, batch, monkeypatch, training, wanted):
    calls = []
    real = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        torch.nn.functional,
        "scaled_dot_product_attention",
        lambda *args, **kwargs: calls.append(1) or real(*args, **kwargs),
    )
    BertModel(BertConfig(**vars(config) | {"attention_probs_dropout_prob": 0.1})).train(training)(**batch, **wanted)
    assert bool(calls) == (not training and not wanted)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("way", ["fused", "explicit", "rows"])
@pytest.mark.parametrize("wanted", [{}, {"output_hidden_states": True}, {"output_attentions": True}, "head_mask"])
@pytest.mark.parametrize("lengths", [(4, 9, 1), (9, 9, 9), (2, 2, 2)])
def test_packed_is_the_same_without_the_padding(lengths, wanted, way, config, batch, monkeypatch):
    if not wanted or "output_hidden_states" in wanted:
        monkeypatch.setattr(FastAttention, "way", lambda *_: way)
    model = build(BertModel, config)
    mask = (torch.arange(9) < torch.tensor(lengths)[:, None]).long()
    if wanted == "head_mask":
        wanted = {"head_mask": torch.rand(config.num_hidden_layers, config.num_attention_heads).double()}
    inputs = batch | {"attention_mask": mask} | wanted
    padded, packed = model(**inputs), model(**inputs, packed=True)
    real = mask[:, :, None].double()
    pairs = list(zip(padded.hidden_states or (), packed.hidden_states or (), strict=True))
    for one, two in [(padded.last_hidden_state, packed.last_hidden_state), *pairs]:
        torch.testing.assert_close(one * real, two)
    assert (padded.attentions is None) == (packed.attentions is None)
    for one, two in zip(padded.attentions or (), packed.attentions or (), strict=True):
        torch.testing.assert_close(one * real[:, None], two * real[:, None])  # a padded token asks nothing
    weights = torch.randn_like(real)
    one = gradients(model, (padded.last_hidden_state * weights * real).sum() + padded.pooler_output.sum())
    two = gradients(model, (packed.last_hidden_state * weights * real).sum() + packed.pooler_output.sum())
    for name in one:
        torch.testing.assert_close(one[name], two[name], msg=lambda m, n=name: f"{n}: {m}")


def test_a_packing_made_before_is_taken(config, batch):
    model, packing = build(BertModel, config), Packing(batch["attention_mask"])
    given = model(**batch, packed=packing.to(torch.device("cpu")))
    torch.testing.assert_close(given.last_hidden_state, model(**batch, packed=True).last_hidden_state)


def test_a_large_batch_is_packed_into_64s_of_rows_and_gives_the_same(config):
    lengths = torch.randint(8, 17, (48, 1), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(16) < lengths).long()  # (B, S)
    input_ids = torch.randint(1, config.vocab_size, mask.shape, generator=torch.Generator().manual_seed(1))
    plain, filled = Packing(mask), Packing(mask, filled=True)
    assert len(plain.packed) == mask.sum() > 512 and len(filled.packed) - mask.sum() == -mask.sum() % 64 != 0
    model, weights = build(BertModel, config), torch.randn(*mask.shape, config.hidden_size)
    states = [model(input_ids, mask, packed=packing).last_hidden_state for packing in (plain, filled)]
    torch.testing.assert_close(*states)
    one, two = (gradients(model, (state * weights).sum()) for state in states)
    for name in one:
        torch.testing.assert_close(one[name], two[name], msg=lambda m, n=name: f"{n}: {m}")


def test_gradient_checkpointing_changes_nothing_but_memory(config, batch):
    """With dropout, whose draws are repeated too."""
    model = build(BertForPreTraining, config).train()
    inputs = batch | {"labels": masked_labels(batch)}
    calls = []

    def step():
        torch.manual_seed(0)
        return gradients(model, model(**inputs, packed=True).loss)

    model.bert.encoder.layers[0].register_forward_pre_hook(lambda *_: calls.append(1))
    one = step()
    model.bert.encoder.gradient_checkpointing = True
    two = step()
    assert len(calls) == 3  # once, and once again for the gradient
    for name in one:
        torch.testing.assert_close(one[name], two[name], msg=lambda m, n=name: f"{n}: {m}")


def test_packed_text_does_no_work_on_padding(config, batch):
    model, seen = build(BertModel, config), []
    model.encoder.layers[0].feed_forward.register_forward_hook(lambda _, given, out: seen.append(out.shape))
    model(**batch, packed=True)
    assert seen == [(int(batch["attention_mask"].sum()), config.hidden_size)]
