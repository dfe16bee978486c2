"""The kinds of data that there are pages for: how a file of each is read, and its rows shown and opened."""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertlab.corpora import storyworld
from bertlab.corpora.examples import QAExample, TextExample, TokenExample
from bertlab.corpora.labelled.conll import BLANKS, CONLL
from bertlab.corpora.labelled.schemes import are_entities, spelling_of
from bertlab.tasks.base import Task
from bertlab.tasks.measures import answer_score
from bertlab.tasks.sequence import SequenceTask, TextPrediction, in_words
from bertlab.tasks.span import NO_ANSWER, SpanTask, right_answers
from bertlab.tasks.span_decoding import AnswerPrediction
from bertlab.tasks.token import TokenPrediction, TokenTask

SAMPLE_LINES = 60  # that tell words with labels from texts

Row = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """`task` is its name in models.TASKS, `tab` the one that a row opens in.

    `texts` are its fields and those of the page Attention. `row` gives the columns of the table; `score` is that of
    a prediction in `unit`, 0..1, None where only numbers compare; `label` the right answer in words.
    """

    task: str
    family: type[Task]
    made: Callable[..., Iterator]
    columns: bool  # whether a file has named columns to choose from
    tab: str
    text: Callable[[Any], str]
    texts: Callable[[Any], dict[str, str]]
    row: Callable[[Any, Any], Row]
    score: Callable[[Any, Any], float | None]
    unit: str
    label: Callable[[Any], str | None]


def text_row(example: TextExample, found: TextPrediction) -> Row:
    pair = {} if example.pair is None else {"second text": example.pair}
    shares = found.probabilities
    sure = min((max(p, 1 - p) for p in shares.values()), default=None) if isinstance(found.label, tuple) else None
    likely = shares.get(found.label) if isinstance(found.label, str) else sure
    return {"predicted": in_words(found.label), "probability": likely, "text": example.text, **pair}


def names_in(found: TokenPrediction) -> str:
    return ", ".join(f"{e.text} ({e.kind})" for e in found.entities) or "none"


def right(example: TokenExample) -> TokenPrediction:
    """Return the labels of an example as if a model had predicted them."""
    return TokenPrediction(example.words, example.labels or (), None)


def word_row(example: TokenExample, found: TokenPrediction) -> Row:
    """The probability is that of the least certain word."""
    likely = min(found.probabilities) if found.probabilities else None
    return {"predicted": names_in(found), "probability": likely, "text": " ".join(example.words)}


def span_row(example: QAExample, found: AnswerPrediction) -> Row:
    predicted = {"predicted": found.text or NO_ANSWER, "probability": found.probability}
    return {"question": example.question, **predicted, "passage": example.context}


TEXTS = Kind(
    "text label", SequenceTask, storyworld.sentiment, True, "Opinion",
    text=lambda e: e.text if e.pair is None else f"{e.text} {e.pair}",
    texts=lambda e: {"text": e.text, "pair": e.pair or ""},
    row=text_row, score=lambda e, found: None if isinstance(found.label, float) else float(e.label == found.label),
    unit="accuracy",
    label=lambda e: None if e.label is None else in_words(e.label),
)  # fmt: skip
WORDS = Kind(
    "word labels", TokenTask, storyworld.entities, False, "Names",
    text=lambda e: " ".join(e.words),
    texts=lambda e: {"text": " ".join(e.words), "pair": ""},
    row=word_row, score=lambda e, found: float(right(e).entities == found.entities),  # in BIO, IOB1 or BIOES
    unit="sentences all right",
    label=lambda e: None if e.labels is None else names_in(right(e)),
)  # fmt: skip
QUESTIONS = Kind(
    "answer", SpanTask, storyworld.questions, False, "Answers",
    text=lambda e: e.question,
    texts=lambda e: {"text": e.context, "question": e.question, "pair": ""},
    row=span_row, score=lambda e, found: answer_score(right_answers(e), found.text)[1], unit="F1",
    label=lambda e: e.answer or NO_ANSWER,
)  # fmt: skip


def kind_of(name: str, content: bytes) -> Kind:
    """Return what a file holds, by its ending and its first lines."""
    ending = Path(name).suffix.lower()
    text = content.decode("utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8", "replace")
    if ending == ".json" and '"paragraphs"' in text:
        return QUESTIONS
    if ending in CONLL or (ending in (".txt", ".tsv") and has_words(text[:100_000])):
        return WORDS
    return TEXTS


def has_words(text: str) -> bool:
    """Return whether each line holds a word and, last, its label, with a blank line between sentences."""
    lines = text.splitlines()[:SAMPLE_LINES]
    rows = [BLANKS.split(line.strip()) for line in lines if line.strip() and not line.startswith(("-DOCSTART-", "# "))]
    labels = [row[-1] for row in rows if len(row) > 1]
    return len(labels) == len(rows) > 0 and bool(are_entities(labels) or spelling_of(labels))
