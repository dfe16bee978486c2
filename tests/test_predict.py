"""One input, or a file of them: predictions as rows, whatever the model was taught."""

import json
from pathlib import Path

import pytest

from bertlab import BertForQuestionAnswering, InputError
from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample, TokenExample
from bertlab.explain.spans import answer
from bertlab.predict import answer_question, choose, classify, fill_in, predict_file
from bertlab.tasks.files import FileOptions
from bertlab.tasks.registry import open_task
from bertlab.training.engine.optim import Optimization
from bertlab.training.finetune import finetune
from bertlab.training.recipes import FinetuneRecipe
from bertlab.training.run_settings import RunSettings

CLASSES = [TextExample(str(n), f"a {c} dog", None, c) for n in range(4) for c in ("red", "blue", "green")]
WORDS = [TokenExample(e.id, tuple(e.text.split()), ("O", "B-colour", "O")) for e in CLASSES]
TAUGHT = {
    "sentence": CLASSES,
    "pair": [TextExample(e.id, e.text, f"it is {e.label}", "yes" if e.label == "red" else "no") for e in CLASSES],
    "number": [TextExample(e.id, e.text, None, float(len(e.text))) for e in CLASSES],
    "token": WORDS,
    "choice": [ChoiceExample(e.id, e.text, ("a red one", "a blue one", "none"), 1) for e in CLASSES],
    "qa": [QAExample(e.id, "what colour?", e.text, e.label, 2) for e in CLASSES],
}


@pytest.fixture(scope="module")
def models(pretrained, tmp_path_factory) -> Path:
    """A run folder for each family."""
    place = tmp_path_factory.mktemp("models")
    for name, examples in TAUGHT.items():
        settings = {"task": "sentence", "problem": "regression"} if name == "number" else {"task": name}
        length = {"max_length": 40, "stride": 10} if name == "qa" else {}
        recipe = FinetuneRecipe(
            model=pretrained, steps=3, batch_size=6, optim=Optimization(learning_rate=1e-2), **settings, **length
        )
        finetune(recipe, examples, out=place / name, progress=False, settings=RunSettings(device="cpu"))
    return place


def test_classes_by_probability(models):
    model, task = open_task(models / "sentence")
    (said,) = task.predict(model, [TextExample("", "a red dog")])
    rows = classify("a red dog", None, str(models / "sentence"), 5)
    assert [row["text"] for row in rows] == sorted(said.probabilities, key=said.probabilities.get, reverse=True)
    assert {row["text"]: row["probability"] for row in rows} == said.probabilities
    assert classify("a red dog", None, str(models / "sentence"), 2) == rows[:2]


def test_numbers_and_pairs(models):
    model, task = open_task(models / "number")
    (said,) = task.predict(model, [TextExample("", "a red dog")])
    assert classify("a red dog", None, str(models / "number"), 5) == [{"value": said.label}]
    model, task = open_task(models / "pair")
    (said,) = task.predict(model, [TextExample("", "a red dog", "it is red")])
    assert classify("a red dog", "it is red", str(models / "pair"), 1)[0]["text"] == said.label


def test_names_are_parts_of_the_text(models, monkeypatch):
    model = open_task(models / "token")[0]
    monkeypatch.setattr(type(model), "decode", lambda self, logits, mask: [[1] * int(row.sum()) for row in mask])
    text = "a  Red\x01 dog!"
    rows = classify(text, None, str(models / "token"), 5)
    assert [row["text"] for row in rows] == ["a", "Red", "dog", "!"]
    assert all(text[row["start"] : row["end"]] == row["text"] and row["kind"] == "colour" for row in rows)


def test_choices_by_probability(models):
    model, task = open_task(models / "choice")
    choices = ("a red one", "a blue one", "a blue one", "none")
    (said,) = task.predict(model, [ChoiceExample("", "a dog", choices)])
    rows = choose("a dog", choices, str(models / "choice"))
    assert [row["probability"] for row in rows] == sorted(said.probabilities, reverse=True)
    assert sorted(row["text"] for row in rows) == sorted(choices)


