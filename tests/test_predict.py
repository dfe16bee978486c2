"""One input, or a file of them: predictions as rows, whatever the model was taught."""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

from bertlab import (
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertModel,
    InputError,
    Tokenizer,
)
from bertlab.cli.evaluate import Evaluate, learned
from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample, TokenExample
from bertlab.explain.spans import answer
from bertlab.predict import fill_in, predict_file, predict_one
from bertlab.tasks.files import FileOptions
from bertlab.tasks.registry import open_task
from bertlab.training.engine.optim import Optimization
from bertlab.training.finetune import finetune
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.run_settings import FinetuneSettings, PredictSettings

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
        finetune(recipe, examples, out=place / name, progress=False, settings=FinetuneSettings(device="cpu"))
    return place


def test_classes_by_probability(models):
    model, task = open_task(models / "sentence")
    (said,) = task.predict(model, [TextExample("", "a red dog")])
    rows = predict_one(str(models / "sentence"), {"text": "a red dog"})
    assert [row["text"] for row in rows] == sorted(said.probabilities, key=said.probabilities.get, reverse=True)
    assert {row["text"]: row["probability"] for row in rows} == pytest.approx(said.probabilities)
    best = predict_one(str(models / "sentence"), {"text": "a red dog"}, top=2)
    assert best == [pytest.approx(row) for row in rows[:2]]


def test_numbers_and_pairs(models):
    model, task = open_task(models / "number")
    (said,) = task.predict(model, [TextExample("", "a red dog")])
    assert predict_one(str(models / "number"), {"text": "a red dog"}) == [{"value": pytest.approx(said.label)}]
    model, task = open_task(models / "pair")
    (said,) = task.predict(model, [TextExample("", "a red dog", "it is red")])
    (row,) = predict_one(str(models / "pair"), {"text": "a red dog", "pair": "it is red"}, top=1)
    assert row["text"] == said.label


def test_names_are_parts_of_the_text(models, monkeypatch):
    model = open_task(models / "token")[0]
    monkeypatch.setattr(type(model), "decode", lambda self, logits, mask: [[1] * int(row.sum()) for row in mask])
    text = "a  Red\x01 dog!"
    rows = predict_one(str(models / "token"), {"text": text})
    assert [row["text"] for row in rows] == ["a", "Red", "dog", "!"]
    assert all(text[row["start"] : row["end"]] == row["text"] and row["kind"] == "colour" for row in rows)


def test_choices_by_probability(models):
    model, task = open_task(models / "choice")
    choices = ("a red one", "a blue one", "a blue one", "none")
    (said,) = task.predict(model, [ChoiceExample("", "a dog", choices)])
    rows = predict_one(str(models / "choice"), {"text": "a dog", "choices": choices})
    assert [row["probability"] for row in rows] == pytest.approx(sorted(said.probabilities, reverse=True))
    assert sorted(row["text"] for row in rows) == sorted(choices)


def test_answers_as_the_task_reads_the_passage(models):
    passage = "a red dog met a blue dog and a green dog. " * 9
    model, task = open_task(models / "qa")
    assert (task.max_length, task.stride) == (40, 10)
    (said,) = task.predict(model, [QAExample("", "what colour?", passage, "", -1)])
    given = {"question": "what colour?", "passage": passage}
    rows = predict_one(str(models / "qa"), given)
    assert said.text in [row["text"] for row in rows]
    assert len(predict_one(str(models / "qa"), given, top=9)) == 9
    probabilities = [row["probability"] for row in rows]
    assert probabilities == sorted(probabilities, reverse=True)


def test_an_answer_that_stands_twice_is_listed_once_with_both_shares():
    asked = {"question": "Who bought a kite?", "passage": "Rosa bought a kite. Rosa bought a kite."}
    _, task = open_task("storyworld-tiny-qa")
    shown = answer(
        BertForQuestionAnswering.from_pretrained("storyworld-tiny-qa"), task.tokenizer, *asked.values(), n=40
    )
    shares = Counter[str]()
    for span in shown.spans:
        shares[span.text] += span.probability
    rows = predict_one("storyworld-tiny-qa", asked, top=2)
    assert [row["text"] for row in rows] == [text for text, _ in shares.most_common(2)]
    assert [row["probability"] for row in rows] == pytest.approx([p for _, p in shares.most_common(2)], abs=1e-4)
    assert [span.text for span in shown.spans].count(rows[1]["text"]) > 1


