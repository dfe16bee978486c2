"""Twenty texts that visitors of the explorer might type, written before any model was tried on them."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from bertlab.predict import predict_one

pytestmark = pytest.mark.usefixtures("each_model_once")
TEXTS = tomllib.loads((Path(__file__).parent / "visitor_texts.toml").read_text(encoding="utf-8"))


def right(texts: list[dict], judged: Callable[[dict], bool]) -> tuple[int, list[str]]:
    """Return how many texts are judged right, and the others, for a message."""
    wrong = [text.get("question") or text["text"] for text in texts if not judged(text)]
    return len(texts) - len(wrong), wrong


def test_reviews():
    def judged(text: dict) -> bool:
        return predict_one("english-sentiment", {"text": text["text"]})[0]["text"] == text["label"]

    count, wrong = right(TEXTS["review"], judged)
    assert count >= 6, wrong


def test_questions():
    def judged(text: dict) -> bool:
        given = {"question": text["question"], "passage": text["passage"]}
        return predict_one("english-questions", given)[0]["text"].strip(" .,") in text["answers"]

    count, wrong = right(TEXTS["question"], judged)
    assert count >= 4, wrong
