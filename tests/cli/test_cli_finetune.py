"""`bertlab finetune`, `evaluate` and `predict` on files of the user, for every task family and for every mistake."""

import csv
import json
import os
import random
import shlex
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file

from bertlab.cli.main import main
from bertlab.cli.shared.tuning import trained_for
from bertlab.corpora.storyworld.export import write_storyworld
from bertlab.explain.runs import read_run
from bertlab.tasks.files import FileOptions
from bertlab.tasks.registry import open_task
from bertlab.training.engine import loop
from tests.alike import assert_alike

TEXTS = ["the red dog is here", "a blue cat was there", "the red hat, old", "a blue kite"] * 6
LABELS = ["red", "blue"] * 12
ODD_LABELS = ["a, b", "two\nlines", "*bold* | `x`", "<script>alert(1)</script>", "😀", "Red", "red", "# title"]
LONG = " ".join(random.Random(0).choices(["the", "red", "dog", "Ann", "house", "walked"], k=20_000))
QUICK = "--steps 2 --batch-size 4 --device cpu"


def table(path: Path, head: str, rows) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerows([head.split(), *rows])


def lines(path: Path, rows) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def sentences(path: Path, texts, label="B-colour") -> None:
    words = [[(word, label if word in ("red", "blue") else "O") for word in text.split(" ")] for text in texts]
    path.write_text("\n".join("".join(f"{word}\t{tag}\n" for word, tag in rows) for rows in words), encoding="utf-8")


def questions(path: Path, rows) -> None:
    """SQuAD 1.1: (question, passage, answer)."""
    paragraphs = [
        {
            "context": passage,
            "qas": [{"id": str(n), "question": asked, "answers": [{"text": a, "answer_start": passage.find(a)}]}],
        }
        for n, (asked, passage, a) in enumerate(rows)
    ]
    path.write_text(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}))


def short_questions():
    return [("who has dogs?", f"Ann has {number} red dogs.", "Ann") for number in range(20)]


def write_good(place: Path) -> None:
    table(place / "class.csv", "id text label", zip([f"r{n}" for n in range(24)], TEXTS, LABELS, strict=True))
    table(place / "class.tsv", "sentence label", zip(TEXTS, LABELS, strict=True))
    lines(place / "class.jsonl", [{"text": t, "label": label} for t, label in zip(TEXTS, LABELS, strict=True)])
    table(place / "number.csv", "text score", [(text, number / 3) for number, text in enumerate(TEXTS)])
    table(place / "several.csv", "text labels", [(t, "|".join("abc"[: n % 4])) for n, t in enumerate(TEXTS)])
    seconds = [f"it is {label}" for label in LABELS]
    table(place / "pair.csv", "premise hypothesis label", zip(TEXTS, seconds, ["yes", "no", "no"] * 8, strict=True))
    sentences(place / "words.conll", TEXTS)
    questions(place / "squad1.json", short_questions())
    write_storyworld("questions", place / "squad2.json", 24, 0, "train")
    choices = ["a red one", "a blue one"]
    lines(place / "choice.jsonl", [{"text": t, "choices": choices, "label": n % 2} for n, t in enumerate(TEXTS)])


FAMILIES = {  # task, file, options; the class of transformers that opens it
    "class": ("sentence", "class.csv", "", "SequenceClassification"),
    "tsv": ("sentence", "class.tsv", "", "SequenceClassification"),
    "jsonl": ("sentence", "class.jsonl", "", "SequenceClassification"),
    "number": ("sentence", "number.csv", "--set problem=regression", "SequenceClassification"),
    "several": ("sentence", "several.csv", "--set problem=multi_label_classification", "SequenceClassification"),
    "pair": ("pair", "pair.csv", "", "SequenceClassification"),
    "token": ("token", "words.conll", "", "TokenClassification"),
    "squad1": ("qa", "squad1.json", "", "QuestionAnswering"),
    "squad2": ("qa", "squad2.json", "", "QuestionAnswering"),
    "choice": ("choice", "choice.jsonl", "", "MultipleChoice"),
}


