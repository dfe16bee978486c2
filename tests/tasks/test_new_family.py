"""A new task family is one file and one registration: training, evaluation and prediction find the rest."""

import json
from pathlib import Path

import pytest
from rating import BertForRating, RatingTask, Review

from bertlab import InputError
from bertlab.cli.evaluate import evaluate_task
from bertlab.cli.main import main
from bertlab.predict import predict_file, predict_one
from bertlab.relatives.sequence_to_sequence import SequenceToSequenceTask
from bertlab.tasks.files import FileOptions
from bertlab.tasks.registry import FAMILIES, TASKS, find_task, open_task, register
from bertlab.training.engine.optim import Optimization
from bertlab.training.finetune import finetune
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.run_settings import FinetuneSettings
from tests.alike import assert_alike

REVIEWS = [Review(str(n), f"the {'dog' if n % 2 else 'man'} number {n} is here", 5.0 * (n % 2)) for n in range(24)]


@pytest.fixture(autouse=True)
def registered():
    register(RatingTask)
    yield
    FAMILIES.remove(RatingTask)
    del TASKS["rating"]


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "reviews.csv"
    path.write_text("text,stars\n" + "".join(f"{e.text},{e.stars}\n" for e in REVIEWS))
    return path


def test_it_learns_and_opens_again(pretrained, tmp_path):
    settings = {"max_length": 32, "batch_size": 8, "steps": 80, "optim": Optimization("adamw", learning_rate=1e-2)}
    recipe = FinetuneRecipe("rating", pretrained, **settings)
    result = finetune(
        recipe, REVIEWS, REVIEWS[:8], settings=FinetuneSettings(device="cpu"), out=tmp_path / "run", progress=False
    )
    model, task = open_task(tmp_path / "run")
    assert type(model) is BertForRating and type(task) is RatingTask and task.learned is find_task("rating")
    measures = task.measures(REVIEWS, list(task.predict(model, REVIEWS)))
    assert measures["within_one"] > 0.8 and result.evaluations[-1]["within_one"] > 0.8  # a constant reaches half


def test_the_commands_work_with_it(pretrained, table, tmp_path, capsys):
    run = tmp_path / "run"
    quick = "--steps 2 --batch-size 4 --max-length 32 --device cpu".split()
    main(["finetune", "rating", "--model", str(pretrained), "--train", str(table), "--out", str(run), *quick])
    assert {"README.md", "report.md", "dev.csv"} <= {path.name for path in run.iterdir()}
    assert "how many stars a text gives" in (run / "README.md").read_text()

    model, task = open_task(run)
    predictions = list(task.predict(model, REVIEWS))
    assert_alike(evaluate_task(str(run), table, FileOptions()), task.measures(REVIEWS, predictions))
    (row,) = predict_one(str(run), {"text": REVIEWS[0].text})
    assert row["value"] == pytest.approx(predictions[0].stars, abs=1e-5)
    assert predict_file(str(run), table, tmp_path / "out.jsonl", FileOptions()) == (24, "")
    stars = [json.loads(line)["stars"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert stars == pytest.approx([p.stars for p in predictions], abs=1e-5)
    capsys.readouterr()
    main(["predict", REVIEWS[0].text, "--model", str(run)])
    assert capsys.readouterr().out.strip() == f"{predictions[0].stars:.4f}"


def test_a_bad_row_and_a_wrong_input_are_named(table, pretrained, tmp_path):
    table.write_text("text,stars\na dog,5\n,1\n")
    with pytest.raises(InputError, match="line 3 is empty"):
        list(RatingTask.read_examples(table, FileOptions().reading()))
    with pytest.raises(InputError, match="reviews.csv, line 2: there is no column 'stars'"):
        table.write_text("text\na dog\n")
        list(RatingTask.read_examples(table, FileOptions().reading()))


def test_a_name_can_be_registered_once():
    with pytest.raises(ValueError, match="there is a task 'rating' already"):
        register(RatingTask)


def test_an_unlisted_family_is_found_by_its_name_alone():
    assert find_task("retelling").family is SequenceToSequenceTask
    assert "retelling" not in TASKS and SequenceToSequenceTask not in FAMILIES
    with pytest.raises(InputError) as caught:
        find_task("nothing")
    assert "rating" in str(caught.value) and "retelling" not in str(caught.value)