def test_answers_as_the_task_reads_the_passage(models):
    passage = "a red dog met a blue dog and a green dog. " * 9
    model, task = open_task(models / "qa")
    assert (task.max_length, task.stride) == (40, 10)
    (said,) = task.predict(model, [QAExample("", "what colour?", passage, "", -1)])
    rows = answer_question("what colour?", passage, str(models / "qa"), 5)
    assert rows[0] == {"text": said.text, "probability": said.probability}
    assert len(answer_question("what colour?", passage, str(models / "qa"), 9)) == 9
    rest = [row["probability"] for row in rows[1:]]
    assert rest == sorted(rest, reverse=True)


def test_answers_of_the_bundled_model_are_those_of_the_explorer():
    asked = "Who bought a kite?", "Rosa went to the store. There she bought a kite."
    rows = answer_question(*asked, "storyworld-tiny-qa", 3)
    _, task = open_task("storyworld-tiny-qa")
    shown = answer(BertForQuestionAnswering.from_pretrained("storyworld-tiny-qa"), task.tokenizer, *asked, n=3)
    assert [row["text"] for row in rows] == [span.text for span in shown.spans]
    assert [row["probability"] for row in rows] == pytest.approx([span.probability for span in shown.spans], abs=1e-6)


MISTAKES = {
    "a pair for words": (lambda at: classify("a", "b", at("token"), 1), "leave out --pair"),
    "no pair": (lambda at: classify("a", None, at("pair"), 1), "judges pairs of texts"),
    "nothing to read": (lambda at: classify("\x01\u200b", None, at("sentence"), 1), "the text is empty"),
    "no words": (lambda at: classify(" ", None, at("token"), 1), "the text is empty"),
    "empty pair": (lambda at: classify("a", "", at("pair"), 1), "the pair is empty"),
    "one choice": (lambda at: choose("a", ("b",), at("choice")), "--choices: give two"),
    "empty choice": (lambda at: choose("a", ("b", "\t"), at("choice")), "choice 2 is empty"),
    "empty question": (lambda at: answer_question("", "a", at("qa"), 1), "the question is empty"),
    "classes for a question": (lambda at: answer_question("a", "a", at("sentence"), 1), "BertForSequenceClassif"),
    "no head": (lambda at: choose("a", ("b", "c"), "storyworld-tiny"), "it has no head for a task"),
    "no mask": (lambda at: fill_in("a dog", "storyworld-tiny", 1), "MASK"),
    "broken Unicode": (lambda at: classify("a \ud800", None, at("sentence"), 1), "surrogate"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name, models):
    ask, message = MISTAKES[name]
    with pytest.raises(InputError, match=message):
        ask(lambda model: str(models / model))


def test_a_file_is_read_bit_by_bit_and_appears_whole(models, tmp_path):
    source, out = tmp_path / "a.jsonl", tmp_path / "said.jsonl"
    source.write_text("".join(json.dumps({"id": n, "text": f"dog {n}"}) + "\n" for n in range(1100)))
    assert predict_file(str(models / "sentence"), source, out, FileOptions()) == (1100, "")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in rows] == [str(n) for n in range(1100)]
    model, task = open_task(models / "sentence")
    for number in (0, 1023, 1024, 1099):
        (said,) = task.predict(model, [TextExample("", f"dog {number}")])
        assert rows[number]["probabilities"] == pytest.approx(said.probabilities, abs=1e-5)
    with source.open("a") as file:
        file.write('{"id": 1100, "text": ""}\n')
    before = out.read_text()
    with pytest.raises(InputError, match="line 1101: 'text' is empty"):
        predict_file(str(models / "sentence"), source, out, FileOptions())
    assert out.read_text() == before and len(list(tmp_path.iterdir())) == 2
    count, left_out = predict_file(str(models / "sentence"), source, out, FileOptions(on_error="skip"))
    assert count == 1100 and left_out.startswith("left out 1 row")
