"""Public English: four million words in four genres, and 51 million more.

The texts are not part of bertlab: `SOURCES` and `LARGE_SOURCES` say what they are, under which licence, and where they
are found.
"""

from bertlab.corpora.english.large import read_large
from bertlab.corpora.english.small import read_english
from bertlab.corpora.english.sources import LARGE_GENRES, LARGE_SOURCES, SOURCES, check, count_words, describe
from bertlab.corpora.english.sources import SMALL_GENRES as GENRES

__all__ = ["GENRES", "LARGE_GENRES", "LARGE_SOURCES", "SOURCES"]
__all__ += ["check", "count_words", "describe", "read_english", "read_large"]
