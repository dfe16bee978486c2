"""Which weights are updated how, and the learning rate over time."""

import copy
import math

import pytest
import torch

from bertlab import (
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    InputError,
)
from bertlab.cli.shared.settings import with_settings
from bertlab.config import LAYER_MIXES
from bertlab.model.lora import adapt
from bertlab.training.engine import optim
from bertlab.training.engine.optim import (
    OPTIMIZERS,
    Optimization,
    freeze,
    make_optimizers,
    rate_factor,
    step_if_finite,
)
from bertlab.training.recipes import PretrainRecipe
from tests.training.toy import fit


def names_by_group(model, settings):
    """(kind of optimizer, weight decay, names of its parameters) of every group."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return [
        (type(optimizer).__name__, group["weight_decay"], {names[id(p)] for p in group["params"]})
        for optimizer in make_optimizers(model, settings)
        for group in optimizer.param_groups
    ]


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("kind", [BertForPreTraining, BertForQuestionAnswering])
def test_every_parameter_is_in_exactly_one_group(kind, optimizer, config):
    model = kind(config)
    groups = names_by_group(model, Optimization(optimizer))
    listed = [name for _, _, names in groups for name in names]
    assert sorted(listed) == sorted(name for name, _ in model.named_parameters())
    parameters = [
        p for o in make_optimizers(model, Optimization(optimizer)) for g in o.param_groups for p in g["params"]
    ]
    assert len(parameters) == len({id(p) for p in parameters}) == len(listed)


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_no_decay_on_biases_and_layer_norm(optimizer, config):
    for _, decay, names in names_by_group(BertForPreTraining(config), Optimization(optimizer, weight_decay=0.03)):
        assert decay in (0.0, 0.03)
        for name in names:
            assert (decay == 0.0) == ("norm" in name or name.endswith("bias")), name


def test_muon_takes_the_matrices_of_the_layers_and_of_the_pooler_alone(config):
    groups = names_by_group(BertForPreTraining(config), Optimization("muon"))
    muon = {name for kind, _, names in groups if kind == "Muon" for name in names}
    assert len(muon) == 4 * config.num_hidden_layers + 1  # qkv, out, up, down; pooler
    assert all(name.endswith("weight") and "norm" not in name for name in muon)
    assert "bert.pooler.dense.weight" in muon
    assert not any(part in name for name in muon for part in ("embeddings", "mlm", "nsp"))
    assert {kind for kind, _, _ in groups} == {"Muon", "AdamW"}


def test_adamw_alone(config):
    assert {kind for kind, _, _ in names_by_group(BertForPreTraining(config), Optimization())} == {"AdamW"}


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_decayed_weight_shrinks_and_a_bias_does_not(optimizer, config):
    """Without a gradient's push, only weight decay moves a weight."""
    model = BertForPreTraining(config)
    layer = model.bert.encoder.layers[0].feed_forward.up
    with torch.no_grad():
        layer.bias.fill_(0.5)
    before = layer.weight.detach().clone()
    optimizers = make_optimizers(model, Optimization(optimizer, learning_rate=0.1, weight_decay=0.5))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    for each in optimizers:
        each.step()
    torch.testing.assert_close(layer.weight, before * (1 - 0.1 * 0.5))
    assert bool((layer.bias == 0.5).all())


def test_rate_goes_up_then_down_in_straight_lines():
    assert rate_factor(0.0, 0.1) == 0.0
    assert rate_factor(0.05, 0.1) == pytest.approx(0.5)
    assert rate_factor(0.1, 0.1) == pytest.approx(1.0)
    assert rate_factor(0.55, 0.1) == pytest.approx(0.5)
    assert rate_factor(1.0, 0.1) == 0.0
    assert rate_factor(1.2, 0.1) == 0.0  # a late clock
    assert rate_factor(0.0, 0.0) == 1.0


@pytest.mark.parametrize("warmup", [0.0, 0.05, 0.5])
def test_rate_is_never_above_the_top_and_has_one_peak(warmup):
    factors = [rate_factor(i / 200, warmup) for i in range(201)]
    assert min(factors) >= 0 and max(factors) == pytest.approx(1.0)
    top = factors.index(max(factors))
    assert factors[: top + 1] == sorted(factors[: top + 1])
    assert factors[top:] == sorted(factors[top:], reverse=True)


