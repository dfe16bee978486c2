"""Checkers of windows and spans: offsets, rows of windows, the window with most context, the best span, an answer."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.corpora.examples import QAExample
from bertlab.course.checks.base import checker, expect, run
from bertlab.course.solutions import tokenizer as my_bert
from bertlab.inputs.spans import cut_windows, most_context, span_features
from bertlab.model import BertForQuestionAnswering
from bertlab.tasks.span import SpanTask
from bertlab.tokenizer import Tokenizer

QUESTION, PASSAGE = "Who likes Zoé?", "My dog likes walks.  He doesn't like Zoé's caf\u00e9: “too loud”, he says. " * 3
Row = dict[str, Any]


def _tokenizers() -> tuple[my_bert.Tokenizer, Tokenizer]:
    """The reader's kind of tokenizer and the library's, with one small vocabulary."""
    library = Tokenizer.train([QUESTION, PASSAGE] * 2, vocab_size=70)
    tokens = library.convert_ids_to_tokens(range(library.vocab_size))
    return my_bert.Tokenizer({token: number for number, token in enumerate(tokens)}), library


@checker
def check_offsets(fn: Callable[[my_bert.Tokenizer, str], list[tuple[int, int]]]) -> None:
    """Check fn(tokenizer, text) -> where each token begins and stops in the text."""
    mine, library = _tokenizers()
    for text in ("my dog", "  My DOG, doesn't", PASSAGE, "\u4f60 caf\u0065\u0301 \u200b x", ""):
        right = [tuple(pair) for pair in library.encodings([text])[0].offsets]
        found = [tuple(pair) for pair in run(fn, mine, text)]
        expect(len(found) == len(right), f"{text!r} has {len(right)} tokens, and you give {len(found)} offsets.")
        inclusive = [(begin, stop - 1) for begin, stop in right]
        expect(not right or found != inclusive, "`stop` is behind the last character: text[begin:stop] is the token.")
        expect(found == right, f"the offsets of {text!r} are {right}, not {found}.")
    print("Right: every token's characters.")


@checker
def check_question_rows(
    rows_of: Callable[..., list[Row]], batch_of: Callable[[list[Row], my_bert.Tokenizer], dict[str, Tensor]]
) -> None:
    """Check the rows of a question's windows, and the batch of them."""
    mine, library = _tokenizers()
    for size, stride in ((30, 8), (44, 20), (200, 60)):
        rows = run(rows_of, mine, QUESTION, PASSAGE, size, stride)
        right = span_features([QAExample("", QUESTION, PASSAGE, "", -1)], library, size, stride, learn=False)
        expect(len(rows) == len(right), f"{size} tokens, stride {stride}: {len(right)} windows, not {len(rows)}.")
        for row, feature in zip(rows, right, strict=True):
            expect(row["ids"] == list(feature.rows[0].ids), "a row is [CLS] question [SEP] window [SEP].")
            expect(row["first"] == feature.passage.start, "`first` is the position of the window's first token.")
            places = [tuple(feature.rows[0].offsets[position]) for position in feature.passage]
            expect([tuple(place) for place in row["places"]] == places, "`places` count in the whole passage.")
            starts = [position in feature.max_context for position in feature.passage]
            expect(list(row["starts"]) == starts, "`starts` is True where the window has most context of a token.")
        batch, given = run(batch_of, rows, mine), library.batch([feature.rows[0] for feature in right])
        for name in ("input_ids", "attention_mask", "token_type_ids"):
            expect(torch.equal(batch[name], given[name]), f"{name} of the batch is not the library's.")
    print("Right: the windows of a passage, as rows and as a batch.")


@checker
def check_answer_question(fn: Callable[..., str]) -> None:
    """Check fn(model, tokenizer, question, passage, threshold, max_tokens, stride) -> the library's answer."""
    mine, library = _tokenizers()
    config = BertConfig(
        vocab_size=library.vocab_size,
        hidden_size=24,
        num_attention_heads=3,
        num_hidden_layers=1,
        intermediate_size=40,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        model = BertForQuestionAnswering(config).eval()
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.3)

    def logits(input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor]:
        out = model(input_ids, attention_mask, token_type_ids)
        return out.start_logits, out.end_logits

    for size, stride in ((30, 8), (64, 20)):
        example = QAExample("", QUESTION, PASSAGE, "", -1)
        found = next(SpanTask(library, size, stride, whole_words=False).predict(model, [example]))
        for threshold, right in (
            (found.no_answer_score + 1, found.candidates[0].text),
            (found.no_answer_score - 1, ""),
        ):
            answer = run(fn, logits, mine, QUESTION, PASSAGE, threshold, size, stride)
            expect(answer == right, f"threshold {threshold:.1f}, {size} tokens: {right!r}, not {answer!r}.")
    print("Right: the library's answers.")


