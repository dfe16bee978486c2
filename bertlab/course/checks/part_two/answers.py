"""Checkers of question answering: how answers are compared, the head, the positions of an answer, no answer."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.course.checks.base import checker, close, expect, none_of, run, small_batch, tensors

Places = list[tuple[int, int]]
SIZES: dict[str, Any] = dict(
    vocab_size=50, hidden_size=24, num_attention_heads=3, intermediate_size=40, num_hidden_layers=2
)


@checker
def check_normalise(fn: Callable[[str], str]) -> None:
    """Check fn(text) -> the text as SQuAD's evaluation compares it: no case, punctuation, articles, extra spaces."""
    for text, right, message in (
        ("Lovely Toy Shop", "lovely toy shop", "capitals do not count."),
        ("toy shop.", "toy shop", "punctuation does not count."),
        ("the toy shop", "toy shop", "the articles a, an and the do not count."),
        ("an old toy", "old toy", "the articles a, an and the do not count."),
        ("The toy", "toy", "a capital hides the article: make letters small before you take articles out."),
        ("theatre banana", "theatre banana", "articles are whole words: those letters inside a word stay."),
        ("the 'a' team", "team", "a quoted article is one too: take punctuation out before the articles."),
        ("the man  at the\tstore", "man at store", "single spaces between words, none at the ends."),
        ("o'clock", "oclock", "a mark inside a word goes without a space in its place."),
        ("3 a.m.", "3 am", "this `a` is no article: take punctuation out before the articles."),
    ):
        result = run(fn, text)
        expect(isinstance(result, str), "return a text.")
        expect(result == right, f"{text!r} should become {right!r}, not {result!r}: {message}")
    print("Right: as SQuAD's evaluation script compares answers.")


@checker
def check_question_answering(cls: type[nn.Module]) -> None:
    """Check cls(config) with bert and qa_outputs: forward -> start and end logits (B, S), loss(batch) -> their mean."""
    config = BertConfig(**SIZES)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        model = run(cls, config)
        for name in ("config", "bert", "qa_outputs"):
            expect(hasattr(model, name), f"self.{name} is missing.")
        shape = tuple(model.qa_outputs.weight.shape)
        expect(shape == (2, config.hidden_size), f"qa_outputs has weights {shape}: it turns H numbers into 2.")
        nn.init.normal_(model.qa_outputs.weight)
        nn.init.normal_(model.qa_outputs.bias)
    model.eval()
    rows = dict(zip(("input_ids", "attention_mask", "token_type_ids"), small_batch(), strict=True))
    with torch.no_grad():
        start, end = tensors(run(model, *rows.values()), 2, "start logits and end logits")
        hidden, pooled = model.bert(*rows.values())
        _check_logits(start, end, model.qa_outputs(hidden), pooled)
        labels = dict(start_positions=torch.tensor([1, 0]), end_positions=torch.tensor([3, 0]))
        _check_loss(run(model.loss, rows | labels), start, end, *labels.values())
    print("Right: two logits for every token, and the mean of both losses.")


def _check_logits(start: Tensor, end: Tensor, both: Tensor, pooled: Tensor) -> None:
    right_start, right_end = both.unbind(-1)
    shape = tuple(start.shape)
    expect(shape != (2, 2) and shape != (2,), "these are logits of a row, from [CLS] alone: every token gets two.")
    expect(shape == (2, 7), f"start logits are (B, S), here (2, 7); yours are {shape}: take the two columns apart.")
    swapped = close(start, right_end) and close(end, right_start)
    expect(not swapped, "start and end are swapped: the published weights have start in row 0 of qa_outputs.")
    over_tokens = close(start, right_start.softmax(1)) or close(start, right_start.log_softmax(1))
    expect(not over_tokens, "forward gives logits: the softmax belongs to the loss.")
    expect(not close(start, both.softmax(-1)[..., 0]), "no softmax over start and end: they do not compete.")
    expect(close(start, right_start) and close(end, right_end), "the logits are not those of qa_outputs(hidden).")


