"""Classes, numbers and sets of classes: what a head is made for, and what its scores say."""

from dataclasses import replace

import pytest
import torch

from bertlab import BertConfig, BertForSequenceClassification, InputError
from bertlab.cli.shared.doubts import contradicted
from bertlab.corpora.examples import TextExample
from bertlab.inputs.features import Feature
from bertlab.tasks.base import batches
from bertlab.tasks.sequence import SequenceTask, TextPrediction, sorted_labels, text_prediction, text_predictions
from bertlab.tokenizer import Row
from tests.alike import assert_alike

NAMES = {0: "bad", 1: "good", 2: "so so"}


@pytest.fixture
def task(tok) -> SequenceTask:
    return SequenceTask(tok, 32)


def examples(*labels) -> list[TextExample]:
    return [TextExample(str(number), f"text {number}", None, label) for number, label in enumerate(labels)]


def predictions(names, *shares) -> list[TextPrediction]:
    made = [dict(zip(names, row, strict=True)) for row in shares]
    return [TextPrediction(max(row, key=row.get), row) for row in made]


# What a head needs


def test_settled_by_the_labels(task):
    single = task.head_fields(examples("b", "a", "b"))
    assert single == {"problem_type": "single_label_classification", "id2label": {0: "a", 1: "b"}}
    assert task.best == "accuracy"
    several = task.head_fields(examples(("b",), (), ("c", "a")))
    assert several == {"problem_type": "multi_label_classification", "id2label": {0: "a", 1: "b", 2: "c"}}
    assert task.best == "micro_f1"
    assert task.head_fields(examples(1.0, 2.0)) == {"problem_type": "regression", "num_labels": 1}
    assert task.best == "spearman"


@pytest.mark.parametrize("labels", [["0.5", "1", "1.5"] * 4, [str(n) for n in range(30)], ["1.1", "2", "beta"]])
def test_numbers_may_be_classes(labels, task):
    """Half stars, numbers of topics, versions."""
    assert len(task.head_fields(examples(*labels))["id2label"]) == len(set(labels))


def test_one_label_that_a_text_has_or_has_not(task):
    known = [
        TextExample(str(n), f"a {'bad' if n % 3 else 'red'} dog", None, ("bad",) if n % 3 else ()) for n in range(12)
    ]
    assert task.head_fields(known)["id2label"] == {0: "bad"}
    figures = task.baselines(known, known)
    assert figures["always the most frequent"]["micro_f1"] == pytest.approx(2 * 8 / (8 + 12))
    assert figures["TF-IDF, logistic regression"]["micro_f1"] == 1


def test_names_of_different_case_are_different_classes(task):
    assert list(task.head_fields(examples("red", "Red", "RED"))["id2label"].values()) == ["RED", "Red", "red"]


def test_labels_that_are_numbers_are_in_their_order():
    assert sorted_labels({"10", "9", "-1", "2.5"}) == ["-1", "2.5", "9", "10"]
    assert sorted_labels({"10", "9", "b"}) == ["10", "9", "b"]


def test_the_order_of_labels_is_always_the_same():
    assert sorted_labels({"1", "nan", "0"}) == sorted_labels(dict.fromkeys(["nan", "0", "1"])) == ["0", "1", "nan"]
    assert sorted_labels({"1.0", "01", "1"}) == ["01", "1", "1.0"]


@pytest.mark.parametrize("names", [["not_equivalent", "equivalent"], ["not_duplicate", "duplicate"]])
def test_of_two_classes_the_second_is_the_positive_one(names, task):
    """As in MRPC and QQP: the F1 that GLUE reports is that of the second."""
    assert list(task.head_fields(examples(*names))["id2label"].values()) == names
    assert sorted_labels({"nothing", "a", "notable", "no-a"}) == ["no-a", "a", "notable", "nothing"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("a", "a"), "all 2 examples have the label 'a'"),
        (("a", None), "example 1: has no label"),
        ([str(n) for n in range(1001)], "1001 different labels are no classes"),
        ([(), ()], "none of the 2 examples has a label"),
        (
            [f"{n / 3:.3f}" for n in range(30)],
            "30 different numbers, such as 0.000 and 0.333, .*--set problem=regression",
        ),
        (["0.5", "2", "3.5"], "3 different numbers"),
        ([f"{n // 10},{n % 10}" for n in range(51)], "51 different numbers, such as 0,0 and 0,1, "),
    ],
)
def test_labels_that_teach_nothing(labels, message, task):
    with pytest.raises(InputError, match=message):
        task.head_fields(examples(*labels))


