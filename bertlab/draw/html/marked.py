"""Text with marks in it, as escaped HTML: tokens by what masking did to them, tokens or words by their attributions,
a passage with its answer, its names or what might be one."""

import math
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from os.path import commonprefix

from bertlab.draw.palette import BLUE, GREEN, GREY, OKABE_ITO, ORANGE
from bertlab.draw.percent import percent, signed
from bertlab.errors import is_right_to_left
from bertlab.explain.labels import Name
from bertlab.explain.spans import Answer
from bertlab.inputs.spans import after_marks

ACTIONS = ["not chosen", "[MASK]", "random token", "left as it is"]
_SYMBOLS = ["", "■", "↻", "="]

# Written into each element: JupyterLab takes a <style> out of what a notebook that nobody has run yet shows.
_PASSAGE = (
    "font-size:17px;line-height:1.75;max-width:46em;overflow-wrap:anywhere;white-space:pre-wrap"  # as it was written
)
_LARGE = "font-size:1.9rem;line-height:1.5;max-height:14rem;overflow-y:auto;overflow-wrap:anywhere;white-space:pre-wrap"
_MARK = f"background:{ORANGE}45;border-bottom:3px solid {ORANGE};border-radius:3px;padding:2px 0"
_SPAN = "border-radius:3px;padding:1px 0"
_BEST = "border-bottom:3px solid #D55E00;border-radius:3px 3px 0 0;padding:1px 0"
_NOTE = "font-size:11.5px;opacity:.85"
_STRIP = "display:flex;flex-wrap:wrap;gap:10px 7px;line-height:1.3"
_TOKEN = "border-radius:6px;font-size:16px;padding:5px 10px"
_BARE = "font-size:16px;padding:5px 3px"
_BOXED = "border-radius:6px;font-size:16px;padding:4px 9px"
_ACTED = [
    f"{_BARE};opacity:.8",
    f"{_BOXED};background:{BLUE}26;border:1px solid {BLUE}",
    f"{_BOXED};background:{ORANGE}30;border:1px dashed {ORANGE}",
    f"{_BOXED};background:{GREEN}26;border:3px double {GREEN};padding:2px 7px",
]


def token_strip(tokens: Sequence[str], actions: Sequence[int], before: Sequence[str], special: Sequence[bool]) -> str:
    """Tokens after masking; each chosen one names what was done and what stood there before."""
    parts = []
    for token, action, old, is_special in zip(tokens, actions, before, special, strict=True):
        look = f"{_BARE};opacity:.45" if is_special else _ACTED[action]
        note = {1: f"was {old}", 2: f"was {old}, random", 3: "chosen, kept"}.get(action, "&nbsp;")
        parts.append(_token(token, look, f"{_SYMBOLS[action]} {escape(note) if action else note}"))
    return _strip(tokens, parts)


def _token(token: str, look: str, note: str) -> str:
    """A token in its box and, below it, a note of HTML."""
    below = f'<small style="{_NOTE};display:block;direction:ltr"><bdi>{note}</bdi></small>'
    return f'<span style="{look}"><bdi>{escape(token)}</bdi>{below}</span>'


def marked_passage(passage: str, start: int, end: int) -> str:
    """The passage with characters start to end marked; none when start == end."""
    if start >= end:
        return _passage(escape(passage))
    head, span, tail = passage[:start], passage[start:end], passage[end:]
    return _passage(f"{escape(head)}{_mark(escape(span))}{escape(tail)}")


def _passage(inside: str, look: str = _PASSAGE, kind: str = "passage") -> str:
    return f'<div class="{kind}" style="{look}" dir="auto">{inside}</div>'


def _mark(inside: str, look: str = _MARK) -> str:
    return f'<span class="mark" role="mark" style="{look}">{inside}</span>'  # <mark> is black on dark pages too


def shaded_passage(answer: Answer) -> str:
    """The passage with each token as blue, from the left, as an answer may start with it, and as orange, from the
    right, as one may end with it.

    The answer is underlined; what lies outside the window that is shown is faint. Colours go with the square root, so
    that a probability of 1% is still seen.
    """
    first, stop = answer.passage_slice
    parts, begun = [], answer.offsets[first][0]
    done = begun
    for position in range(first, stop):
        start, end = answer.offsets[position]
        following = answer.offsets[position + 1][0] if position + 1 < stop else len(answer.passage)
        end = min(after_marks(answer.passage, end), max(end, following))  # a vowel sign may be a token of its own
        parts += [escape(answer.passage[done:start]), _shaded_token(answer, position, start, end)]
        done = end
    before, after = escape(answer.passage[:begun]), escape(answer.passage[done:])
    return _passage(f"{_faint(before)}{''.join(parts)}{_faint(after)}")


def _faint(inside: str) -> str:
    return f'<span style="opacity:.5">{inside}</span>'


