"""What the bundled `english` must be able to do, on the texts of data/english, which no training has seen."""

import csv
import json
from functools import cache
from pathlib import Path

import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from torch import Tensor

from bertlab import Tokenizer
from bertlab.corpora.sentences import split_sentences
from bertlab.evaluation.baselines import masked_batches
from bertlab.inputs.masking import Masking
from bertlab.predict import fill_in, open_masked
from bertlab.search.vectors import TextEncoder

FOLDER = Path(__file__).parents[2] / "data" / "english"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.usefixtures("each_model_once")
def test_everyday_gaps_are_filled():
    gaps = rows("gaps.csv")
    right = sum(fill_in(gap["text"], "english", 1)[0]["text"] in gap["accepted"].split("|") for gap in gaps)
    assert right >= 8, f"{right} of {len(gaps)}"


@torch.inference_mode()
def masked_right(name: str) -> float:
    """The share of the masked words of the passages that a model names first."""
    articles = json.loads((FOLDER / "questions-train.json").read_text(encoding="utf-8"))["data"]
    tokenizer, model = Tokenizer.from_pretrained(name), open_masked(name)
    passages = [paragraph["context"] for article in articles for paragraph in article["paragraphs"]]
    documents = [tokenizer.encode_batch(list(split_sentences(passage))) for passage in passages]
    right = total = 0
    for batch in masked_batches(documents, tokenizer, Masking(0.15, 1, 0), "none", max_tokens=128, pairs=100, seed=0):
        batch.pop("next_sentence_label", None)
        out = model(**batch, masked_only=True, packed=True)
        right += int((out.prediction_logits.argmax(-1) == out.masked_labels).sum())
        total += len(out.masked_labels)
    return right / total


def test_masked_words_are_named():
    assert masked_right("english") > 0.23


@cache
def sides() -> tuple[list[str], list[str]]:
    same = [row for row in rows("pairs.csv") if row["kind"] == "other-words-same-meaning"]
    return [row["text_a"] for row in same], [row["text_b"] for row in same]


def found_first(first: Tensor, second: Tensor) -> float:
    """The share of the first texts whose own partner is the most similar of the second ones."""
    return float(((first @ second.T).argmax(1) == torch.arange(len(first))).float().mean())


def test_paraphrases_are_found_by_the_cosine():
    encoder = TextEncoder.open("english")
    counter = TfidfVectorizer(sublinear_tf=True).fit(sides()[0] + sides()[1])
    counted = found_first(*(torch.tensor(counter.transform(side).toarray()) for side in sides()))
    assert found_first(*(encoder.encode(side) for side in sides())) > 0.6 > counted + 0.3
