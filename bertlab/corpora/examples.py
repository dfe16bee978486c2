"""The few shapes in which every corpus hands over its text, whatever it was read from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    """Sentences in their order: the unit within which one sentence can follow another.

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
    """A text, or a pair of texts, and what it is: a class, a number, or any number of classes.

    `label` is a str, a float or a tuple of str accordingly, None where it is not known.
    """

    id: str
    text: str
    pair: str | None = None
    label: str | float | tuple[str, ...] | None = None


@dataclass(frozen=True)
class TokenExample:
    """A sentence as words, and the label of each: "O", "B-person", "I-person" ... (None where they are not known)."""

    id: str
    words: tuple[str, ...]
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ChoiceExample:
    """A text and several ways it may go on; `label` is the number of the right one, from 0 (None: not known)."""

    id: str
    text: str
    choices: tuple[str, ...]
    label: int | None = None


@dataclass(frozen=True)
class QAExample:
    """A question on a passage, as in SQuAD: the answer is `context[answer_start:][:len(answer)]`.

    A question that the passage does not answer has `answer` "" and `answer_start` -1. `others` are more answers
    that count as right. `kind` groups questions for reporting, where the corpus knows kinds.
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
