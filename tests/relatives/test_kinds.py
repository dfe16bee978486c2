"""Every relative by the one loop: it learns from text, and any task's head can stand on what it learned."""

from dataclasses import replace

import pytest
import torch

from bertlab import InputError
from bertlab.corpora import storyworld
from bertlab.inputs.features import collate
from bertlab.relatives.encoders import LastToken
from bertlab.relatives.kinds import RELATIVES, carried_parameters, find_relative, head_on
from bertlab.tasks.registry import find_task
from bertlab.training.pretrain import learn_vocabulary, pretrain
from bertlab.training.recipes import PretrainRecipe
from bertlab.training.run_settings import PretrainSettings
from bertlab.training.task_loss import task_loss

RECIPE = PretrainRecipe(
    vocab_size=400,
    num_hidden_layers=2,
    hidden_size=32,
    num_attention_heads=2,
    max_position_embeddings=64,
    max_tokens=32,
    batch_size=16,
    steps=12,
)
TEXTS = [document.sentences for document in storyworld.documents(0, 60)]
TOK = learn_vocabulary(TEXTS, RECIPE)
TASKS = {"sentiment": 0, "matching": 1, "choice": 2, "entities": 3, "qa": 4}
SETTINGS = PretrainSettings(device="cpu", precision="float32")


def learned(name: str):
    relative = RELATIVES[name]
    recipe = replace(RECIPE, **relative.recipe)
    done = pretrain(
        recipe, TEXTS, settings=SETTINGS, tokenizer=TOK, objective=relative.objective, progress=False, log_every=4
    )
    return relative, recipe.config(TOK.vocab_size), done


def head_and_batch(relative, config, model, name: str, layers: str):
    """A head on the model and a batch of the task, as finetune makes them."""
    task = find_task(name).family(TOK, 48)
    examples = list(find_task(name).storyworld(0, 12, "train"))
    config = config.changed(**task.head_fields(examples))
    head = head_on(relative, model, task.head, config, TOK, layers, name == "matching")
    features = task.features(examples, head.config, learn=True)
    return head, collate(features, TOK), task.target


@pytest.mark.parametrize("name", RELATIVES)
def test_a_relative_learns_from_text_and_every_head_can_stand_on_it(name):
    relative, config, done = learned(name)
    loss = next(key for key in done.rows[0] if key.endswith("loss"))
    assert done.rows[-1][loss] < done.rows[0][loss] and done.rows[-1]["utilisation"] > 0
    again = relative.new_model(replace(RECIPE, seed=5, **relative.recipe), TOK)
    again.load_state_dict(done.model.state_dict())
    for task in TASKS:
        head, batch, target = head_and_batch(relative, config, again, task, "all")
        value, _ = task_loss(head.train(), batch, target=target)
        value.backward()
        changed = {name.split(".")[0] for name, p in head.named_parameters() if p.grad is not None and p.grad.any()}
        assert value.isfinite() and "bert" in changed and len(changed) == 2


@pytest.mark.parametrize("name", RELATIVES)
def test_every_relative_takes_as_many_parameters_to_the_tasks(name):
    recipe = replace(PretrainRecipe(), **RELATIVES[name].recipe)
    assert recipe.num_hidden_layers == 4
    with torch.random.fork_rng():
        sizes = [
            carried_parameters(relative.encoder(relative.new_model(replace(recipe, **relative.recipe), TOK)))
            for relative in (RELATIVES["bert"], RELATIVES[name])
        ]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.05)


@pytest.mark.parametrize("layers", ["bilstm", "embeddings", "second-to-last", "scalar-mix"])
def test_a_bilstm_reads_frozen_layers_or_learns_with_them(layers):
    relative = RELATIVES["left-to-right"]
    recipe = replace(RECIPE, **relative.recipe)
    model = relative.new_model(recipe, TOK)
    head, batch, _ = head_and_batch(relative, recipe.config(TOK.vocab_size), model, "entities", layers)
    head(**batch).loss.backward()
    grads = [p.grad is not None for p in model.bert.embeddings.parameters()]
    assert all(grads) if layers == "bilstm" else not any(grads)


@torch.no_grad()
def test_left_to_right_the_last_token_stands_for_the_text():
    model = LastToken(RELATIVES["left-to-right"].new_model(replace(RECIPE, **RELATIVES["gpt"].recipe), TOK).bert.eval())
    batch = TOK(["the dog was hairy", "rain"])
    other = batch | {"input_ids": batch["input_ids"].clone()}
    other["input_ids"][0, 1] = TOK.mask_token_id
    changed = (model(**batch).pooler_output - model(**other).pooler_output).abs().amax(1)
    assert changed[0] > 0 and changed[1] == 0


def test_an_unknown_relative_is_named():
    with pytest.raises(InputError, match="there is no relative 'bart': choose one of bert, "):
        find_relative("bart")
