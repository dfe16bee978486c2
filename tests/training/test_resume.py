"""A run that was killed goes on as if nothing had happened; a damaged or foreign checkpoint is never used."""

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from bertlab import InputError
from bertlab.cli import main
from bertlab.training import loop
from bertlab.training.batches import batches
from bertlab.training.pretrain import pretrain
from bertlab.training.resume import Checkpoints


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
    return pretrain(recipe, texts, tokenizer=tok, progress=False, device="cpu", log_every=3, **options)


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
        patch.setattr("bertlab.training.run.FORMAT", 99)
        with pytest.raises(InputError, match="another version of bertlab"):
            train(long, texts, tok, out=out, resume=True)
    (out / "recipe.json").write_text("{")
    with pytest.raises(InputError, match="recipe.json cannot be read"):
        train(long, texts, tok, out=out, resume=True)


# Killed from outside


def test_killed_at_any_moment_it_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    """Through the command line: SIGKILL four times, at moments that fall where they may, and on to the end."""
    monkeypatch.chdir(tmp_path)
    story = "Ann has a dog. The dog is old. It sleeps a lot. Ann feeds it. Bob has a cat. The cat is young. It runs."
    (tmp_path / "story.txt").write_text("\n\n".join(f"CHAPTER {n}\n\n{story}" for n in "I II III IV V VI VII".split()))
    options = ["--text", "story.txt", "--steps", "300", "--batch-size", "4", "--save-every", "7", "--device", "cpu"]
    assert main(["pretrain", *options, "--out", "whole"]) in (None, 0)
    command = [sys.executable, "-c", "import sys; from bertlab.cli import main; sys.exit(main())"]
    kills = 0
    for delay in (0.05, 0.4, 0.2, 0.7):
        again = ["--resume"] if (tmp_path / "run" / "resume").is_dir() else []
        process = subprocess.Popen([*command, "pretrain", *options, "--out", "run", *again], stderr=subprocess.PIPE)
        wait_for_checkpoint(tmp_path / "run" / "resume", process)
        time.sleep(delay)
        process.kill()
        kills += process.wait() == -signal.SIGKILL
        process.stderr.close()
    assert kills >= 2
    if (tmp_path / "run" / "resume").is_dir():
        assert main(["pretrain", *options, "--out", "run", "--resume"]) in (None, 0)
    a, b = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "run"))
    assert all(torch.equal(a[name], b[name]) for name in a)


def wait_for_checkpoint(folder, process):
    """Until a checkpoint is there that was not, or the process has ended."""
    before = set(folder.glob("state-*.pt"))
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None and not set(folder.glob("state-*.pt")) - before:
        time.sleep(0.02)


@pytest.mark.parametrize(
    "option", [("--save-every", "0"), ("--keep", "-1"), ("--devices", "0"), ("--micro-batch", "0")]
)
def test_counts_below_one(option, capsys, tmp_path):
    (tmp_path / "a.txt").write_text("A dog.")
    arguments = ["pretrain", "--text", os.fspath(tmp_path / "a.txt"), *option]
    with pytest.raises(SystemExit) as ended:
        sys.exit(main(arguments))
    assert ended.value.code == 2 and option[0] in capsys.readouterr().err
