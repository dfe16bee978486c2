"""What each token contributes to an output: its attributions as a sentence, as marked text and as bars."""

from collections.abc import Callable, Sequence

import streamlit as st

from app.shared.model import models
from app.shared.page import progress
from app.shared.page.exports import Cell, exports
from app.shared.page.layout import show_chart
from app.shared.page.markdown import explained, numbered, plain
from bertlab.draw.charts.attribution import attribution_bars, attribution_table
from bertlab.draw.percent import signed
from bertlab.explain.attribution import Attribution
from bertlab.vocabulary import SPECIAL_TOKENS

UNKNOWN, MASK = "[UNK]", "[MASK]"  # the first is the one special token that stands for a word
LABEL, NUMBER = "nats of the log-odds of the label", "the predicted number"
NOTICEABLE = 0.05  # nats; nobody would see the effect of less
Contribution = tuple[str, float]  # a word for Markdown, and its attribution


def with_control(
    function: Callable[..., Attribution], loaded: models.Loaded, *arguments
) -> tuple[Attribution, Attribution]:
    """Return the attributions of the model and those of the same architecture with random weights."""
    control = models.control_of(loaded)
    return progress.watched(function, loaded, *arguments), progress.watched(function, control, *arguments)


def code_of(function: Callable[..., Attribution], loaded: models.Loaded, *arguments) -> str:
    """Return the cell that draws what with_control() returns."""
    cell = Cell()
    return cell.picture(attribution_bars, *cell.both(function, loaded, *arguments))


def show(name: str, both: tuple[Attribution, Attribution], output: str, unit: str, code: str) -> None:
    """Say which words contribute most to an output, and fold each token beside random weights away, with the check.

    `both` are from with_control(), `code` draws them, `name` is that of the files.
    """
    found, control = both
    st.markdown(in_a_sentence(output, found))
    with st.expander("Each token, beside random weights", icon=":material/bar_chart:"):
        bars = attribution_bars(found, control)
        alt = f"What each token contributes to “{output}”, beside random weights"
        show_chart(bars, alt, rows=len(found.tokens))
        start, score, total = (signed(x, ".3f") for x in (found.baseline, found.score, float(found.values.sum())))
        st.caption(
            f"*Integrated gradients*. Unit: {unit}. Colours are scaled to the largest. Check: the attributions sum to "
            f"{total}. The output goes from {start} for the baseline (nothing but [PAD]) to {score} for your text. "
            f"Difference: {abs(found.delta):.4f}.",
            help=explained(unit),
        )
    exports(name, attribution_table(found, control), code, bars)


def words(found: Attribution) -> list[Contribution]:
    """Return the words and punctuation marks, each with the summed attributions of its pieces."""
    merged: list[tuple[str, float]] = []
    for token, value in zip(found.tokens, found.values.tolist(), strict=True):
        if token.startswith("##") and merged:
            merged[-1] = merged[-1][0] + token[2:], merged[-1][1] + value
        elif token not in SPECIAL_TOKENS or token == UNKNOWN:
            merged.append((token, value))
    return list(zip(numbered([word for word, _ in merged]), (value for _, value in merged), strict=True))


def strongest(contributions: Sequence[Contribution]) -> list[str]:
    """Return the two words that contribute most, with their values; fewer where fewer are noticeable."""
    ranked = sorted((one for one in contributions if one[1] >= NOTICEABLE), key=lambda one: -one[1])[:2]
    return [f"{word} ({signed(value, '+.1f')})" for word, value in ranked]


def in_a_sentence(output: str, found: Attribution) -> str:
    """Say which words of the text contribute most to an output, and which one counts most against it."""
    contributions, output = words(found), f"“**{plain(output)}**”"
    towards = strongest(contributions)
    if not towards:
        return f"No word of the text contributes noticeably to {output}."
    word, value = min(contributions, key=lambda one: one[1])
    against = f"; {word} counts against it ({signed(value, '+.1f')}, orange)" if value <= -NOTICEABLE else ""
    verb = "contribute" if towards[1:] else "contributes"
    gaps = [float(value) for token, value in zip(found.tokens, found.values, strict=True) if token == MASK]
    beside = f" ([MASK] itself, which is no word: {signed(sum(gaps), '+.1f')}.)" if gaps else ""
    return f"In this text, {' and '.join(towards)} {verb} most to {output} (blue){against}.{beside}"
