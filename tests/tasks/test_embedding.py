"""Pairs of texts that mean the same: two rows an example, found again among all second texts."""

import math

import pytest
import torch

from bertlab import BertForSentenceEmbedding, InputError
from bertlab.cli.main import main
from bertlab.cli.shared.examples import Sources, read_sets
from bertlab.corpora.examples import TextExample
from bertlab.predict import predict_one
from bertlab.tasks.embedding import EmbeddingTask, PairPrediction, is_same, partner_ranks
from bertlab.tasks.files import FileOptions
from bertlab.tasks.registry import find_task, open_task
from bertlab.training.finetune_recipe import FinetuneRecipe

PAIRS = [
    TextExample(str(n), f"the dog is at {place}", f"{place} has a dog")
    for n, place in enumerate(["the house", "the park", "a shop", "the sea"])
]


@pytest.fixture
def task(tok) -> EmbeddingTask:
    return EmbeddingTask(tok, 32)


@pytest.fixture
def model(config):
    return BertForSentenceEmbedding(config.changed(vocab_size=400, max_position_embeddings=64)).eval()


def with_vectors(rows) -> list[PairPrediction]:
    return [PairPrediction(0.0, torch.nn.functional.normalize(torch.tensor(row), dim=-1)) for row in rows]


def test_two_rows_an_example(task, config):
    features = task.features([*PAIRS[:1], TextExample("x", "a", "b", "0")], config, learn=True)
    assert [len(feature.rows) for feature in features] == [2, 2]
    assert [feature.targets["labels"] for feature in features] == [1, -100]
    assert task.tokenizer.decode(features[0].rows[1].ids, True) == "the house has a dog"


def test_the_cosine_of_two_vectors(task, model):
    for example, found in zip(PAIRS, task.predict(model, PAIRS), strict=True):
        rows = [task.tokenizer([text]) for text in (example.text, example.pair)]
        with torch.inference_mode():
            first, second = (model(**row).embeddings[0] for row in rows)
        assert found.as_row() == {"similarity": pytest.approx(float(first @ second), abs=1e-5)}


def test_measures_are_those_of_retrieval(task):
    first = [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [1.0, 0.1, 0]]
    second = [[1.0, 0, 0], [0, 0.1, 1.0], [0, 1.0, 0], [1.0, 0.2, 0]]
    predictions = with_vectors([[a, b] for a, b in zip(first, second, strict=True)])
    measures = task.measures(PAIRS, predictions)
    assert measures["recall_at_1"] == 0.5 and measures["recall_at_5"] == 1.0
    assert measures["mrr"] == pytest.approx((1 + 1 / 3 + 1 / 4 + 1) / 4)  # of ties the partner comes last
    worst = max(task.compare(PAIRS, predictions), key=lambda one: one.error)
    assert (
        worst.error == pytest.approx(math.log(4)) and worst.gold == PAIRS[2].pair and worst.predicted == PAIRS[1].pair
    )


def test_equal_texts_count_once_and_negatives_are_only_candidates():
    examples = [
        TextExample("1", "a", "same"), TextExample("2", "b", "same"), TextExample("3", "c", "other", "not_same"),
    ]  # fmt: skip
    similarity = torch.tensor([[0.5, 0.5, 0.9], [0.5, 0.5, 0.1], [0.0, 0.0, 0.0]])
    assert partner_ranks(examples, similarity) == [(2, 2), (1, 0)]


def test_further_partners_of_a_text_do_not_compete():
    examples = [
        TextExample("1", "answer", "one"), TextExample("2", "answer", "two"), TextExample("3", "other", "two"),
        TextExample("4", "answer", "wrong", "0"),
    ]  # fmt: skip
    answer = [0.1, 0.9, 0.9, 0.5]
    similarity = torch.tensor([answer, answer, [0.8, 0.7, 0.7, 0.6], answer])
    assert partner_ranks(examples, similarity) == [(2, 3), (1, 1), (2, 0)]


def test_a_text_does_not_compete_with_itself():
    examples = [TextExample("1", "a", "b"), TextExample("2", "b", "a"), TextExample("3", "b", "c")]
    similarity = torch.tensor([[0.9, 1.0, 0.8], [1.0, 0.9, 0.95], [1.0, 0.9, 0.95]])
    assert [rank for rank, _ in partner_ranks(examples, similarity)] == [1, 1, 1]


@pytest.mark.parametrize("label", [None, "1", "same", "Entailment", "duplicate"])
def test_labels_that_say_the_same(label):
    assert is_same(TextExample("1", "a", "b", label))


@pytest.mark.parametrize("label", ["0", "not_duplicate", "neutral"])
def test_labels_that_say_otherwise(label):
    assert not is_same(TextExample("1", "a", "b", label))


def test_mistakes_are_named(task, config):
    with pytest.raises(InputError, match="example 7: has no second text"):
        task.check([TextExample("7", "a")], config)
    with pytest.raises(InputError, match="example 7: the label 'green' is none of 1,"):
        task.check([TextExample("7", "a", "b", "green")], config)
    with pytest.raises(InputError, match="example 7: the label 0.5 is none of"):
        task.check([TextExample("7", "a", "b", 0.5)], config)
    with pytest.raises(InputError, match="none of 1 pairs means the same"):
        task.head_fields([TextExample("7", "a", "b", "0")])


