"""Words of any script."""

import pytest

from bertlab.corpora.letters import words

CASES = {
    "👨\u200d👩\u200d👧 ❤\ufe0f love": ["love"],  # joiners and marks of emoji are no words
    "カナ・テスト": ["カ", "ナ", "テ", "ス", "ト"],
    "བོད་ཡིག": ["བ", "ོ", "ད", "ཡ", "ི", "ག"],
    "कि\u200dताब है": ["कि\u200dताब", "है"],
    "Ame\u0301lie 漢字": ["Ame\u0301lie", "漢", "字"],
}


@pytest.mark.parametrize("text", CASES)
def test_words(text):
    assert words(text) == CASES[text]
