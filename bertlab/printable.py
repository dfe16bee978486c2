"""Text from files and users, made fit to be printed."""

import unicodedata

OVERRIDES = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")  # they turn the text around them


def printable(text: str) -> str:
    """Return `text` with the characters escaped that would steer a terminal: control characters, line ends, halves of
    surrogate pairs, and marks that reverse the direction of writing. "a\\x1b[31m" -> "a\\\\x1b[31m"."""
    if text.isprintable():
        return text
    return "".join(_escaped(letter) if _steers(letter) else letter for letter in text)


def _steers(letter: str) -> bool:
    kind = unicodedata.category(letter)
    return kind in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(letter) in OVERRIDES


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")
