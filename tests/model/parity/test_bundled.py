"""Every bundled model answers the same in transformers: with the pipeline of its task, or its Auto class."""

from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from bertlab import BertConfig, Tokenizer
from bertlab.config import classes_of
from bertlab.corpora.labelled.conll import read_conll
from bertlab.corpora.labelled.squad import read_squad
from bertlab.corpora.labelled.tabular import film_reviews
from bertlab.corpora.storyworld import entities, questions, sentiment
from bertlab.deploy.export import export_folder
from bertlab.io.locate import bundled_models, is_adapter, locate
from bertlab.predict import fill_in, open_masked, predict_one
from bertlab.tasks.registry import open_task

transformers = pytest.importorskip("transformers")

COUNT = 8
ENGLISH = Path(__file__).parents[3] / "data" / "english"
PAIR = "Somebody talks about a film."
CLOSE = dict(abs=2e-3)
MERGED = TemporaryDirectory()  # of adapters as whole models


@cache
def whole(name: str) -> str:
    """The folder of a bundled model; of an adapter that of the model with it."""
    folder = locate(name)
    if is_adapter(folder):
        folder = Path(MERGED.name) / name
        export_folder(name, folder)
    return str(folder)


@cache
def pipeline(task: str, name: str, **options):
    return transformers.pipeline(task, whole(name), dtype=torch.float32, device="cpu", **options)


def texts(name: str) -> list[str]:
    """Eight sentences of the world that the model knows."""
    if name.startswith("english"):
        return [example.text for example in film_reviews()][:COUNT]
    return [example.text for example in sentiment(seed=0, count=COUNT, split="test")]


def next_words(name: str) -> None:
    """A left-to-right model: its first guess of the word after each."""
    ours, tokenizer = open_masked(name), Tokenizer.from_pretrained(name)
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(whole(name), dtype=torch.float32).eval()
    batch = tokenizer(texts(name))
    with torch.no_grad():
        one, other = ours(**batch).prediction_logits, theirs(**batch).logits  # (B, S, V)
    read = batch["attention_mask"].bool()
    torch.testing.assert_close(one[read], other[read], rtol=0, atol=1e-3)
    assert one.argmax(-1)[read].tolist() == other.argmax(-1)[read].tolist()


def masked_words(name: str) -> None:
    if BertConfig.from_pretrained(name).is_decoder:
        next_words(name)
        return
    for text in texts(name):
        words = text.split()
        words[len(words) // 2] = "[MASK]"
        ours, theirs = fill_in(" ".join(words), name, 5), pipeline("fill-mask", name)(" ".join(words), top_k=5)
        assert ours[0]["text"] == theirs[0]["token_str"], text
        expected = [guess["score"] for guess in theirs]
        assert [guess["probability"] for guess in ours] == pytest.approx(expected, **CLOSE)


def labels(name: str) -> None:
    for text in texts(name):
        given, theirs = {"text": text}, {"text": text}
        if name == "english-pairs":
            given, theirs = given | {"pair": PAIR}, theirs | {"text_pair": PAIR}
        ours, theirs = predict_one(name, given), pipeline("text-classification", name)(theirs, top_k=None)
        assert ours[0]["text"] == theirs[0]["label"], text
        expected = [one["score"] for one in theirs]
        assert [one["probability"] for one in ours] == pytest.approx(expected, **CLOSE)


def names_in_a_text(name: str) -> None:
    found = pipeline("token-classification", name, aggregation_strategy="first")
    if name.startswith("english"):
        sentences = [example.words for example in read_conll(ENGLISH / "names-test.conll")][:COUNT]
    else:
        sentences = [example.words for example in entities(seed=0, count=COUNT, split="test")]
    for words in sentences:
        text = " ".join(words)
        ours = [(row["kind"], row["start"], row["end"]) for row in predict_one(name, {"text": text})]
        assert ours == [(one["entity_group"], one["start"], one["end"]) for one in found(text)], text


class Theirs(nn.Module):
    """A question answering model of transformers, called as ours is."""

    def __init__(self, name, config):
        super().__init__()
        self.model = transformers.AutoModelForQuestionAnswering.from_pretrained(whole(name), dtype=torch.float32)
        self.config = config

    def forward(self, **batch):
        out = self.model(**batch)
        return SimpleNamespace(start_logits=out.start_logits, end_logits=out.end_logits)


def answers(name: str) -> None:
    """transformers 5 has no pipeline for it: the same decoding of its logits."""
    ours, task = open_task(name)
    if name.startswith("english"):
        examples = list(islice(read_squad(ENGLISH / "questions-test.json"), COUNT))
    else:
        examples = list(questions(seed=0, count=COUNT, split="test"))
    theirs = Theirs(name, ours.config)
    for one, other in zip(task.predict(ours, examples), task.predict(theirs, examples), strict=True):
        assert (one.text, one.start_char) == (other.text, other.start_char)
        assert one.probability == pytest.approx(other.probability, **CLOSE)


TASKS = {
    "BertForPreTraining": masked_words,
    "BertForMaskedLM": masked_words,
    "BertForSequenceClassification": labels,
    "BertForTokenClassification": names_in_a_text,
    "BertForQuestionAnswering": answers,
}


@pytest.mark.usefixtures("each_model_once")
@pytest.mark.parametrize("name", bundled_models())
def test_a_bundled_model_answers_the_same_in_transformers(name):
    TASKS[classes_of(locate(name))[0]](name)
