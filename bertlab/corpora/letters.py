"""Letters, marks and words of all scripts as parts of regular expressions, for `re` knows no Unicode categories."""

import re
import unicodedata
from functools import cache
from itertools import groupby

JOINERS = "\u200c\u200d"  # inside words of Persian and Indic scripts
LAST = 0x1FFFF  # of the characters that are looked through: further ones are Chinese
# Scripts that set no spaces between words: Chinese, Japanese, Thai, Lao, Tibetan, Burmese, Khmer.
UNSPACED = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
)


@cache
def characters(*categories: str) -> str:
    """Return the characters of these Unicode categories ("M" for all marks, "Lu" for capitals) as ranges, the inside of
    a character class of `re`."""
    numbers = (n for n in range(LAST + 1) if unicodedata.category(chr(n)).startswith(categories))
    ranges = (list(group) for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]))
    return "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in ranges)


MARKS = characters("M")  # accents of decomposed letters, vowel signs: \w has none of them
LETTER = rf"[\w{MARKS}{JOINERS}]"
# A joiner or a mark alone, as in an emoji, is no word.
WORD = re.compile(rf"(?=[\w{MARKS}])[{UNSPACED}]|(?![{UNSPACED}])\w(?:(?![{UNSPACED}]){LETTER})*")


def words(text: str) -> list[str]:
    """Return the words of a text; of scripts without spaces the characters."""
    return WORD.findall(text)
