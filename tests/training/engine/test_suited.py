"""Which optimizer and learning rates a model gets, by what its config.json says of it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bertlab import BertConfig
from bertlab.cli.finetune import Finetune, recipe_of
from bertlab.cli.pretrain import Pretrain
from bertlab.training.engine.optim import COMPACT_RATES, OWN, OWN_RATES, PAPER_RATES, suited_optimization
from bertlab.training.engine.optim import suited_rates as rates_of
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.recipes import PRETRAIN, PretrainRecipe, gentle_optimization

MINILM = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
NARROW = [name for name in PRETRAIN if name != "bert-base"]


def published(folder: Path, **fields) -> Path:
    """A folder with the config.json of a narrow model that somebody published."""
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", **MINILM, **fields}))
    return folder


@pytest.mark.parametrize("fields", [{"initializer_range": 0.02}, {}, {"hidden_dropout_prob": 0.0}])
def test_a_narrow_published_model_is_finetuned_by_adamw(fields, tmp_path):
    """With dropout or without, as a fine-tuning may have changed it; files without the field mean BERT's 0.02."""
    recipe = recipe_of(Finetune("sentence", str(published(tmp_path, **fields)), train=Path("reviews.csv")))
    assert (recipe.optim.optimizer, recipe.optim.learning_rate) == ("adamw", COMPACT_RATES[1])
    assert rates_of(BertConfig.from_pretrained(tmp_path)) == COMPACT_RATES


@pytest.mark.parametrize("name", NARROW)
def test_a_model_of_a_narrow_recipe_of_ours_is_finetuned_by_muon(name):
    config = PRETRAIN[name].config(1000)
    assert suited_optimization(config) == OWN and rates_of(config) == OWN_RATES
    assert suited_optimization(config.changed(hidden_dropout_prob=0.1)) == OWN


def test_the_default_of_a_recipe_suits_its_default_model():
    recipe = FinetuneRecipe()
    assert recipe.optim == suited_optimization(BertConfig.from_pretrained(recipe.model)) == OWN


@pytest.mark.parametrize("drawn", [0.02, 0.05])
def test_a_wide_model_is_finetuned_as_in_the_paper(drawn):
    config = BertConfig(initializer_range=drawn)
    assert suited_optimization(config).learning_rate == 3e-5 and rates_of(config) == PAPER_RATES == (5e-5, 3e-5, 2e-5)
    assert suited_optimization(config).beta2 == 0.999  # fine-tuning has the paper's Adam
    assert suited_optimization(config).head_scale == 1.0 < suited_optimization(config, lora=8).head_scale


def test_the_default_is_the_middle_of_the_grid():
    for config in (BertConfig(), BertConfig(**MINILM), PretrainRecipe().config(1000)):
        most, middle, least = rates_of(config)
        assert most > suited_optimization(config).learning_rate == middle > least
    assert suited_optimization(BertConfig(**MINILM)).head_scale > 1.0


def test_continued_pretraining_keeps_what_tells_the_models_apart(tmp_path):
    """A model that goes on from a published one counts as published, and one from ours as ours."""
    command = Pretrain("own-text", text=[Path("cases.txt")], model=str(published(tmp_path)))
    recipe = command._recipe()
    assert (recipe.optim.optimizer, recipe.optim.learning_rate) == ("adamw", 1e-4)
    assert suited_optimization(recipe.config(1000)).optimizer == "adamw"
    ours = Pretrain("own-text", text=[Path("cases.txt")], model="storyworld-tiny")._recipe()
    assert suited_optimization(ours.config(1000)) == OWN


def test_continued_pretraining_is_gentle():
    recipe = PretrainRecipe()
    assert gentle_optimization(recipe) == replace(recipe.optim, learning_rate=recipe.optim.learning_rate / 4)
    wide = replace(recipe, hidden_size=768, num_attention_heads=12)
    assert gentle_optimization(wide).optimizer == "adamw" and gentle_optimization(wide).learning_rate == 1e-4
    alone = replace(recipe, model="english", learns="positions")
    assert gentle_optimization(alone).learning_rate > 10 * gentle_optimization(recipe).learning_rate
