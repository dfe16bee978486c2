"""`bertlab finetune` beside its baselines and its control, in folds, and stopped by the signals of a cluster."""

import csv
import json
import shlex
import signal
import sys
from pathlib import Path
from statistics import fmean, stdev

import pytest
import torch
from safetensors.torch import load_file

from bertlab.cli.main import main
from bertlab.cli.shared import tuning
from bertlab.cli.shared.examples import ONE_TEXT, split_off
from bertlab.cli.shared.tuning import untrained
from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample, TokenExample
from bertlab.corpora.labelled.parts import shared_text
from bertlab.corpora.labelled.squad import squad_text
from bertlab.corpora.storyworld import questions
from bertlab.errors import can_use
from bertlab.evaluation.folds import split_folds
from bertlab.tasks.span import SpanTask
from bertlab.training.dev_set import DevSet
from bertlab.training.engine import loop
from bertlab.training.finetune import start_model, task_and_fields
from bertlab.training.finetune_recipe import FinetuneRecipe

COLOURS = ("red", "blue")
QUICK = "--batch-size 4 --device cpu"
LINE = f"finetune sentence --model tiny --train colours.csv {QUICK}"


@pytest.fixture
def cli(pretrained, tmp_path, capsys, monkeypatch):
    """Runs `bertlab LINE` in a folder with examples and a model; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").symlink_to(pretrained)
    with (tmp_path / "colours.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(f"a {COLOURS[n % 2]} dog of {n % 5} years", COLOURS[n % 2]) for n in range(30)]
        csv.writer(file).writerows([("text", "label"), *rows])

    def run(line: str):
        try:
            main(shlex.split(line))
            code = 0
        except SystemExit as ended:
            code = ended.code
        return code, *capsys.readouterr()

    return run


def written(path: str):
    return json.loads(Path(path).read_text())


def table(out: str) -> dict[str, dict[str, str]]:
    """The rows of a printed comparison."""
    head, *rows = out.splitlines()
    names = head.split()
    cells = [row.rsplit(None, len(names)) for row in rows]
    return {first.strip(): dict(zip(names, figures, strict=True)) for first, *figures in cells}


def test_every_figure_stands_beside_its_baselines_and_its_control(cli):
    code, out, err = cli(f"{LINE} --steps 3 --out run --control")
    assert code == 0, err
    found = written("run/comparison.json")
    names = ["this run", "from random weights", "always the most frequent", "TF-IDF, logistic regression"]
    assert list(found) == names and list(table(out)) == names
    assert found["this run"] == written("run/measures.json")
    assert table(out)["TF-IDF, logistic regression"]["accuracy"] == "1.000"
    report, card = Path("run/report.md").read_text(), Path("run/README.md").read_text()
    assert "| " + " | ".join(["measure", "value", "95% interval", *names[1:]]) + " |" in report
    assert "| measured on held-out text |  | " + " | ".join(names[1:]) + " |" in card
    ours, random = (load_file(f"{folder}/model.safetensors") for folder in ("run", "run/control"))
    tiny = load_file("tiny/model.safetensors")
    name = "bert.embeddings.word_embeddings.weight"
    near, far = ((weights[name] - tiny[name]).norm() for weights in (ours, random))
    assert near < far and written("run/control/recipe.json") == written("run/recipe.json")


def test_without_pretraining_only_the_weights_differ(pretrained):
    recipe = FinetuneRecipe("sentence", pretrained)
    examples = [TextExample(colour, f"a {colour} dog", None, colour) for colour in COLOURS]
    started = start_model(recipe, *task_and_fields(recipe, examples))
    control = untrained(recipe, examples)
    assert control.config == started.config and type(control) is type(started)
    words = [model.bert.embeddings.word.weight for model in (control, started)]
    assert words[0].shape == words[1].shape and not words[0].equal(words[1])


def stop_at(step: int, number: int, monkeypatch) -> None:
    """Send this process a signal in that step, counted over all trainings."""
    seen, original = [], loop.train_step

    def train_step(*arguments):
        seen.append(1)
        if len(seen) == step:
            signal.raise_signal(number)
        return original(*arguments)

    monkeypatch.setattr(loop, "train_step", train_step)


@pytest.mark.parametrize(("count", "size"), [(100, 10), (4, 60)])
def test_examples_to_choose_by_show_no_text_that_is_learned_from(count, size):
    """About a tenth of 240 examples, or at least the smallest group."""
    texts = [f"text {n % count}" for n in range(240)]
    kinds: list[list] = [
        [QAExample(str(n), f"question {n}", text, "", -1) for n, text in enumerate(texts)],
        [ChoiceExample(str(n), text, (str(n), "no"), 0) for n, text in enumerate(texts)],
    ]
    if count > 4:  # of few texts, one that is kept away may take a label with it
        kinds.append([TextExample(str(n), text, str(n), "yes") for n, text in enumerate(texts)])
        kinds.append([TokenExample(str(n), tuple(text.split()), ("O", "O")) for n, text in enumerate(texts)])
    for examples in kinds:
        train, dev = split_off(examples, 1, notes := [])
        assert sorted(train + dev, key=examples.index) == examples and not notes
        assert not {*map(shared_text, train)} & {*map(shared_text, dev)}
        assert size <= len(dev) <= max(size, 24) and dev != split_off(examples, 0, [])[1]


@pytest.mark.parametrize("copied", [str.upper, lambda text: f" {text.replace(' ', '  ')} "])
def test_copies_that_differ_in_capitals_or_blanks_stay_together(copied):
    examples = [
        TextExample(f"{n}", text, None, "ab"[n % 2])
        for n in range(50)
        for text in (f"text number {n}", copied(f"text number {n}"))
    ]
    for train, dev in (split_off(examples, 0, []), *split_folds(examples, 5, 0)):
        assert not {example.id for example in train} & {example.id for example in dev}


def test_of_one_text_single_examples_are_kept_away():
    examples = [QAExample(str(n), f"question {n}", "a passage", "", -1) for n in range(30)]
    train, dev = split_off(examples, 0, notes := [])
    assert (len(train), len(dev), notes) == (27, 3, [ONE_TEXT])


def test_folds_have_a_mean_and_a_spread_and_go_on_after_a_signal(cli, monkeypatch):
    checked = []
    with monkeypatch.context() as patch:
        stop_at(6, signal.SIGTERM, patch)  # in the second fold
        patch.setattr(tuning, "known_examples", lambda task, part, *how: (checked.append(part) or part, ""))
        code, out, err = cli(f"{LINE} --steps 4 --folds 3 --out run")
    assert code == 143 and not out and "stopped at step 2; the same command with --resume goes on" in err
    assert len(checked) == 9  # the three sets of each fold, once
    assert cli(f"{LINE} --steps 4 --folds 3 --out run")[0] == 2
    first = Path("run/folds/1-of-3/model.safetensors").stat().st_mtime_ns
    code, _, err = cli(f"{LINE} --steps 4 --folds 3 --seed 1 --out run --resume")
    assert code == 2 and "seed was 0" in err
    code, out, err = cli(f"{LINE} --steps 4 --folds 3 --out run --resume")
    assert code == 0 and first == Path("run/folds/1-of-3/model.safetensors").stat().st_mtime_ns, err
    values = [written(f"run/folds/{number}-of-3/measures.json")["accuracy"] for number in (1, 2, 3)]
    found = written("run/folds.json")
    assert found["this run"]["accuracy"] == {"mean": fmean(values), "std": stdev(values), "folds": values}
    assert f"{fmean(values):.3f} ± {stdev(values):.3f}" in out and "1.000 ± 0.000" in out  # ours, TF-IDF
    report = Path("run/report.md").read_text()
    assert "| measure | fold 1 | fold 2 | fold 3 |" in report and "TF-IDF, logistic regression" in report


def test_a_signal_saves_the_state_and_names_itself_in_the_exit_code(cli, monkeypatch):
    number = getattr(signal, "SIGUSR1", signal.SIGTERM)
    line = f"{LINE} --steps 9 --save-every 4 --set dropout=0.1 --class-weights balanced"
    assert cli(f"{line} --out whole")[0] == 0
    with monkeypatch.context() as patch:
        stop_at(6, number, patch)
        code, _, err = cli(f"{line} --out run")
    assert code == 128 + number and "stopped at step 6" in err
    steps = sorted(int(path.name.split("-")[1]) for path in Path("run/resume").glob("state-*.pt"))
    assert steps == [4, 6]
    assert cli(f"{line} --out run --resume")[0] == 0
    whole, resumed = (load_file(f"{folder}/model.safetensors") for folder in ("whole", "run"))
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert written("run/recipe.json")["class_weights"] == "balanced"
    assert "--class-weights balanced" in Path("run/README.md").read_text()


def test_a_run_that_was_stopped_measures_nothing_more(cli, monkeypatch):
    for part in ("train", "dev"):
        Path(f"{part}.json").write_text(squad_text(list(questions(0, 9, part)), part), encoding="utf-8")
    line = f"finetune qa --model tiny --train train.json --dev dev.json --steps 4 --max-length 64 --out run {QUICK}"
    with monkeypatch.context() as patch:
        stop_at(2, signal.SIGINT, patch)
        patch.setattr(SpanTask, "tune", lambda *_: pytest.fail("who pressed Ctrl-C waits for a threshold"))
        code, _, err = cli(line)
    assert code == 130 and "stopped at step 2" in err, err
    assert cli(f"{line} --resume")[0] == 0


def test_a_signal_while_the_last_checkpoint_is_measured_is_heeded(cli, monkeypatch):
    evaluate = DevSet.evaluate

    def signalled(dev_set, step):
        signal.raise_signal(signal.SIGTERM)
        evaluate(dev_set, step)

    line = f"{LINE} --steps 3 --out run"
    with monkeypatch.context() as patch:
        patch.setattr(DevSet, "evaluate", signalled)
        code, out, err = cli(line)
    assert code == 143 and not out and "stopped at step 3; the same command with --resume goes on" in err
    code, out, err = cli(f"{line} --resume")
    assert code == 0 and "this run" in out and not Path("run/resume").exists(), err


WITHOUT = {"sklearn": "baselines", "matplotlib": "figures"}


def test_a_fine_tuning_goes_without_what_is_not_installed(cli, monkeypatch):
    for module in WITHOUT:
        monkeypatch.setitem(sys.modules, module, None)
    can_use.cache_clear()
    code, out, err = cli(f"{LINE} --steps 3 --out run")
    assert code == 0 and list(table(out)) == ["this run", "always the most frequent"], err
    for module, extra in WITHOUT.items():
        assert err.count(f'{module} is not installed: pip install "bertlab[{extra}]"') == 1
    assert "png" not in Path("run/report.md").read_text() and not list(Path("run").glob("*.png"))
    assert "## Confusion matrix" in Path("run/report.md").read_text()
    can_use.cache_clear()


@pytest.mark.parametrize("line", [f"{LINE} --folds 3", "compare features --quick"])
def test_what_cannot_do_without_is_refused_before_it_begins(line, cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    code, out, err = cli(line)
    assert (code, out, err) == (2, "", 'bertlab: sklearn is not installed: pip install "bertlab[baselines]"\n')
    assert {path.name for path in tmp_path.iterdir()} == {"tiny", "colours.csv"}