@pytest.mark.parametrize(
    ("label", "problem", "message"),
    [
        (
            "green",
            "single_label_classification",
            "example 0: the model knows no label 'green'; it knows bad, good, so so",
        ),
        (("good", "green"), "multi_label_classification", "knows no label 'green'"),
        (0.5, "single_label_classification", "label 0.5 is no class"),
        ("good", "regression", "label 'good' is a class"),
        (1e30, "regression", "1e[+]30 is too large"),
        (None, "regression", "has no label"),
    ],
)
def test_labels_that_do_not_fit(label, problem, message, task):
    labels = {"num_labels": 1} if problem == "regression" else {"id2label": NAMES}
    with pytest.raises(InputError, match=message):
        task.check(examples(label), BertConfig(problem_type=problem, **labels))


def test_published_checkpoints_of_numbers_do_not_name_their_problem(task):
    task.check(examples(2.5), BertConfig(num_labels=1))
    with pytest.raises(InputError, match="label '2.5' is a class"):
        task.check(examples("2.5"), BertConfig(num_labels=1))


def test_of_many_classes_a_dozen_is_told(task):
    config = BertConfig(id2label={number: f"c{number:03}" for number in range(200)})
    with pytest.raises(InputError, match="c000, .*c011 and 188 more$"):
        task.check(examples("no"), config)


# What scores say


def test_one_class():
    said = text_prediction(BertConfig(id2label=NAMES), torch.tensor([1.0, 3.0, 0.0]))
    assert said.label == "good" and sum(said.probabilities.values()) == pytest.approx(1)
    assert said.probabilities["good"] == pytest.approx(float(torch.tensor([1.0, 3.0, 0.0]).softmax(0)[1]))


def test_any_classes():
    config = BertConfig(id2label=NAMES, problem_type="multi_label_classification")
    said = text_prediction(config, torch.tensor([0.1, -0.1, 4.0]))
    assert said.label == ("bad", "so so") and said.probabilities["good"] == pytest.approx(0.475, abs=1e-3)
    assert text_prediction(config, torch.tensor([-1.0, -0.1, -4.0])).label == ()


@pytest.mark.parametrize("problem", ["regression", None])
def test_a_number(problem):
    assert text_prediction(BertConfig(num_labels=1, problem_type=problem), torch.tensor([2.5])) == TextPrediction(
        2.5, {}
    )


def test_several_classes_are_one_label_in_any_order(task):
    """Neither is a right prediction a mistake in the report, nor are a|b and b|a two labels to baselines and doubts."""
    config = BertConfig(id2label={0: "toxic", 1: "insult"}, problem_type="multi_label_classification")
    said = [text_prediction(config, torch.tensor([1.0, 2.0]))] * 2
    (one, other) = written = examples(("toxic", "insult"), ("insult", "toxic"))
    assert one.label == other.label == said[0].label
    assert {(row.gold, row.predicted) for row in task.compare(written, said)} == {("insult, toxic",) * 2}
    assert not [*contradicted([one, replace(other, text=one.text)])]


