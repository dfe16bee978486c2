"""TensorBoard and Weights & Biases get what metrics.csv and dev.csv hold."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from bertlab import InputError
from bertlab.corpora.examples import TextExample
from bertlab.training.engine.callbacks import open_loggers
from bertlab.training.finetune import finetune
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.run_files import read_rows
from bertlab.training.run_settings import FinetuneSettings
from tests.training.engine.test_tensorboard import events
from tests.training.toy import pretrained as pretrain_quietly

EXAMPLES = [TextExample(f"{n}", f"a {colour} dog", None, colour) for n, colour in enumerate(["red", "blue"] * 8)]


def tune(pretrained, out, **settings):
    recipe = FinetuneRecipe("sentence", pretrained, max_length=32, batch_size=4, steps=6, evaluate_every=3)
    how = {"settings": FinetuneSettings(device="cpu", **settings), "log_every": 2, "progress": False}
    return finetune(recipe, EXAMPLES, EXAMPLES[:6], out=out, **how)


def test_a_fine_tuning_writes_its_evaluations_too(pretrained, tmp_path):
    tune(pretrained, tmp_path / "run", tensorboard=True)
    shown = events(tmp_path / "run")
    for file, prefix in (("metrics.csv", ""), ("dev.csv", "dev/")):
        for row in read_rows(tmp_path / "run" / file):
            step = row.pop("step")
            for name, value in row.items():
                assert dict(shown[prefix + name])[step] == pytest.approx(value, rel=1e-4)


class Board(ModuleType):
    """Stands for the module wandb: keeps what each run is opened with and gets."""

    errors = SimpleNamespace(Error=type("Error", (Exception,), {}))
    Settings = dict

    def __init__(self):
        super().__init__("wandb")
        self.opened, self.rows, self.closed = [], [], 0
        self.__spec__ = SimpleNamespace()  # by which it is found to be installed

    def init(self, **options):
        self.opened.append(options)
        return self

    def log(self, figures, step):
        self.rows.append((step, figures))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed += 1


@pytest.fixture
def board(monkeypatch):
    board = Board()
    monkeypatch.setitem(sys.modules, "wandb", board)
    return board


@pytest.mark.parametrize("command", ["pretrain", "finetune"])
def test_weights_and_biases_gets_the_rows(command, board, pretrained, recipe, texts, tok, tmp_path):
    out = tmp_path / "run"
    if command == "finetune":
        tune(pretrained, out, wandb=True)
    else:
        pretrain_quietly(recipe, texts, tok, out=out, wandb=True, log_every=2)
    found = {}
    for step, figures in board.rows:
        found.setdefault(step, {}).update(figures)
    for row in read_rows(out / "metrics.csv"):
        got = found[row.pop("step")]
        assert {name: got[name] for name in row} == pytest.approx(row, rel=1e-4)
    assert ("dev/accuracy" in found[6]) if command == "finetune" else len(found) == 3
    assert [one["name"] for one in board.opened] == [str(out)] and board.closed == 1


def test_a_resumed_run_is_the_same_one(board, pretrained, tmp_path):
    def fail(row):
        raise InputError("the power fails")

    for resume in (False, True):
        recipe = FinetuneRecipe("sentence", pretrained, max_length=32, batch_size=4, steps=6)
        how = {"settings": FinetuneSettings(device="cpu", wandb=True, resume=resume, save_every=2), "progress": False}
        if resume:
            finetune(recipe, EXAMPLES, out=tmp_path / "run", **how)
        else:
            with pytest.raises(InputError, match="power"):
                finetune(recipe, EXAMPLES, out=tmp_path / "run", on_log=fail, log_every=3, **how)
    first, second = board.opened
    assert first["id"] == second["id"] and second["resume"] == "allow"


def test_nobody_is_logged_in(board, pretrained, tmp_path):
    def refuse(**_):
        raise board.errors.Error("no API key")

    board.init = refuse
    with pytest.raises(InputError, match="--wandb: no API key; log in with wandb login, or set WANDB_MODE=offline"):
        tune(pretrained, tmp_path / "run", wandb=True)


@pytest.mark.slow
def test_the_package_itself_keeps_runs_offline(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    for after in (0, 2):
        with open_loggers(tmp_path, after, tensorboard=False, wandb=True) as (log, evaluated):
            log({"step": after + 2, "loss": 0.5})
            evaluated({"step": after + 2, "accuracy": 0.5})
    (name,) = {path.name for path in tmp_path.glob("wandb/offline-run-*/run-*.wandb")}
    assert name == f"run-{(tmp_path / 'wandb' / 'id.txt').read_text()}.wandb"
