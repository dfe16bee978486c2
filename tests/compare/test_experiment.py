"""The eight tables as recipes, and one comparison from end to end at toy size: cached, resumed, written, told."""

import csv
import json
import re
import signal
from dataclasses import asdict, replace
from functools import partial
from itertools import islice

import numpy as np
import pytest
import torch

from bertlab import InputError
from bertlab.cli.compare import read_labelled
from bertlab.cli.main import main
from bertlab.compare import experiment as module
from bertlab.compare.experiment import Experiment, Result, scores
from bertlab.compare.material import Material
from bertlab.compare.published import PUBLISHED
from bertlab.compare.report import Comparison, sentence
from bertlab.compare.saved import open_saved, path_of, save, saved_names
from bertlab.compare.statistics import Difference, Figure
from bertlab.compare.systems import Claim, System, Table, budget
from bertlab.compare.tables import FULL, QUICK, TABLES
from bertlab.corpora import storyworld
from bertlab.corpora.examples import TokenExample
from bertlab.relatives.kinds import RELATIVES, find_relative
from bertlab.tasks.token import TokenPrediction, TokenTask
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import batches, token_ids
from bertlab.training.distill import distillation_operations
from bertlab.training.objective import bert_operations
from tests.alike import assert_alike

TOY = budget(
    documents=40, steps=2, width=16, tokens=32, batch=4, tune=2, rates=(3e-3, 1e-3), dev=6, test=12, task="sentiment"
)
TOY = replace(TOY, recipe=replace(TOY.recipe, vocab_size=200, num_hidden_layers=1, num_attention_heads=2))
TABLE = Table(
    "Which is better?",
    ("qa", "entities"),  # for both of which sentiment stands in, in that budget
    (System("BERT"), System("word2vec", "word2vec"), System("random", text="")),
    (Claim("BERT", "word2vec", "A paper"), Claim("BERT", "random", "Another")),
)


# Tables


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("size", [FULL, QUICK])
def test_every_table_builds_its_recipes(name, size):
    table = TABLES[name]
    names = [system.name for system in table.systems]
    recipes = [
        json.dumps([asdict(one.pretraining(size, 1)), one.relative, one.layers, one.text, one.text_share, one.tasks])
        for one in table.systems
    ]
    assert len(set(names)) == len(names) and len(set(recipes)) == len(recipes)  # no two systems are the same
    assert all({claim.better, claim.worse} <= set(names) for claim in table.claims)
    assert all(Material(10).examples(task, "test", 2, seed=1) for task in table.tasks)
    for system in table.systems:
        recipe = system.pretraining(size, seed=1)
        assert recipe.seed == 1 and recipe.config(1000).hidden_size == recipe.hidden_size
        assert set(system.tasks) <= set(table.tasks)
        assert recipe.num_hidden_layers >= 4 or "-4" not in system.layers


def test_the_table_of_relatives_has_them_all_and_masking_eight_mixes():
    missing = RELATIVES.keys() - {one.relative for one in TABLES["relatives"].systems}
    assert missing == {"masked-only", "left-to-right"}  # BERT's ablations: the table of objectives has them
    mixes = {one.recipe["masking"] for one in TABLES["masking"].systems}
    assert len(mixes) == 8 and all(abs(mix.mask + mix.random) <= 1 for mix in mixes)


def test_the_later_ones_take_as_many_operations():
    """By the operations of a few steps at full size: who needs more for a step takes fewer of them."""
    tok = Tokenizer.from_pretrained("storyworld-tiny")
    documents = token_ids(Material(150).texts("own", 1.0), tok)
    whole = {}
    for system in TABLES["later"].systems:
        recipe, relative = system.pretraining(FULL, 0), find_relative(system.relative)
        found, count = list(islice(batches(documents, tok, recipe), 4)), bert_operations
        if relative.objective:
            found, count = [relative.objective.batch(b, tok) for b in found], relative.objective.operations
        elif system.teacher:
            count = partial(distillation_operations, teacher=system.teacher.pretraining(FULL, 0).config(tok.vocab_size))
        model = relative.new_model(replace(recipe, teacher=""), tok)
        whole[system.name] = recipe.steps * sum(count(model, batch) for batch in found) / len(found)
    assert {name: value for name, value in whole.items() if not 0.8 < value / whole["BERT"] < 1.25} == {}


# From end to end


@pytest.fixture
def lab(tmp_path):
    return Experiment(tmp_path / "lab", TOY, Material(TOY.recipe.documents), device="cpu")