@pytest.fixture(scope="module")
def place(pretrained, tmp_path_factory) -> Path:
    """A folder with a file of each kind, and the pretrained model as `tiny`."""
    place = tmp_path_factory.mktemp("finetune")
    write_good(place)
    (place / "tiny").symlink_to(pretrained)
    return place


@pytest.fixture
def cli(place, capsys, monkeypatch):
    """Runs `bertlab LINE` in that folder; gives exit code, stdout and the lines of stderr without progress bars."""
    monkeypatch.chdir(place)

    def run(line: str):
        try:
            main(shlex.split(line))
            code = 0
        except SystemExit as ended:
            code = ended.code
        out, err = capsys.readouterr()
        return code, out, [row for row in err.replace("\r", "\n").split("\n") if row.strip() and "/s" not in row]

    return run


@pytest.fixture
def trained(cli, place):
    """The folder of a run of that family, made on first use."""

    def run(name: str) -> str:
        task, file, options, _ = FAMILIES[name]
        if not (place / name).exists():
            code, _, err = cli(f"finetune {task} --model tiny --train {file} {options} --out {name} {QUICK}")
            assert code == 0, err
        return name

    return run


# From a file to a model, its measures and its predictions


@pytest.mark.parametrize("name", FAMILIES)
def test_from_a_file_to_measures_and_predictions(name, trained, cli, place):
    run, (_, file, _, kind) = Path(trained(name)), FAMILIES[name]
    assert {"recipe.json", "metrics.csv", "dev.csv", "report.md", "README.md"} <= set(os.listdir(run))
    assert not (run / "resume").exists()
    read = read_run(run)
    assert read.finished and {baseline.measure for baseline in read.baselines} & set(read.evaluations[0])
    measures = json.loads((run / "measures.json").read_text())
    assert f"finetune {FAMILIES[name][0]} --train FILE --model tiny --steps 2" in (run / "README.md").read_text()
    known = "18" if name == "choice" else "22"  # choices after the same text stay together
    assert f"{known} examples" in (run / "report.md").read_text() or name.startswith("squad")

    model, task = open_task(run)
    problem = model.config.problem_type or "single_label_classification"
    examples = list(task.read_examples(place / file, FileOptions().reading(problem, name == "pair")))
    said = list(task.predict(model, examples))
    code, out, _ = cli(f"evaluate {name} --data {file} --json")
    found = json.loads(out)
    assert code == 0 and found.keys() == task.measures(examples, said).keys()
    if name != "number":  # a rank of numbers that hardly differ is chance
        assert_alike(found, task.measures(examples, said))
    assert set(found) >= {n for n in measures if ":" not in n and n != "has_answer_f1"}

    assert cli(f"predict --model {name} --file {file} --out {name}.out.jsonl")[0] == 0
    rows = [json.loads(line) for line in (place / f"{name}.out.jsonl").read_text().splitlines()]
    wanted = [{"id": e.id, **p.as_row()} for e, p in zip(examples, said, strict=True)]
    assert_alike(rows, json.loads(json.dumps(wanted)))

    theirs, loading = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(run, output_loading_info=True)
    assert not loading["missing_keys"] and not loading["unexpected_keys"]
    assert theirs.config.id2label == model.config.id2label


def test_words_and_labels_as_conll(trained, cli, place):
    run = trained("token")
    assert cli(f"predict --model {run} --file words.conll --out said.conll")[0] == 0
    model, task = open_task(place / run)
    said, gold = (list(task.read_examples(place / n, FileOptions().reading())) for n in ("said.conll", "words.conll"))
    assert [e.words for e in said] == [e.words for e in gold]
    assert [e.labels for e in said] == [p.labels for p in task.predict(model, gold)]


ONE = {  # what is asked, and the row of a file that says the same
    "class": ('"a blue cat was there"', {"text": "a blue cat was there"}),
    "number": ('"a blue cat was there"', {"text": "a blue cat was there"}),
    "pair": ('"the red dog" --pair "it is red"', {"premise": "the red dog", "hypothesis": "it is red"}),
    "choice": ('"a cat" --choices "a red one" "a blue one"', {"text": "a cat", "choices": ["a red one", "a blue one"]}),
}


