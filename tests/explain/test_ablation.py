"""Parts taken out are out, the rest is untouched, and the signal is measured as it says."""

import threading

import pytest
import torch
from torch import nn

from bertlab import BertConfig, BertForPreTraining, BertModel
from bertlab.errors import InputError
from bertlab.explain.ablation import PARTS, ablated, random_control, random_model, signal

SIZES = dict(vocab_size=60, hidden_size=24, num_hidden_layers=3, num_attention_heads=2, intermediate_size=40)
CONFIG = BertConfig(max_position_embeddings=16, initializer_range=0.15, **SIZES)
IDS = torch.arange(9)[None] + 5
BATCH = {"input_ids": IDS, "attention_mask": torch.ones_like(IDS)}


@pytest.fixture(scope="module")
def model():
    return random_model(BertModel, CONFIG, seed=1)


def last(model):
    with torch.no_grad():
        return model(**BATCH).last_hidden_state


def test_nothing_out_is_a_copy(model):
    copied = ablated(model, ())
    torch.testing.assert_close(last(copied), last(model))
    nn.init.zeros_(copied.pooler.dense.weight)
    assert model.pooler.dense.weight.any()


@pytest.mark.parametrize("part", PARTS)
def test_one_part_out_changes_the_result_and_leaves_the_model_alone(model, part):
    before = last(model)
    assert not torch.allclose(last(ablated(model, [part])), before, atol=1e-3)
    torch.testing.assert_close(last(model), before)


def test_each_part_is_what_is_out(model):
    layer, x = model.encoder.layers[0], torch.randn(1, 5, 24, generator=torch.Generator().manual_seed(0))
    attended, forward = layer.attention(x)[0], layer.feed_forward
    first, second = layer.attention_norm, layer.feed_forward_norm
    middle = first(x + attended)
    right = {
        "attention": second(first(x) + forward(first(x))),
        "feed-forward": second(middle),
        "residual": second(forward(first(attended))),
        "norm": x + attended + forward(x + attended),
        "activation": second(middle + forward.down(forward.up(middle))),
    }
    for part in PARTS:
        changed = ablated(model, [part], layers=[0]).encoder.layers
        torch.testing.assert_close(changed[0](x)[0], right[part])
        torch.testing.assert_close(changed[1](x)[0], model.encoder.layers[1](x)[0])


def test_models_with_a_head():
    model = random_model(BertForPreTraining, CONFIG)
    assert ablated(model, ["residual"])(**BATCH).prediction_logits.shape == (1, 9, 60)


def test_an_unknown_part(model):
    with pytest.raises(InputError, match="part 'bias' is unknown; known: attention, feed-forward"):
        ablated(model, ["bias"])


def test_signal_of_states_and_gradients(model):
    found, plain = signal(model, BATCH), signal(ablated(model, ["attention", "feed-forward", "norm"]), BATCH)
    assert len(found.sizes) == len(found.differences) == len(found.gradients) == 4
    assert found.sizes == pytest.approx([1.0] * 4, abs=1e-3)  # as LayerNorm leaves them
    assert all(0 < share < 1 for share in found.differences) and found.gradients[-1] == pytest.approx(1.0)
    assert len(set(plain.sizes)) == len(set(plain.gradients)) == 1  # a layer that does nothing passes all on


def test_signal_dies_without_residual_connections_and_norms(model):
    dead = signal(ablated(random_model(BertModel, CONFIG.changed(initializer_range=0.02)), ["residual", "norm"]), BATCH)
    assert dead.sizes[-1] < 1e-4 and dead.gradients[0] < 1e-4


def test_alike_tokens_do_not_differ(model):
    batch = {"input_ids": torch.full((1, 6), 7)}
    with torch.no_grad():
        model_without_places = ablated(model, ())
        model_without_places.embeddings.position.weight.zero_()
    assert max(signal(model_without_places, batch).differences) < 1e-5


def alike(first, second) -> bool:
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    return all(torch.equal(ours, theirs) for ours, theirs in pairs)


@pytest.mark.parametrize("name", ["model", "reader", "classifier", "tagger"])
def test_it_is_the_model_that_the_global_seed_would_give(name, request):
    model = request.getfixturevalue(name)
    torch.manual_seed(3)
    expected = type(model)(model.config)
    before = torch.get_rng_state()
    control = random_control(model, seed=3)
    assert alike(control, expected) and not control.training and control.config == model.config
    assert torch.equal(torch.get_rng_state(), before)
    assert not alike(control, random_control(model, seed=4))


def test_what_other_threads_draw_changes_nothing(model):
    expected, over = random_control(model), threading.Event()

    def disturb():
        while not over.is_set():
            torch.rand(10)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        assert all(alike(random_control(model), expected) for _ in range(20))
    finally:
        over.set()
        thread.join()