def counted(monkeypatch, fails_at: int = 10**6) -> list[str]:
    """What is trained from now on; the training of that number is killed."""
    done: list[str] = []
    for name in ("pretrain", "finetune"):
        real = getattr(module, name)

        def run(*given, name=name, real=real, **options):
            if len(done) == fails_at:
                raise KeyboardInterrupt
            done.append(name)
            return real(*given, **options)

        monkeypatch.setattr(module, name, run)
    return done


def without_seconds(results):
    return [(one.system, one.task, one.seed, one.scores.tolist(), one.rate) for one in results]


def test_a_killed_comparison_goes_on_and_nothing_is_done_twice(lab, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        done = counted(patch, fails_at=2)
        with pytest.raises(KeyboardInterrupt):
            lab.run(TABLE, range(2))
    with monkeypatch.context() as patch:
        more = counted(patch)
        told: list[str] = []
        results = lab.run(TABLE, range(2), told.append)
    # two models pretrained and three fine-tuned at two rates, for two seeds; the killed one begins its rates again
    assert (done + more).count("pretrain") == 4 and (done + more).count("finetune") == 12 + 1
    assert told[0] == "1 of 6: BERT, sentiment, seed 0" and told[-1] == "6 of 6: random, sentiment, seed 1"

    again = counted(monkeypatch)
    other = Experiment(lab.folder, TOY, Material(TOY.recipe.documents), device="cpu")
    assert without_seconds(other.run(TABLE, range(2))) == without_seconds(results) and not again
    fresh = Experiment(tmp_path / "other", TOY, Material(TOY.recipe.documents), device="cpu")
    assert_alike(without_seconds(fresh.run(TABLE, range(1))), without_seconds(results)[:3])

    comparison = Comparison("toy", TABLE, results, "A note.")
    comparison.write(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"toy.md", "toy.csv", "toy.json", "toy.png"}
    rows = list(csv.DictReader((tmp_path / "out" / "toy.csv").open()))
    assert [(row["pretrained"], row["seed"]) for row in rows[:2]] == [("BERT", "0"), ("word2vec", "0")]
    assert len(rows) == 6 and float(rows[0]["operations"]) > 0 and float(rows[2]["operations"]) == 0
    text = (tmp_path / "out" / "toy.md").read_text()
    assert "A note." in text and text.count("\n- BERT against ") == 2 and "2 seeds" in text
    assert re.search(r"\| a guess without a model \|  \|  \|  \|  \| 0\.\d{3} \|", text)
    assert float(rows[0]["masked_loss"]) > 1 and not rows[1]["masked_loss"]  # word2vec predicts no masked words


def stopped_in_its_first_step(options: dict) -> None:
    """Let a stop arrive while the model of a training computes for the first time."""

    def stop(*_) -> None:
        hook.remove()
        signal.raise_signal(signal.SIGTERM)

    hook = options["model"].register_forward_hook(stop)


@pytest.mark.parametrize("name", ["pretrain", "finetune"])
def test_a_training_that_was_stopped_is_not_kept(name, lab, monkeypatch):
    real = getattr(module, name)

    def run(*given, **options):
        if name == "pretrain":
            new_model = options["objective"].new_model
            made = {}

            def hooked(*parts):
                made["model"] = new_model(*parts)
                stopped_in_its_first_step(made)
                return made["model"]

            options["objective"] = replace(options["objective"], new_model=hooked)
        else:
            stopped_in_its_first_step(options)
        return real(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, run)
        with pytest.raises(KeyboardInterrupt):
            lab.run(TABLE, range(1))
    kept = [path.parent.parent.name for path in lab.folder.rglob("result.json")]
    assert kept == ([] if name == "pretrain" else ["pretrained"])


def test_another_recipe_is_another_training(lab):
    names = {lab.pretrained(system, 0).name for system in (TABLE.systems[2], replace(TABLE.systems[2], layers="last"))}
    lab.budget = replace(TOY, recipe=replace(TOY.recipe, initializer_range=0.1))
    assert len(names) == 1 and lab.pretrained(TABLE.systems[2], 0).name not in names


def test_a_transformer_learns_to_retell_from_nothing_or_from_a_berts_encoder(lab):
    from_bert, from_nothing = (System(text, text=text, tasks=("retelling",)) for text in ("own", ""))
    results = lab.run(Table("Who retells better?", ("retelling",), (from_bert, from_nothing), ()), range(1))
    assert [one.measure for one in results] == ["word_accuracy"] * 2
    assert all((one.scores[:, 0] <= one.scores[:, 1]).all() and one.scores[:, 1].min() > 3 for one in results)
    weights = torch.load(lab.pretrained(from_bert, 0) / "weights.pt")
    tuned = replace(TOY.finetune, task="retelling")
    head = lab._head(from_bert, tuned, lab.material.examples("retelling", "train", 2, 0), lab.pretrained(from_bert, 0))
    assert torch.equal(head.embeddings.word.weight, weights["bert.embeddings.word.weight"])


# Words


@pytest.mark.parametrize(
    "found, words",
    [
        (
            Difference(Figure(0.1, 0.05, 0.15), 0.01, 3, 2),
            "+0.100 (+0.050 to +0.150), p = 0.01, 3 seeds. P: **holds**.",
        ),
        (Difference(Figure(-0.1, -0.15, -0.05), 0.01, 3, 2), "P: **reversed**."),
        (Difference(Figure(0.1, -0.05, 0.15), 0.4, 3, 17), "**cannot tell; for a difference like this, about 17 seeds"),
        (
            Difference(Figure(0.0, -0.05, 0.05), 1.0, 3, None),
            "**cannot tell; more than 1,000 seeds would be needed: more",
        ),
        (Difference(Figure(0.1, 0.05, 0.15), 1.0, 1, None), "p = 1, 1 seed. P: **cannot tell; more seeds are needed**"),
    ],
)
def test_what_a_comparison_says(found, words):
    assert words in sentence(Claim("A", "B", "P"), found)


def result(system: str, right: int, seed: int, guess: float = 0.5) -> Result:
    scores = np.stack([np.arange(10) < right, np.ones(10)], -1).astype(float)
    return Result(system, "sentiment", seed, "accuracy", scores, guess, {"parameters": 10.0}, 1e-3, 1.0)


@pytest.mark.parametrize(
    "right, words", [((9, 2), "**holds**"), ((5, 3), "**cannot tell; neither is better than a guess")]
)
def test_a_difference_below_a_guess_is_none(right, words):
    claim = Claim("BERT", "random", "P")
    results = [result(name, n, seed) for seed in range(3) for name, n in zip(("BERT", "random"), right, strict=True)]
    assert words in Comparison("toy", TABLE, results, "").sentence(claim)


def test_a_comparison_is_saved_with_every_score_and_opened_again(tmp_path):
    results = [result("BERT", 7, seed) for seed in range(2)]
    quotients = replace(results[0], task="entities", scores=np.array([[2.0, 3.0], [0.0, 0.0], [0.25, 1.0]]))
    before = Comparison("objectives", TABLES["objectives"], [*results, quotients], 'Said "so".')
    save("objectives", before.json(), tmp_path)
    after = open_saved("objectives", tmp_path)
    assert saved_names(tmp_path) == ["objectives"] and after.note == before.note and after.table == before.table
    for one, other in zip(before.results, after.results, strict=True):
        assert np.array_equal(one.scores, other.scores)
        assert replace(one, scores=None) == replace(other, scores=None)
    with pytest.raises(InputError, match="has no comparison 'size', only .'objectives'.: make it with `python bench"):
        open_saved("size", tmp_path)
    whole = path_of("objectives", tmp_path).read_bytes()
    for damaged in (b"no zip", whole[:-20], whole[:40] + b"\0\0\0" + whole[43:]):
        path_of("objectives", tmp_path).write_bytes(damaged)
        with pytest.raises(InputError, match="objectives.json.gz: not a saved comparison"):
            open_saved("objectives", tmp_path)


@pytest.mark.parametrize("name", saved_names())
def test_the_comparisons_that_ship_fit_their_tables(name):
    saved = open_saved(name)
    assert {*saved.systems} <= {one.name for one in TABLES[name].systems} and saved.claims and saved.note


def test_rows_of_the_paper_are_named_as_the_systems():
    for name, published in PUBLISHED.items():
        assert all(len(row) == len(published.measures) for row in published.rows.values())
        if name != "size":  # our models are far smaller
            assert {*published.rows} <= {one.name for one in TABLES[name].systems}


def test_too_little_text_is_one_line(tmp_path):
    (tmp_path / "short.txt").write_text("Ruth lives in Bern.\n\nMark has a dog.\n")
    with pytest.raises(InputError, match="--text: makes only . questions to compare by, 50 are needed"):
        Material(10, [tmp_path / "short.txt"])


def test_own_text_is_compared_by_questions_on_documents_that_nobody_learned_from(tmp_path):
    path = tmp_path / "town.txt"
    path.write_text("\n\n".join(document.text for document in storyworld.documents(0, 600)))
    material = Material(10, [path])
    assert (
        material.tasks(("sentiment", "qa"), ("qa",)) == ("cloze",)
        and material.tasks(("retelling",), ("retelling",)) == ()
    )
    known = [" ".join(sentences) for sentences in material.texts("own", 1.0)]
    for split, shown in (("train", True), ("dev", False), ("test", False)):
        asked = material.examples("cloze", split, 50, seed=0)
        assert len(asked) == 50 and all(any(e.context in text for text in known) == shown for e in asked)
    other = tmp_path / "other.txt"
    other.write_text(path.read_text().replace(" the ", " a "))
    assert material.name("own", 1.0) != Material(10, [other]).name("own", 1.0) != Material(10).name("own", 1.0)


def rows(count: int, texts: int) -> str:
    lines = (f"good,Meal {n % texts} was fine." if n % 2 else f"bad,Meal {n % texts} was cold." for n in range(count))
    return "\n".join(["label,text", *lines]) + "\n"


def test_few_examples_are_one_line(tmp_path):
    file = tmp_path / "few.csv"
    file.write_text(rows(100, 100))
    with pytest.raises(InputError, match=r"few.csv: 100 examples are too few: a fifth is the test set .* where 50 are"):
        read_labelled([f"sentence={file}"])
    with pytest.raises(InputError, match="sentence=again.csv: write TASK=FILE, each task once"):
        file.write_text(rows(1000, 1000))
        read_labelled([f"sentence={file}", "sentence=again.csv"])


def test_own_examples_are_compared_by_and_no_text_is_in_two_parts(tmp_path, capsys, monkeypatch):
    text, file = tmp_path / "town.txt", tmp_path / "meals.csv"
    text.write_text("\n\n".join(document.text for document in storyworld.documents(0, 60)))
    file.write_text(rows(1200, 700))
    parts = read_labelled([f"sentence={file}"])["sentence"]
    seen = {name: {example.text for example in part} for name, part in parts.items()}
    assert sum(map(len, parts.values())) == 1200 and sum(map(len, seen.values())) == len(set.union(*seen.values()))
    assert len(seen["test"]) == len(set.union(*seen.values())) // 5

    monkeypatch.setattr("bertlab.compare.tables.QUICK", TOY)
    monkeypatch.setitem(TABLES, "objectives", TABLE)
    own = ["--text", str(text), "--data", f"sentence={file}", "--out", str(tmp_path / "out"), "--device", "cpu"]
    main(["compare", "objectives", "--quick", "--seeds", "1", "--steps", "3", *own])
    written = (tmp_path / "out" / "objectives-quick-own-data.md").read_text()
    assert "| sentence |" in written and "in 3 steps" in written and "own text" in written
    assert "toy models: read" in written and "stands in" not in written
    kept = list((tmp_path / "out" / "finetuned").iterdir())
    assert len(kept) == 3 and all("-sentence-" in folder.name for folder in kept)
    file.write_text(rows(1300, 700))  # other examples are other results
    main(["compare", "objectives", "--quick", "--seeds", "1", "--steps", "3", *own])
    assert len(list((tmp_path / "out" / "finetuned").iterdir())) == 6
    assert len(list((tmp_path / "out" / "pretrained").iterdir())) == 3
    assert "1 of 3: BERT, sentence, seed 0" in capsys.readouterr().err


def test_plain_labels_of_words_are_compared_by_right_words(tok):
    task = TokenTask(tok, 16)
    gold = [TokenExample("1", ("the", "red", "dog"), ("DET", "NOUN", "NOUN")), TokenExample("2", ("a",), ("DET",))]
    said = [TokenPrediction(gold[0].words, ("DET", "NOUN", "DET"), None), TokenPrediction(("a",), ("DET",), None)]
    task.head_fields(gold)
    found = scores(task, gold, said)
    assert found.tolist() == [[2, 3], [1, 1]]
    assert found.sum(0)[0] / found.sum(0)[1] == task.measures(gold, said)[task.best]


def test_a_student_learns_from_the_teacher_that_the_table_names(lab):
    student = System("student", teacher=TABLE.systems[0])
    result = lab.result(student, "sentiment", seed=0)
    teacher, own = lab.pretrained(TABLE.systems[0], 0), lab.pretrained(student, 0)
    assert teacher != own and len(list((lab.folder / "pretrained").iterdir())) == 2
    alone = json.loads((teacher / "result.json").read_text())["operations"]
    assert result.pretraining["operations"] == pytest.approx(4 / 3 * alone) and result.pretraining["masked_loss"] > 1
