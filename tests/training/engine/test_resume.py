"""A run that was killed goes on as if nothing had happened; a damaged or foreign checkpoint is never used."""

import errno
import hashlib
import json
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bertlab import InputError
from bertlab.explain.runs import read_run
from bertlab.training.batches import batches
from bertlab.training.engine import loop
from bertlab.training.engine.checkpoints import Checkpoints
from bertlab.training.engine.signals import STOPPING, deferred_signals, ended_by_signals
from tests.forked import forks
from tests.training.engine import killed_runs
from tests.training.toy import pretrained


def state(step):
    return {"step": step, "model": {"weight": torch.full((100,), float(step))}}


def steps(checkpoints):
    return [int(path.name.split("-")[1]) for path in sorted(checkpoints.folder.glob("state-*.pt"))]


# The checkpoints


@pytest.mark.parametrize("keep", [1, 3])
def test_the_newest_are_kept(keep, tmp_path):
    checkpoints = Checkpoints(tmp_path / "resume", keep)
    for step in (5, 10, 15, 20):
        checkpoints.save(state(step))
    assert steps(checkpoints) == [5, 10, 15, 20][-keep:]
    assert checkpoints.newest()["step"] == 20
    checkpoints.remove()
    assert not checkpoints.folder.exists()


def damage(path, how):
    content = path.read_bytes()
    changed = content[: len(content) // 2] if how == "cut off" else content[:700] + b"\x07" + content[701:]
    path.write_bytes(b"" if how == "empty" else changed)


@pytest.mark.parametrize("how", ["cut off", "one byte", "empty"])
def test_a_damaged_one_is_named_and_the_one_before_it_used(how, tmp_path, capsys):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(state(5))
    checkpoints.save(state(10))
    newest = max(tmp_path.glob("state-*.pt"))
    damage(newest, how)
    assert checkpoints.newest()["step"] == 5
    assert f"{newest} is damaged" in capsys.readouterr().err
    damage(min(tmp_path.glob("state-*.pt")), how)
    with pytest.raises(InputError, match="no whole checkpoint"):
        checkpoints.newest()


def test_one_with_the_right_checksum_that_cannot_be_read_is_damaged_too(tmp_path, capsys):
    """As another program, or another version of PyTorch, may have written it."""
    checkpoints = Checkpoints(tmp_path, keep=4)
    checkpoints.save(state(5))
    for step, content in ((10, b"no pickle"), (15, pickle.dumps(Path(), protocol=2)), (20, b"")):
        (tmp_path / f"state-{step:07d}-{hashlib.sha256(content).hexdigest()[:16]}.pt").write_bytes(content)
    assert checkpoints.newest()["step"] == 5
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 3 and all("is damaged; going on from the one before it" in line for line in told)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("write failed")])
def test_a_full_disk_is_told_before_the_old_one_goes(error, tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(state(5))

    def fill(_, file):
        file.write(b"half")
        raise error

    monkeypatch.setattr(torch, "save", fill)
    with pytest.raises(InputError, match="no checkpoint of step 10"):
        checkpoints.save(state(10))
    assert steps(checkpoints) == [5] and len(list(tmp_path.iterdir())) == 1
    assert checkpoints.newest()["step"] == 5


def test_what_a_kill_while_saving_leaves_is_no_run(tmp_path):
    checkpoints = Checkpoints(tmp_path / "resume")
    checkpoints.folder.mkdir()
    (checkpoints.folder / ".0000000.part").write_bytes(b"half")
    assert not checkpoints
    checkpoints.remove()
    assert not checkpoints.folder.exists()
    with pytest.raises(InputError, match="keep=0"):
        Checkpoints(tmp_path, keep=0)


# Whole runs


@pytest.fixture
def long(recipe):
    return replace(recipe, steps=12, hidden_dropout_prob=0.1)


def train(recipe, texts, tok, **options):
    return pretrained(recipe, texts, tok, log_every=3, **options)


def stop_at(step, monkeypatch, presses=1):
    """Press Ctrl-C in that step, so many times."""
    seen, original = [], loop.train_step

    def train_step(*arguments):
        seen.append(1)
        for _ in range(presses if len(seen) == step else 0):
            signal.raise_signal(signal.SIGINT)
        return original(*arguments)

    monkeypatch.setattr(loop, "train_step", train_step)


def test_what_a_step_sees_depends_on_its_number_alone(documents, tok, recipe):
    recipe = replace(recipe, batch_size=8)
    whole = batches(documents, tok, recipe)
    seen = [next(whole) for _ in range(30)]  # more than an epoch
    for start in (0, 1, 17, 29):
        batch = next(batches(documents, tok, recipe, start))
        assert all(torch.equal(batch[name], seen[start][name]) for name in batch)


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize(("presses", "kept"), [(1, 5), (2, 4)])
def test_a_stopped_run_goes_on_to_the_same_weights(presses, kept, optimizer, long, texts, tok, tmp_path, monkeypatch):
    recipe = replace(long, optim=replace(long.optim, optimizer=optimizer), snapshot_steps=(0, 4, 10))
    whole = train(recipe, texts, tok, out=tmp_path / "whole")
    with monkeypatch.context() as patch:
        stop_at(5, patch, presses)  # not where a row is logged
        first = train(recipe, texts, tok, out=tmp_path / "run", save_every=4)
    assert first.stopped and first.rows[-1]["step"] == kept and not whole.stopped
    assert max(steps(Checkpoints(tmp_path / "run" / "resume"))) == kept
    last = train(recipe, texts, tok, out=tmp_path / "run", save_every=4, resume=True)
    assert not last.stopped and last.seconds > first.rows[-1]["seconds"]
    a, b = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "run"))
    assert all(torch.equal(a[name], b[name]) for name in a)
    metrics = [(tmp_path / name / "metrics.csv").read_text().splitlines() for name in ("whole", "run")]
    assert [line.split(",")[:3] for line in metrics[0]] == [line.split(",")[:3] for line in metrics[1]]
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"step-00000", "step-00004", "step-00010"} <= files and "resume" not in files


