"""Panel of the chapter on next sentences: build a pair, see how it goes in and what the model thinks of it."""

from html import escape

from bertlab.course.panels.base import Panel, line, panel
from bertlab.draw.palette import BLUE, GREEN, PINK
from bertlab.explain.next_sentence import NextSentence, both_orders
from bertlab.explain.text import Encoded, encode, longest


def pair_panel(model, tokenizer, first: str, second: str) -> Panel:
    """Two texts, the input that is made of them, and the verdict, both ways round."""

    def show(first: str, second: str) -> str:
        verdicts = both_orders(model, tokenizer, first, second)  # tells what is missing, so it comes first
        encoded = encode(tokenizer, first, second, longest(model))
        return segments_html(encoded) + verdict_html(*verdicts)

    return panel(show, first=line("first", first), second=line("second", second))


def segments_html(encoded: Encoded) -> str:
    """Each token above its token_type_id: 0 green, 1 pink."""
    boxes = "".join(
        f'<div style="background:{PINK if kind else GREEN}33;padding:2px 6px;border-radius:5px;text-align:center">'
        f"<bdi>{escape(token)}</bdi><br><small>{kind}</small></div>"
        for token, kind in zip(encoded.tokens, encoded.token_type_ids.tolist(), strict=True)
    )
    return f'<div style="display:flex;flex-wrap:wrap;gap:5px">{boxes}</div>'


def verdict_html(given: NextSentence, turned: NextSentence) -> str:
    """A bar for the pair as it stands and one for the pair turned round."""
    rows = "".join(
        f"<tr><td>{name}</td><td>{found.probability:.1%}</td><td><div style='background:{BLUE};height:12px;"
        f"border-radius:2px;width:{240 * found.probability:.0f}px'></div></td></tr>"
        for name, found in {"the second follows": given, "turned round": turned}.items()
    )
    return f"<table>{rows}</table>"
