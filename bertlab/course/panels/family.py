"""Panel of chapter 14: one sentence, several readers; what each may see of it, what each writes into the gap."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from bertlab.course.panels.base import Panel, bar, line, panel
from bertlab.draw.palette import BLUE, ORANGE
from bertlab.errors import InputError
from bertlab.explain.words.fill import Fill

GAP = "[MASK]"


@dataclass(frozen=True)
class Reading:
    """The tokens of a text, which of them a reader sees, and what it writes at `fill.position`."""

    tokens: Sequence[str]
    seen: Sequence[bool]
    fill: Fill


Reader = Callable[[str], Reading]


def readers_panel(readers: Mapping[str, Reader], text: str) -> Panel:
    """A line of text with one [MASK], and below it a card for each reader."""

    def show(text: str) -> str:
        if text.count(GAP) != 1:
            raise InputError(f"write {GAP} in place of one word, once")
        cards = "".join(reading_html(name, reader(text)) for name, reader in readers.items())
        return f'<div style="display:flex;flex-wrap:wrap;gap:14px">{cards}</div>'

    return panel(show, text=line("text", text))


def reading_html(name: str, reading: Reading) -> str:
    """A card: the tokens, those out of sight pale and the gap orange; the likeliest words; the entropy."""
    words = " ".join(
        _token(token, seen, position == reading.fill.position)
        for position, (token, seen) in enumerate(zip(reading.tokens, reading.seen, strict=True))
    )
    rows = "".join(
        f"<tr><td><bdi>{escape(token)}</bdi></td><td>{share:.0%}</td><td>{bar(110 * share, BLUE)}</td></tr>"
        for token, share in zip(reading.fill.tokens, reading.fill.probabilities, strict=True)
    )
    sure = f"<small>entropy {reading.fill.entropy:.2f} nats</small>"
    style = "border:1px solid #BBBBBB;border-radius:6px;padding:6px 10px;width:400px"
    return f'<div style="{style}"><b>{escape(name)}</b><p>{words}</p><table>{rows}</table>{sure}</div>'


def _token(token: str, seen: bool, gap: bool) -> str:
    if gap:
        return f'<b style="color:{ORANGE}">▢</b>'
    look = f"background:{BLUE}26;border-radius:3px;padding:1px 3px" if seen else "opacity:.4"
    return f'<span style="{look}"><bdi>{escape(token)}</bdi></span>'