PLAIN = "Ruth met Mark.\nAnna saw Tom.\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.txt", PLAIN),
        ("plain", PLAIN.replace(" met ", " once more met ")),
        ("alike.txt", "Ruth met Mark today\nAnna saw Tom today\n"),
        ("table.csv", f"id,text\n1,{PLAIN}".replace("\nAnna", "\n2,Anna")),
        ("table.tsv", f"text\tyear\n{PLAIN}".replace(".\n", ".\t2001\n")),
        ("rows.jsonl", "".join(json.dumps({"text": line}) + "\n" for line in PLAIN.splitlines())),
        ("words.txt", "Ruth\nmet\nMark\n.\n\nAnna\nsaw\nTom\n.\n"),
        ("words.txt", "Ruth NNP O\nmet VBD O\nMark NNP O\n. . O\n\nAnna NNP O\nsaw VBD O\nTom NNP O\n. . O\n"),
        ("pos.txt", "Ruth N\nmet V\nMark N\n. P\n\nAnna N\nsaw V\nTom N\n. P\n"),
        ("words.conll", "Ruth x\nmet y\nMark z\n. w\n\nAnna v\nsaw u\nTom t\n. s\n"),
    ],
)
def test_names_in_texts_and_in_words_are_the_same(name, content, tmp_path):
    """Texts are cut into words; a file of words is read as such."""
    (tmp_path / name).write_text(content)
    assert predict_file("storyworld-tiny-entities", tmp_path / name, tmp_path / "out.jsonl", FileOptions())[0] == 2
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [[entity["text"] for entity in row["entities"]] for row in rows] == [["Ruth", "Mark"], ["Anna", "Tom"]]


@pytest.mark.parametrize(
    "content", ["Ruth\tO\nmet O\nMark\tO\n", "Ruth x O\nmet y O\nMark O\n", "Ruth\nmet\nMark now\n"]
)
def test_a_slip_in_columns_makes_no_texts_of_them(content, tmp_path):
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(InputError, match="line [23]: . columns, but"):
        predict_file("storyworld-tiny-entities", tmp_path / "a.txt", tmp_path / "out.jsonl", FileOptions())


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe has no name on Windows")
def test_texts_may_come_through_a_pipe(tmp_path):
    """They are looked at to tell texts from words, and can be read but once."""
    end, begin = os.pipe()
    os.write(begin, PLAIN.encode())
    os.close(begin)
    count, _ = predict_file("storyworld-tiny-entities", Path(f"/dev/fd/{end}"), tmp_path / "out.jsonl", FileOptions())
    os.close(end)
    assert count == 2 and '"words": ["Ruth", "met", "Mark", "."]' in (tmp_path / "out.jsonl").read_text()


def test_a_mask_behind_the_end_of_what_is_read_is_said():
    rest = "the dog ran home . " * 60
    with pytest.raises(InputError, match=r"the text holds 2 \[MASK\], but only 1 among the 256 tokens"):
        fill_in(f"He closed the [MASK] . {rest} She opened the [mask] .", "storyworld-tiny", 1)
    with pytest.raises(InputError, match=r"no \[MASK\] is among the 256 tokens that are read: shorten"):
        fill_in(f"{rest} He closed the [MASK] .", "storyworld-tiny", 1)


