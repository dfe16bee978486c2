"""The benchmarks run; their figures are for people to look at."""

import importlib
import json
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.table import Table

from benchmarks.tables import read_results
from bertlab import BertForPreTraining, Tokenizer
from bertlab.corpora import storyworld
from bertlab.training.engine.optim import make_optimizers
from bertlab.training.recipes import PRETRAIN

pytestmark = pytest.mark.nightly
FOLDER = Path(__file__).parents[1] / "benchmarks"
LOAD = FOLDER / "speed" / "load.py"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory figures need Linux")
@pytest.mark.parametrize("library", ["bertlab", "transformers"])
def test_loading_is_measured(library, checkpoint):
    command = [sys.executable, LOAD, "--one", library, checkpoint, "2"]
    figures = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert figures.keys() == {"first", "load", "touched", "peak", "private"}
    assert 0 < figures["load"] <= figures["touched"] and figures["peak"] >= 0


def test_tokenizing_is_measured():
    command = [sys.executable, FOLDER / "speed" / "token_store.py", "--documents", "5", "--copies", "2"]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split("|")[1].strip() for line in table[2:4]] == ["token store", "`datasets.map`"]


def benchmark(name):
    """The script as a module."""
    return importlib.import_module(f"benchmarks.{name}")


def test_a_gpu_would_be_measured(monkeypatch):
    """On the CPU, without what takes a compiler."""
    gpu, tok = benchmark("speed.gpu"), Tokenizer.from_pretrained("storyworld-tiny")
    monkeypatch.setattr(gpu, "VOCABULARY", tok.vocab_size)
    monkeypatch.setattr(gpu, "OURS", {name: gpu.OURS[name] for name in ("bertlab", "+ unpadded")})
    monkeypatch.setattr(gpu.torch, "compile", lambda model, **_: model)
    stories = [document.sentences for document in storyworld.documents(0, 9)]
    known = gpu.token_ids(stories, tok), tok
    table = Table(*("size", "tokens", "", "ms a step", "tokens/s", "used", "times as fast", "GB"))
    gpu.compare("tiny", 32, 4, 2, "cpu", table, known)
    names, ratios = (list(table.columns[number].cells) for number in (2, 6))
    assert names == ["transformers", "bertlab", "+ unpadded"] and ratios[0] == "" and float(ratios[1]) > 0


def test_steps_are_compared_as_each_contestant_comes(monkeypatch, capsys):
    """The real contestants, in their processes, one round of two steps."""
    step = benchmark("speed.step")
    monkeypatch.setattr(sys, "argv", ["step.py", "--sizes", "tiny", "--rounds", "2"])
    step.main()
    printed = capsys.readouterr().out
    assert all(name in printed for name in step.CONTESTANTS) and printed.count(" *") == 1


def test_where_time_goes_adds_up(monkeypatch):
    where = benchmark("speed.where_time_goes")
    monkeypatch.setattr(where, "STEPS", 1)
    found, least = where.shares("tiny", "float32")
    assert found["products"] > 0 and found["other"] < 0.25 * found.total() and 0 < least < found.total()


