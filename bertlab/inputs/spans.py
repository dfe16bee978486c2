"""Question answering: a question and its passage as rows of model input, a long passage as overlapping windows.

Devlin et al. 2019, sections 4.2 and 4.3: `[CLS] question [SEP] passage [SEP]`; an answer is a start and an end in the
passage, "no answer" the span that starts and ends at [CLS]. Windows are those of the paper's code (run_squad.py).
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from bertlab.corpora.examples import QAExample
from bertlab.errors import InputError
from bertlab.inputs.features import Feature, Target
from bertlab.tokenizer import Row, Tokenizer

MAX_LENGTH = 384  # tokens of a row in the paper's code, if the model has so many positions
MAX_QUERY = 64  # tokens of a question; the paper's code cuts it there
MAX_ANSWER_TOKENS = 30
LENGTH_COUNTS = 0.01  # how much a token of a window's length counts beside one of context
# No space shows where a word of these scripts ends (to Korean nouns, particles are joined that no answer takes along).
# Chinese characters are not among them: each is a token of its own.
UNSPACED = re.compile("HIRAGANA|KATAKANA|HANGUL|THAI|LAO|KHMER|MYANMAR|TIBETAN")


@dataclass(frozen=True)
class SpanFeature(Feature):
    """A question and window number `window` of its passage; the row's offsets at `passage` count in the whole passage.

    `passage` are the positions of the window's tokens in the row, `max_context` those of them that have the most
    context here: each token of a passage belongs to `max_context` of exactly one window, and an answer that starts
    with it is taken from there. `joined` are the positions whose token continues the word of the token before (the last
    may be that of the [SEP] after a window that ends inside a word): no answer starts there or ends just before.
    """

    window: int = 0
    passage: range = range(0)
    max_context: range = range(0)
    joined: frozenset[int] = frozenset()


def usual_stride(max_length: int) -> int:
    """Return a third of a row: the published 128 of 384."""
    return max(1, max_length // 3)


def span_features(
    examples: Sequence[QAExample],
    tokenizer: Tokenizer,
    max_length: int,
    stride: int,
    learn: bool = True,
    longest: int = MAX_ANSWER_TOKENS,
) -> list[SpanFeature]:
    """Rows of at most `max_length` tokens, in the order of the examples; windows start `stride` tokens apart.

    With `learn`, start_positions and end_positions: both 0 ([CLS]) where there is no answer or not all of it is in the
    window; an answer that starts or ends inside a token takes the whole token. Of a question only the first 64 tokens
    are kept. `joined` is empty for a passage in which no answer of at most `longest` tokens is made of whole words.
    InputError names a question that leaves no room, or whose passage or answer holds no token.
    """
    if stride < 1:
        raise InputError(f"stride must be at least 1, not {stride}")
    questions = _segments([example.question for example in examples], tokenizer)
    contexts = list(dict.fromkeys(example.context for example in examples))  # many questions share one
    passages = dict(zip(contexts, _segments(contexts, tokenizer), strict=True))
    features = []
    for number, (example, question) in enumerate(zip(examples, questions, strict=True)):
        passage, asked = passages[example.context], question.part(range(min(MAX_QUERY, len(question.ids))))
        windows = cut_windows(len(passage.ids), _room(example, asked, passage, max_length), stride)
        answer = _answer_tokens(example, passage.offsets) if learn else None
        shares = list(zip(windows, most_context(windows), strict=True))
        joined = passage.joined if any(_fits(*share, passage.joined, longest) for share in shares) else frozenset()
        for window, (tokens, best) in enumerate(shares):
            row, shift = _row(asked, passage.part(tokens), tokenizer), len(asked.ids) + 2 - tokens.start
            cut = 0 if window else len(question.ids) - len(asked.ids)
            targets = _targets(answer, tokens, shift) if learn else {}
            positions = _moved(tokens, shift), _moved(best, shift)
            inside = frozenset(token + shift for token in joined if tokens.start <= token <= tokens.stop)
            features.append(SpanFeature((row,), targets, number, cut, window, *positions, inside))
    return features


class _Segment(NamedTuple):
    ids: list[int]
    offsets: list[tuple[int, int]]
    joined: frozenset[int] = frozenset()

    def part(self, tokens: range) -> "_Segment":
        return _Segment(self.ids[tokens.start : tokens.stop], self.offsets[tokens.start : tokens.stop])


def _segments(texts: Sequence[str], tokenizer: Tokenizer) -> list[_Segment]:
    return [
        _Segment(encoding.ids, encoding.offsets, joined_tokens(encoding.tokens, encoding.offsets, text))
        for encoding, text in zip(tokenizer.encodings(texts), texts, strict=True)
    ]


def joined_tokens(tokens: Iterable[str], offsets: Sequence[tuple[int, int]], text: str) -> frozenset[int]:
    """Return the numbers of the tokens of `text` that continue a word, where its script shows the borders of words."""
    continuing = (number for number, token in enumerate(tokens) if token.startswith("##"))
    return frozenset(n for n in continuing if not UNSPACED.search(unicodedata.name(text[offsets[n][0]], "")))


def after_marks(text: str, end: int) -> int:
    """Return where the letter before `end` is complete: an accent or vowel sign that follows it belongs to it, although
    lower-casing takes it out of the token (Devanagari, Arabic)."""
    while end < len(text) and unicodedata.category(text[end])[0] == "M":
        end += 1
    return end


def _fits(window: range, starts: range, joined: frozenset[int], longest: int) -> bool:
    """Return whether an answer made of whole words starts at one of `starts` and ends in the window."""
    return any(
        stop not in joined
        for start in starts
        if start not in joined
        for stop in range(start + 1, min(start + longest, window.stop) + 1)
    )


def _room(example: QAExample, question: _Segment, passage: _Segment, max_length: int) -> int:
    """How many tokens of the passage a row holds."""
    if not passage.ids:
        raise InputError(f"the passage of question {example.id!r} is empty: there is nothing to find an answer in")
    room = max_length - len(question.ids) - 3  # [CLS] question [SEP] passage [SEP]
    if room < 1:
        raise InputError(
            f"question {example.id!r} takes {len(question.ids)} tokens and leaves no room for its passage "
            f"in max_length={max_length}: shorten it"
        )
    return room


def cut_windows(tokens: int, room: int, stride: int) -> list[range]:
    """The tokens of each window: `room` of them, fewer in the last, each window `stride` after the one before."""
    step = min(stride, room)  # no token may fall between two windows
    return [range(first, min(first + room, tokens)) for first in range(0, max(tokens - room, 0) + step, step)]


def most_context(windows: Sequence[range]) -> list[range]:
    """The tokens of each window that have more context there than in any other: they share out the passage."""
    edges = [0, *(_edge(*pair) for pair in pairwise(windows)), windows[-1].stop]
    return [range(*pair) for pair in pairwise(edges)]


def _edge(window: range, following: range) -> int:
    """The first token with more context in the following window; from there on all have."""
    shared = range(following.start, window.stop)
    return following.start + bisect_left(shared, True, key=lambda t: _context(following, t) > _context(window, t))


def _context(window: range, token: int) -> float:
    """Tokens on its shorter side, and a little for the length of the window."""
    return min(token - window.start, window.stop - 1 - token) + LENGTH_COUNTS * len(window)


def _moved(tokens: range, shift: int) -> range:
    return range(tokens.start + shift, tokens.stop + shift)


def _row(question: _Segment, window: _Segment, tokenizer: Tokenizer) -> Row:
    sep, nowhere = tokenizer.sep_token_id, (0, 0)
    return Row(
        [tokenizer.cls_token_id, *question.ids, sep, *window.ids, sep],
        [0] * (len(question.ids) + 2) + [1] * (len(window.ids) + 1),
        [nowhere, *question.offsets, nowhere, *window.offsets, nowhere],
    )


def _answer_tokens(example: QAExample, offsets: list[tuple[int, int]]) -> range | None:
    """The tokens of the passage that the answer touches; None where there is no answer."""
    if example.is_impossible:
        return None
    answer_end = example.answer_start + len(example.answer)
    start = bisect_right(offsets, example.answer_start, key=lambda offset: offset[1])
    stop = bisect_left(offsets, answer_end, key=lambda offset: offset[0])
    if start >= stop:
        raise InputError(f"the answer {example.answer!r} of question {example.id!r} holds no token")
    return range(start, stop)


def _targets(answer: range | None, window: range, shift: int) -> dict[str, Target]:
    if answer is None or answer.start < window.start or window.stop < answer.stop:
        return {"start_positions": 0, "end_positions": 0}
    return {"start_positions": answer.start + shift, "end_positions": answer.stop - 1 + shift}