# Any optimizer of torch


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_learns_and_goes_on_from_its_state(name, config):
    model = BertForPreTraining(config)
    optimizers = make_optimizers(model, Optimization(name, learning_rate=1e-2))
    before = [p.detach().clone() for p in model.parameters()]
    give_gradients(model, 0.1)
    step_if_finite(optimizers, torch.tensor(True))
    assert sum(not p.equal(old) for p, old in zip(model.parameters(), before, strict=True)) > len(before) / 2
    other = copy.deepcopy(model)
    again = make_optimizers(other, Optimization(name, learning_rate=1e-2))
    for one, saved in zip(again, [optimizer.state_dict() for optimizer in optimizers], strict=True):
        one.load_state_dict(copy.deepcopy(saved))
    for each, its in ((model, optimizers), (other, again)):
        give_gradients(each, 0.2)
        step_if_finite(its, torch.tensor(True))
    assert all(p.isfinite().all() and p.equal(q) for p, q in zip(model.parameters(), other.parameters(), strict=True))


def test_an_optimizer_gets_the_settings_that_it_knows(config):
    def defaults(name):
        (optimizer,) = make_optimizers(
            BertForPreTraining(config), Optimization(name, 0.5, weight_decay=0.25, beta2=0.9)
        )
        return optimizer.param_groups[0]

    assert defaults("NAdam")["betas"] == (0.9, 0.9) and defaults("nadam")["lr"] == 0.5
    assert defaults("SGD")["weight_decay"] == defaults("adafactor")["weight_decay"] == 0.25
    assert defaults("adamw")["fused"] and defaults("sgd")["fused"] and not defaults("nadam").get("fused")
    assert "betas" not in defaults("sgd") and "weight_decay" not in defaults("rprop")


@pytest.mark.parametrize("name", ["adam w", "lbfgs", "SparseAdam", "Optimizer", ""])
def test_an_unknown_optimizer_is_one_line_with_the_names(name):
    with pytest.raises(InputError, match="adafactor.*adamw.*muon.*nadam.*sgd") as caught:
        Optimization(name)
    assert f"optim.optimizer={name.lower()}" in str(caught.value) and "lbfgs," not in str(caught.value)


def test_any_optimizer_can_be_set_on_the_command_line():
    recipe = with_settings(PretrainRecipe(), ["optim.optimizer=NAdam", "optim.learning_rate=0.01"])
    assert recipe.optim == Optimization("nadam", 0.01)
    with pytest.raises(InputError, match="choose one of adadelta, adafactor, adagrad, adam,"):
        with_settings(PretrainRecipe(), ["optim.optimizer=adm"])


# Steps without a finite gradient

KINDS = {
    "sgd": lambda groups: [torch.optim.SGD(groups, lr=1e-2)],
    "sgd with momentum": lambda groups: [torch.optim.SGD(groups, lr=1e-2, momentum=0.9)],
    "nadam": lambda groups: [torch.optim.NAdam(groups, lr=1e-2)],
    "adafactor": lambda groups: [torch.optim.Adafactor(groups, lr=1e-2)],
    "adamw, fused": lambda groups: [torch.optim.AdamW(groups, lr=1e-2, fused=True)],
    "adamw, not fused": lambda groups: [torch.optim.AdamW(groups, lr=1e-2, fused=False)],
    "muon": None,
}


def optimizers_of(kind, model):
    if KINDS[kind] is None:
        return make_optimizers(model, Optimization(kind, learning_rate=1e-2))
    return KINDS[kind](list(model.parameters()))


def give_gradients(model, size):
    for parameter in model.parameters():
        parameter.grad = size * (parameter.detach() + 0.01)