@checker
def check_best_answer(fn: Callable[..., tuple[int, int]]) -> None:
    """Check fn(start, end, starts, ends, longest) -> first and last token of the best span that is allowed."""
    start, end = [0, 0, 1, 5, 0, 0], [0, 0, 5, 1, 4, 0]
    every = [True] * 6
    alone = "start and end were chosen each by itself, and the answer ends before it starts."
    _expect_span(fn, start, end, every, every, 6, (3, 4), {(3, 2): alone})
    greedy = "the best start was chosen first, then the best end behind it: compare sums of pairs."
    _expect_span(fn, [0, 4, 0, 5], [0, 0, 7, 1], every[:4], every[:4], 4, (1, 2), {(3, 3): greedy})
    _expect_span(fn, [0, 2, 6, 1], [0, 1, 6, 1], every[:4], every[:4], 3, (2, 2), {}, "an answer may be one token.")
    over = "it has more than `longest` tokens: both ends count."
    under = "three tokens are allowed with longest = 3: both ends count."
    lengths = {(1, 4): over, (3, 4): under, (1, 2): under}
    _expect_span(fn, [0, 6, 2, 1, 0], [0, 0, 1, 3, 6], every[:5], every[:5], 3, (1, 3), lengths)
    inside = [False, False, False, True, True, True]
    outside = "the question and [CLS] hold no answer: only where `starts` and `ends` are True."
    _expect_span(fn, [9, 8, 0, 2, 1, 0], [9, 8, 0, 0, 3, 1], inside, inside, 4, (3, 4), {}, outside)
    owned = [False, False, False, False, True, True]
    begins = "the span starts where `starts` is False: that token has more context in another window."
    _expect_span(fn, [0, 0, 0, 9, 1, 0], [0, 0, 0, 1, 0, 3], owned, inside, 4, (4, 5), {(3, 5): begins, (3, 3): begins})
    ending = "the span may end where `starts` is False: only `ends` counts for its end."
    _expect_span(
        fn, [0, 0, 0, 3, 1, 0], [0, 0, 0, 1, 5, 0], [*inside[:4], False, False], inside, 4, (3, 4), {(3, 3): ending}
    )
    below = "logits can all be below zero: an illegal pair must get less than any of them."
    _expect_span(fn, [-9, -6, -2, -5], [-9, -7, -6, -1], [False, *every[:3]], [False, *every[:3]], 3, (2, 3), {}, below)
    print("Right: the best of all pairs that can be an answer.")


def _expect_span(
    fn,
    start: list,
    end: list,
    starts: list[bool],
    ends: list[bool],
    longest: int,
    right: tuple[int, int],
    slips: dict[tuple[int, int], str],
    otherwise: str = "the pair with the highest sum of logits.",
) -> None:
    given = torch.tensor(start).float(), torch.tensor(end).float(), torch.tensor(starts), torch.tensor(ends)
    result = run(fn, *given, longest)
    right_kind = isinstance(result, tuple) and len(result) == 2
    expect(right_kind, "return a tuple of two whole numbers: first and last token.")
    found = (int(result[0]), int(result[1]))
    behind = "the end is the last token itself, included." if found == (right[0], right[1] + 1) else otherwise
    message = slips.get(found, behind)
    expect(found == right, f"start {start}, end {end}, longest {longest} give {right}, not {found}: {message}")


@checker
def check_most_context(fn: Callable[[Sequence[range]], list[int]]) -> None:
    """Check fn(windows) -> for each token the number of the window with most context for it, the first of equals."""
    for count, room, stride in (
        (12, 8, 4),
        (9, 9, 3),
        (26, 10, 5),
        (23, 10, 3),
        (17, 6, 6),
        (450, 400, 200),
        (403, 400, 399),
    ):
        windows = cut_windows(count, room, stride)
        shown = f"windows {windows}"
        right = [number for number, own in enumerate(most_context(windows)) for _ in own]
        result = run(fn, list(windows))
        expect(isinstance(result, list) and len(result) == count, f"{count} tokens: return one number for each.")
        result = [int(number) for number in result]
        counted = f"{shown}: windows count from 0 to {len(windows) - 1}."
        expect(all(0 <= number < len(windows) for number in result), counted)
        wrong = [
            n
            for n, (token_in, mine) in enumerate(zip(range(count), result, strict=True))
            if token_in not in windows[mine]
        ]
        expect(not wrong, f"{shown}: token {wrong[:1]} is not even in the window that you name.")
        for message, slip in CONTEXT_SLIPS.items():
            expect(result == right or result != slip(windows, count), f"{shown}: {message}")
        expect(result == right, f"{shown}: that is not where each token has most context.")
    print("Right: every token is read where it has most context.")


def _chosen(context: Callable[[range, int], float], last: bool = False) -> Callable[[list[range], int], list[int]]:
    """A wrong way of choosing: by another context, or the last window of equal ones."""

    def choose(windows: list[range], count: int) -> list[int]:
        order = range(len(windows))
        numbers = list(reversed(order)) if last else list(order)
        return [
            max((n for n in numbers if t in windows[n]), key=lambda n: context(windows[n], t)) for t in range(count)
        ]

    return choose


def _length(window: range) -> float:
    return 0.01 * len(window)


CONTEXT_SLIPS: dict[str, Callable[[list[range], int], list[int]]] = {
    "of two windows with equal context the first one counts, as in the released code.": _chosen(
        lambda w, t: min(t - w.start, w.stop - 1 - t) + _length(w), last=True
    ),
    "0.01 of the window's length is missing: it decides between a full window and a short one.": _chosen(
        lambda w, t: min(t - w.start, w.stop - 1 - t)
    ),
    "`stop` is behind the last token: on the right stand stop - 1 - token tokens.": _chosen(
        lambda w, t: min(t - w.start, w.stop - t) + _length(w)
    ),
    "context is what the shorter side has: the smaller number of the two, not the larger.": _chosen(
        lambda w, t: max(t - w.start, w.stop - 1 - t) + _length(w)
    ),
    "context is what the shorter side has, not both sides together.": _chosen(lambda w, t: len(w)),
    "the last window that holds a token is not the one with most context.": _chosen(lambda w, t: w.start),
}
