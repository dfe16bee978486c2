"""How a question-answering head chooses a span: every start against every end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import NamedTuple

import torch
from torch import Tensor

from bertlab.corpora.examples import QAExample
from bertlab.errors import InputError
from bertlab.explain.text import clean
from bertlab.inputs.features import Batch
from bertlab.inputs.spans import MAX_ANSWER_TOKENS, MAX_LENGTH, SpanFeature
from bertlab.model import BertForQuestionAnswering
from bertlab.tasks.span import SpanTask
from bertlab.tasks.span_decoding import N_BEST, AnswerPrediction, Span, Window, decide, legal_ends, log_total
from bertlab.tokenizer import Tokenizer


class PassageWindow(NamedTuple):
    """A part of a passage that was read at once, and its best answer: first and last+1 character of both.

    `score` is start logit + end logit of that answer, `no_answer_score` what [CLS] has in its place.
    """

    start_char: int
    end_char: int
    best_start: int
    best_end: int
    score: float
    no_answer_score: float


@dataclass(frozen=True)
class Answer:
    """What the model answers and everything it weighed; a span with text "" is "no answer".

    A passage that does not fit is read in overlapping `windows`; the arrays below are of number `window`, by default
    the one with the best span.

    `spans` are the best first, the others by their score. `grid` is (S, S): the probability of the span from token i
    to token j, zero where no span may be or another window has it; its cell (0, 0) at [CLS] is "no answer". The whole
    sums to one if there is one window.
    `start_probabilities` and `end_probabilities` are (S,), as the head was trained: a softmax over all positions.
    `passage` is the text that the characters of the spans and the `offsets` of the tokens count in. `passage_slice` are
    the first and last+1 of its tokens in the window; answers start in `start_slice`, since the others have more context
    in another window, have at most `max_answer_tokens`, and cut no word: `joined` are the positions whose token
    continues that of the token before. "No answer" is predicted if `no_answer_score`, the margin over the best span,
    exceeds `threshold`; probabilities take the threshold into account (bertlab.tasks.span_decoding). `dropped` counts
    the tokens of the question that were cut off, `unknown` those that became [UNK].
    """

    best: Span
    spans: list[Span]
    no_answer_probability: float
    tokens: list[str]
    start_probabilities: Tensor
    end_probabilities: Tensor
    grid: Tensor
    passage_slice: tuple[int, int]
    passage: str
    dropped: int = 0
    unknown: int = 0
    windows: tuple[PassageWindow, ...] = ()
    window: int = 0
    offsets: tuple[tuple[int, int], ...] = ()
    start_slice: tuple[int, int] = (0, 0)
    no_answer_score: float = 0.0
    threshold: float = 0.0
    max_answer_tokens: int = MAX_ANSWER_TOKENS
    joined: frozenset[int] = frozenset()


def legal_spans(starts: Tensor, ends: Tensor, max_answer_tokens: int = MAX_ANSWER_TOKENS) -> Tensor:
    """(S, S) bool from where spans may start and end, (S,) each: end not before start, at most so many tokens."""
    ones = torch.ones(len(starts), len(ends), dtype=torch.bool)
    band = ones.triu() & ones.tril(max_answer_tokens - 1)
    return starts.bool()[:, None] & ends.bool()[None, :] & band  # (S, 1) & (1, S) -> (S, S)


def span_grid(start_logits: Tensor, end_logits: Tensor, legal: Tensor, log_total: float) -> Tensor:
    """(S, S) probabilities of the legal spans; `log_total` is the log of the summed exp of all scores there are.

    The product of the two distributions of the paper (section 4.2), renormalised over what can be an answer.
    """
    scores = start_logits[:, None] + end_logits[None, :]  # (S, 1) + (1, S) -> (S, S)
    return (scores - log_total).masked_fill(~legal, -torch.inf).exp()


def answer(
    model: BertForQuestionAnswering,
    tokenizer: Tokenizer,
    question: str,
    passage: str,
    n: int = N_BEST,
    max_answer_tokens: int = MAX_ANSWER_TOKENS,
    window: int | None = None,
    threshold: float | None = None,
) -> Answer:
    """Answer a question from a passage of any length, as SpanTask does; the arrays are those of `window`. `threshold`
    replaces that of the model's config.

    Raises InputError when the question or the passage is empty, the question too long for the model, or the window
    missing.
    """
    windows = list(read_passage(model, tokenizer, question, passage, n, max_answer_tokens))
    return answer_from(model, tokenizer, passage, windows, n, max_answer_tokens, window, threshold)


@torch.inference_mode()
def read_passage(
    model: BertForQuestionAnswering,
    tokenizer: Tokenizer,
    question: str,
    passage: str,
    n: int = N_BEST,
    max_answer_tokens: int = MAX_ANSWER_TOKENS,
) -> Iterator[Window]:
    """The windows of a passage, as many as count_windows, each as the model reads it; InputError as `answer`."""
    task = _task(model, tokenizer, n, max_answer_tokens)
    for feature in _features(task, model, question, passage):
        yield from task.windows(model, [feature])


def count_windows(model: BertForQuestionAnswering, tokenizer: Tokenizer, question: str, passage: str) -> int:
    """In how many windows a passage is read; InputError as `answer`."""
    return len(_features(_task(model, tokenizer), model, question, passage))


def answer_from(
    model: BertForQuestionAnswering,
    tokenizer: Tokenizer,
    passage: str,
    windows: Sequence[Window],
    n: int = N_BEST,
    max_answer_tokens: int = MAX_ANSWER_TOKENS,
    window: int | None = None,
    threshold: float | None = None,
) -> Answer:
    """What `answer` makes of all windows of read_passage, which was given the same `n` and `max_answer_tokens`."""
    if window is not None:
        _check_window(window, len(windows))
    task, passage = _task(model, tokenizer, n, max_answer_tokens), clean(passage)
    limit = model.config.no_answer_threshold if threshold is None else threshold
    predicted = decide(passage, windows, limit, n)
    drawn = windows[predicted.candidates[0].window if window is None else window]
    return _answer(task, predicted, windows, drawn, passage, limit)


def window_batch(
    model: BertForQuestionAnswering, tokenizer: Tokenizer, question: str, passage: str, window: int
) -> Batch:
    """The row (1, S) that `answer` makes of window number `window`.

    Raises InputError as `answer` does.
    """
    task = _task(model, tokenizer)
    features = _features(task, model, question, passage)
    _check_window(window, len(features))
    return task.inputs([features[window]], model)


def _check_window(window: int, count: int) -> None:
    if not 0 <= window < count:
        raise InputError(f"window={window}: the passage has the windows 0 to {count - 1}")


def _task(
    model: BertForQuestionAnswering, tokenizer: Tokenizer, n: int = N_BEST, max_answer_tokens: int = MAX_ANSWER_TOKENS
) -> SpanTask:
    max_length = min(MAX_LENGTH, model.config.max_position_embeddings)
    return SpanTask(tokenizer, max_length, max_answer_tokens=max_answer_tokens, n_best=n)


def _features(task: SpanTask, model: BertForQuestionAnswering, question: str, passage: str) -> list[SpanFeature]:
    question, passage = clean(question), clean(passage)
    if not question or not passage:
        raise InputError(f"the {'passage' if question else 'question'} is empty: write at least one word")
    example = QAExample(shorten(question, 40), question, passage, "", -1)
    return task.features([example], model.config, learn=False)


def _answer(
    task: SpanTask,
    predicted: AnswerPrediction,
    windows: Sequence[Window],
    drawn: Window,
    passage: str,
    threshold: float,
) -> Answer:
    row, inside, starts = drawn.feature.rows[0], drawn.feature.passage, drawn.feature.max_context
    start, end = (logits[: len(row.ids)].cpu() for logits in (drawn.start_logits, drawn.end_logits))  # (S,)
    legal = legal_spans(*legal_ends(drawn.feature, len(row.ids)), task.max_answer_tokens)
    grid = span_grid(start, end, legal, log_total(windows, threshold))
    grid[0, 0] = predicted.no_answer_probability
    spans = _ranked(predicted)
    return Answer(
        best=spans[0],
        spans=spans[: task.n_best],
        no_answer_probability=predicted.no_answer_probability,
        tokens=task.tokenizer.convert_ids_to_tokens(row.ids),
        start_probabilities=start.softmax(0),
        end_probabilities=end.softmax(0),
        grid=grid,
        passage_slice=(inside.start, inside.stop),
        passage=passage,
        dropped=windows[0].feature.cut,
        unknown=row.ids.count(task.tokenizer.unk_token_id),
        windows=tuple(_seen(window) for window in windows),
        window=drawn.feature.window,
        offsets=tuple(row.offsets),
        start_slice=(starts.start, starts.stop),
        no_answer_score=predicted.no_answer_score,
        threshold=threshold,
        max_answer_tokens=task.max_answer_tokens,
        joined=drawn.feature.joined,
    )


def _ranked(predicted: AnswerPrediction) -> list[Span]:
    """Return the prediction first, and then the other spans and no answer by their score."""
    found = predicted.candidates
    nothing = Span(0, 0, 0, 0, "", found[0].score + predicted.no_answer_score, predicted.no_answer_probability)
    best = found[0] if predicted.text else nothing
    return sorted([nothing, *found], key=lambda span: (span is not best, -span.score))


def _seen(window: Window) -> PassageWindow:
    offsets, inside = window.feature.rows[0].offsets, window.feature.passage
    score, first, last = window.best[0] if window.best else (float("-inf"), inside.start, inside.start)
    edges = offsets[inside.start][0], offsets[inside.stop - 1][1], offsets[first][0], offsets[last][1]
    return PassageWindow(*edges, score, window.no_answer)
