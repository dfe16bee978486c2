"""What a kill, an edit or a forgery leaves in a run folder: the run goes on, or one line says why it cannot."""

import hashlib
import json
import os
import shutil
from dataclasses import replace

import pytest
import torch

from bertlab import InputError
from bertlab.cli.main import main
from bertlab.explain.runs import read_run
from bertlab.training.engine.checkpoints import Checkpoints
from bertlab.training.run_files import read_record
from bertlab.training.run_folder import RunFolder
from tests.forked import forks
from tests.training.toy import pretrained


class Killed(BaseException):
    """Ends a command as a kill does: nothing catches it."""


def kill(monkeypatch, place):
    def die(*_, **__):
        raise Killed

    monkeypatch.setattr(place, die)


# Between the last step and the card


@pytest.fixture(scope="module")
def command(texts, tmp_path_factory):
    text = tmp_path_factory.mktemp("text") / "text.txt"
    text.write_text("\n\n".join("\n".join(sentences) for sentences in texts))
    changed = ["num_hidden_layers=1", "hidden_size=16", "num_attention_heads=2", "vocab_size=300", "max_tokens=32"]
    return ["pretrain", "--text", str(text), "--steps", "3", "--batch-size", "4", "--device", "cpu", "--set", *changed]


@pytest.mark.parametrize(
    "place",
    [
        "bertlab.cli.shared.material.PretrainingText.measure",
        "bertlab.evaluation.card.write_card",
        "bertlab.training.engine.checkpoints.Checkpoints.remove",
        "bertlab.model.base.PretrainedModel.save_pretrained",
    ],
)
def test_a_run_killed_after_its_last_step_is_finished_by_resume(place, command, tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    with monkeypatch.context() as patch, pytest.raises(Killed):
        kill(patch, place)
        main([*command, "--out", str(out)])
    assert Checkpoints(out / "resume").newest()["step"] == 3
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--out", str(out)])
    assert "go on with --resume" in capsys.readouterr().err
    main([*command, "--out", str(out), "--resume"])
    assert "masked_top1" in json.loads((out / "measures.json").read_text()) and (out / "README.md").is_file()
    assert read_run(out).finished and not (out / "resume").exists()
    assert [row["step"] for row in read_run(out).rows] == [3]


def test_what_a_kill_left_hidden_in_the_folder_goes_with_the_next_save(stopped, short, texts, tok):
    left = stopped / ".run.0123abcd.part"
    for folder in (left, left / "new"):
        folder.mkdir()
    (left / "lock").write_text("")
    (left / "new" / "model.safetensors").write_bytes(b"half")
    assert not pretrained(short, texts, tok, out=stopped, resume=True).stopped
    assert not list(stopped.glob(".*")) and read_run(stopped).finished


# Edited and forged files

EDITS = {
    "masking": None,
    "optim": [],
    "steps": "12",
    "phases": [[0.5]],
    "second_task": "both",
    "pre_norm": "yes",
    "snapshot_steps": 5,
    "max_tokens": True,
    "documents": 1.5,
}


@pytest.fixture(scope="module")
def short(recipe):
    return replace(recipe, steps=2)


@pytest.fixture(scope="module")
def begun(short, texts, tok, tmp_path_factory):
    """A run folder that was killed after its first state."""
    out = tmp_path_factory.mktemp("begun") / "run"

    def die(self, state, stopped):
        self.states.save(state | self.inputs)
        raise Killed

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(RunFolder, "save_state", die)
        pretrained(short, texts, tok, out=out)
    return out


@pytest.fixture
def stopped(begun, tmp_path):
    return shutil.copytree(begun, tmp_path / "run")


def forge(folder, state):
    """Put a state into the folder that has the right name and checksum."""
    for path in folder.glob("state-*.pt"):
        path.unlink()
    torch.save(state, folder / "new")
    (folder / "new").rename(folder / f"state-0-{hashlib.sha256((folder / 'new').read_bytes()).hexdigest()[:16]}.pt")


@pytest.mark.parametrize("name", EDITS)
def test_a_recipe_with_another_type_is_one_line(name, stopped, short, texts, tok):
    path = stopped / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: EDITS[name]}))
    for reads in (lambda: pretrained(short, texts, tok, out=stopped, resume=True), lambda: read_run(stopped)):
        with pytest.raises(InputError, match=rf"recipe\.json: {name} is .*, which must be ") as found:
            reads()
        assert "\n" not in str(found.value)


def test_a_nested_field_is_named_with_its_group(stopped):
    path = stopped / "recipe.json"
    record = json.loads(path.read_text())
    record["masking"]["rate"] = "0.3"
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"masking\.rate is '0\.3', which must be a number"):
        read_record(path)


def test_a_recipe_without_a_group_of_fields_is_that_of_another_version(stopped, short, texts, tok):
    path = stopped / "recipe.json"
    record = json.loads(path.read_text())
    del record["optim"]
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"another version of bertlab \(optim\.\w+\)"):
        pretrained(short, texts, tok, out=stopped, resume=True)


FORGERIES = {
    "no text": lambda state: state.pop("text"),
    "no seconds": lambda state: state.pop("seconds"),
    "a step that is text": lambda state: state.update(step="3"),
    "a step before the first": lambda state: state.update(step=-1),
    "no weights": lambda state: state.update(model=None),
    "weights of text": lambda state: state.update(model={"weight": "0"}),
    "an optimizer of text": lambda state: state.update(optimizers=["muon"]),
    "an empty optimizer": lambda state: state.update(optimizers=[{}]),
    "rows of text": lambda state: state.update(rows=[{"step": "one"}]),
    "minutes of text": lambda state: state.update(minutes="ten"),
    "conditions of text": lambda state: state.update(conditions="as before"),
    "half of the conditions": lambda state: state["conditions"].pop("threads"),
    "threads of text": lambda state: state["conditions"].update(threads="two"),
    "no threads": lambda state: state["conditions"].update(threads=0),
    "another precision": lambda state: state["conditions"].update(precision="int3"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_state_is_one_line(name, stopped, short, texts, tok):
    state = Checkpoints(stopped / "resume").newest()
    FORGERIES[name](state)
    forge(stopped / "resume", state)
    with pytest.raises(InputError, match="saved state") as found:
        pretrained(short, texts, tok, out=stopped, resume=True)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("what", ["cut off", "a folder", pytest.param("a pipe", marks=forks), "nothing in it"])
def test_unreadable_states_name_a_way_that_works(what, stopped, short, texts, tok, tmp_path):
    (path,) = (stopped / "resume").glob("state-*.pt")
    if what.startswith("a "):
        path.unlink()
        os.mkdir(path) if what == "a folder" else os.mkfifo(path)
    else:
        path.write_bytes(path.read_bytes()[:100] if what == "cut off" else b"")
    advice = "begin the run again with another --out and without --resume"
    with pytest.raises(InputError, match=rf"{path.name}.* no whole checkpoint to go on from; {advice}"):
        pretrained(short, texts, tok, out=stopped, resume=True)
    RunFolder(tmp_path / "another", short).close()  # the advice
