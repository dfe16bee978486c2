"""From start and end logits to an answer: all legal spans in all windows of a passage, and "no answer".

Devlin et al. 2019, sections 4.2 and 4.3: the score of a span is its start logit plus its end logit, that of "no answer"
the two logits at [CLS]. The model answers unless "no answer" beats the best span by more than a threshold.

Probabilities are those of a softmax over all of these at once: the scores of the spans, and that of "no answer" less
the threshold. So they sum to 1, and the likeliest of them is the prediction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.inputs.spans import SpanFeature, after_marks
from bertlab.tasks.base import Prediction

N_BEST = 5
ALWAYS_ANSWER = 1e9  # a threshold that no difference of logits reaches; JSON has no infinity


@dataclass(frozen=True)
class Span:
    """An answer: its tokens in the row of window number `window`, both inclusive, and its characters in the passage.

    `score` is start logit + end logit, `probability` its share in the softmax over all legal spans of all windows and
    "no answer" (its score less the threshold). "No answer" is the span with text "", at [CLS].
    """

    start_token: int
    end_token: int
    start_char: int
    end_char: int
    text: str
    score: float
    probability: float = 0.0
    window: int = 0


@dataclass(frozen=True)
class AnswerPrediction(Prediction):
    """The predicted `text` is exactly `passage[start_char:end_char]`, or "" for no answer.

    `score` and `probability` are those of the prediction; `no_answer_score` is the score of "no answer" less that of
    the best span, which the threshold is compared with. `candidates` are the best spans, best first, in either case.
    """

    text: str
    start_char: int
    end_char: int
    score: float
    probability: float
    no_answer_score: float
    no_answer_probability: float
    candidates: tuple[Span, ...]

    def as_row(self) -> dict:
        shown = ("text", "start_char", "end_char", "score", "probability")
        return vars(self) | {"candidates": [{name: vars(span)[name] for name in shown} for span in self.candidates]}


@dataclass(frozen=True)
class Window:
    """One window and what the model makes of it: logits (S,), the score of "no answer", the log-sum-exp of the scores
    of all spans that start here, and the best of these spans as (score, first token, last token)."""

    feature: SpanFeature
    start_logits: Tensor
    end_logits: Tensor
    no_answer: float
    log_sum: float
    best: list[tuple[float, int, int]]


def read_windows(
    start_logits: Tensor, end_logits: Tensor, features: Sequence[SpanFeature], n: int, max_answer_tokens: int
) -> list[Window]:
    """Return the windows with these logits (B, S) and their `n` best spans.

    A legal span lies in the passage, ends where it starts or later, has at most `max_answer_tokens` tokens, cuts no
    word, and starts with a token that has the most context in this window, so that no span is counted twice.
    """
    start, end = start_logits.float(), end_logits.float()  # (B, S)
    masks = [legal_ends(feature, start.size(1)) for feature in features]
    may_start, may_end = (torch.stack(each).to(start.device) for each in zip(*masks, strict=True))  # (B, S) each
    starts, ends = start.masked_fill(~may_start, -torch.inf), end.masked_fill(~may_end, -torch.inf)
    # (B, S) -pad-> (B, S+M-1) -unfold-> (B, S, M): the ends of the spans of 1 to M tokens from each start
    ends = F.pad(ends, (0, max_answer_tokens - 1), value=-torch.inf).unfold(1, max_answer_tokens, 1)
    scores = (starts[:, :, None] + ends).flatten(1)  # (B, S, M) -> (B, S*M)
    top = scores.topk(min(n, scores.size(1)))
    firsts = top.indices // max_answer_tokens  # (B, n)
    lasts = firsts + top.indices % max_answer_tokens
    no_answer, log_sum = start[:, 0] + end[:, 0], scores.logsumexp(1)  # (B,)
    found = zip(top.values.tolist(), firsts.tolist(), lasts.tolist(), strict=True)
    best = [[span for span in zip(*row, strict=True) if span[0] > -torch.inf] for row in found]
    windows = zip(features, start, end, no_answer.tolist(), log_sum.tolist(), best, strict=True)
    return [Window(*window) for window in windows]


def legal_ends(feature: SpanFeature, size: int) -> tuple[Tensor, Tensor]:
    """Return where a legal span may start, and where it may end, in a row padded to `size`: bool (S,) each."""
    starts, ends = torch.zeros(2, size, dtype=torch.bool)
    starts[feature.max_context.start : feature.max_context.stop] = True
    ends[feature.passage.start : feature.passage.stop] = True
    joined = torch.tensor(sorted(feature.joined), dtype=torch.long)
    starts[joined] = False
    ends[joined - 1] = False
    return starts, ends


def no_answer_score(windows: Sequence[Window]) -> float:
    """Return the least score of the windows, as published: no answer at all means none in any window."""
    return min(window.no_answer for window in windows)


def log_total(windows: Sequence[Window], threshold: float) -> float:
    """Return the log-sum-exp of the scores of all spans of a passage, and of that of "no answer" less the threshold."""
    sums = [no_answer_score(windows) - threshold, *(window.log_sum for window in windows)]
    return float(torch.tensor(sums, dtype=torch.float64).logsumexp(0))


def decide(passage: str, windows: Sequence[Window], threshold: float, n: int) -> AnswerPrediction:
    """Return the prediction for a passage from all its windows, with the `n` best spans."""
    no_answer, total = no_answer_score(windows), log_total(windows, threshold)
    found = sorted(((*span, window.feature) for window in windows for span in window.best), key=lambda span: -span[0])
    spans = tuple(_span(*best, passage, total) for best in found[:n])
    best, none = spans[0], Span(0, 0, 0, 0, "", no_answer, min(1.0, exp(no_answer - threshold - total)))
    difference = no_answer - best.score
    predicted = none if difference > threshold else best
    answer = predicted.text, predicted.start_char, predicted.end_char, predicted.score, predicted.probability
    return AnswerPrediction(*answer, difference, none.probability, spans)


def _span(score: float, start: int, end: int, feature: SpanFeature, passage: str, total: float) -> Span:
    offsets = feature.rows[0].offsets
    first, last = offsets[start][0], after_marks(passage, offsets[end][1])
    return Span(start, end, first, last, passage[first:last], score, min(1.0, exp(score - total)), feature.window)
