"""Windows and spans: offsets, rows of windows, the window with most context, the best span, an answer."""

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from bertlab.course.chapter_12.exercises.answers import two_positions
from bertlab.course.exercise import Exercise
from bertlab.course.observe import SHUFFLED, random_tensor, value
from bertlab.course.solutions import answers
from bertlab.course.solutions.tokenizer import Tokenizer

QUESTION, PASSAGE = "Who likes Zoé?", "My dog likes walks.  He doesn't like Zoé's caf\u00e9: “too loud”, he says. " * 3
PIECES = (
    "my dog like ##s walk ##s . he do ##es ##n ' t zo ##e s ca ##fe : “ too loud ” , say ##s who ? x \u4f60".split()
)


@cache
def _tokenizer() -> Tokenizer:
    tokens = dict.fromkeys([*SHUFFLED, *PIECES])
    return Tokenizer({token: number for number, token in enumerate(tokens)})


check_offsets = Exercise(
    answers.offsets,
    lambda: [
        (_tokenizer(), text)
        for text in (
            "my dog",
            "  My DOG, doesn't",
            PASSAGE,
            "\u4f60 caf\u0065\u0301 \u200b x",
            "my elephant x",
            "my d\u200dog my",
            "",
        )
    ],
    right="Right: every token's characters.",
    observe=value,
    kept=("offsets",),
    slips=[
        ("`stop` is behind the last character: text[begin:stop] is the token.", "[1] + 1) => [1])"),
        (
            "a word that is [UNK] counts with all its letters.",
            'len(word) if piece == UNK else len(piece.removeprefix("##")) => len(piece.removeprefix("##"))',
        ),
        ("the ## of a piece is no letter of the text.", 'len(piece.removeprefix("##")) => len(piece)'),
        (
            "a word may stand there twice: look for it behind the last one.",
            "cleaned.index(word, at) => cleaned.index(word)",
        ),
        (
            "offsets count in the text as it was, not in the cleaned one.",
            "(letters[at][1], letters[at + size - 1][1] + 1) => (at, at + size)",
        ),
    ],
)


def _windows() -> list[tuple]:
    sizes = ((12, 8, 4), (9, 9, 3), (26, 10, 5), (23, 10, 3), (17, 6, 6), (30, 12, 2), (450, 400, 200), (403, 400, 399))
    return [(answers.cut_windows(*size),) for size in sizes]


CONTEXT = "min(token - window.start, window.stop - 1 - token) + 0.01 * len(window)"

check_most_context = Exercise(
    answers.most_context,
    _windows,
    right="Right: every token is read where it has most context.",
    observe=value,
    kept=("most_context",),
    slips=[
        (
            "of two windows with equal context the first one counts, as in the released code.",
            "max(numbers, => max(numbers[::-1],",
        ),
        (
            "0.01 of the window's length is missing: it decides between a full window and a short one.",
            " + 0.01 * len(window) => ",
        ),
        (
            "`stop` is behind the last token: on the right stand stop - 1 - token tokens.",
            "window.stop - 1 - token => window.stop - token",
        ),
        (
            "context is what the shorter side has: the smaller number of the two, not the larger.",
            "return min( => return max(",
        ),
        (
            "each token got the first window that holds it: its context is the smaller number of the two sides.",
            f"{CONTEXT} => len(window)",
        ),
        ("the last window that holds a token is not the one with most context.", f"{CONTEXT} => number"),
    ],
)


def _rows(rows_of, batch_of, *case) -> dict[str, Any]:
    rows = rows_of(_tokenizer(), *case)
    return {"rows": rows, "the batch": batch_of(rows, _tokenizer())}


WINDOW = "window.start : window.stop"

