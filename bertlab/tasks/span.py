"""Question answering: the answer is a part of a passage, or missing (Devlin et al. 2019, sections 4.2 and 4.3)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from bertlab.config import BertConfig
from bertlab.corpora.examples import QAExample
from bertlab.errors import InputError
from bertlab.inputs.spans import MAX_ANSWER_TOKENS, MAX_LENGTH, MAX_QUERY, SpanFeature, span_features, usual_stride
from bertlab.model import BertForQuestionAnswering
from bertlab.model.base import PretrainedModel
from bertlab.tasks.base import Compared, Given, Task, TaskName, lazily, ranked
from bertlab.tasks.measures import answer_score, score_answers
from bertlab.tasks.span_decoding import ALWAYS_ANSWER, N_BEST, AnswerPrediction, Window, decide, read_windows
from bertlab.tokenizer import Tokenizer

if TYPE_CHECKING:
    from bertlab.corpora.labelled.tabular import ReadOptions

NO_ANSWER = "no answer"
REPEATS = 20  # spans that are looked at for each answer to be listed: many may have one text


class SpanTask(Task[QAExample, AnswerPrediction]):
    """Questions on passages; a passage that does not fit is read in windows that start `stride` tokens apart, by
    default a third of `max_length` (the published 128 of 384).

    The prediction is "no answer" where its score exceeds that of the best span by more than config.no_answer_threshold.
    Answers start and end at the borders of words; of tokens instead with `whole_words=False`, as published.
    """

    names = {"qa": TaskName("questions whose answer is a span of a passage", lazily("storyworld", "questions"))}
    head = BertForQuestionAnswering
    best = "f1"
    target = "start_positions"
    options = frozenset({"stride"})
    usual_length = MAX_LENGTH
    given = (("question", "passage"),)
    read_rows = staticmethod(lazily("labelled.hub_datasets", "question_rows"))

    def __init__(
        self,
        tokenizer: Tokenizer,
        max_length: int = MAX_LENGTH,
        stride: int = 0,
        max_answer_tokens: int = MAX_ANSWER_TOKENS,
        n_best: int = N_BEST,
        whole_words: bool = True,
    ):
        super().__init__(tokenizer, max_length)
        self.whole_words = whole_words
        self.stride = stride or usual_stride(max_length)
        self.max_answer_tokens, self.n_best = max_answer_tokens, n_best
        for name, value in {"max_answer_tokens": max_answer_tokens, "n_best": n_best}.items():
            if value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")

    @property
    def cut_at(self) -> int:
        return MAX_QUERY  # of the question; a passage is read in windows

    @classmethod
    def read_file(cls, path: Path, options: "ReadOptions") -> Iterator[QAExample]:
        """Yield the questions of a SQuAD file."""
        from bertlab.corpora.labelled.squad import read_squad

        return read_squad(path, labelled=options.labelled, encoding=options.encoding, skipped=options.skipped)

    @classmethod
    def check_first(cls, path: Path, options: "ReadOptions") -> None:
        """A JSON file shows its first example only when it is read whole, but it shows at once whether it is one."""
        from bertlab.corpora.reading import read_beginning

        beginning = read_beginning(path, options.encoding, option=True).lstrip()
        if beginning and not beginning.startswith("{"):
            raise InputError(f'{path}: no SQuAD file (JSON with a list "data")')

    def head_fields(self, examples: Sequence[QAExample]) -> dict[str, Any]:
        """A model that has seen no question without an answer (SQuAD 1.1) always answers."""
        return {"no_answer_threshold": 0.0 if any(e.is_impossible for e in examples) else ALWAYS_ANSWER}

    def check(self, examples: Iterable[QAExample], config: BertConfig) -> None:
        """A question without an answer is a label too: nothing can be wrong here."""

    def features(self, examples: Sequence[QAExample], config: BertConfig, learn: bool) -> list[SpanFeature]:
        sizes = self.max_length, self.stride
        features = span_features(examples, self.tokenizer, *sizes, learn, self.max_answer_tokens)
        return features if self.whole_words else [replace(feature, joined=frozenset()) for feature in features]

    def tune(self, model: PretrainedModel, examples: Sequence[QAExample]) -> None:
        """Choose no_answer_threshold by the F1 on these examples."""
        if any(example.is_impossible for example in examples):
            threshold = tune_threshold(examples, list(self.predict(model, examples)))
            model.config = model.config.changed(no_answer_threshold=threshold)

    def decode(self, model: PretrainedModel, examples: Sequence[QAExample]) -> list[AnswerPrediction]:
        found = defaultdict(list)
        for window in self.windows(model, self.features(examples, model.config, learn=False)):
            found[window.feature.example].append(window)
        settings = model.config.no_answer_threshold, self.n_best
        return [decide(example.context, found[number], *settings) for number, example in enumerate(examples)]

    def windows(self, model: PretrainedModel, features: Sequence[SpanFeature]) -> list[Window]:
        """Return the features with what the model makes of them, by example and window."""
        windows = []
        for chosen, out in self.outputs(model, features):
            windows += read_windows(out.start_logits, out.end_logits, chosen, self.n_best, self.max_answer_tokens)
        return sorted(windows, key=lambda window: (window.feature.example, window.feature.window))

    def predict_given(self, model: PretrainedModel, given: Given, top: int) -> list[dict]:
        """Return the likeliest answers; the text "" is "no answer". One that stands at several places of the passage is
        listed once, with the sum of their probabilities."""
        self.n_best = REPEATS * top
        example = QAExample(given["question"][:40], given["question"], given["passage"], "", -1)
        best = next(self.predict(model, [example]))
        shares = {"": best.no_answer_probability}
        for span in best.candidates:
            shares[span.text] = shares.get(span.text, 0.0) + span.probability
        return ranked(shares.items())[:top]

    def measures(self, examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction]) -> dict[str, float]:
        """Return the measures of score_answers; where some questions have no answer also `best_f1`, 0..1: the F1 with
        the best threshold."""
        figures = score_answers([right_answers(e) for e in examples], [p.text for p in predictions])
        if any(example.is_impossible for example in examples):
            figures["best_f1"] = _best_threshold(examples, predictions)[1]
        return figures

    def baselines(self, known: Sequence[QAExample], examples: Sequence[QAExample]) -> dict[str, dict[str, float]]:
        from bertlab.tasks.baselines import likeliest_sentence

        right = [right_answers(example) for example in examples]
        sentences = [likeliest_sentence(example) for example in examples]
        return {
            "never an answer": score_answers(right, [""] * len(examples)),
            "the sentence with most words of the question": score_answers(right, sentences),
        }

    def compare(self, examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction]) -> list[Compared]:
        """The worst errors are the wrong answers with the highest probability. An answer that is right by SQuAD's exact
        match stands as the gold one too."""
        compared = []
        for example, found in zip(examples, predictions, strict=True):
            exact, f1 = answer_score(right_answers(example), found.text)
            gold, answer = ((found.text if exact else example.answer) or NO_ANSWER), found.text or NO_ANSWER
            text, error = f"{example.question} {example.context}", (1 - f1) * found.probability
            compared.append(Compared(example.id, text, gold, answer, error, found.probability))
        return compared

    def confusions(
        self, examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction]
    ) -> list[tuple[str, str]] | None:
        """Answer or none; None where every question has an answer."""
        if not any(example.is_impossible for example in examples):
            return None
        return [
            (NO_ANSWER if example.is_impossible else "answer", "answer" if found.text else NO_ANSWER)
            for example, found in zip(examples, predictions, strict=True)
        ]


def tune_threshold(examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction]) -> float:
    """Return the no_answer_threshold with the best F1 on these examples, some of which have no answer."""
    return _best_threshold(examples, predictions)[0]


def _best_threshold(examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction]) -> tuple[float, float]:
    """Return the best of all thresholds and its F1, as SQuAD's evaluation script does: answer no question, the surest
    one, the surest two, ... or all. The threshold lies halfway between two differences, where rounding cannot reach it.
    """
    gained = [  # by answering with the best span instead of not at all
        -1.0 if example.is_impossible else answer_score(right_answers(example), found.candidates[0].text)[1]
        for example, found in zip(examples, predictions, strict=True)
    ]
    gains = torch.tensor(gained, dtype=torch.float64)  # (N,)
    differences = torch.tensor([found.no_answer_score for found in predictions], dtype=torch.float64)
    differences, order = differences.sort()
    edges = torch.cat([differences[:1] - 2, differences, differences[-1:] + 2])  # (N+2,)
    none = torch.tensor([float(sum(example.is_impossible for example in examples))], dtype=torch.float64)
    totals = torch.cat([none, none + gains[order].cumsum(0)])  # (N+1,): F1 with so many answered
    totals[edges[1:] == edges[:-1]] = -torch.inf  # no threshold separates equal differences
    best = int(totals.argmax())
    return float(edges[best] + edges[best + 1]) / 2, float(totals[best]) / len(examples)


def right_answers(example: QAExample) -> tuple[str, ...]:
    """Return all answers that count as right; ("",) where there is none."""
    return (example.answer, *example.others)