@pytest.mark.parametrize("name", ONE)
def test_one_input_gets_what_a_file_gets(name, trained, cli, place):
    run, (asked, row) = trained(name), ONE[name]
    lines(place / "one.jsonl", [row])
    code, out, err = cli(f"predict {asked} --model {run} --json")
    assert code == 0, err
    assert cli(f"predict --model {run} --file one.jsonl --out one.out.jsonl")[0] == 0
    said, found = json.loads(out), json.loads((place / "one.out.jsonl").read_text())
    if name == "number":
        assert_alike(said, [{"value": found["label"]}])
    elif name == "choice":
        assert said[0]["text"] == row["choices"][found["choice"]]
        assert_alike(sorted(r["probability"] for r in said), sorted(found["probabilities"]))
    else:
        assert said[0]["text"] == found["label"]
        assert_alike({r["text"]: r["probability"] for r in said}, found["probabilities"])


def test_one_question_gets_what_a_file_gets(trained, cli, place):
    passage = "Ann has 3 red dogs. " * 60
    questions(place / "one.json", [("who?", passage, "Ann")])
    for run in ("squad1", "squad2"):
        trained(run)
        assert cli(f"predict --model {run} --file one.json --out one.out.jsonl")[0] == 0
        found = json.loads((place / "one.out.jsonl").read_text())
        code, out, _ = cli(f'predict --question "who?" --passage "{passage}" --model {run} --top 100 --json')
        said = json.loads(out)
        assert code == 0 and len(said) == len({row["text"] for row in said}) > 3
        shares = {row["text"]: row["probability"] for row in said}  # of a text at all its places, where a file has one
        assert shares[found["text"]] >= found["probability"] * (1 - 1e-5)


def test_names_of_a_text(trained, cli):
    code, out, _ = cli(f'predict "the red, RED dog" --model {trained("token")} --json')
    assert code == 0
    assert all("the red, RED dog"[row["start"] : row["end"]] == row["text"] for row in json.loads(out))


# Files that are strange, but no mistake


