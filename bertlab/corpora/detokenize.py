"""Text of tokenised corpora as people write it: `he did n't say " no "` becomes `he didn't say "no"`."""

import re

# Spaces only, never line breaks: a line is a sentence or a paragraph of its corpus.
RULES = [
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in [
        (r" @([-,.])@ ", r"\1"),  # WikiText's marks within words and numbers
        (r" (n['’]t|['’] ?(?:s|t|m|d|re|ve|ll))(?!\w)", r"\1"),
        (r"(?<=['’]) (?=(?:s|t|m|d|re|ve|ll)(?!\w))", ""),
        (r"\b(gon|wan) (na)\b|\b(got) (ta)\b|\b(can) (not)\b", r"\1\2\3\4\5\6"),
        (r"([(\[{“‘$£€¥]) +", r"\1"),
        (r" +([,;:!?)\]}”’%°]|\.+)(?![^\s,.;:!?)\]}”’\"'%])", r"\1"),
        (r"(?<=\d) – (?=\d)", "–"),
        (r"(?<=\d): (?=\d\d(?!\d))", ":"),  # a time
        (r"(?<=[^\W\d_]) / (?=\w)|(?<=\d) / (?=\d)", "/"),
    ]
]
QUOTE = re.compile(r"( ?)(?<!\S)([\"'])(?!\S)( ?)")


def detokenize(text: str) -> str:
    """One paragraph with its marks and endings put back to the words they belong to.

    A straight quotation mark opens and closes by turns; what its paragraph leaves open is not guessed at.
    """
    text = _place_quotes(text)
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text


def _place_quotes(text: str) -> str:
    """Give each lone `"` or `'` to the word that it opens or closes."""
    is_open = {'"': False, "'": False}

    def place(match: re.Match) -> str:
        before, mark, after = match.groups()
        first, last = not before, not after  # of its line
        possessive = mark == "'" and not is_open[mark] and match.string[match.start() - 1 : match.start()] in "sSzx"
        if possessive and not first:
            return mark + after
        opens = first or not (is_open[mark] or last)
        is_open[mark] = opens
        return before + mark if opens else mark + after

    return QUOTE.sub(place, text)
