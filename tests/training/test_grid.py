"""The search over the paper's settings: all are tried, the best on dev is kept, and a killed one goes on."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file

from bertlab import InputError
from bertlab.corpora.examples import TextExample
from bertlab.tasks.registry import open_task
from bertlab.training import grid as search_of
from bertlab.training.engine.optim import OWN_RATES, Optimization
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.grid import grid, search
from bertlab.training.run_folder import locked
from bertlab.training.run_settings import FinetuneSettings
from tests.training.test_finetune import Killed
from tests.training.toy import same

QUICK = {"progress": False, "settings": FinetuneSettings(device="cpu")}
RESUMED = QUICK | {"settings": FinetuneSettings(device="cpu", resume=True)}
SAVING = QUICK | {"settings": FinetuneSettings(device="cpu", save_every=5)}


def texts(count: int) -> list[TextExample]:
    kinds = ("red", "blue")
    return [TextExample(str(n), f"{kinds[n % 2]} " * 4, None, kinds[n % 2]) for n in range(count)]


@pytest.fixture
def small(pretrained) -> FinetuneRecipe:
    return FinetuneRecipe("sentence", pretrained, max_length=32, optim=Optimization(learning_rate=1.0))


@pytest.fixture
def two(monkeypatch):
    """Two settings in place of 18: one that learns, and one that does not."""
    monkeypatch.setattr(search_of, "suited_rates", lambda config, lora: (1e-9, 2e-2))
    monkeypatch.setattr(search_of, "BATCH_SIZES", (4,))
    monkeypatch.setattr(search_of, "EPOCHS", (8.0,))


def weights(folder: Path):
    return load_file(folder / "model.safetensors")


def test_the_settings_are_the_papers(small):
    trials = grid(replace(small, model="storyworld-tiny", steps=7, seed=3))
    found = {(t.optim.learning_rate, t.batch_size, t.epochs) for t in trials}
    assert found == {(rate, size, n) for rate in OWN_RATES for size in (16, 32) for n in (2, 3, 4)}
    assert all((t.steps, t.seed, t.optim.optimizer) == (0, 3, "adamw") for t in trials)


def test_a_grid_in_use_is_one_line(small, tmp_path):
    (tmp_path / "grid").mkdir()
    for resume in (False, True):
        with locked(tmp_path), pytest.raises(InputError, match="another training is writing to it"):
            search(small, texts(24), texts(12), tmp_path, **(RESUMED if resume else QUICK))


def test_the_best_is_kept_whole_and_of_the_others_the_figures(two, small, tmp_path):
    told = {}
    small = replace(small, snapshot_steps=(0,))
    chosen = search(small, texts(24), texts(12), tmp_path, on_trial=told.__setitem__, **QUICK)
    assert chosen.optim.learning_rate == 2e-2
    worse, better = sorted((tmp_path / "grid").iterdir(), key=lambda folder: told[folder.name]["best"])
    assert told[better.name]["accuracy"] > 0.9 > told[worse.name]["accuracy"]
    assert better.name == "rate-0.02-batch-4-epochs-8"
    assert not [*worse.rglob("model.safetensors")] and (worse / "measures.json").exists()
    assert (tmp_path / "step-00000" / "model.safetensors").exists()
    assert same(weights(better), weights(tmp_path)) and not (tmp_path / "resume").exists()
    assert json.loads((tmp_path / "recipe.json").read_text())["optim"]["learning_rate"] == 2e-2
    model, task = open_task(tmp_path)
    assert [p.label for p in task.predict(model, texts(4))] == ["red", "blue", "red", "blue"]


def test_the_best_adapter_finds_its_base(two, small, pretrained, tmp_path, monkeypatch):
    monkeypatch.chdir(Path(pretrained).parent)
    recipe = replace(small, model=Path(pretrained).name, lora=4, snapshot_steps=(0,), steps=12)
    search(recipe, texts(12), texts(4), tmp_path / "runs" / "best", **QUICK)
    for folder in (tmp_path / "runs" / "best", tmp_path / "runs" / "best" / "step-00000"):
        model, task = open_task(folder)
        assert len(list(task.predict(model, texts(4)))) == 4


@pytest.mark.parametrize("trial", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_killed_in_the_middle_it_goes_on_to_the_same_result(trial, two, small, tmp_path):
    data = texts(24), texts(12)
    search(small, *data, tmp_path / "whole", **QUICK)
    begun = []

    def kill(row):
        begun.append(row["step"])
        if begun.count(12) == trial:
            raise Killed

    with pytest.raises(Killed):
        search(small, *data, tmp_path / "cut", log_every=4, on_log=kill, **SAVING)
    with pytest.raises(InputError, match="cut holds a run already: go on with --resume"):
        search(small, *data, tmp_path / "cut", **QUICK)
    begun.clear()
    told = {}
    rest = {"on_trial": told.__setitem__, "on_log": lambda row: begun.append(row["step"]), "log_every": 4}
    search(small, *data, tmp_path / "cut", **rest, **RESUMED)
    assert begun[0] > 8 and len(told) == 2  # what was done is not done again, yet told
    assert begun.count(48) == 3 - trial
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    names = [sorted(p.relative_to(out) for p in out.rglob("*")) for out in (tmp_path / "whole", tmp_path / "cut")]
    assert names[0] == names[1]


def test_ctrl_c_ends_the_whole_search(two, small, tmp_path):
    def stop(row):
        raise KeyboardInterrupt

    assert search(small, texts(24), texts(12), tmp_path, log_every=4, on_log=stop, **QUICK) is None
    assert len(list((tmp_path / "grid").iterdir())) == 1
    assert search(small, texts(24), texts(12), tmp_path, **RESUMED).optim.learning_rate == 2e-2


def test_mistakes_are_named(two, small, tmp_path):
    data = texts(24), texts(12)
    with pytest.raises(InputError, match="--dev"):
        search(small, texts(24), [], tmp_path / "new", **QUICK)
    with pytest.raises(InputError, match="new holds no unfinished grid"):
        search(small, *data, tmp_path / "new", **RESUMED)
    assert not (tmp_path / "new").exists()
    search(small, *data, tmp_path / "old", **QUICK)
    with pytest.raises(InputError, match=r"another recipe \(seed was 0\)"):
        search(replace(small, seed=1), *data, tmp_path / "old", **RESUMED)
    with pytest.raises(InputError, match="learned from other examples"):
        search(small, texts(26), data[1], tmp_path / "old", **RESUMED)
    assert not (tmp_path / "old" / "measures.json").exists()  # it is still to be measured on the test set
