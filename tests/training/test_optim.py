"""Which weights are updated how, and the learning rate over time."""

import copy
import math

import pytest
import torch

from bertlab import BertForPreTraining, BertForQuestionAnswering
from bertlab.training.optim import Optimization, make_optimizers, rate_factor


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


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_step_with_found_inf_leaves_no_trace(bad, optimizer, config):
    """Weights, momentum and count of steps are to the bit those of a training without it."""
    model = BertForPreTraining(config)
    trainings = [copy.deepcopy(model), copy.deepcopy(model)]
    for training, finite in zip(trainings, [[0.1, 0.3], [0.1, 0.3]], strict=True):
        if training is trainings[1]:
            finite.insert(bad, float("nan"))
        optimizers = make_optimizers(training, Optimization(optimizer, learning_rate=1e-2))
        for size in finite:
            for parameter in training.parameters():
                parameter.grad = size * (parameter.detach() + 0.01)
            for one in optimizers:
                one.found_inf = torch.tensor(float(math.isnan(size)))
                one.step()
    assert all(torch.equal(a, b) for a, b in zip(*(training.parameters() for training in trainings), strict=True))


def test_muon_is_that_of_torch(config):
    model = BertForPreTraining(config)
    other = copy.deepcopy(model)
    ours = make_optimizers(model, Optimization("muon", learning_rate=1e-2))[0]
    (group,) = ours.param_groups
    taken = {id(p) for p in group["params"]}
    same = [q for p, q in zip(model.parameters(), other.parameters(), strict=True) if id(p) in taken]
    theirs = torch.optim.Muon(same, lr=1e-2, weight_decay=0.01, adjust_lr_fn="match_rms_adamw")
    ours.found_inf = torch.tensor(0.0)
    for _ in range(3):
        for p, q in zip(group["params"], same, strict=True):
            p.grad, q.grad = p.detach().sin(), q.detach().sin()
        ours.step()
        theirs.step()
    assert all(torch.equal(p, q) for p, q in zip(group["params"], same, strict=True))