@pytest.mark.parametrize("head", ["text,pair", "sentence1,sentence2", "text,pair,label"])
def test_the_column_of_labels_may_be_missing(head, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(f"{head}\na,b{',1' * head.count('label')}\n")
    (example,) = EmbeddingTask.read_examples(path, FileOptions().reading(pairs=True))
    assert (example.text, example.pair, example.label) == ("a", "b", "1" if "label" in head else None)


def test_a_label_that_only_later_rows_have_is_named(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"text": "a", "pair": "b"}\n{"text": "a", "pair": "c", "label": null}\n')
    assert len(list(EmbeddingTask.read_examples(path, FileOptions().reading(pairs=True)))) == 2
    path.write_text('{"text": "a", "pair": "b"}\n{"text": "a", "pair": "c", "gold_label": 0}\n')
    with pytest.raises(InputError, match="pairs.jsonl, line 2: 'gold_label': a label, but the first row has none"):
        list(EmbeddingTask.read_examples(path, FileOptions().reading(pairs=True)))
    skipping = FileOptions(on_error="skip").reading(pairs=True)
    assert len(list(EmbeddingTask.read_examples(path, skipping))) == skipping.skipped.count == 1
    assert len(list(EmbeddingTask.read_examples(path, FileOptions().reading(pairs=True, labelled=False)))) == 2


@pytest.mark.parametrize("column", ["similar", "Label", "paraphrase"])
def test_columns_that_may_hold_labels_are_named(column, pretrained, tmp_path, capsys):
    path, test = tmp_path / "pairs.csv", tmp_path / "test.jsonl"
    path.write_text(f"pair_id,sentence1,sentence2,{column}\n" + "".join(f"{n},a {n},b,{n % 2}\n" for n in range(20)))
    test.write_text('{"text": "a", "pair": "b"}\n{"text": "a", "pair": "c", "target": 0}\n')
    recipe = FinetuneRecipe(task="match", model=str(pretrained))
    sets = read_sets(Sources(path, test=test), recipe)
    said = capsys.readouterr().err
    for file, name in ((path, column), (test, "target")):
        warning = f"has no labels, so all pairs count as alike; columns not read: {name}; if one"
        assert said.count(f"warning: {file}: {warning}") == 1
        assert any(note.startswith(f"{file.name}: {warning}") for note in sets.notes)
    read_sets(Sources(path, files=FileOptions(label_column=column)), recipe)
    path.write_text("sentence1,sentence2,idx\n" + "".join(f"a {n},b,{n}\n" for n in range(20)))
    read_sets(Sources(path), recipe)
    assert "not read" not in capsys.readouterr().err


def test_baseline_of_words(task):
    measures = task.baselines(PAIRS, PAIRS)["TF-IDF"]
    assert measures["recall_at_1"] == 1.0 and measures["mrr_low"] == 1.0


# The command, with the words of its documentation


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "pairs.csv"
    rows = [f"{n} red dogs ran to {place},{place} has {n} dogs" for n in range(8) for place in ("a house", "a park")]
    path.write_text("text,pair\n" + "\n".join(rows) + "\n")
    return path


def test_match_siamese_learns_predicts_and_is_measured(pretrained, table, tmp_path, capsys):
    run = str(tmp_path / "run")
    quick = ["--steps", "2", "--batch-size", "4", "--max-length", "32", "--device", "cpu"]
    main(["finetune", "match", "--siamese", "--model", str(pretrained), "--train", str(table), "--out", run, *quick])
    assert "mrr" in capsys.readouterr().out
    assert "finetune match --train FILE" in (tmp_path / "run" / "README.md").read_text()
    model, task = open_task(run)
    assert type(model) is BertForSentenceEmbedding and task.learned is find_task("match")
    (row,) = predict_one(run, {"text": "2 red dogs", "pair": "a house"})
    assert -1 <= row["value"] <= 1
    main(["evaluate", run, "--data", str(table)])
    assert "among the first five" in capsys.readouterr().out
    table.write_text("text,pair,similar\na dog,a cat,0\ntwo dogs,dogs,1\n")
    main(["evaluate", run, "--data", str(table)])
    assert f"warning: {table}: has no labels" in capsys.readouterr().err


def test_without_a_file_it_learns_from_docstrings(pretrained, tmp_path, monkeypatch, capsys):
    from bertlab.corpora import docstring_pairs
    from bertlab.corpora.functions import Function

    functions = [Function(f"pkg.make_{n}", "()", f"Make {n} dogs.\n\nThe dogs number {n} are red.") for n in range(400)]
    monkeypatch.setattr(docstring_pairs, "_installed_functions", lambda: tuple(functions))
    run = str(tmp_path / "run")
    quick = ["--steps", "2", "--batch-size", "4", "--max-length", "32", "--device", "cpu", "--set", "examples=64"]
    main(["finetune", "match", "--model", str(pretrained), "--out", run, *quick])
    assert "docstrings of Python" in (tmp_path / "run" / "README.md").read_text()