def trained(model, kind, sizes):
    """The weights after each step with a gradient of such a size."""
    model = copy.deepcopy(model)
    optimizers, weights = optimizers_of(kind, model), []
    for size in sizes:
        give_gradients(model, size)
        step_if_finite(optimizers, torch.tensor(math.isfinite(size)))
        weights.append([parameter.detach().clone() for parameter in model.parameters()])
    return weights


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_skipped_step_leaves_no_trace(bad, kind, config):
    """Weights, momentum and count of steps are to the bit those of a training without it."""
    model, sizes = BertForPreTraining(config), [0.1, 0.3]
    with_it = trained(model, kind, [*sizes[:bad], float("nan"), *sizes[bad:]])
    without = trained(model, kind, sizes)
    assert all(torch.equal(a, b) for a, b in zip(with_it[-1], without[-1], strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("where", ["processor", "gpu"])
def test_a_gradient_that_is_not_finite_changes_no_weight_and_the_next_does(where, bad, kind, config, monkeypatch):
    """With the processor in place of a GPU, whose numbers are not read."""
    monkeypatch.setattr(optim, "READ_FREELY", ("cpu",) if where == "processor" else ())
    model = BertForPreTraining(config)
    start = [parameter.detach().clone() for parameter in model.parameters()]
    first, second, third, fourth = trained(model, kind, [bad, 0.1, bad, 0.3])
    assert all(map(torch.equal, start, first)) and all(map(torch.equal, second, third))
    for before, after in ((first, second), (third, fourth)):
        assert all(weight.isfinite().all() for weight in after)
        assert sum(not torch.equal(*pair) for pair in zip(before, after, strict=True)) > len(start) / 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_finite_step_is_the_same_read_or_not(kind, config, monkeypatch):
    model = BertForPreTraining(config)
    read = trained(model, kind, [0.1, 0.3])
    monkeypatch.setattr(optim, "READ_FREELY", ())
    assert all(map(torch.equal, read[-1], trained(model, kind, [0.1, 0.3])[-1]))


# Learning rates by layer


def scales_by_name(model, settings):
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    groups = [group for optimizer in make_optimizers(model, settings) for group in optimizer.param_groups]
    return {names[id(p)]: group["lr_scale"] for group in groups for p in group["params"]}


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_lower_layers_learn_more_slowly(optimizer, config):
    model = BertForSequenceClassification(config)
    scales = scales_by_name(model, Optimization(optimizer, layer_decay=0.5))
    assert scales.keys() == dict(model.named_parameters()).keys()
    expected = {"embeddings": 1 / 8, "layers.0": 1 / 4, "layers.1": 1 / 2, "layers.2": 1, "pooler": 1, "classifier": 1}
    for name, scale in scales.items():
        assert [scale] == [share for part, share in expected.items() if part in name], name


@pytest.mark.parametrize("head", [BertForSequenceClassification, BertForTokenClassification, BertForQuestionAnswering])
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_the_head_alone_learns_faster(optimizer, head, config):
    """The pooler is a part of the encoder; an adapter's matrices are too."""
    for adapted in (False, True):
        model = head(config)
        if adapted:
            adapt(model, "english", rank=2)
        scales = scales_by_name(model, Optimization(optimizer, head_scale=10.0))
        fast = {name for name, scale in scales.items() if scale == 10.0}
        assert fast == {name for name in scales if name.startswith(("classifier.", "span."))} != set()
        assert {scale for name, scale in scales.items() if name not in fast} == {1.0}


def test_without_layer_decay_there_are_no_more_groups_than_before(config):
    assert [len(o.param_groups) for o in make_optimizers(BertForPreTraining(config), Optimization("muon"))] == [1, 2]
    assert set(scales_by_name(BertForPreTraining(config), Optimization("muon")).values()) == {1.0}


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_step_heeds_the_share_of_each_layer(optimizer, config, batch):
    """With all else alike, weight decay alone moves a weight, by its own learning rate."""
    model = BertForSequenceClassification(config.changed(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    before = {name: p.detach().clone() for name, p in model.named_parameters() if p.ndim == 2}
    settings = Optimization(optimizer, learning_rate=0.1, weight_decay=0.5, warmup=0.0, layer_decay=0.5)

    def no_loss(model, batch, shares):
        return 0 * model(**batch).logits.sum(), {}

    fit(model, [batch], no_loss, steps=1, optim=settings, progress=False)
    rate = 0.1 * rate_factor(0.5, 0.0)
    for name, share in {"bert.encoder.layers.0": 1 / 4, "bert.encoder.layers.2": 1, "bert.embeddings": 1 / 8}.items():
        for key in (key for key in before if key.startswith(name)):
            torch.testing.assert_close(model.get_parameter(key).detach(), before[key] * (1 - rate * share * 0.5))


@pytest.mark.parametrize("field, values", [("layer_decay", (0.0, 1.5)), ("head_scale", (0.0, -1.0, float("inf")))])
def test_a_share_out_of_range_is_told(field, values):
    for value in values:
        with pytest.raises(InputError, match=f"optim.{field}"):
            Optimization(**{field: value})


# Freezing


def sum_loss(model, batch, shares):
    return model(**batch).logits.square().mean(), {}


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize(
    ("what", "frozen"),
    [
        ("none", []),
        ("embeddings", ["embeddings"]),
        (2, ["embeddings", "layers.0", "layers.1"]),
        ("2", ["embeddings", "layers.0", "layers.1"]),
        ("encoder", ["embeddings", "layers.0", "layers.1", "layers.2"]),
    ],
)
def test_what_is_frozen_stays_as_it_is_and_all_else_learns(what, frozen, optimizer, config, batch):
    model = BertForSequenceClassification(config)
    freeze(model, "encoder")
    freeze(model, what)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    settings = Optimization(optimizer, learning_rate=0.01, warmup=0.0, weight_decay=0.1)
    fit(model, [batch] * 2, sum_loss, steps=2, optim=settings, progress=False)
    for name, parameter in model.named_parameters():
        assert parameter.equal(before[name]) == any(part in name for part in frozen), name


def test_frozen_parts_have_no_dropout_and_keep_nothing_for_a_gradient(config, batch):
    config = config.changed(hidden_dropout_prob=0.5)
    model = BertModel(config, add_pooler=False).train()
    freeze(model, 3)
    one, two = model(**batch).last_hidden_state, model(**batch).last_hidden_state
    torch.testing.assert_close(one, two)
    torch.testing.assert_close(one, model.eval()(**batch).last_hidden_state)
    assert one.grad_fn is None
    freeze(model.train(), 1)
    states = model(**batch, output_hidden_states=True).hidden_states
    assert [state.requires_grad for state in states] == [False, False, True, True]
    again = model(**batch, output_hidden_states=True).hidden_states[2]
    assert not torch.allclose(states[2], again, atol=1e-2)


@pytest.mark.parametrize("what", ["head", 4, 0, -1, 1.5, None])
def test_what_cannot_be_frozen_is_told(what, config):
    with pytest.raises(InputError, match="freeze=.*a number of layers, 1 to 3"):
        freeze(BertForSequenceClassification(config), what)


def test_nothing_left_to_train_is_told(config):
    model = BertModel(config, add_pooler=False)
    freeze(model, "encoder")
    with pytest.raises(InputError, match="nothing to train"):
        make_optimizers(model, Optimization())


@pytest.mark.parametrize("mix", LAYER_MIXES)
@pytest.mark.parametrize("what", ["none", "embeddings", "encoder"])
def test_all_that_is_trained_gets_a_gradient(what, mix, config, batch):
    """Several processes wait for the gradient of every weight that is trained."""
    model = BertForSequenceClassification(config.changed(num_hidden_layers=4, layer_mix=mix))
    freeze(model, what)
    model(**batch).logits.square().sum().backward()
    for name, parameter in model.named_parameters():
        assert (parameter.grad is not None) == parameter.requires_grad, name
    assert sum(parameter.requires_grad for parameter in model.parameters()) >= 2


def test_layers_that_share_their_weights_are_frozen_together_or_not_at_all(config):
    shared = BertForSequenceClassification(config.changed(shared_layers=True, layer_mix="second-to-last"))
    freeze(shared, "none")
    assert all(weight.requires_grad for weight in shared.bert.encoder.parameters())
    with pytest.raises(InputError, match="the layers share their weights"):
        freeze(shared, "1")
    freeze(shared, "encoder")
    assert not any(weight.requires_grad for weight in shared.bert.encoder.parameters())
