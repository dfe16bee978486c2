"""The units that the pages speak in, explained where the visitor points at a question mark."""

import re

MEANINGS = {
    "nats": "The unit of −ln p. Certain (p = 100%) is 0 nats, one in two 0.7, one in ten 2.3, one in a hundred 4.6.",
    "ln p": "The natural logarithm of a probability: 0 for p = 100%, −0.7 for one in two, −2.3 for one in ten.",
    "log-odds": "ln(p / (1 − p)): 0 at p = 50%, +2.2 at 90%, −2.2 at 10%. It grows without limit as p nears 100%.",
    "entropy": "How undecided a distribution is, −Σ p ln p: 0 if one token has all of it, ln n for n even chances.",
}


def explained(text: str) -> str | None:
    """Return the meaning of each of these words in `text`, for the `help` of a Streamlit element; None without any."""
    found = [word for word in MEANINGS if re.search(rf"\b{word}\b", text, re.IGNORECASE)]
    return "\n\n".join(f"**{word}**: {MEANINGS[word]}" for word in found) or None
