"""Text and numbers on their way into Markdown: whatever a visitor typed is shown as it is, and units are explained."""

import re
from collections.abc import Sequence

from bertlab.errors import is_right_to_left, printable

# Streamlit's Markdown turns these into emoji, icons, arrows, dashes and links although every sign is escaped. An
# invisible joiner keeps the signs apart.
_JOINED = re.compile(r":(?=[\w/+-]+:)|:(?=//)|[-<>~](?=[-=>])|(?<=\bwww)(?=\.)|(?=@)", re.IGNORECASE)
JOINER = "\u2060"
ISOLATE, END = "\u2068", "\u2069"  # around Arabic or Hebrew, or it would turn the numbers and marks beside it
MEANINGS = {
    "nats": "The unit of −ln p. Certain (p = 100%) is 0 nats, one in two 0.7, one in ten 2.3, one in a hundred 4.6.",
    "ln p": "The natural logarithm of a probability: 0 for p = 100%, −0.7 for one in two, −2.3 for one in ten.",
    "log-odds": "ln(p / (1 − p)): 0 at p = 50%, +2.2 at 90%, −2.2 at 10%. It grows without limit as p nears 100%.",
    "entropy": "How undecided a distribution is, −Σ p ln p: 0 if one token has all of it, ln n for n even chances.",
}


def plain(text: str) -> str:
    """Return `text` on one line with all of Markdown's commands escaped."""
    one_line = _JOINED.sub(lambda found: found[0] + JOINER, printable(" ".join(text.split())))
    escaped = re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", one_line)  # all ASCII punctuation
    return f"{ISOLATE}{escaped}{END}" if is_right_to_left(one_line) else escaped


def chip_names(tokens: Sequence[str]) -> list[str]:
    """Return labels for chips. Streamlit tells chips apart by label, so equal tokens get invisible joiners."""
    return [plain(token) + JOINER * tokens[:i].count(token) for i, token in enumerate(tokens)]


def numbered(words: Sequence[str]) -> list[str]:
    """Return the words in bold; those that occur more than once with their ordinal: "the 2nd **the**"."""
    return [
        (f"the {ordinal(words[: i + 1].count(word))} " if words.count(word) > 1 else "") + f"**{visible(word)}**"
        for i, word in enumerate(words)
    ]


def visible(word: str) -> str:
    """Put a punctuation mark in quotes, since alone it would be overlooked."""
    return plain(word) if any(map(str.isalnum, word)) else f"“{plain(word)}”"


def ordinal(number: int) -> str:
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def explained(text: str) -> str | None:
    """Return the meaning of each of these words in `text`, for the `help` of a Streamlit element; None without any."""
    found = [word for word in MEANINGS if re.search(rf"\b{word}\b", text, re.IGNORECASE)]
    return "\n\n".join(f"**{word}**: {MEANINGS[word]}" for word in found) or None