def test_of_several_numbers_none_is_chosen():
    with pytest.raises(InputError, match="gives 3 numbers for each text"):
        text_prediction(BertConfig(num_labels=3, problem_type="regression"), torch.tensor([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("problem", ["regression", "single_label_classification", "multi_label_classification"])
def test_a_batch_is_predicted_as_its_rows_are(problem):
    names = {0: "bad"} if problem == "regression" else NAMES
    config = BertConfig(problem_type=problem, id2label=names)
    logits = torch.randn(5, len(names), generator=torch.Generator().manual_seed(0))
    assert_alike(text_predictions(config, logits), [text_prediction(config, row) for row in logits])


def test_a_batch_is_as_large_as_its_tokens_allow():
    def feature(length: int, rows: int = 1) -> Feature:
        return Feature((Row([1] * length, [0] * length, [(0, 0)] * length),) * rows)

    lengths = [3, 9, 2, 50, 3, 1, 4]
    found = [[f.length for f in batch] for batch in batches([feature(length) for length in lengths], 12)]
    assert found == [[1, 2, 3, 3], [4], [9], [50]]  # 4 rows of 3; a fifth, of 4, would make 20 tokens
    choices = list(batches([feature(3, rows=2) for _ in range(5)], 12))
    assert [len(batch) for batch in choices] == [2, 2, 1]
    assert list(batches([], 12)) == []


def test_predictions_are_those_of_each_text_alone(task, config):
    model = BertForSequenceClassification(config.changed(vocab_size=400, max_position_embeddings=64, id2label=NAMES))
    texts = [TextExample(str(n), "the dog " * n, "was here" if n % 2 else None) for n in range(1, 12)]
    together = list(task.predict(model, texts))
    for text, said in zip(texts, together, strict=True):
        (alone,) = task.predict(model, [text])
        assert said.probabilities == pytest.approx(alone.probabilities, abs=1e-5)
        batch = task.tokenizer([text.text], None if text.pair is None else [text.pair], max_length=32)
        wanted = model.eval()(**batch).logits[0].softmax(0).tolist()
        assert list(said.probabilities.values()) == pytest.approx(wanted, abs=1e-5)


def test_a_long_text_is_judged_by_the_mean_of_its_windows(task, config):
    own = config.changed(vocab_size=400, max_position_embeddings=32, id2label=NAMES)
    model = BertForSequenceClassification(own).eval()
    short, text = "the dog is red", "the red dog is blue " * 30
    task.max_length = 20
    rows = task.features([TextExample("", text)], own, learn=False)
    with torch.inference_mode():
        logits = [model(**task.inputs([row], model)).logits[0] for row in rows]
    right = torch.stack(logits).mean(0).softmax(-1)
    examples = [TextExample(str(number), one) for number, one in enumerate((short, text, short))]
    first, long, last = task.predict(model, examples)
    assert len(rows) > 5 and torch.allclose(torch.tensor([*long.probabilities.values()]), right, atol=1e-6)
    assert_alike(first, last)
    assert first != long


def test_what_comes_between_two_predictions_can_still_train(task, config):
    model = BertForSequenceClassification(config.changed(vocab_size=400, max_position_embeddings=64, id2label=NAMES))
    for _ in task.predict(model, examples(None, None)):
        assert not torch.is_inference_mode_enabled()


# Reports


def test_what_guessing_reaches(task):
    found = task.baselines(examples("a", "a", "b"), examples("a", "b", "c", "a"))
    assert found["always the most frequent"]["accuracy"] == 0.5
    found = task.baselines(examples(1.0, 3.0), examples(2.0, 4.0))
    assert found["always the mean"]["rmse"] == pytest.approx(2**0.5)
    found = task.baselines(examples(("a",), ("a",), ("b",)), examples(("a",), ("c",)))
    assert found["always the most frequent"]["exact"] == 0.5


def test_the_worst_are_those_that_were_least_likely(task):
    said = predictions(["a", "b"], [0.9, 0.1], [0.6, 0.4], [0.2, 0.8])
    compared = task.compare(examples("b", "b", "b"), said)
    assert [one.predicted for one in compared] == ["a", "a", "b"]
    assert compared[0].error > compared[1].error > compared[2].error > 0
    assert compared[0].error == pytest.approx(2.302, abs=1e-3)  # -ln 0.1
    assert task.confusions(examples("b", "b", "b"), said) == [("b", "a"), ("b", "a"), ("b", "b")]


def test_numbers_and_sets_are_compared_too(task):
    (one,) = task.compare(examples(1.0), [TextPrediction(3.5, {})])
    assert (one.gold, one.predicted, one.error) == ("1.000", "3.500", 2.5)
    (one,) = task.compare(examples(("a",)), [TextPrediction((), {"a": 0.25, "b": 0.5})])
    assert (one.gold, one.predicted) == ("a", "none")
    assert one.error == pytest.approx(2.079, abs=1e-3)  # -ln 0.25 - ln 0.5
    assert task.confusions(examples(1.0), [TextPrediction(3.5, {})]) is None
