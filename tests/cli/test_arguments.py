"""Wrong arguments are one line that says what there is instead; no output replaces an input."""

import os

import pytest

from bertlab import InputError
from bertlab.cli.main import main
from bertlab.errors import LONGEST_MESSAGE, shortened

WRONG = {
    "predict --fil x": "unrecognized options: --fil, x; perhaps --file? see bertlab predict --help",
    "predict --top x": "error parsing --top: must be a whole number, not 'x'; see bertlab predict --help",
    "predict --on-error x": "invalid choice 'x' for argument '--on-error'. Expected one of ('stop', 'skip'); see",
    "predict --top": "missing value for argument '--top'; see bertlab predict --help",
    "predict a --out b": "--out takes the predictions for a --file; those for one input are printed: leave it out",
    "predict a --file b --out c --model d": "--file holds the inputs: leave out text",
    "predict --question a --passage e --file b --out c --model d": "holds the inputs: leave out question and passage",
    "predict a --model=": "--model: its value is empty; give one, or leave the option out",
    "finetune sentence --set steps=2 --steps 3": "--set steps: is --steps, too; give one of them",
    "finetune sentence --set pooling=cls --set pooling=mean": "--set pooling=mean: pooling is set twice; give it once",
    "finetune sentence --steps 3 --epochs 1": "--steps: is instead of --epochs; give one of them",
    "pretrain --learning-rate 1 --set optim.learning_rate=2": "--set learning_rate: is --learning-rate, too",
    "predict a b": "predict takes one text, in quotes: bertlab predict 'a b'",
    "predict a --top 3 b": "unrecognized options: b; see bertlab predict --help",
    "predict english how good": "bertlab predict 'how good' --model english, with [MASK] for the word that it is to",
    "predict english a [MASK]": "predict takes the model behind --model: bertlab predict 'a [MASK]' --model english\n",
    "predict english-sentiment good film": "bertlab predict 'good film' --model english-sentiment\n",
    "predicd x": "unrecognized options: predicd, x; available subcommands: pretrain, finetune, evaluate",
    "": "expected one of {pretrain, finetune, evaluate",
    "embed f.csv": "missing from bertlab embed: --out PATH; see bertlab embed --help",
    "data stories": "invalid choice 'stories' for argument 'kind'. Expected one of ('documents', 'questions'",
    "finetune sentence --learning-rate fast": "error parsing --learning-rate: must be a number, not 'fast'; see",
    "evaluate --seed 1": "unrecognized options: --seed 1; see bertlab evaluate --help",
    "course grade x --second 4": "unrecognized options: --second, 4; perhaps --notebook-seconds or --seconds? see",
    "finetune sentiment --seed 18446744073709551616": "seed=18446744073709551616: must be between 0 and 4294967295",
    "pretrain --set steps_=1": "--set steps_=1: write FIELD=VALUE, a field being one of steps",
}


def said(capsys, *arguments: str) -> str:
    """The one line of a command that ends with exit code 2."""
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    printed = capsys.readouterr()
    assert left.value.code == 2 and printed.out == ""
    assert printed.err.startswith("bertlab: ") and printed.err.count("\n") == 1, printed.err
    return printed.err


def test_a_variable_of_the_shell_that_is_not_set(capsys):
    assert said(capsys, "predict", "a", "--model", "").startswith("bertlab: --model: its value is empty")
    assert "--out: its value is empty" in said(capsys, "embed", "f.csv", "--out", "")
    assert "the text is empty" in said(capsys, "predict", "--json", "")
    assert "the passage is empty" in said(capsys, "predict", "--question", "a", "--passage", "")


PLAIN = ("predict --top", "predicd x", "data stories")  # how tyro draws its boxes


@pytest.mark.parametrize(("line", "boxes"), [*((line, True) for line in WRONG), *((line, False) for line in PLAIN)])
def test_wrong_arguments_are_one_line(capsys, monkeypatch, line, boxes):
    monkeypatch.setattr("tyro._fmtlib._should_use_utf8_drawing_chars", lambda: boxes, raising=False)
    assert WRONG[line] in said(capsys, *line.split())


def test_help_is_printed(capsys):
    with pytest.raises(SystemExit) as left:
        main(["predict", "--help"])
    assert left.value.code == 0 and "--on-error" in capsys.readouterr().out


SAME = [
    "predict --file f.csv --out f.csv --model storyworld-tiny-sentiment",
    "predict --file f.csv --out link.csv --model storyworld-tiny-sentiment",
    "embed f.csv --out hard.npy",
    "data corpus f.csv --out f.csv",
    "data corpus texts --out texts/a.txt",
    "data cloze --text q.json --out q",
    "data cloze --text f.csv --out f.csv",
    "data tokenize texts --out texts",
    "pretrain --text texts --out texts",
    "pretrain --text f.csv --out .",
    "finetune sentence --train labels/train.csv --dev labels/dev.csv --out labels",
    "export model --out model",
    "compare names --text texts --out texts",
    "course grade texts --out texts/a.txt",
]


@pytest.mark.parametrize("line", SAME)
def test_no_command_writes_over_what_it_reads(capsys, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    for name in ("f.csv", "q.json", "texts/a.txt", "labels/train.csv", "labels/dev.csv", "model/config.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"text,label\nmine: {name},b\n")
    (tmp_path / "chapter.ipynb").write_text("{}")
    os.symlink("f.csv", "link.csv")
    os.link("f.csv", "hard.npy")
    before = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert "which is read; choose another name" in said(capsys, *line.split())
    assert before == {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}


def test_a_long_message_keeps_its_beginning_and_its_end():
    message = str(InputError(f"f.csv: there is no column 'text', only {'x' * 700_000}; see --text-column"))
    assert len(message) <= LONGEST_MESSAGE
    assert message.startswith("f.csv: there is no column") and message.endswith("x; see --text-column")
    assert len(str(InputError("\ue000\x1b" * 5000))) <= LONGEST_MESSAGE
    assert shortened("short") == "short" and len(shortened("x" * 700, 30)) == 30