check_question_rows = Exercise(
    (answers.question_rows, answers.question_batch),
    lambda: [
        (QUESTION, PASSAGE, 30, 8),
        (QUESTION * 8, PASSAGE, 60, 7),
        (QUESTION, PASSAGE, 200, 60),
        (QUESTION * 20, "my dog", 80, 5),
    ],
    right="Right: the windows of a passage, as rows and as a batch.",
    observe=_rows,
    helpers=(answers.cut_windows,),
    kept=("cut_windows", "question_rows", "question_batch"),
    slips=[
        (
            "a row is [CLS] question [SEP] window [SEP]: its last [SEP] is missing.",
            f"*ids[{WINDOW}], tokenizer.sep_token_id] => *ids[{WINDOW}]]",
        ),
        ("`first` is the position of the window's first token in the row.", "first=len(head) => first=len(head) - 1"),
        (
            "`places` count in the whole passage, one for each token of the window.",
            f"places=places[{WINDOW}] => places=places[: len(window)]",
        ),
        (
            "`starts` is True where the window has most context of a token.",
            "starts=[best[token] == number for token in window] => starts=[True for token in window]",
        ),
        (
            "the last [SEP] counts: the window has max_tokens - len(head) - 1 tokens.",
            "len(head) - 1, stride => len(head), stride",
        ),
        (
            "token_type_ids are 1 on the passage and its [SEP].",
            '[1] * (len(row["places"]) + 1) => [1] * len(row["places"]) + [0]',
        ),
        ("[PAD] is tokenizer.pad_token_id, which need not be 0.", "[tokenizer.pad_token_id] * n => [0] * n"),
        ("attention_mask is 0 on padding.", '[1] * len(r["ids"]) + [0] * n => [1] * len(r["ids"]) + [1] * n'),
    ],
)


def _spans() -> list[tuple]:
    every, inside = [True] * 6, [False, False, False, True, True, True]
    long = [5] * 22 + [0] * 18 + [3] + [0] * 4, [5] * 22 + [0] * 20 + [3, 0, 0]
    rows = (
        ([0, 0, 1, 5, 0, 0], [0, 0, 5, 1, 4, 0], every, every, 6),  # each by itself: the end before the start
        ([0, 4, 0, 5], [0, 0, 7, 1], every[:4], every[:4], 4),  # the best start first
        ([0, 2, 6, 1], [0, 1, 6, 1], every[:4], every[:4], 3),  # one token
        ([0, 6, 2, 1, 0], [0, 0, 1, 3, 6], every[:5], every[:5], 3),  # at most three tokens
        ([9, 8, 0, 2, 1, 0], [9, 8, 0, 0, 3, 1], inside, inside, 4),  # not in the question
        ([0, 0, 0, 9, 1, 0], [0, 0, 0, 1, 0, 3], [False] * 4 + [True] * 2, inside, 4),  # starts that another window has
        ([0, 0, 0, 3, 1, 0], [0, 0, 0, 1, 5, 0], [*inside[:4], False, False], inside, 4),  # may end where none starts
        (
            [-9090, -9060, -9020, -9050],
            [-9090, -9070, -9060, -9010],
            [False, *every[:3]],
            every[:4],
            3,
        ),  # far below zero
        ([0, 0, 1, 2], [0, 0, 3, 9], every[:4], [True, True, True, False], 3),  # an end that is not allowed
        ([0, 9, 0, 0], [0, 9, 4, 0], every[:4], [True, False, True, True], 3),  # may start where none ends
        ([0, 6, 10, -9], [0, 6, 0, 9], [False, *every[:3]], every[:4], 1),  # a sum of softmaxes takes another
        (*long, *[[False] * 30 + [True] * 15] * 2, 6),  # the best starts and ends are all in the question
    )
    return [
        (*(torch.tensor(each).float() for each in pair), *map(torch.tensor, where), longest)
        for *pair, a, b, longest in rows
        for where in [(a, b)]
    ]


def _span(fn, start, end, starts, ends, longest) -> dict[str, Any]:
    given = start, end, starts, ends
    return two_positions(fn, *given, longest) | {"without `longest`": two_positions(fn, *given)["result"]}


SCORES = "start[:, None] + end[None, :]"

