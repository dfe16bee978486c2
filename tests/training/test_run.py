"""The run folder."""

import csv
import errno
import json
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch

from bertlab import BertForPreTraining, InputError
from bertlab.training.initial_weights import new_model
from bertlab.training.run_folder import RunFolder, locked
from tests.forked import forked, forks

ROW = {"step": 10, "mlm_loss": 5.123456789, "tokens_per_second": 12345678.9}


def test_recipe_and_rows_are_written(tmp_path, recipe):
    run = RunFolder(tmp_path / "runs" / "one", recipe)
    run.log(ROW)
    run.log(ROW | {"step": 1_234_567})
    assert json.loads((run.folder / "recipe.json").read_text()) == json.loads(json.dumps(asdict(recipe)))
    text = (run.folder / "metrics.csv").read_bytes().decode()
    assert text.splitlines()[0] == "step,mlm_loss,tokens_per_second" and "\r" not in text
    with (run.folder / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["10", "1234567"]
    assert float(rows[0]["mlm_loss"]) == pytest.approx(5.12346)


@pytest.mark.parametrize("name", ["metrics.csv", "model.safetensors"])
def test_a_folder_that_holds_a_run_is_not_overwritten(name, tmp_path, recipe):
    (tmp_path / name).write_text("precious")
    with pytest.raises(InputError, match="holds a run already") as caught:
        RunFolder(tmp_path, recipe)
    assert str(tmp_path) in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == "precious"


def test_a_folder_with_other_files_is_fine(tmp_path, recipe):
    (tmp_path / "notes.txt").write_text("mine")
    with RunFolder(tmp_path, recipe) as run:
        run.log(ROW)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_that_cannot_be_made(tmp_path, recipe):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/run: cannot be written"):
        RunFolder(tmp_path / "file" / "run", recipe)
    with pytest.raises(InputError, match="run folder .*file"):
        RunFolder(tmp_path / "file", recipe)


# One training at a time


def test_a_folder_in_use_is_one_line(tmp_path, recipe):
    with RunFolder(tmp_path / "run", recipe) as first:
        for resume in (False, True):
            first.states.save({"step": 3})
            with pytest.raises(InputError, match="run: another training is writing to it"):
                RunFolder(tmp_path / "run", recipe, resume=resume)
        assert json.loads((tmp_path / "run" / "recipe.json").read_text())["seed"] == 0
    RunFolder(tmp_path / "run", recipe, resume=True).close()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["recipe.json", "resume"]


@forks
def test_a_killed_process_holds_no_lock(tmp_path):
    held = get_context("fork").Event()

    def hold():
        with locked(tmp_path):
            held.set()
            signal.pause()

    holder = forked(hold)
    held.wait()
    with pytest.raises(InputError, match="another training"), locked(tmp_path):
        pass
    holder.kill()
    holder.join()
    with locked(tmp_path):
        pass


def test_without_locks_it_goes_on_and_says_so(tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("bertlab.training.run_folder.FileLock.acquire", refuse)
    with locked(tmp_path):
        pass
    assert "this file system has no locks" in capsys.readouterr().err


@pytest.mark.parametrize("empty", [False, True])
def test_a_run_folder_is_never_seen_without_its_recipe(empty, tmp_path, recipe):
    """Read without end in another thread, while runs are begun."""
    folders, seen, ended = [tmp_path / f"run{number}" for number in range(40)], [], threading.Event()

    def read():
        last = False
        while not last:
            last = ended.is_set()  # once more after that, so that it never sees nothing
            for folder in folders:
                if any(folder.glob("[!.]*")) if empty else folder.is_dir():
                    seen.append(json.loads((folder / "recipe.json").read_text())["seed"])

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        for folder in folders:
            if empty:
                folder.mkdir()
            RunFolder(folder, recipe).close()
        ended.set()
        reader.result()
    assert seen


def test_home_is_understood(tmp_path, recipe, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with RunFolder("~/runs/one", recipe) as run:
        run.log(ROW)
    assert {path.name for path in (tmp_path / "runs" / "one").iterdir()} == {"recipe.json", "metrics.csv"}


def test_full_disk_while_logging(tmp_path, recipe, monkeypatch):
    run = RunFolder(tmp_path, recipe)

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(InputError, match="metrics.csv: No space left on device"):
        run.log(ROW)


def test_snapshots_are_folders_of_their_own(tmp_path, recipe, tok):
    run = RunFolder(tmp_path, recipe)
    model = new_model(recipe, tok)
    assert run.save(model, tok, 7, dtype=torch.float16) == tmp_path / "step-00007"
    again = BertForPreTraining.from_pretrained(tmp_path / "step-00007")
    assert again.nsp.weight.dtype == torch.float32
    torch.testing.assert_close(again.nsp.weight, model.nsp.weight, rtol=1e-3, atol=1e-4)
    assert not (tmp_path / "model.safetensors").exists()
