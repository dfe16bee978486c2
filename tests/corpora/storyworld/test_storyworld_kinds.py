"""The kinds of words are those of the lexicon, and no word of two kinds is among them."""

from collections import Counter

from bertlab.corpora.storyworld.lexicon import word_kinds


def test_words_name_what_the_lexicon_says():
    kinds = word_kinds()
    for word, kind in {"penguin": "animal", "dentist": "job", "library": "place", "hairy": "quality"}.items():
        assert kinds[word] == kind
    assert min(Counter(kinds.values()).values()) > 40 and len(set(kinds.values())) == 7


def test_words_of_two_kinds_are_left_out():
    """fisher is a surname, rose a name and a flower's, cook a job and a surname, tiger a pet's name."""
    assert not {"fisher", "cook", "baker", "tiger", "oak"} & word_kinds().keys()


def test_every_entry_is_one_lower_case_word():
    assert all(word.isalpha() and word == word.lower() for word in word_kinds())
