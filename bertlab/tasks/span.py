"""Question answering: the answer is a part of a passage, or missing (Devlin et al. 2019, sections 4.2 and 4.3)."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

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
        return decide(passage, windows, getattr(model.config, "no_answer_threshold", 0.0), self.n_best)

    def measures(self, examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction]) -> dict[str, float]:
        """exact and f1 as SQuAD defines them, by the right answer that is nearest; has_answer_f1, of the questions that
        have one; where some have none, also no_answer, how many of these were left without one, and best_f1, the f1
        that the best threshold would give. All 0..1."""
        scores = [squad_scores(e, said.text) for e, said in zip(examples, predictions, strict=True)]
        figures = {"exact": fmean(exact for exact, _ in scores), "f1": fmean(f1 for _, f1 in scores)}
        silent = [not said.text for e, said in zip(examples, predictions, strict=True) if e.is_impossible]
        answerable = [f1 for e, (_, f1) in zip(examples, scores, strict=True) if not e.is_impossible]
        if answerable:
            figures["has_answer_f1"] = fmean(answerable)
        if silent:
            figures |= {"no_answer": fmean(silent), "best_f1": _best_threshold(examples, predictions)[1]}
        return figures | {"questions": len(examples)}

    def judged(self, examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction]) -> list[Judged]:
        """The worst are the wrong answers that the model was surest of."""
        judged = []
        for example, said in zip(examples, predictions, strict=True):
            wrong = (1 - squad_scores(example, said.text)[1]) * said.probability
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


def tune_threshold(
    examples: Sequence[QAExample], predictions: Sequence[AnswerPrediction], settled: float = 0.0
) -> float:
    """The no_answer_threshold with the best F1 on these examples; the `settled` one where all of them have an answer,
    which tells nothing about when to say that there is none."""
    if not any(example.is_impossible for example in examples):
        return settled
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
    return -1.0 if example.is_impossible else squad_scores(example, said.candidates[0].text)[1]


def squad_scores(example: QAExample, said: str) -> tuple[float, float]:
    """Exact match and F1 of one answer, "" for none, as SQuAD 2.0 defines them; 0..1."""
    from torchmetrics.functional.text import squad

    texts = [example.answer, *example.others]
    gold = {"answers": {"answer_start": [0] * len(texts), "text": texts}, "id": ""}
    scores = squad({"prediction_text": said, "id": ""}, gold)
    return float(scores["exact_match"]) / 100, float(scores["f1"]) / 100
