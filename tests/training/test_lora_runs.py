"""`finetune --lora`: a run learns an adapter, goes on after a kill, and every command opens its folder."""

import csv
import json
import warnings
from dataclasses import replace

import pytest
import torch

from bertlab import BertModel, InputError
from bertlab.cli.main import main
from bertlab.model.lora import TARGETS, adapted_layers
from bertlab.tasks.registry import open_task
from bertlab.training.engine.optim import LORA_RATES, Optimization
from bertlab.training.finetune import finetune
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.grid import grid
from bertlab.training.run_settings import FinetuneSettings
from tests.alike import assert_alike
from tests.training.test_finetune import FAMILIES, Killed, kill_after, texts

ADAPTER = {"adapter_config.json", "adapter_model.safetensors", "config.json"}


@pytest.fixture
def small(pretrained):
    optim = Optimization(learning_rate=1e-2)
    return FinetuneRecipe("sentence", pretrained, max_length=64, batch_size=4, steps=6, lora=2, optim=optim)


def quietly(**settings):
    return {"progress": False, "settings": FinetuneSettings(device="cpu", **settings)}


@pytest.mark.parametrize("task", FAMILIES)
def test_a_run_saves_an_adapter_that_opens_as_it_was_trained(task, small, tmp_path):
    examples = FAMILIES[task]
    result = finetune(replace(small, task=task), examples, out=tmp_path / "run", **quietly())
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert ADAPTER <= names and "model.safetensors" not in names
    model, opened = open_task(tmp_path / "run")
    assert not adapted_layers(model) and not adapted_layers(result.model) and not model.training
    before = list(result.task.predict(result.model, examples))
    for one, other in zip(before, opened.predict(model, examples), strict=True):
        assert_alike(one.as_row(), other.as_row())


def test_the_encoder_learns_by_its_changes_alone(small):
    result = finetune(small, texts(24), **quietly())
    with warnings.catch_warnings(action="ignore"):
        base = BertModel.from_pretrained(small.model)
    changed = {name for name, tensor in base.state_dict().items() if not torch.equal(tensor, result_of(result, name))}
    matrices = [f"encoder.layers.{n}.{name}.weight" for n in range(len(base.encoder.layers)) for name in TARGETS]
    assert {name for name in changed if not name.startswith("pooler")} == {*matrices}


def result_of(result, name):
    return result.model.bert.state_dict()[name]


def test_killed_and_resumed_gives_the_same_adapter(small, tmp_path):
    recipe = replace(small, steps=8, evaluate_every=2, dropout=0.1)
    data = texts(24), texts(8, seed=3)
    finetune(recipe, *data, out=tmp_path / "whole", **quietly())
    with pytest.raises(Killed):
        finetune(recipe, *data, out=tmp_path / "cut", log_every=1, on_log=kill_after(5), **quietly(save_every=1))
    finetune(recipe, *data, out=tmp_path / "cut", **quietly(resume=True))
    for name in ("adapter_model.safetensors", "dev.csv"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_run_goes_on_from_an_adapter_that_another_one_wrote(small, tmp_path):
    first = finetune(small, texts(24), out=tmp_path / "first", **quietly())
    still = replace(small, model=str(tmp_path / "first"), optim=Optimization(learning_rate=1e-9), steps=1)
    second = finetune(still, texts(8), out=tmp_path / "second", **quietly())
    (one, _), (other, _) = open_task(tmp_path / "first"), open_task(tmp_path / "second")
    for (name, tensor), again in zip(one.state_dict().items(), other.state_dict().values(), strict=True):
        torch.testing.assert_close(again, tensor, rtol=0, atol=1e-5, msg=name)
    fields = [json.loads((tmp_path / run / "adapter_config.json").read_text()) for run in ("first", "second")]
    assert fields[0] == fields[1] and second.model.adapted_from == first.model.adapted_from == ""


def test_what_makes_no_sense_is_refused(small, tmp_path):
    with pytest.raises(InputError, match="lora=-1: must not be negative"):
        replace(small, lora=-1)
    with pytest.raises(InputError, match="lora=2: all layers are frozen"):
        finetune(replace(small, freeze="encoder"), texts(8), **quietly())
    finetune(replace(small, freeze="embeddings"), texts(8), out=tmp_path / "run", **quietly())
    with pytest.raises(InputError, match="run has rank 2: go on with that, or merge it first"):
        finetune(replace(small, model=str(tmp_path / "run"), lora=3), texts(8), **quietly())
    assert {trial.optim.learning_rate for trial in grid(small)} == {*LORA_RATES}


@pytest.fixture
def run(pretrained, tmp_path, capsys):
    """The folder of a run of the command; its base lies elsewhere."""
    with (tmp_path / "train.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *((example.text, example.label) for example in texts(24))])
    where = f"--train {tmp_path}/train.csv --model {pretrained} --out {tmp_path}/run"
    command = f"finetune sentence --lora 2 --half --steps 3 --batch-size 4 --device cpu {where}"
    assert not main(command.split())
    assert "lora 2" in (tmp_path / "run" / "README.md").read_text()
    capsys.readouterr()
    return tmp_path / "run"


def test_every_command_opens_the_folder(run, tmp_path, capsys):
    recipe = json.loads((run / "recipe.json").read_text())
    assert recipe["lora"] == 2 and recipe["optim"]["optimizer"] == "adamw"
    assert recipe["optim"]["learning_rate"] == LORA_RATES[1]
    for command in (
        f"info {run}",
        f"predict red --model {run}",
        f"evaluate {run} --data {tmp_path}/train.csv",
        f"embed {tmp_path}/train.csv --text-column text --model {run} --out {tmp_path}/vectors.npy",
        f"export {run} --to transformers --out {tmp_path}/whole",
    ):
        assert not main(command.split()), command
        assert capsys.readouterr(), command
    new = f"finetune sentence --train {tmp_path}/train.csv --out {tmp_path}/new"
    for wrong, said in {
        f"export {run} --to transformers --int8 --out {tmp_path}/small": "leave out --int8 and --data",
        f"export {run} --to transformers --out {run}": "would replace",
        f"{new} --lora 2 --control": "leave out --lora or",
        f"{new} --lora 0": "--lora 0: must be above 0",
    }.items():
        with pytest.raises(SystemExit):
            main(wrong.split())
        assert said in capsys.readouterr().err, wrong