def test_what_cannot_be_resumed(long, texts, tok, tmp_path, monkeypatch):
    out = tmp_path / "run"
    with pytest.raises(InputError, match="no unfinished run"):
        train(long, texts, tok, out=out, resume=True)
    with monkeypatch.context() as patch:
        stop_at(6, patch)
        train(long, texts, tok, out=out)
    with pytest.raises(InputError, match="unfinished run: go on with --resume"):
        train(long, texts, tok, out=out)
    with pytest.raises(InputError, match=r"another recipe \(steps was 12\)"):
        train(replace(long, steps=13), texts, tok, out=out, resume=True)
    with pytest.raises(InputError, match="another text"):
        train(long, texts[1:], tok, out=out, resume=True)
    with pytest.raises(InputError, match="begun with minutes=None"):
        train(long, texts, tok, out=out, minutes=2, resume=True)
    with monkeypatch.context() as patch:
        patch.setattr("bertlab.training.run_folder.FORMAT", 99)
        with pytest.raises(InputError, match="another version of bertlab"):
            train(long, texts, tok, out=out, resume=True)
    (out / "recipe.json").write_text("{")
    with pytest.raises(InputError, match="recipe.json: cannot be read"):
        train(long, texts, tok, out=out, resume=True)


# Under other conditions


def begun(recipe, texts, tok, out, monkeypatch, **options):
    """A run that is stopped in its fifth step."""
    with monkeypatch.context() as patch:
        stop_at(5, patch)
        assert train(recipe, texts, tok, out=out, **options).stopped


