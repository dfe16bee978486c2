"""Question answering: the answer is a part of a passage, or missing (Devlin et al. 2019, sections 4.2 and 4.3)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import torch

from bertlab.config import BertConfig
from bertlab.corpora.examples import QAExample
from bertlab.errors import InputError
from bertlab.inputs.spans import MAX_LENGTH, SpanFeature, span_features, usual_stride
from bertlab.model import BertForQuestionAnswering
from bertlab.tasks.answers import (
    ALWAYS_ANSWER,
    MAX_ANSWER_TOKENS,
    N_BEST,
    AnswerPrediction,
    Window,
    decide,
    read_windows,
)
from bertlab.tasks.base import Judged, Task
from bertlab.tasks.measures import answer_score, score_answers
from bertlab.tokenizer import Tokenizer

NO_ANSWER = "no answer"


class SpanTask(Task):
    """Questions on passages; a passage that does not fit is read in windows that start `stride` tokens apart, by
    default a third of `max_length` (the published 128 of 384).

    "No answer" is said where its score less that of the best span is more than config.no_answer_threshold.
    """

    head = BertForQuestionAnswering
    best = "f1"

    def __init__(
        self,
        tokenizer: Tokenizer,
        max_length: int = MAX_LENGTH,
        stride: int | None = None,
        max_answer_tokens: int = MAX_ANSWER_TOKENS,
        n_best: int = N_BEST,
    ):
        super().__init__(tokenizer, max_length)
        self.stride = usual_stride(max_length) if stride is None else stride
        self.max_answer_tokens, self.n_best = max_answer_tokens, n_best
        for name, value in {"max_answer_tokens": max_answer_tokens, "n_best": n_best}.items():
            if value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")

    def settle(self, examples: Sequence[QAExample]) -> dict:
        """Who has seen no question without an answer (SQuAD 1.1) never says "no answer"."""
        return {"no_answer_threshold": 0.0 if any(e.is_impossible for e in examples) else ALWAYS_ANSWER}

    def check(self, examples: Iterable[QAExample], config: BertConfig) -> None:
        """A question without an answer is a label too: nothing can be wrong here."""

    def tune(self, model: BertForQuestionAnswering, examples: Sequence[QAExample]) -> None:
        """Choose no_answer_threshold by the F1 on these examples."""
        if any(example.is_impossible for example in examples):
            threshold = tune_threshold(examples, list(self.predict(model, examples)))
            model.config = model.config.changed(no_answer_threshold=threshold)

    def baselines(self, known: Sequence[QAExample], examples: Sequence[QAExample]) -> dict[str, dict[str, float]]:
        return {"never an answer": score_answers([right_answers(e) for e in examples], [""] * len(examples))}

    def features(self, examples: Sequence[QAExample], config: BertConfig, learn: bool) -> list[SpanFeature]:
        return span_features(examples, self.tokenizer, self.max_length, self.stride, learn)

    def decode(
        self, model: BertForQuestionAnswering, examples: Sequence[QAExample], features: Sequence[SpanFeature]
    ) -> list[AnswerPrediction]:
        found = defaultdict(list)
        for window in self.windows(model, features):
            found[window.feature.example].append(window)
        return [self.decide(model, example.context, found[number]) for number, example in enumerate(examples)]

    def windows(self, model: BertForQuestionAnswering, features: Sequence[SpanFeature]) -> list[Window]:
        """The features as the model reads them, by example and window."""
        windows = []
        for chosen, out in self.outputs(model, features):
            windows += read_windows(out.start_logits, out.end_logits, chosen, self.n_best, self.max_answer_tokens)
        return sorted(windows, key=lambda window: (window.feature.example, window.feature.window))

    def decide(self, model: BertForQuestionAnswering, passage: str, windows: Sequence[Window]) -> AnswerPrediction:
        """What is said of a passage after all its windows."""
        return decide(passage, windows, model.config.no_answer_threshold, self.n_best)

    def measures(self, examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction]) -> dict[str, float]:
        """Those of score_answers; where some questions have no answer also best_f1, what the best threshold would give,
        0..1."""
        figures = score_answers([right_answers(e) for e in examples], [said.text for said in predictions])
        if any(example.is_impossible for example in examples):
            figures["best_f1"] = _best_threshold(examples, predictions)[1]
        return figures

    def judged(self, examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction]) -> list[Judged]:
        """The worst are the wrong answers that the model was surest of."""
        judged = []
        for example, said in zip(examples, predictions, strict=True):
            wrong = (1 - answer_score(right_answers(example), said.text)[1]) * said.probability
            shown = f"{example.question} {example.context}"
            judged.append(Judged(example.id, shown, example.answer or NO_ANSWER, said.text or NO_ANSWER, wrong))
        return judged

    def confusions(
        self, examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction]
    ) -> list[tuple[str, str]] | None:
        """Answer or none; None where every question has an answer."""
        if not any(example.is_impossible for example in examples):
            return None
        return [
            (NO_ANSWER if example.is_impossible else "answer", "answer" if said.text else NO_ANSWER)
            for example, said in zip(examples, predictions, strict=True)
        ]


def tune_threshold(examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction]) -> float:
    """The no_answer_threshold with the best F1 on these examples, some of which have no answer."""
    return _best_threshold(examples, predictions)[0]


def _best_threshold(examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction]) -> tuple[float, float]:
    """Threshold and F1, of all thresholds: answering the surest question alone, the surest two, ... or none or all, as
    in SQuAD's evaluation script. It lies halfway between two differences, where rounding cannot reach it."""
    pairs = zip(examples, predictions, strict=True)
    gains = torch.tensor([_gain(*pair) for pair in pairs], dtype=torch.float64)  # (N,)
    differences = torch.tensor([said.no_answer_score for said in predictions], dtype=torch.float64)
    differences, order = differences.sort()
    edges = torch.cat([differences[:1] - 2, differences, differences[-1:] + 2])  # (N+2,)
    none = torch.tensor([float(sum(example.is_impossible for example in examples))], dtype=torch.float64)
    totals = torch.cat([none, none + gains[order].cumsum(0)])  # (N+1,): F1 with so many answered
    totals[edges[1:] == edges[:-1]] = -torch.inf  # no threshold parts questions of one difference
    best = int(totals.argmax())
    return float(edges[best] + edges[best + 1]) / 2, float(totals[best]) / len(examples)


def _gain(example: QAExample, said: AnswerPrediction) -> float:
    """What answering with the best span gives over not answering."""
    return -1.0 if example.is_impossible else answer_score(right_answers(example), said.candidates[0].text)[1]


def right_answers(example: QAExample) -> tuple[str, ...]:
    """All that count as right; ("",) where there is none."""
    return (example.answer, *example.others)
