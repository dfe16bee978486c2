"""A command reads each small file of a model folder once, however many of its parts ask for it."""

from collections import Counter
from pathlib import Path

import pytest

from bertlab.cli.main import main
from bertlab.corpora import storyworld
from bertlab.io import files
from bertlab.io.json_files import read_json


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a model, an adapter, examples and documents, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    rows = [f"a {colour} dog of {n} years,{colour}" for n in range(12) for colour in ("red", "blue")]
    Path("colours.csv").write_text("\n".join(["text,label", *rows]))
    Path("texts").mkdir()
    for number, document in enumerate(storyworld.documents(0, 60)):
        Path("texts", f"{number:02}.txt").write_text("\n".join(document.sentences))
    return tmp_path


@pytest.fixture
def opened(monkeypatch):
    """How often each file was opened at the gate, by its path."""
    counts: Counter[Path] = Counter()
    real = files.open_file

    def counted(path, most=None):
        counts[Path(path).resolve()] += 1
        return real(path, most)

    monkeypatch.setattr(files, "open_file", counted)
    return counts


QUICK = ["--train", "colours.csv", "--steps", "2", "--max-length", "16"]
FINETUNE = ["finetune", "sentence", "--model", "MODEL", *QUICK, "--out", "run"]
COMMANDS = {
    "predict": ["predict", "the [MASK] dog", "--model", "MODEL"],
    "info": ["info", "MODEL"],
    "evaluate": ["evaluate", "MODEL", "--text", "texts"],
    "embed": ["embed", "colours.csv", "--model", "MODEL", "--out", "vectors.npy"],
    "search": ["search", "a red dog", "--corpus", "texts/00.txt"],
    "export": ["export", "MODEL", "--to", "transformers", "--out", "exported"],
    "pretrain": ["pretrain", "--model", "MODEL", "--text", "texts", "--steps", "2", "--out", "run"],
    "finetune": FINETUNE,
    "finetune with LoRA": [*FINETUNE, "--lora", "2"],
    "finetune with a control": [*FINETUNE, "--control"],
}


def run(name, model):
    main([model if part == "MODEL" else part for part in COMMANDS[name]])


def often(opened):
    """The files beside weights that were opened more than once."""
    return {path.name: count for path, count in opened.items() if count > 1 and path.suffix == ".json"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_reads_each_file_of_a_model_once(name, place, pretrained, opened):
    run(name, pretrained)
    assert any(path.name == "config.json" for path in opened) and often(opened) == {}


def test_predictions_of_a_run_and_of_an_adapter(place, pretrained, opened):
    run("finetune with LoRA", pretrained)
    opened.clear()
    main(["predict", "--file", "colours.csv", "--model", "run", "--out", "found.jsonl"])
    assert opened[Path("run/adapter_config.json").resolve()] == 1
    assert often(opened) == {}


def test_a_file_that_is_written_anew_is_read_anew(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("{}")
    with files.each_file_once():
        assert read_json(path) == {}
        (tmp_path / "new").write_text("[]")
        (tmp_path / "new").replace(path)
        assert files.read_text(path) == "[]"