PASSAGE = {"question": "a", "passage": "a"}
MISTAKES = {  # model, what is given, message
    "a pair for words": ("token", {"text": "a", "pair": "b"}, "which reads text. Leave out --pair"),
    "no pair": ("pair", {"text": "a"}, "which reads text and --pair. Give just that"),
    "a pair for single texts": ("sentence", {"text": "a", "pair": "b"}, "which reads text. Leave out --pair"),
    "nothing to read": ("sentence", {"text": "\x01\u200b"}, "the text is empty"),
    "no words": ("token", {"text": " "}, "the text is empty"),
    "empty pair": ("pair", {"text": "a", "pair": ""}, "the pair is empty"),
    "one choice": ("choice", {"text": "a", "choices": ("b",)}, "--choices: give two"),
    "empty choice": ("choice", {"text": "a", "choices": ("b", "\t")}, "choice 2 is empty"),
    "no choices": ("choice", {"text": "a"}, "BertForMultipleChoice, which reads text and --choices. Give just that"),
    "empty question": ("qa", PASSAGE | {"question": ""}, "the question is empty"),
    "classes for a question": ("sentence", PASSAGE, "BertForSequenceClassif.*Leave out --question and --passage"),
    "broken Unicode": ("sentence", {"text": "a \ud800"}, "surrogate"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name, models):
    model, given, message = MISTAKES[name]
    with pytest.raises(InputError, match=message):
        predict_one(str(models / model), given)


def test_an_encoder_without_the_head_is_refused_not_guessed_with(pretrained, tmp_path):
    tokenizer = Tokenizer.from_pretrained(pretrained)
    BertModel.from_pretrained(pretrained).save_pretrained(tmp_path, tokenizer)
    message = r"no trained masked-word head \(cls.predictions.* random: choose a model with one, such as english"
    for use in (lambda: fill_in("a [MASK] dog", str(tmp_path), 3), Evaluate(str(tmp_path)).run):
        with pytest.raises(InputError, match=message):
            use()
    BertForMaskedLM.from_pretrained(pretrained).save_pretrained(tmp_path, tokenizer)  # no pooler, no second task
    alone, whole = (fill_in("a [MASK] dog", str(name), 3) for name in (tmp_path, pretrained))
    assert alone == [pytest.approx(guess) for guess in whole]
    assert learned(str(tmp_path)).second_task == "none" and learned("storyworld-tiny").second_task == "next"


def test_device_precision_and_batch_size(models, tmp_path, monkeypatch):
    source, out = tmp_path / "a.jsonl", tmp_path / "said.jsonl"
    source.write_text("".join(json.dumps({"id": n, "text": f"dog {n}"}) + "\n" for n in range(7)))
    seen = []
    forward = BertForSequenceClassification.forward
    monkeypatch.setattr(BertForSequenceClassification, "forward", lambda self, **inputs: seen.append(
        (len(inputs["input_ids"]), torch.is_autocast_enabled("cpu"))) or forward(self, **inputs))  # fmt: skip
    settings = PredictSettings("cpu", "bfloat16", 3)
    assert predict_file(str(models / "sentence"), source, out, FileOptions(), settings) == (7, "")
    assert seen == [(3, True), (3, True), (1, True)] and not torch.is_autocast_enabled("cpu")
    missing = "mps" if torch.cuda.is_available() else "cuda"
    with pytest.raises(InputError, match=f"--device {missing}: this machine has none; choose auto or "):
        predict_one(str(models / "sentence"), {"text": "a"}, settings=PredictSettings(missing))
    with pytest.raises(InputError, match="batch_size=0: must be between 1 and"):
        predict_one(str(models / "sentence"), {"text": "a"}, settings=PredictSettings(batch_size=0))


def test_columns_are_written_for_words_alone(models, tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text('{"text": "a dog"}\n')
    with pytest.raises(InputError, match="said.conll: .*BertForSequenceClassification.*does not predict"):
        predict_file(str(models / "sentence"), source, tmp_path / "said.conll", FileOptions())


def test_an_id_that_several_examples_have_is_mentioned(models, tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text('{"id": 7, "text": "dog"}\n{"id": "7", "text": "cat"}\n{"id": 8, "text": "cat"}\n')
    said = predict_file(str(models / "sentence"), source, tmp_path / "said.jsonl", FileOptions())
    assert said == (3, "2 examples have the id '7': go by the order of the lines")


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


def cut_lines(given: dict, model: str, read=predict_one) -> list[str]:
    said: list[str] = []
    read(given, model, 1, say=said.append) if read is fill_in else read(model, given, 1, say=said.append)
    return said


def test_an_input_that_is_cut_is_said_once(models):
    long = "a red dog " * 400
    (one,) = cut_lines({"text": long, "pair": "it is red"}, str(models / "pair"))
    assert one == "the input is cut at 128 tokens: the model reads no more of it"
    assert cut_lines({"text": "a red dog", "pair": "it is red"}, str(models / "pair")) == []
    assert cut_lines({"text": long}, str(models / "sentence")) == []  # it is read in windows
    assert "cut at 64 tokens" in cut_lines({"question": "what " * 80, "passage": "a dog"}, "storyworld-tiny-qa")[0]
    assert "cut at 256 tokens" in cut_lines("a [MASK] dog " + long, "storyworld-tiny", fill_in)[0]
    assert cut_lines("a [MASK] dog", "storyworld-tiny", fill_in) == []


def test_pairs_of_a_file_that_are_cut_are_counted(models, tmp_path):
    (tmp_path / "pairs.csv").write_text(f"text,pair\n{'a red dog ' * 400},it is red\na dog,it is blue\n")
    _, said = predict_file(str(models / "pair"), tmp_path / "pairs.csv", tmp_path / "out.jsonl", FileOptions())
    assert said == "1 of 2 inputs are cut at 128 tokens: the model reads no more of it"
    with pytest.raises(InputError, match=r"out\.csv: predictions are lines of JSON"):
        predict_file(str(models / "pair"), tmp_path / "pairs.csv", tmp_path / "out.csv", FileOptions())