def test_without_a_gpu_it_says_so(monkeypatch, capsys):
    gpu = benchmark("speed.gpu")
    monkeypatch.setattr(gpu.torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu.py"])
    with pytest.raises(SystemExit) as ended:
        gpu.main()
    assert ended.value.code == 2 and "no GPU here" in capsys.readouterr().err


@pytest.fixture
def race(monkeypatch):
    """benchmarks/pretraining/time_to_accuracy.py with a small world and a small model."""
    module = benchmark("pretraining.time_to_accuracy")
    recipe = replace(PRETRAIN["storyworld-live"], documents=60, vocab_size=500, hidden_size=16, batch_size=4)
    monkeypatch.setitem(module.RECIPES, "storyworld", recipe)
    monkeypatch.setattr(module, "FIRST", 0.2)
    monkeypatch.setattr(module, "storyworld_test", lambda: [d.sentences for d in storyworld.documents(0, 9, "test")])
    monkeypatch.setattr(module, "keep_memory", lambda: None)
    return module


def test_time_to_accuracy_is_measured(race, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["", "--minutes", "0.01", "--json"])
    race.main()
    result = json.loads(capsys.readouterr().out)
    assert list(result["contestants"]) == ["bertlab", "transformers", "transformers, bfloat16"]
    for one in result["contestants"].values():
        moments = [row["seconds"] for row in one["rows"]]
        assert one["steps"] > 0 and moments == sorted(moments) and moments[-1] == 0.6
        assert one["rows"][-1]["masked_loss"] != result["start"]["masked_loss"]
    curves, ends = race.tables(result)
    assert ends.row_count == 3 and curves.row_count == len(race.moments(0.6)) + 3


def test_both_libraries_start_alike_and_get_the_same_optimizers(race, tmp_path):
    import transformers

    task = race.prepare("storyworld", race.RECIPES["storyworld"], 1.0)
    own = race.new_model(task.recipe, task.tokenizer)
    own.save_pretrained(tmp_path)
    other = transformers.BertForPreTraining.from_pretrained(tmp_path)
    shares = []
    for model in (own, other):
        muon, adamw = make_optimizers(model, task.recipe.optim)
        shares.append([sum(p.numel() for group in o.param_groups for p in group["params"]) for o in (muon, adamw)])
    assert shares[0] == shares[1]
    measured = [task.evaluate(own)]
    other.save_pretrained(tmp_path / "again")
    measured.append(task.evaluate(race.BertForPreTraining.from_pretrained(tmp_path / "again")))
    assert measured[0] == pytest.approx(measured[1])


def test_when_it_is_measured(race):
    found = race.moments(10.0)
    assert found[-1] == 8.0 and 0.2 <= found[0] < 0.25 and race.moments(0.1) == []


def test_off_the_plateau_and_past_the_neighbours(race):
    rows = [
        {"seconds": 1, "masked_loss": 6.0, "masked_top1": 0.1},
        {"seconds": 2, "masked_loss": 5.4, "masked_top1": 0.2},
        {"seconds": 3, "masked_loss": 4.0, "masked_top1": 0.4},
    ]
    found = race.summary(rows, {"unigram_loss": 6.0, "bigram_top1": 0.3})
    assert (found["off_plateau"], found["past_neighbours"]) == (2, 3)
    assert found["above_neighbours"] == pytest.approx(0.1)
    assert race.summary(rows[:1], {"unigram_loss": 6.0, "bigram_top1": 0.3})["off_plateau"] is None


def test_tasks_of_the_storyworld_are_learned(monkeypatch, capsys):
    module = benchmark("finetuning.storyworld")
    for name in ("WORLD_DEV", "WORLD_TEST"):
        monkeypatch.setattr(f"bertlab.cli.shared.examples.{name}", 20)
    monkeypatch.setattr(module, "WARM", 1)
    monkeypatch.setattr(module, "TIMED", 1)
    monkeypatch.setattr(sys, "argv", ["", "--tasks", "entities", "--seconds", "0.1", "--seeds", "0", "1"])
    module.main()
    head, _, *rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [row[:2] for row in rows] == [["| entities", "f1"]]
    assert len(rows[0]) == len(head) and int(rows[0][-1].strip(" |")) >= 1


@pytest.fixture
def real_data(tmp_path):
    """Files in the layout of the data sets that benchmarks/finetuning/real.py reads, with made-up content."""
    for folder in ("sentence_polarity", "wnut17", "nli_dev", "squad"):
        (tmp_path / folder).mkdir()
    for label, word in {"pos": "good", "neg": "bad"}.items():
        lines = "".join(f"soup number {n // 2} was {word}\n" for n in range(40))  # each twice
        (tmp_path / "sentence_polarity" / f"rt-polarity.{label}").write_text(lines)
    for name in ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"):
        (tmp_path / "wnut17" / name).write_text("Mary\tB-person\nsat\tO\n\nIn\tO\nRome\tB-location\n\n" * 20)
    classes = ("entailment", "neutral", "contradiction")
    rows = [f"man {n} sleeps,he is {label},{label}" for n in range(30) for label in classes]
    (tmp_path / "nli_dev" / "snli_dev.csv").write_text("\n".join(["premise,hypothesis,label", *rows]))
    for name in ("train-v1.1.head.json", "xquad.en.json"):
        (tmp_path / "squad" / name).write_text(json.dumps({"data": [{"paragraphs": [passage(n) for n in range(20)]}]}))
    return tmp_path


def passage(number):
    answer = {"text": "Rome", "answer_start": 9}
    asked = {"id": f"{number}", "question": "Where is it?", "answers": [answer]}
    return {"context": f"It is in Rome. That was {number}.", "qas": [asked]}


@pytest.fixture
def real(monkeypatch):
    module = benchmark("finetuning.real")
    monkeypatch.setattr(module.with_trainer, "WARM", 1)
    monkeypatch.setattr(module.torch, "set_num_threads", lambda count: None)
    return module


def test_real_tasks_are_learned(real, real_data, monkeypatch, capsys):
    monkeypatch.setattr(real, "RATES", (1e-3,))
    argv = ["", "--data", str(real_data), "--model", "storyworld-tiny", "--only", "mr", "wnut"]
    monkeypatch.setattr(sys, "argv", [*argv, "--epochs", "1", "--rounds", "1", "--steps", "1"])
    real.main()
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    learned = [row[1] for row in rows if row[0].startswith("| mr (")]
    assert learned[-4:] == ["bertlab, random", "bertlab", "bertlab, AdamW at 0.001", "Trainer, AdamW at 0.001"]
    assert all("accuracy" in row[2] or "f1" in row[2] for row in rows if "(" in row[0])
    raced = [float(row[2].replace(",", "")) for row in rows if row[0] in ("| mr", "| wnut")]
    assert len(raced) == 10 and min(raced) > 0


def test_the_learning_rate_is_that_which_ends_best(real, real_data, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["", "--data", str(real_data), "--only", "wnut", "--model", "english-scratch"])
    run = real.prepare("wnut", real.arguments())
    monkeypatch.setattr(real, "last_evaluation", lambda run, recipe: -abs(recipe.optim.learning_rate - 5e-4))
    chosen = real.tuned(run, real.RATES)
    assert chosen.adamw == replace(run.adamw, optim=replace(run.adamw.optim, learning_rate=5e-4))
    assert chosen.ours is run.ours and run.ours.optim.optimizer == "muon"


def test_simple_models_and_sets_of_their_own(real, real_data):
    for one in real.REAL.values():
        sets = one.read(real_data / one.folder)
        assert all((sets.train, sets.dev, sets.test))
        assert all(simple(sets).keys() >= set(one.measures) for simple in one.simple.values())
    sets = real.read_inference(real_data / "nli_dev")
    parts = [{example.text for example in part} for part in (sets.train, sets.dev, sets.test)]
    assert not (parts[0] & parts[1] or parts[0] & parts[2] or parts[1] & parts[2])


def test_a_data_set_that_is_not_there_is_left_out(real, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["", "--data", str(tmp_path), "--only", "mr"])
    real.main()
    assert "mr is left out" in capsys.readouterr().err


def test_optimizers_are_compared_and_go_on_where_they_stopped(real_data, tmp_path, monkeypatch, capsys):
    module = benchmark("finetuning.optimizers")
    monkeypatch.setattr(module.torch, "set_num_threads", lambda count: None)
    results = tmp_path / "results.csv"
    argv = ["", "--data", str(real_data), "--models", "storyworld-tiny", "--sets", "mr", "--examples", "32"]
    argv += ["--epochs", "1", "--results", str(results), "--muon", "2e-3", "--lora", "--adamw"]
    monkeypatch.setattr(sys, "argv", [*argv, "1e-4"])
    module.main()
    first = results.read_text().splitlines()
    monkeypatch.setattr(sys, "argv", [*argv, "1e-4", "1e-3"])
    module.main()
    assert results.read_text().splitlines()[:-1] == first and len(first) == 3
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| storyworld-tiny | adamw")]
    assert [row.split(" | ")[2] for row in rows] == ["0.0001", "0.0001", "0.001"]
    monkeypatch.setattr(sys, "argv", [*argv, "--step-times", "1", "--rounds", "1"])
    module.main()
    times = capsys.readouterr().out.splitlines()[2].strip("| ").split(" | ")
    assert times[:2] == ["storyworld-tiny", "mr"] and min(map(float, times[2:])) > 0


@pytest.mark.parametrize("task", ["text", "token"])
def test_prediction_is_measured(task, monkeypatch, capsys):
    predict = benchmark("speed.predict")
    in_here = {"--one": lambda *asked: json.dumps(predict.one(*asked))}
    monkeypatch.setattr(predict, "in_a_process", lambda flag, *asked: in_here[flag](*asked))  # which is quicker
    monkeypatch.setattr(predict, "has_onnx", lambda: False)
    monkeypatch.setattr(sys, "argv", ["", "--sizes", "tiny", "--texts", "40", "--rounds", "1", "--task", task])
    predict.main()
    rows = [row.split(" | ") for row in capsys.readouterr().out.splitlines() if row.startswith("| " + task)]
    assert [row[2] for row in rows] == ["pipeline", "pipeline, sorted", "bertlab"]
    assert all(float(row[3].replace(",", "")) > 0 for row in rows)


def test_labels_that_differ_stop_the_benchmark(monkeypatch):
    predict = benchmark("speed.predict")
    predict.check_alike("other", ["b", "b", *["a", "b"] * 499], ["a", "b"] * 500)  # one
    with pytest.raises(SystemExit, match="other gives 2 of 1000"):
        predict.check_alike("other", ["b", "a", *["a", "b"] * 499], ["a", "b"] * 500)
    with pytest.raises(SystemExit):
        predict.check_alike("other", ["a"] * 9, ["a"] * 9)  # labels that are all alike show nothing
    assert predict.in_order([2, 0, 1], ["c", "a", "b"]) == ["a", "b", "c"]


def test_fine_tuning_speed_is_measured(real_data, monkeypatch, capsys):
    module = benchmark("finetuning.speed")
    monkeypatch.setattr(module, "in_a_process", lambda name, *asked: module.one(name, *asked))
    monkeypatch.setattr(module, "keep_memory", lambda: None)
    monkeypatch.setattr(module, "WARM", 1)
    asked = ["--only", "wnut", "--model", "storyworld-tiny", "--precisions", "float32", "--rounds", "1", "--steps", "2"]
    monkeypatch.setattr(sys, "argv", ["", "--data", str(real_data), *asked, "--batch-size", "4"])
    module.main()
    rows = [row.split(" | ") for row in capsys.readouterr().out.splitlines() if row.startswith("| wnut")]
    assert [row[2] for row in rows] == ["Trainer", "Trainer, by length", "bertlab"]
    assert all(float(row[3]) > 0 for row in rows)


def test_every_pilot_is_a_recipe(monkeypatch):
    pilots = benchmark("pretraining.pilots")
    recipes = [pilots.recipe_of(name, 1000) for name in pilots.VARIANTS]
    assert all(recipe.steps == 1000 and recipe.snapshot_steps == (900, 950) for recipe in recipes)
    assert len({replace(recipe, name="") for recipe in recipes}) == len(recipes), "no two are alike"


def test_the_step_of_a_pilot_is_timed(monkeypatch):
    pilots = benchmark("pretraining.pilots")
    monkeypatch.setattr(pilots, "FIRST", 1)
    monkeypatch.setattr(pilots, "TIMED", 2)
    shape = {"num_hidden_layers": 1, "hidden_size": 16, "num_attention_heads": 2, "max_tokens": 32}
    recipe = pilots.PretrainRecipe(documents=20, vocab_size=400, batch_size=4, **shape)
    assert pilots.core_seconds(recipe, None) > 0


def test_weights_are_averaged(monkeypatch, checkpoint, tmp_path):
    pilots = benchmark("pretraining.pilots")
    model = BertForPreTraining.from_pretrained(checkpoint)
    other = BertForPreTraining(model.config)
    other.save_pretrained(tmp_path)
    mean = pilots.averaged(model, [tmp_path]).state_dict()
    for name, weight in model.state_dict().items():
        assert torch.allclose(mean[name], (weight + other.state_dict()[name]) / 2)


def test_labels_that_features_show_are_learned(monkeypatch):
    curve = benchmark("finetuning.learning_curve")
    rng = np.random.default_rng(0)
    labels = ["pos" if positive else "neg" for positive in rng.random(3000) < 0.5]
    rows = rng.normal(size=(3000, 8)) + [[1.5 * (label == "pos")] + 7 * [0.0] for label in labels]
    few, many = (curve.judge(rows[:size], labels[:size], rows[2000:], labels[2000:]) for size in (500, 2000))
    assert all(0.7 < accuracy < 0.85 for accuracy in (few, many))


def test_a_learning_curve_goes_on_where_it_stopped(monkeypatch, tmp_path):
    curve = benchmark("finetuning.learning_curve")
    pool = [(f"text {number}", "pos") for number in range(9)]
    for name in curve.READ:
        monkeypatch.setitem(curve.READ, name, lambda data: (pool, pool[:2]))
    trained = []

    def learn(model, train, test, seed):
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append((len(train), seed))
        return 0.5

    for name in ("frozen", "pretrained, whole texts"):
        monkeypatch.setitem(curve.LEARNERS, name, learn)
    sets, learners = ["mr", "imdb"], ["frozen", "pretrained, whole texts"]
    options = Namespace(
        curves=tmp_path / "curves.csv", data=tmp_path, model="a/b", sets=sets, learners=learners, labels=[4, 0], seeds=1
    )
    with pytest.raises(KeyboardInterrupt):
        curve.measure(options)
    assert len(read_results(options.curves, curve.COLUMNS)) == 3
    trained.clear()
    curve.measure(options)
    assert trained == [(9, 0)] * 3  # six in all: sentences have no whole texts
    assert {key[2] for key in read_results(options.curves, curve.COLUMNS)} == {4, 9}
