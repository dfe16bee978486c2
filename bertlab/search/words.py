"""The words of a text as a search by words counts them, in any script.

Where no spaces part words (Chinese, Japanese, Thai), or endings join them (Korean), characters and pairs of neighbours
are counted.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from bertlab.corpora.letters import JOINERS, MARKS, UNSPACED

SIGNS = UNSPACED + "\u1100-\u11ff\uac00-\ud7af"  # with Korean
RUN = re.compile(rf"(?P<signs>[{SIGNS}]+)|(?:(?![{SIGNS}])(?:[^\W_]|[{MARKS}]))+")
WITHOUT_JOINERS = str.maketrans("", "", JOINERS)


def counted_words(text: str) -> list[str]:
    """Return the words of a text in order, without regard to case and to how Unicode composes their letters; those
    that most English texts have, such as "the", are left out."""
    return [word for word in _words(text) if word not in _ignored()]


@cache
def _ignored() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN  # where numba is installed, it loads that too: seconds

    return frozenset(STOPWORDS_EN)


def _words(text: str) -> Iterator[str]:
    plain = unicodedata.normalize("NFKC", text.casefold()).translate(WITHOUT_JOINERS)
    for run in RUN.finditer(plain):
        yield from run[0] if run["signs"] else (run[0],)
        if run["signs"]:
            yield from map("".join, pairwise(run[0]))
