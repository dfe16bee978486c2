"""Documents and labelled examples: what every corpus yields, whatever it was read from."""

from dataclasses import dataclass
from typing import Literal

Problem = Literal["single_label_classification", "regression", "multi_label_classification"]
Label = str | float | tuple[str, ...]  # by problem: a class, a number, any number of classes


@dataclass(frozen=True)
class Document:
    """Sentences in their order. Only within a document does one sentence follow another.

    `genre` groups documents for reporting, where the corpus knows genres.
    """

    sentences: tuple[str, ...]
    title: str = ""
    genre: str = ""

    @property
    def text(self) -> str:
        return " ".join(self.sentences)


@dataclass(frozen=True)
class TextExample:
    """A text, or a pair of texts, with its label; None where it is unknown. Several classes are put in alphabetical
    order, so that a|b and b|a are one label."""

    id: str
    text: str
    pair: str | None = None
    label: Label | None = None

    def __post_init__(self) -> None:
        if isinstance(self.label, tuple):
            object.__setattr__(self, "label", tuple(sorted(self.label)))


@dataclass(frozen=True)
class TokenExample:
    """A sentence as words, with the label of each: "O", "B-person", "I-person" ... (None where they are unknown)."""

    id: str
    words: tuple[str, ...]
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ChoiceExample:
    """A text and several continuations; `label` is the number of the right one, from 0 (None where it is unknown)."""

    id: str
    text: str
    choices: tuple[str, ...]
    label: int | None = None


@dataclass(frozen=True)
class QAExample:
    """A question on a passage, as in SQuAD: the answer is `context[answer_start:][:len(answer)]`.

    A question that the passage does not answer has `answer` "" and `answer_start` -1. `others` are further right
    answers. `kind` groups questions for reporting, where the corpus knows kinds.
    """

    id: str
    question: str
    context: str
    answer: str
    answer_start: int
    kind: str = ""
    others: tuple[str, ...] = ()

    @property
    def is_impossible(self) -> bool:
        return not self.answer
