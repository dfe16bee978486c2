"""Text with marks in it, as escaped HTML: tokens by what masking did to them, a passage with its answer."""

from collections.abc import Sequence
from html import escape

ACTIONS = ["not chosen", "[MASK]", "random token", "left as it is"]
_SYMBOLS = ["", "■", "↻", "="]
_CLASSES = ["plain", "mask", "random", "kept"]

STYLE = """<style>
.strip { display: flex; flex-wrap: wrap; gap: 10px 7px; line-height: 1.3; }
.strip span { padding: 4px 9px; border-radius: 6px; border: 1px solid transparent; font-size: 16px; }
.strip small { display: block; font-size: 11.5px; opacity: .85; }
.strip .plain { opacity: .8; padding-inline: 2px; }
.strip .special { opacity: .45; padding-inline: 2px; }
.strip .mask { background: #0072B226; border-color: #0072B2; }
.strip .random { background: #E69F0030; border-color: #E69F00; border-style: dashed; }
.strip .kept { background: #009E7326; border: 3px double #009E73; padding: 2px 7px; }
.passage { font-size: 17px; line-height: 1.75; max-width: 46em; overflow-wrap: anywhere;
  white-space: pre-wrap; }
.passage mark { background: #E69F0045; color: inherit; border-bottom: 3px solid #E69F00;
  border-radius: 3px; padding: 2px 0; }
</style>"""


def token_strip(tokens: Sequence[str], actions: Sequence[int], before: Sequence[str], special: Sequence[bool]) -> str:
    """Tokens after masking; each chosen one names what was done and what stood there before."""
    parts = []
    for token, action, old, is_special in zip(tokens, actions, before, special, strict=True):
        kind = "special" if is_special else _CLASSES[action]
        note = {1: f"was {old}", 2: f"was {old}, random", 3: "chosen, kept"}.get(action, "&nbsp;")
        note = f"<small><bdi>{_SYMBOLS[action]} {escape(note) if action else note}</bdi></small>"
        parts.append(f'<span class="{kind}"><bdi>{escape(token)}</bdi>{note}</span>')
    return f'{STYLE}<div class="strip">{"".join(parts)}</div>'


def marked_passage(passage: str, start: int, end: int) -> str:
    """The passage with characters start to end marked; none when start == end."""
    if start >= end:
        return f'{STYLE}<div class="passage" dir="auto">{escape(passage)}</div>'
    head, span, tail = passage[:start], passage[start:end], passage[end:]
    inside = f"{escape(head)}<mark>{escape(span)}</mark>{escape(tail)}"
    return f'{STYLE}<div class="passage" dir="auto">{inside}</div>'