def _shaded_token(answer: Answer, position: int, start: int, end: int) -> str:
    starts, ends = float(answer.start_probabilities[position]), float(answer.end_probabilities[position])
    shades = [
        f"linear-gradient({angle}deg, {colour}{round(190 * p**0.5):02x}, transparent 85%)"
        for angle, colour, p in ((90, BLUE, starts), (270, ORANGE, ends))
    ]
    best = answer.best.start_char <= start < answer.best.end_char
    look = f'{"class=best " * best}style="{_BEST if best else _SPAN}'
    word = escape(answer.passage[start:end])
    title = escape(f"start {percent(starts)}, end {percent(ends)}")
    return f'<span {look};background:{", ".join(shades)}" title="{title}">{word}</span>'


def changed_words(text: str, other: str) -> str:
    """Show the words of `text` above those of `other`; what the one has and the other has not is marked."""
    return _passage(_own_words_marked(text, other)) + _passage(_own_words_marked(other, text))


def gapped_sentence(text: str, other: str) -> str:
    """The text in large type with each [MASK] as a gap; the words that `other` lacks are marked."""
    line = f"display:inline-block;width:3.2em;border-bottom:4px solid {BLUE}"
    gap = f'<b role="img" aria-label="hidden word" style="{line}"></b>'
    marked = _own_words_marked(text, other, f"{_MARK};border-radius:6px;padding:0 .2em")
    return _passage(marked.replace("[MASK]", gap), _LARGE, "passage large")


def _own_words_marked(text: str, other: str, look: str = _MARK) -> str:
    words, others = text.split(), other.split()
    begin = len(commonprefix([words, others]))  # or a word that comes a thousand times is compared a million times
    end = len(commonprefix([words[begin:][::-1], others[begin:][::-1]]))
    middle = words[begin : len(words) - end], others[begin : len(others) - end]
    steps = SequenceMatcher(None, *middle, autojunk=False).get_opcodes()
    own = {begin + i for kind, first, stop, *_ in steps if kind != "equal" for i in range(first, stop)}
    return " ".join(_mark(escape(w), look) if i in own else escape(w) for i, w in enumerate(words))


def attribution_strip(tokens: Sequence[str], values: Sequence[float]) -> str:
    """Mark tokens by their attributions: blue for positive, orange for negative, scaled to the largest."""
    largest = max(map(abs, values)) or 1.0
    decimals = max(0, 2 - math.floor(math.log10(largest)))  # three digits of the largest
    parts = []
    for token, value in zip(tokens, values, strict=True):
        note = signed(value, f"+.{decimals}f") if round(value, decimals) else "0"
        parts.append(_token(token, f"{_TOKEN};background:{_shade(value, largest)}", note))
    return _strip(tokens, parts)


def _shade(value: float, largest: float) -> str:
    depth = round(160 * abs(value) / largest)  # of 255: the text stays readable on it
    return f"{BLUE if value > 0 else ORANGE}{depth:02x}"


def attributed_text(text: str, spans: Sequence[tuple[int, int]], values: Sequence[float]) -> str:
    """The text with each span of characters shaded by its attribution: blue for positive, orange for negative, scaled
    to the largest; a mouse over it reads the number."""
    largest = max(map(abs, values), default=0) or 1.0
    parts, done = [], 0
    for (start, stop), value in zip(spans, values, strict=True):
        look = f"{_SPAN};background:{_shade(value, largest)}"
        parts.append(escape(text[done:start]))
        parts.append(f'<span title="{signed(value)}" style="{look}">{escape(text[start:stop])}</span>')
        done = stop
    return _passage("".join(parts) + escape(text[done:]))


def _strip(tokens: Sequence[str], parts: Sequence[str]) -> str:
    """The tokens in the direction of their script; dir="auto" would go by [CLS]."""
    letters = "".join(token for token in tokens if not token.startswith("["))
    direction = "rtl" if is_right_to_left(letters) else "ltr"
    return f'<div style="{_STRIP}" dir="{direction}">{"".join(parts)}</div>'


def marked_names(
    text: str, names: Sequence[Name], kinds: Sequence[str], doubted: Sequence[tuple[int, int]] = ()
) -> str:
    """The text with each name marked and its kind beside it; a kind has the colour of its index in `kinds`.

    A name that holds one of the `doubted` words, given by first and last+1 character, has a dashed line and a question
    mark; a doubted word outside the names has these alone.
    """
    inside = {word: name for word in doubted for name in names if name.start <= word[0] < name.stop}
    marks = [Name(*word, "") for word in doubted if word not in inside]
    parts, done = [], 0
    for name in sorted([*names, *marks], key=lambda one: one.start):
        parts += [escape(text[done : name.start]), _marked_name(text, name, kinds, name in (*inside.values(), *marks))]
        done = name.stop
    return _passage("".join(parts) + escape(text[done:]))


def _marked_name(text: str, name: Name, kinds: Sequence[str], unsure: bool) -> str:
    colour = OKABE_ITO[kinds.index(name.kind) % len(OKABE_ITO)] if name.kind else GREY
    edge = f"3px {'dashed' if unsure else 'solid'} {colour}"
    kind = f'<small style="{_NOTE};padding-left:.15em">{escape(name.kind)}{"?" * unsure}</small>'
    look = f"{_MARK};background:{colour}38;border-bottom:{edge}"
    return _mark(f"{escape(text[name.start : name.stop])}&nbsp;{kind}", look)