check_best_answer = Exercise(
    answers.best_span,
    _spans,
    right="Right: the best of all pairs that can be an answer.",
    observe=_span,
    kept=("best_span",),
    slips=[
        ("the answer ends before it starts: only pairs with start <= end count.", ".triu() => "),
        ("an answer may be one token.", ".triu() => .triu(1)"),
        ("the answer has more than `longest` tokens: both ends count.", "tril(longest - 1) => tril(longest)"),
        ("the answer has more than `longest` tokens: both ends count.", ".tril(longest - 1) => "),
        ("`longest` tokens are allowed: both ends count.", "tril(longest - 1) => tril(longest - 2)"),
        (
            "the span starts where `starts` is False: the question holds no answer, and another window has more "
            "context.",
            " & starts[:, None] => ",
        ),
        ("the span ends where `ends` is False: only where it is True an answer may end.", " & ends[None, :] => "),
        (
            "the span may end where `starts` is False: only `ends` counts for its end.",
            "ends[None, :] => ends[None, :] & starts[None, :]",
        ),
        (
            "start and end hold no answer where neither may be: use `starts` for the start and `ends` for the end.",
            "starts[:, None] & ends[None, :] => ends[:, None] & starts[None, :]",
        ),
        ("logits can all be below zero: an illegal pair must get less than any of them.", "-torch.inf => 0"),
        (
            "add logits, not probabilities: with a sum of softmaxes another pair would win.",
            f"{SCORES} => start.softmax(0)[:, None] + end.softmax(0)[None, :]",
        ),
        ("add the two logits, do not multiply them.", f"{SCORES} => start[:, None] * end[None, :]"),
        (
            "the best start was chosen first, then the best end behind it: compare sums of pairs.",
            f"{SCORES} => 1000 * start[:, None] + end[None, :]",
        ),
        (
            "the end is the last token itself, included.",
            "return divmod( => return (lambda a: (a[0], a[1] + 1))(divmod(",
            "argmax()), size) => argmax()), size))",
        ),
        (
            "start and end are swapped: rows are starts, columns are ends.",
            "return divmod( => return (lambda a: (a[1], a[0]))(divmod(",
            "argmax()), size) => argmax()), size))",
        ),
    ],
)


class _Answerer(nn.Module):
    """Start and end logits of rows, which depend on the tokens and on where they stand."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor]:
        table, places = random_tensor(40, 2, seed=5), random_tensor(300, 2, seed=6)
        logits = 3 * table[input_ids] + places[: input_ids.size(1)] + token_type_ids[..., None] * 0.1
        return tuple((logits - 50 * (attention_mask == 0)[..., None]).unbind(-1))  # type: ignore[return-value]


def _answered(fn, *case) -> dict[str, Any]:
    return {"result": fn(_Answerer(), _tokenizer(), QUESTION, PASSAGE, *case)}


@cache
def _turn(size: int, stride: int) -> float:
    """The threshold at which the answer turns into none, by halving."""
    low, high = -200.0, 200.0
    for _ in range(16):
        middle = (low + high) / 2
        none = not answers.answer_question(_Answerer(), _tokenizer(), QUESTION, PASSAGE, middle, size, stride)
        low, high = (middle, high) if none else (low, middle)
    return high


def _questions() -> list[tuple]:
    windows = ((30, 5), (64, 20), (24, 4))
    return [(_turn(*window) + step, *window) for window in windows for step in (0.05, -0.05)]


check_answer_question = Exercise(
    answers.answer_question,
    _questions,
    right="Right: the answer as it stands in the passage.",
    observe=_answered,
    kept=("answer_question",),
    slips=[
        ("hand `threshold` on to decide.", "decide(nulls, spans, threshold) => decide(nulls, spans, 1000.0)"),
        ("no answer is the sum of both logits of [CLS].", "float(start[0] + end[0]) => float(start[0])"),
        (
            "the answer's characters: from where its first token begins to where its last one stops.",
            "(begin, _), (_, stop) = => (begin, stop), _ =",
        ),
        (
            "`starts` is for the start alone: an answer may end with any token of its window.",
            'torch.tensor(row["starts"]), True => torch.tensor(row["starts"]), torch.tensor(row["starts"])',
        ),
        ("hand max_tokens and stride on to question_rows.", "passage, max_tokens, stride) => passage)"),
    ],
)
