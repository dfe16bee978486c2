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
class QAExample:
    """A question on a passage, as in SQuAD: the answer is `context[answer_start:][:len(answer)]`.

    A question that the passage does not answer has `answer` "" and `answer_start` -1. `kind` groups
    questions for reporting, where the corpus knows kinds.
    """

    id: str
    question: str
    context: str
    answer: str
    answer_start: int
    kind: str = ""

    @property
    def is_impossible(self) -> bool:
        return not self.answer
