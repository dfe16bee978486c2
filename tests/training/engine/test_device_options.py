"""What a GPU is offered changes nothing of what is learned; here it is all done on the CPU."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from bertlab.model import attend
from bertlab.training.batches import batches
from bertlab.training.engine.devices import Devices, compile_layers
from bertlab.training.initial_weights import new_model
from bertlab.training.objective import pretraining_loss, with_positions
from bertlab.training.pretrain import pretrain
from tests.training.toy import fit, on_cpu


def learn(documents, tok, recipe, **options):
    model = new_model(recipe, tok)
    devices = Devices("cpu")
    settings = {"steps": 4, "optim": recipe.optim, "progress": False, "devices": devices}
    rows = fit(model, batches(documents, tok, recipe), pretraining_loss, **settings, **options)
    return model.state_dict(), rows


def assert_same(one, other):
    for name in one:
        torch.testing.assert_close(one[name], other[name], rtol=1e-4, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("micro_batch", [None, 3])
@pytest.mark.parametrize("unpadded", [False, True])
def test_positions_found_ahead_teach_the_same(unpadded, micro_batch, documents, tok, recipe, monkeypatch):
    usual, rows = learn(documents, tok, recipe)
    if unpadded:
        monkeypatch.setattr(attend, "choose_kernel", lambda *_: "nested")  # as on a GPU
    prepare = partial(with_positions, unpadded=unpadded)
    told, other = learn(documents, tok, recipe, prepare=prepare, micro_batch=micro_batch)
    assert_same(usual, told)
    assert rows[-1]["mlm_loss"] == pytest.approx(other[-1]["mlm_loss"], abs=1e-4)


def test_a_gpu_is_told_where_labels_and_tokens_are(documents, tok, recipe):
    batch = next(batches(documents, tok, recipe))
    told = with_positions(batch, unpadded=True)
    assert batch["labels"].flatten()[told["labelled"]].ge(0).all()
    assert len(told["labelled"]) == (batch["labels"] != -100).sum()
    assert told["packed"].tokens == batch["attention_mask"].sum()
    assert "packed" not in with_positions(batch, unpadded=False)


def test_gradient_checkpointing_learns_the_same(texts, tok, recipe):
    recipe = replace(recipe, num_hidden_layers=2, hidden_dropout_prob=0.1)
    runs = [
        pretrain(recipe, texts, tokenizer=tok, progress=False, settings=on_cpu(gradient_checkpointing=chosen))
        for chosen in (False, True)
    ]
    assert_same(*(run.model.state_dict() for run in runs))


def test_compiled_layers_learn_the_same(documents, tok, recipe, monkeypatch):
    """Traced as for a GPU, though not turned into code."""
    usual, _ = learn(documents, tok, recipe)
    traced = []

    def backend(graph, inputs):
        traced.append(graph)
        return graph

    compile_layer = torch.nn.Module.compile
    monkeypatch.setattr(
        torch.nn.Module, "compile", lambda layer, **options: compile_layer(layer, backend=backend, **options)
    )
    model = new_model(recipe, tok)
    compile_layers(model.bert.encoder)
    settings = {
        "steps": 4,
        "optim": recipe.optim,
        "progress": False,
        "devices": Devices("cpu"),
    }
    fit(model, batches(documents, tok, recipe), pretraining_loss, **settings)
    assert len(traced) == 1  # one graph of the whole layer, for batches of every length
    assert_same(usual, model.state_dict())
