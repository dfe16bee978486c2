"""The reader's own BERT: a training in the background that goes on after a stop, a kill and a mistake."""

import asyncio
import subprocess
import time

import pytest
import torch

from bertlab import BertForPreTraining
from bertlab.course import keep, own_bert
from bertlab.course.panels import pretraining, training_panel
from bertlab.errors import InputError
from bertlab.evaluation.baselines import Baseline

SHORT = {"STORIES": 60, "PAIRS": 4, "TOKENS": 32, "EVERY": 2, "STEPS": 10, "SNAPSHOTS": (4,)}


@pytest.fixture
def short(tmp_path, monkeypatch):
    """A training of ten short steps, in a folder of its own."""
    monkeypatch.setenv(keep.FOLDER, str(tmp_path))
    for name, value in SHORT.items():
        monkeypatch.setattr(own_bert, name, value)
    return tmp_path


def figures(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_stopped_and_gone_on_with_it_ends_as_without_a_break(short, monkeypatch):
    own_bert.train(end=6)
    assert own_bert.message() == "Stopped after 6 of 10 steps." and not own_bert.is_done()
    own_bert.train()
    broken, measured = BertForPreTraining.from_pretrained(keep.model_folder()), own_bert.rows()
    monkeypatch.setenv(keep.FOLDER, str(short / "again"))
    own_bert.train()
    assert figures(own_bert.rows()) == figures(measured) and [row["step"] for row in measured] == [2, 4, 6, 8, 10]
    whole = BertForPreTraining.from_pretrained(keep.model_folder()).state_dict()
    assert all(torch.equal(tensor, whole[name]) for name, tensor in broken.state_dict().items())
    assert own_bert.is_done() and own_bert.message().startswith("Done: 10 steps in 0 minutes.")
    BertForPreTraining.from_pretrained(keep.model_folder() / "step-00004")


def test_it_stops_when_asked_to_at_its_next_measure(short):
    (own_bert.folder()).mkdir()
    own_bert.stop()
    own_bert.train()
    assert [row["step"] for row in own_bert.rows()] == [2] and not keep.model_folder().exists()


def test_a_part_that_fails_its_check_is_named_and_nothing_is_trained(short, capsys):
    text = keep.solution_file()
    step = "    loss.backward()\n    torch.nn.utils.clip_grad_norm_(optimizer.parameters, clip)\n"
    assert text.count(step) == 1
    keep.file().write_text(text.replace(step, ""))
    assert own_bert.main() == 2
    assert "your train_step in my_bert.py does not pass its check any more" in capsys.readouterr().out
    assert own_bert.rows() == []


@pytest.mark.parametrize("damage", [b"", b"PK", b"none of PyTorch's"])
def test_a_state_that_does_not_fit_is_one_line(short, damage, capsys):
    own_bert.folder().mkdir()
    (own_bert.folder() / "state.pt").write_bytes(damage)
    assert own_bert.main() == 2
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "does not fit my_bert.py as it is now: remove" in said


def test_only_one_trains_at_a_time(short):
    own_bert.folder().mkdir()
    with own_bert.only_one(own_bert.folder()):
        assert own_bert.is_running() and own_bert.message().startswith("In training: step 0 of 10.")
        with pytest.raises(InputError, match="is in training already"):
            own_bert.train()
    assert not own_bert.is_running() and own_bert.message() == "Not begun."


@pytest.mark.slow
def test_a_press_starts_one_process_that_stops_when_asked_to(short, monkeypatch):
    started, real, endless = [], subprocess.Popen, SHORT | {"STEPS": 10**6}
    monkeypatch.setattr(own_bert, "STEPS", endless["STEPS"])

    def popen(command, **options):
        assert command[1:] == ["-m", "bertlab.course.own_bert"]
        code = f"from bertlab.course import own_bert; vars(own_bert).update({endless}); exit(own_bert.main())"
        started.append(real([command[0], "-c", code], **options))

    monkeypatch.setattr(subprocess, "Popen", popen)
    own_bert.start()
    wait_until(own_bert.is_running)
    own_bert.start()  # one is enough
    own_bert.stop()
    (process,) = started
    assert process.wait() == 0 and not own_bert.is_running()
    assert own_bert.message() == f"Stopped after {own_bert.rows()[-1]['step']:.0f} of 1,000,000 steps."


@pytest.mark.nightly
def test_the_first_steps_are_those_of_the_saved_run(tmp_path, monkeypatch):
    monkeypatch.setenv(keep.FOLDER, str(tmp_path))
    own_bert.train(end=own_bert.EVERY)
    (row,), (_, saved) = own_bert.rows(), own_bert.finished()
    assert row["step"] == saved[0]["step"] and saved[-1]["step"] == own_bert.STEPS
    assert row["mlm_loss"] == pytest.approx(saved[0]["mlm_loss"], abs=0.1)


def wait_until(condition):
    while not condition():
        time.sleep(0.2)


def test_the_saved_run_is_a_bert_that_has_learned(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(keep.FOLDER, str(tmp_path))
    folder, rows = own_bert.finished()
    assert folder.name == own_bert.SAVED and "until your own" in capsys.readouterr().out
    assert rows[-1]["masked_accuracy"] > 0.4 and rows[0]["masked_accuracy"] < 0.15
    assert sum(path.stat().st_size for path in folder.iterdir()) < 3e6


def test_the_panel_starts_it_and_stops_it(short, monkeypatch):
    baselines, pressed = [Baseline("word frequency", 6.2, 0.05)], []
    monkeypatch.setattr(own_bert, "start", lambda: pressed.append("start"))
    monkeypatch.setattr(pretraining, "BEGINNING", 0)

    async def press(panel):
        panel.children[0].click()
        await asyncio.sleep(0)

    panel = training_panel(baselines)
    button, state = panel.children
    assert button.description == "Train my BERT" and state.value == "<p>Not begun.</p>"
    asyncio.run(press(panel))
    assert pressed == ["start"]
    own_bert.train(end=2)
    panel = training_panel(baselines)
    assert panel.children[0].description == "Go on" and "<img" in panel.children[1].value
    monkeypatch.setattr(own_bert, "is_running", lambda: True)
    asyncio.run(stopped_at_once(baselines))
    assert (own_bert.folder() / "stop").exists()


async def stopped_at_once(baselines):
    panel = training_panel(baselines)
    assert panel.children[0].description == "Stop"
    panel.children[0].click()