@pytest.mark.parametrize("count", [2_000, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_texts_of_many_words(count, cli, place):
    long = " ".join(LONG.split()[:count])
    table(place / "long.csv", "text label", [(long, "red"), *zip(TEXTS, LABELS, strict=True)])
    sentences(place / "long.conll", [long, *TEXTS])
    questions(place / "long.json", [("what did Bob buy?", f"{long} Bob bought a kite.", "a kite"), *short_questions()])
    for task, file in (("sentence", "long.csv"), ("token", "long.conll"), ("qa", "long.json")):
        code, _, err = cli(f"finetune {task} --model tiny --train {file} --out {task}-{count} {QUICK}")
        assert code == 0, err
        code, _, err = cli(f"predict --model {task}-{count} --file {file} --out long.jsonl")
        assert code == 0, err
        first = json.loads((place / "long.jsonl").read_text().splitlines()[0])
        assert task != "token" or len(first["labels"]) == count


def test_an_answer_that_no_window_holds_is_learned_from(cli, place):
    questions(place / "cut.json", [("what?", f"{LONG} end", LONG), *short_questions()])
    code, _, err = cli(f"finetune qa --model tiny --train cut.json --out cut {QUICK}")
    assert code == 0, err


def test_labels_of_any_letters(cli, place):
    rows = [(f"{TEXTS[n % 24]} {n % 8}", ODD_LABELS[n % 8]) for n in range(80)]
    table(place / "odd.csv", "text label", rows)
    code, _, err = cli(f"finetune sentence --model tiny --train odd.csv --out odd {QUICK}")
    assert code == 0, err
    assert sorted(open_task(place / "odd")[0].config.id2label.values()) == sorted(ODD_LABELS)
    report = (place / "odd" / "report.md").read_text()
    assert "<script>" not in report and "\\*bold\\* \\| \\`x\\`" in report
    assert len(cli('predict "the red dog" --model odd --top 8')[1].strip().split("\n")) == 8  # a line each


def test_two_hundred_classes_and_numbers_without_bound(cli, place):
    table(place / "many.csv", "text label", [(TEXTS[n % 24], f"class {n % 200}") for n in range(600)])
    assert cli(f"finetune sentence --model tiny --train many.csv --out many {QUICK}")[0] == 0
    assert open_task(place / "many")[0].config.num_labels == 200
    table(place / "large.csv", "text label", [(text, n * 10**16) for n, text in enumerate(TEXTS)])
    code, _, err = cli(f"finetune sentence --model tiny --train large.csv --set problem=regression --out large {QUICK}")
    assert code in (0, 2) and not any("Traceback" in line for line in err)


def test_rows_that_cannot_be_used_are_left_out_and_counted(trained, cli, place):
    table(place / "gaps.csv", "text label", [("", "red"), *zip(TEXTS, LABELS, strict=True)])
    for line in (
        f"finetune sentence --model tiny --train gaps.csv --out gaps {QUICK}",
        f"evaluate {trained('class')} --data gaps.csv",
        "predict --model class --file gaps.csv --out gaps.jsonl",
    ):
        code, _, err = cli(f"{line} --on-error skip")
        assert code == 0 and "left out 1 row; the first: gaps.csv, line 2: 'text' is empty" in err[0]
    assert "left out 1 row" in (place / "gaps" / "report.md").read_text()
    assert len((place / "gaps.jsonl").read_text().splitlines()) == 24


STARTS = {  # task and file; the run that is gone on from
    "another family": ("token", "words.conll", "squad1"),
    "a choice from a class": ("choice", "choice.jsonl", "class"),
    "a class from a choice": ("sentence", "class.csv", "choice"),
    "a number from a class": ("sentence", "number.csv --set problem=regression", "class"),
    "other labels": ("pair", "pair.csv", "class"),
    "another decoder": ("token", "words.conll --set token_decoder=cnn", "token"),
}


@pytest.mark.parametrize("name", STARTS)
def test_any_checkpoint_is_a_start(name, trained, cli, place):
    task, file, start = STARTS[name]
    code, _, err = cli(f"finetune {task} --model {trained(start)} --train {file} --out '{name}' {QUICK}")
    assert code == 0, err
    assert open_task(place / name)[0].config.num_hidden_layers == 1


def test_a_head_for_these_labels_goes_on_learning(trained, cli, place):
    table(place / "three.csv", "text label", [(f"a {c} thing {n}", c) for n in range(8) for c in ("x", "blue", "red")])
    tiny = "--learning-rate 1e-12"
    assert cli(f"finetune sentence --model tiny --train three.csv --out three {QUICK}")[0] == 0
    assert cli(f"finetune sentence --model three --train class.csv --out two {QUICK} {tiny}")[0] == 0
    one, other = (load_file(place / run / "model.safetensors")["classifier.weight"] for run in ("three", "two"))
    assert one.shape == (3, 16) and torch.allclose(one, other, atol=1e-6)


# Mistakes


def write_bad(place: Path) -> None:
    (place / "folder.csv").mkdir(exist_ok=True)
    for name in ("empty.csv", "empty.conll", "empty.json"):
        (place / name).write_bytes(b"")
    (place / "binary.conll").write_bytes(random.Random(0).randbytes(999))
    (place / "header.csv").write_text("text,label\n")
    (place / "wrong.csv").write_text("body,label\na,red\n")
    (place / "words.txt").write_text("a\nb\n")
    table(place / "unknown.csv", "text label", [("a", "red"), ("b", "green")])
    table(place / "same.csv", "text label", [(text, "red") for text in TEXTS])
    table(place / "huge.csv", "text label", [(text, 10**30) for text in TEXTS])
    table(place / "endless.csv", "text label", [(text, 10**400) for text in TEXTS])
    table(place / "blank.csv", "text label", [("", "red"), (" ", "blue")])
    table(place / "few.csv", "text label", [("a", "red"), ("b", "blue")])
    lines(place / "single.jsonl", [{"text": "a", "choices": ["b"], "label": 0}])
    sentences(place / "new.conll", TEXTS, "B-new")
    sentences(place / "plain.conll", ["nothing here"] * 30)


TRAIN = "finetune sentence --model tiny --out x --train"
MISTAKES = {  # those that are told before a file is read are in tests/hostile/test_refused_before_work.py
    "empty file": (f"{TRAIN} empty.csv", "empty.csv"),
    "empty words": ("finetune token --model tiny --out x --train empty.conll", "empty.conll"),
    "empty questions": ("finetune qa --model tiny --out x --train empty.json", "empty.json"),
    "names of columns only": (f"{TRAIN} header.csv", "header.csv"),
    "folder": (f"{TRAIN} folder.csv", "folder.csv"),
    "other columns": (f"{TRAIN} wrong.csv", "'text', only body, label; see --text-column"),
    "column of words": (
        "finetune token --model tiny --out x --train words.conll --label-column kind",
        "--label-column",
    ),
    "binary words": ("finetune token --model tiny --out x --train binary.conll", "binary.conll"),
    "no encoding": (f"{TRAIN} class.csv --encoding latin-99", "--encoding latin-99"),
    "unknown label to be measured by": ("evaluate class --data unknown.csv", "unknown.csv: example 3: the model knows"),
    "unknown label in dev": (f"{TRAIN} class.csv --dev unknown.csv", "unknown.csv: example 3"),
    "unknown label in test": (f"{TRAIN} class.csv --dev class.csv --test unknown.csv", "unknown.csv: example 3"),
    "new label of words": ("evaluate token --data new.conll", "new.conll: example 1: the model knows no label 'B-new'"),
    "one label": (f"{TRAIN} same.csv", "same.csv: all"),
    "no names": ("finetune token --model tiny --out x --train plain.conll", "plain.conll: no word"),
    "huge number": (f"{TRAIN} huge.csv --set problem=regression", "huge.csv: example"),
    "endless number": (f"{TRAIN} endless.csv --set problem=regression", "endless.csv, line 2"),
    "questions for sentence": (f"{TRAIN} squad2.json", "squad2.json"),
    "words for sentence": (f"{TRAIN} words.conll", "words.conll: there is no column 'text'"),
    "one choice": ("finetune choice --model tiny --out x --train single.jsonl", "single.jsonl, line 1"),
    "too few": (f"{TRAIN} few.csv", "few.csv: 2 examples are too few"),
    "more folds than examples": (f"{TRAIN} class.csv --folds 999", "each fold needs one of the examples of the label"),
    "too few for a grid": (f"{TRAIN} few.csv --grid", "--dev"),
    "all rows bad": (f"{TRAIN} blank.csv --on-error skip", "left out 2 rows"),
    "nothing to learn from": ("finetune sentence --model tiny --out x", "--train"),
    "data set of another task": ("finetune sentence --model tiny --out x --dataset squad", "--dataset squad"),
    "unknown problem": (f"{TRAIN} class.csv --set problem=guess", "--set problem=guess"),
    "no epochs": (f"{TRAIN} class.csv --epochs 0", "epochs=0"),
    "no learning": (f"{TRAIN} class.csv --learning-rate -1", "--learning-rate -1"),
    "no batch": (f"{TRAIN} class.csv --batch-size 0", "batch_size=0"),
    "endless batch": (f"{TRAIN} class.csv --batch-size 99999999999", "between 1 and 65,536"),
    "no steps": (f"{TRAIN} class.csv --steps 0", "--steps 0"),
    "too short": (f"{TRAIN} class.csv --max-length 2", "max_length=2"),
    "smoothed answers": ("finetune qa --model tiny --out x --train squad1.json --set label_smoothing=0.1", "smoothing"),
    "a file is there": ("finetune sentence --model tiny --train class.csv --out class.csv", "class.csv"),
    "grid with another rate": (f"{TRAIN} class.csv --grid --set optim.learning_rate=1", "--set optim.learning_rate=1"),
    "no model": ("predict --file class.csv --out x.jsonl", "--model"),
    "nothing to predict": ("predict --model class --file missing.csv --out x.jsonl", "missing.csv"),
    "no example to predict": (
        "predict --model token --file empty.conll --out x.jsonl",
        "empty.conll: holds no",
    ),
    "no good example": ("predict --model class --file blank.csv --on-error skip --out x.jsonl", "blank.csv"),
    "bad row": ("predict --model class --file blank.csv --out x.jsonl", "blank.csv, line 2"),
    "one choice to choose from": ("predict a --choices b --model choice", "--choices"),
    "empty choice": ('predict a --choices b "" --model choice', "choice 2 is empty"),
    "no pair": ("predict a --model pair", "--pair"),
    "empty pair": ('predict a --pair " " --model pair', "the pair is empty"),
    "question for a class": ("predict --question who --passage Ann --model class", "class cannot answer that"),
    "text for a question": ("predict a --model squad1", "squad1 cannot answer that"),
    "nothing to measure on": ("evaluate class", "--data"),
    "questions to measure classes": ("evaluate class --data squad2.json", "squad2.json"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_line_and_leave_nothing(name, trained, cli, place):
    line, named = MISTAKES[name]
    if not (place / "plain.conll").exists():
        write_bad(place)
    for word in {"class", "token", "choice", "pair", "squad1"} & set(line.split()[1:]):
        trained(word)
    before = sorted(place.rglob("*"))
    code, out, err = cli(line)
    assert code == 2 and not out, err
    assert len(err) == 1 and err[0].startswith("bertlab: ") and named in err[0], err
    assert sorted(place.rglob("*")) == before


@contextmanager
def full_disk():
    """A file of 20 kB is the largest that can be written: recipe.json can, a model cannot."""
    import resource  # here, as Windows has none

    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then to write past it is an error, as on a full disk
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits no file")
def test_a_full_disk(trained, cli, place):
    trained("class")
    table(place / "many-texts.csv", "text label", zip(TEXTS * 20, LABELS * 20, strict=True))
    for line, named in (
        (f"finetune sentence --model tiny --train class.csv --out full {QUICK}", "full"),
        ("predict --model class --file many-texts.csv --out full.jsonl", "full.jsonl"),
    ):
        with full_disk():
            code, _, err = cli(line)
        assert code == 2 and "Traceback" not in "".join(err), err
        assert err[-1].startswith("bertlab: ") and named in err[-1], err
    assert not (place / "full.jsonl").exists() and not (place / "full" / "model.safetensors").exists()


# Stopped, and gone on; kills are in tests/training/engine/test_resume.py


LONGER = "finetune sentence --model tiny --train class.csv --steps 40 --batch-size 4 --device cpu --set dropout=0.1"


@pytest.fixture(scope="module")
def unbroken(place) -> Path:
    """The run that nothing interrupts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        main(shlex.split(f"{LONGER} --out unbroken"))
    return place / "unbroken"


def same_run(one: Path, other: Path) -> None:
    a, b = (load_file(run / "model.safetensors") for run in (one, other))
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert (one / "dev.csv").read_text() == (other / "dev.csv").read_text()
    assert (one / "measures.json").read_text() == (other / "measures.json").read_text()
    assert {path.name for path in one.iterdir()} == {path.name for path in other.iterdir()}


def test_ctrl_c_says_how_to_go_on_and_the_same_command_alone_goes_on(unbroken, cli, place, monkeypatch):
    steps, original = iter(range(26)), loop.train_step

    def press(*arguments):
        if next(steps) == 25:
            signal.raise_signal(signal.SIGINT)
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "train_step", press)
        code, _, err = cli(f"{LONGER} --out stopped")
    assert code == 130 and err[-1] == "stopped at step 26; the same command with --resume goes on"
    code, _, err = cli(f"{LONGER} --out stopped")
    assert code == 2 and "go on with --resume" in err[0]
    swapped = LONGER.replace("class.csv", "class.jsonl --text-column label --label-column text")
    code, _, err = cli(f"{swapped} --out stopped --resume")
    assert code == 2 and "another text" in err[-1]  # after a warning of such examples
    code, _, err = cli(f"{LONGER} --seed 1 --out stopped --resume")
    assert code == 2 and "seed was 0" in err[-1]
    assert cli(f"{LONGER} --out stopped --resume")[0] == 0
    same_run(unbroken, place / "stopped")


def test_killed_while_it_is_measured(unbroken, cli, place, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("bertlab.cli.shared.tuning.measure", interrupt)
        code, _, err = cli(f"{LONGER} --out measured")
    assert code == 130 and "stopped while it was measured; the same command with --resume goes on" in err[-1]
    assert cli(f"{LONGER} --seed 1 --out measured --resume")[0] == 2
    monkeypatch.setattr(loop, "train_step", lambda *_: pytest.fail("trained again"))
    assert cli(f"{LONGER} --out measured --resume")[0] == 0
    same_run(unbroken, place / "measured")


def test_a_data_set_says_what_it_left_out(cli, place):
    folder = place / "data"
    folder.mkdir()
    rows = [{"sentence1": t, "sentence2": "a dog" if n else "", "label": n % 2} for n, t in enumerate(TEXTS)]
    lines(folder / "train.jsonl", rows)
    lines(folder / "validation.jsonl", [{"sentence1": row["sentence1"], "label": row["label"]} for row in rows[1:]])
    ask = f"finetune pair --model tiny --dataset data --on-error skip --out data-run {QUICK}"
    assert cli(ask)[2][-1].startswith("bertlab: data, validation: holds no example that can be used: left out 24 rows")
    lines(folder / "validation.jsonl", rows[1:])
    code, _, err = cli(ask)
    assert code == 0 and any("left out 1 row; the first: data, train, row 1" in line for line in err), err
    assert "left out 1 row" in (place / "data-run" / "report.md").read_text()


def test_a_card_tells_the_seconds_of_all_training(tmp_path):
    """However often the run was killed, and whichever setting of a grid was the best."""
    assert trained_for(tmp_path) == 0
    for folder, seconds in ((".", 9), ("grid/a", 9), ("grid/b", 3.5)):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "metrics.csv").write_text(f"step,seconds\n1,0.5\n2,{seconds}\n")
        assert folder != "." or trained_for(tmp_path) == 9
    assert trained_for(tmp_path) == 12.5


def test_a_grid_from_the_command_line(cli, place, monkeypatch):
    monkeypatch.setattr("bertlab.training.grid.suited_rates", lambda config, lora: (1e-2, 1e-12))
    monkeypatch.setattr("bertlab.training.grid.BATCH_SIZES", (4,))
    monkeypatch.setattr("bertlab.training.grid.EPOCHS", (1.0,))
    code, _, err = cli("finetune sentence --model tiny --train class.csv --grid --out grid --device cpu")
    assert code == 0, err
    trials = {path.name: (path / "model.safetensors").exists() for path in (place / "grid" / "grid").iterdir()}
    assert len(trials) == 2 and sum(trials.values()) == 1
    assert sum(line.startswith("rate-") for line in err) == 2
    assert "--grid" in (place / "grid" / "README.md").read_text()
    open_task(place / "grid")


def test_own_files_begin_with_real_english():
    from bertlab.cli.finetune import Finetune, recipe_of

    assert recipe_of(Finetune("sentence", train=Path("x.csv"))).model == "english"
    assert recipe_of(Finetune("match")).model == "english"  # docstrings
    assert recipe_of(Finetune("qa")).model == "storyworld-tiny"
    assert recipe_of(Finetune("qa", model="english")).model == "english"


def test_few_examples_are_read_more_often_than_three_times():
    from bertlab.cli.finetune import Finetune, enough_steps, recipe_of
    from bertlab.cli.shared.examples import Sets
    from bertlab.corpora.examples import TextExample

    def steps(examples, text="A fine film.", rows=None, **options):
        command = Finetune("sentence", train=Path("x.csv"), **options)
        sets = Sets([TextExample(str(n), text, None, "ab"[n % 2]) for n in range(examples)], [], [], [])
        return enough_steps(command, recipe_of(command), sets).count_steps(rows or examples)

    assert steps(72) == 200 and steps(6400) == 600
    long = "It was not good at all. " * 60  # four windows
    assert steps(1000, long, rows=4000) == 375 and steps(100, long, rows=400) == 200
    assert steps(72, epochs=2.0) == 6 and steps(72, steps=7) == 7 and steps(72, set=(("epochs=4",),)) == 12