@pytest.fixture
def three_threads():
    """In which PyTorch computes, and which it still has in the end."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    assert torch.get_num_threads() == 3
    torch.set_num_threads(before)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_threads_and_precision_are_those_of_the_beginning(
    precision, long, texts, tok, tmp_path, monkeypatch, three_threads, capsys
):
    recipe, seen = replace(long, hidden_size=64, batch_size=8), []
    whole = train(recipe, texts, tok, precision=precision)
    begun(recipe, texts, tok, tmp_path / "run", monkeypatch, precision=precision)
    record = json.loads((tmp_path / "run" / "machine.json").read_text())
    assert (record["precision"], record["threads"]) == (precision, 3)
    torch.set_num_threads(1)
    last = train(recipe, texts, tok, out=tmp_path / "run", resume=True, on_start=lambda *given: seen.extend(given))
    assert torch.get_num_threads() == 1 and not capsys.readouterr().err
    assert str(seen[2]) == f"on cpu, 3 threads, {precision} (as the run was begun)"
    a, b = whole.model.state_dict(), last.model.state_dict()
    assert all(torch.equal(a[name], b[name]) for name in a)
    torch.set_num_threads(3)


def test_another_precision_is_a_mistake(long, texts, tok, tmp_path, monkeypatch):
    begun(long, texts, tok, tmp_path / "run", monkeypatch, precision="bfloat16")
    with pytest.raises(InputError, match="precision=float32: the run was begun in bfloat16"):
        train(long, texts, tok, out=tmp_path / "run", resume=True, precision="float32")
    with pytest.raises(InputError, match="precision='half': choose auto"):
        train(long, texts, tok, precision="half")


def test_what_cannot_be_restored_is_said(long, texts, tok, tmp_path, monkeypatch, capsys):
    begun(long, texts, tok, tmp_path / "run", monkeypatch)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")
    train(long, texts, tok, out=tmp_path / "run", resume=True)
    told = "bertlab: resumed under other conditions (another instruction set): the end may differ\n"
    assert capsys.readouterr().err == told


def test_a_recipe_of_another_version_can_be_looked_at_but_not_resumed(long, texts, tok, tmp_path, monkeypatch):
    begun(long, texts, tok, tmp_path / "run", monkeypatch)
    path = tmp_path / "run" / "recipe.json"
    whole = json.loads(path.read_text())
    without_seed = {name: value for name, value in whole.items() if name != "seed"}
    older = whole | {"optim": {name: value for name, value in whole["optim"].items() if name != "clip"}}
    for recipe, name in (({"gone": ""} | whole, "gone"), (without_seed, "seed"), (older, "optim.clip")):
        path.write_text(json.dumps(recipe))
        with pytest.raises(InputError, match=rf"another version of bertlab \({name}\)"):
            train(long, texts, tok, out=tmp_path / "run", resume=True)
        assert read_run(tmp_path / "run").recipe == recipe


def test_a_state_of_a_version_that_trained_other_weights_is_refused(long, texts, tok, tmp_path, monkeypatch):
    begun(long, texts, tok, tmp_path / "run", monkeypatch)
    states = Checkpoints(tmp_path / "run" / "resume", keep=1)
    state = states.newest()
    state["optimizers"][-1]["param_groups"][0]["params"].pop()
    states.remove()
    states.save(state)
    with pytest.raises(InputError, match="another version of bertlab"):
        train(long, texts, tok, out=tmp_path / "run", resume=True)


# Ended from outside


@pytest.mark.parametrize("sign", STOPPING)
def test_what_ends_a_process_ends_the_training_after_a_step(sign):
    before = signal.getsignal(sign)
    with deferred_signals() as received:
        assert not received()
        signal.raise_signal(sign)
        assert received() == sign and signal.getsignal(sign) is before  # the second one acts at once
    assert signal.getsignal(sign) is before


def test_what_ends_a_process_before_it_trains_leaves_with_its_code():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended, ended_by_signals():
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 143 and signal.getsignal(signal.SIGTERM) is before


@forks
def test_killed_at_a_step_or_while_saving_it_goes_on_to_the_same_weights(tmp_path):
    """Through the command line, on one thread and two in turns."""
    command = [sys.executable, killed_runs.__file__]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    told = done.stdout.splitlines()[-1:]
    assert told == ["0 SIGKILL SIGKILL SIGKILL SIGKILL 0"], done.stdout + done.stderr
    assert "damaged" not in done.stderr
    whole, killed = (tmp_path / how / "model.safetensors" for how in ("whole", "killed"))
    assert whole.read_bytes() == killed.read_bytes()


@pytest.mark.nightly
@forks
@pytest.mark.parametrize("command", ["pretrain", "finetune"])
def test_killed_at_any_moment_it_goes_on_to_the_same_weights(command):
    """With more kills it is a benchmark."""
    script = Path(__file__).parents[3] / "benchmarks" / "pretraining" / "kills.py"
    arguments = ["--command", command, "--points", "4", "--precision", "bfloat16"]
    done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True)
    assert done.returncode == 0 and "4 kills" in done.stdout, done.stdout + done.stderr
