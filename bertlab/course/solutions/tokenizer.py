"""My BERT, chapter 02: WordPiece: text to ids."""

import unicodedata
from functools import cache

# %% tokenizer (chapter 02): WordPiece, after Wu et al. 2016 and Devlin et al. 2019, section 3


@cache  # a text has many characters, but few different ones
def clean_character(character):
    """What a character becomes in the cleaned text: nothing, a space, " 我 ", or itself."""
    control = unicodedata.category(character) in ("Cc", "Cf", "Co") and character not in "\t\n\r"
    if control or character == "\ufffd":  # the sign for a byte that could not be decoded
        return ""
    if character.isspace():
        return " "
    chinese = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF)]
    chinese += [(0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)]
    return f" {character} " if any(first <= ord(character) <= last for first, last in chinese) else character


def clean(text):
    """The text without control characters, accents and capitals; a space around each Chinese character."""
    parts = unicodedata.normalize("NFD", "".join(map(clean_character, text)))
    return "".join(c.lower() for c in parts if unicodedata.category(c) != "Mn")


def is_mark(character):
    """Whether BERT splits the text here: punctuation, and all of the keyboard that is no letter or digit."""
    keyboard = "!" <= character <= "~" and not character.isalnum()
    return keyboard or unicodedata.category(character)[0] == "P"


def split(text):
    """The words and punctuation marks of a cleaned text."""
    return "".join(f" {c} " if is_mark(c) else c for c in text).split()


def cut_word(word, vocabulary):
    """The pieces of a word: the longest first, from the left, with ## inside the word; ["[UNK]"] if there is no way."""
    if len(word) > 100:
        return ["[UNK]"]
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                break
        else:  # not even one letter is a piece
            return ["[UNK]"]
        pieces.append(piece)
        start = end
    return pieces


class Tokenizer:
    """Text to ids, with a vocabulary {token: id}."""

    def __init__(self, vocabulary):
        self.vocabulary, self.vocab_size = vocabulary, len(vocabulary)
        self.pad_token_id, self.cls_token_id = vocabulary["[PAD]"], vocabulary["[CLS]"]
        self.sep_token_id, self.mask_token_id = vocabulary["[SEP]"], vocabulary["[MASK]"]

    @classmethod
    def from_file(cls, path):
        """vocab.txt: one token a line, its id is the number of the line."""
        with open(path, encoding="utf-8") as lines:
            return cls({line.rstrip("\n"): number for number, line in enumerate(lines)})

    def ids(self, text):
        """The ids of a text, without [CLS] and [SEP]."""
        return [self.vocabulary[piece] for word in split(clean(text)) for piece in cut_word(word, self.vocabulary)]
