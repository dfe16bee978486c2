"""What is only speed changes nothing: every kernel of attention, packed rows and gradient checkpointing beside the
plain formula, in outputs and gradients."""

import math
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from bertlab import BertConfig, BertForPreTraining, BertModel, InputError
from bertlab.model import attend, encoder
from bertlab.model.attend import Packing, Rows, choose_kernel, few_sizes
from bertlab.model.cpu import Dropout
from tests.model.building import build, each_variant, gradients, masked_labels

KERNELS = ("fused", "explicit", "nested")
ROUGH = {"rtol": 0.05, "atol": 0.05}
TOLERANCES = {"float64": {}, "float32": {}, "bfloat16": ROUGH, "autocast": ROUGH}


def plain_attend(qkv, rows, dropout, need_weights=False):
    """Vaswani et al. 2017, equation 1, for a batch that is not packed."""
    query, key, value = qkv.permute(2, 0, 3, 1, 4)  # (B, S, 3, A, D) -> 3 x (B, A, S, D)
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if rows.padding is not None:
        scores = scores.masked_fill(rows.padding, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    return (dropout(weights) @ value).transpose(1, 2), weights


def always(kernel):
    """A choose_kernel that always takes this one, if it can: rows with padding are no nested tensor."""
    return lambda qkv, rows, *_: "fused" if kernel == "nested" and rows.packing is None else kernel


@pytest.fixture
def plainly(monkeypatch):
    """Call a model with the plain formula in place of the kernels."""

    def call(model, **inputs):
        with monkeypatch.context() as patch:
            patch.setattr(encoder, "attend", plain_attend)
            return model(**inputs)

    return call


def of_tokens(output, mask):
    """Last state and pooler output, those of padding and of texts without a token left out."""
    return output.last_hidden_state[mask.bool()], output.pooler_output[mask[:, 0].bool()]


def assert_same_values(model, plain, other, mask, tolerance, seed=1):
    """Outputs of both ways to compute, and the gradients of a random sum of them."""
    (one, pooled), (two, other_pooled) = of_tokens(plain, mask), of_tokens(other, mask)
    torch.testing.assert_close(one, two, **tolerance)
    torch.testing.assert_close(pooled, other_pooled, **tolerance)
    weights = torch.randn(one.shape, generator=torch.Generator().manual_seed(seed)).to(one)
    left = gradients(model, (one * weights).sum() + pooled.sum())
    right = gradients(model, (two * weights).sum() + other_pooled.sum())
    assert left.keys() == right.keys() == dict(model.named_parameters()).keys()
    for name in left:
        size = left[name].abs().max().clamp(min=1)  # of gradients that are sums of many, small ones are the noise
        torch.testing.assert_close(
            left[name] / size, right[name] / size, **tolerance, msg=lambda m, n=name: f"{n}: {m}"
        )


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize(
    ("kernel", "packed"),
    [("fused", False), ("fused", True), ("explicit", False), ("explicit", True), ("nested", True)],
)
def test_each_kernel_is_the_plain_formula(kernel, packed, precision, training, config, batch, plainly, monkeypatch):
    monkeypatch.setattr(attend, "choose_kernel", always(kernel))
    config = config.changed(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    dtype = torch.float32 if precision == "autocast" else getattr(torch, precision)
    model = BertModel(config).to(dtype).train(training)
    with torch.autocast("cpu", torch.bfloat16) if precision == "autocast" else nullcontext():
        outputs = plainly(model, **batch), model(**batch, packed=packed)
    assert_same_values(model, *outputs, batch["attention_mask"], TOLERANCES[precision])


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@each_variant
@pytest.mark.parametrize("kernel", [*KERNELS, "checkpointed"])
@pytest.mark.parametrize("packed", [False, True])
def test_each_variant_with_each_kernel(kernel, packed, fields, config, batch, plainly, monkeypatch):
    if kernel != "checkpointed":
        monkeypatch.setattr(attend, "choose_kernel", always(kernel))
    model = build(BertModel, config.changed(**fields, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    plain = plainly(model.train(), **batch)
    model.encoder.gradient_checkpointing = kernel == "checkpointed"
    assert_same_values(model, plain, model(**batch, packed=packed), batch["attention_mask"], {})


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("whole", [False, True], ids=["plainly", "attentions asked for"])
def test_the_kernel_that_is_chosen_is_the_plain_formula(causal, masked, whole, config, batch, plainly):
    model = build(BertModel, config.changed(is_decoder=causal))
    extra = {"head_mask": torch.rand(3, 4, dtype=torch.float64)} if masked else {}
    one = plainly(model, **batch, **extra, output_attentions=True, output_hidden_states=True)
    two = model(**batch, **extra, output_attentions=whole, output_hidden_states=whole)
    assert_same_values(model, one, two, torch.ones(3, 9), {})
    assert (two.hidden_states is None) == (two.attentions is None) == (not whole)
    if whole:
        torch.testing.assert_close(one.hidden_states, two.hidden_states)
        torch.testing.assert_close(one.attentions, two.attentions)


CAUSAL, PADDED = torch.ones(2, 1, 3, 3), torch.ones(2, 1, 1, 3)


@pytest.mark.parametrize(
    ("device", "training", "dropout", "rows", "need_weights", "kernel"),
    [
        ("cpu", False, 0.1, Rows(), False, "fused"),
        ("cpu", True, 0.0, Rows(), False, "fused"),
        ("cpu", True, 0.1, Rows(), False, "explicit"),
        ("cpu", False, 0.1, Rows(), True, "explicit"),
        ("cpu", False, 0.1, Rows(packing="some"), False, "fused"),
        ("cuda", True, 0.1, Rows(), False, "fused"),
        ("cuda", True, 0.1, Rows(packing="some"), False, "nested"),
        ("cuda", True, 0.1, Rows(packing="some"), True, "explicit"),
        ("cuda", True, 0.1, Rows(CAUSAL, "some"), False, "fused"),
        ("cuda", True, 0.1, Rows(PADDED, "some"), False, "nested"),
    ],
)
def test_which_kernel_is_chosen(device, training, dropout, rows, need_weights, kernel):
    qkv = SimpleNamespace(device=torch.device(device))
    assert choose_kernel(qkv, rows, Dropout(dropout).train(training), need_weights) == kernel


def test_in_bfloat16_a_cpu_trains_with_the_explicit_kernel_without_dropout_too():
    qkv = SimpleNamespace(device=torch.device("cpu"))
    with torch.autocast("cpu", torch.bfloat16):
        assert choose_kernel(qkv, Rows(), Dropout(0.0).train(), False) == "explicit"


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
@pytest.mark.parametrize(
    ("wanted", "kernel"),
    [
        *((wanted, kernel) for wanted in ({}, {"output_hidden_states": True}) for kernel in KERNELS),
        ({"output_attentions": True}, None),  # takes the explicit kernel, and so does head_mask
        ("head_mask", None),
    ],
)
@pytest.mark.parametrize("lengths", [(4, 9, 1), (9, 9, 9), (2, 2, 2)])
def test_packed_is_the_same_without_the_padding(lengths, wanted, kernel, config, batch, monkeypatch):
    if kernel:
        monkeypatch.setattr(attend, "choose_kernel", always(kernel))
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


def test_few_sizes_occur_and_none_is_much_more_than_it_must_be():
    rounded = {size: few_sizes(size) for size in range(1, 8193)}
    assert all(size <= found <= size * 17 / 16 for size, found in rounded.items())
    assert len({found for size, found in rounded.items() if size > 4096}) == 16
    assert [few_sizes(size, 64) for size in (1, 512, 513, 2049, 4097)] == [64, 512, 576, 2176, 4352]


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


def test_a_packing_of_another_mask_is_refused(config, batch):
    """Without its mask the padding that is put back would be attended to."""
    model, mask = BertModel(config).eval(), batch["attention_mask"]
    packing = Packing(mask)
    model(**batch, packed=packing)
    for other in (None, torch.ones_like(mask), mask[:, :-1]):
        ids = batch["input_ids"] if other is None else batch["input_ids"][:, : other.size(1)]
        with pytest.raises(InputError, match="packed must be the Packing of the attention_mask"):
            model(ids, other, packed=packing)