def _check_loss(loss: Tensor, start: Tensor, end: Tensor, starts: Tensor, ends: Tensor) -> None:
    expect(isinstance(loss, Tensor) and loss.ndim == 0, "return one number, as a tensor.")
    first, last = F.cross_entropy(start, starts), F.cross_entropy(end, ends)
    without = [F.cross_entropy(logits[:1], labels[:1]) for logits, labels in ((start, starts), (end, ends))]
    none_of(
        loss,
        [
            (first + last, "this is the sum of both losses: the mean is half of it."),
            (first, "this is the loss of the start alone."),
            (last, "this is the loss of the end alone."),
            (
                (F.cross_entropy(start, ends) + F.cross_entropy(end, starts)) / 2,
                "start and end labels are swapped.",
            ),
            ((without[0] + without[1]) / 2, "position 0 counts too: it is [CLS], the label of no answer."),
        ],
    )
    expect(close(loss, (first + last) / 2), "the loss is not the mean of both cross-entropies over the positions.")


@checker
def check_answer_positions(fn: Callable[[Places, int, int, int], tuple[int, int]]) -> None:
    """Check fn(places, first, begin, stop) -> positions of the first and last token of the answer, or 0, 0."""
    places = [(0, 3), (4, 8), (8, 10), (11, 15), (15, 16)]
    for begin, stop, right, message in (
        (4, 10, (8, 9), "the first and the last token of the answer."),
        (11, 15, (10, 10), "an answer of one token starts and ends with it."),
        (0, 16, (7, 11), "the answer may be the whole window."),
        (5, 15, (8, 10), "an answer that begins or stops inside a token takes the whole token."),
        (9, 13, (9, 10), "an answer that begins or stops inside a token takes the whole token."),
        (-1, -1, (0, 0), "begin is -1 where there is no answer: both positions are 0, [CLS]."),
        (11, 20, (0, 0), "the answer goes on behind this window, so here it is no answer: 0, 0."),
    ):
        _expect_positions(run(fn, list(places), 7, begin, stop), places, begin, stop, right, message)
    later = [(begin + 40, stop + 40) for begin, stop in places]
    cut = "the answer begins before this window, so here it is no answer: 0, 0."
    _expect_positions(run(fn, later, 7, 35, 43), later, 35, 43, (0, 0), cut)
    _expect_positions(run(fn, later, 7, 44, 50), later, 44, 50, (8, 9), "characters count in the whole passage.")
    print("Right: from characters to positions of the row, and [CLS] where there is no answer.")


def _expect_positions(found: Any, places: Places, begin: int, stop: int, right: tuple[int, int], message: str) -> None:
    right_kind = isinstance(found, tuple) and len(found) == 2
    expect(right_kind, "return a tuple of two whole numbers: first and last position.")
    mine = (int(found[0]), int(found[1]))
    given = f"places {places}, first 7, characters {begin} to {stop}"
    expect(right[0] == 0 or mine != (right[0], right[1] + 1), f"{given}: the end is the last token itself, included.")
    shifted = (right[0] - 7, right[1] - 7)
    expect(right[0] == 0 or mine != shifted, f"{given}: positions count in the row; add `first`.")
    expect(mine == right, f"{given} give {right}, not {mine}: {message}")


@checker
def check_decide(fn: Callable[[list[float], list[tuple[float, str]], float], str]) -> None:
    """Check fn(nulls, spans, threshold) -> the best span's text, or "" where no answer beats it by over `threshold`."""
    spans = [(4.0, "a kite"), (6.0, "nine coins")]
    for nulls, threshold, right, message in (
        ([9.0, 3.0], 0.0, "nine coins", "take the least score of no answer: it must be missing in every window."),
        ([9.0, 7.0], 0.0, "", "no answer beats the best span, 7 to 6, by more than 0."),
        ([9.0, 7.0], 2.0, "nine coins", "the sign is wrong: a high threshold asks for more before it gives no answer."),
        ([9.0, 5.0], -2.0, "", "the sign is wrong: a low threshold makes no answer more frequent."),
        ([8.0, 6.0], 0.0, "nine coins", "exactly the threshold is not more than it."),
        (
            [3.0, 9.0],
            0.0,
            "nine coins",
            "compare the least score of no answer of all windows with the best span of all.",
        ),
    ):
        result = run(fn, list(nulls), list(spans), threshold)
        expect(isinstance(result, str), "return a text.")
        expect(
            result in ("", "nine coins"), "the answer is the text of the span with the highest score of all windows."
        )
        expect(result == right, f"no answer {nulls}, spans {spans}, threshold {threshold} give {right!r}: {message}")
    low = run(fn, [-3.0], [(-5.0, "a kite")], 1.0)
    expect(low == "", "scores can be below zero: -3 beats -5 by 2, more than 1.")
    print("Right: one answer of all windows, or none.")
