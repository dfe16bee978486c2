"""Clean a text, cut a word by the longest match, and the tokenizer of both."""

from collections.abc import Iterator
from typing import Any

from bertlab.course.exercise import Exercise
from bertlab.course.mistake import Mistake
from bertlab.course.observe import expect, listed
from bertlab.course.solutions import tokenizer
from bertlab.course.solutions.config import SPECIAL

TEXTS = (
    "café",
    "Zürich",
    "naïve façade",
    "cafe\u0301",
    "ß ø",
    "ﬁ x²",
    "हिन्दी",
    "कुत्ता",
    "한국",
    "My\tDOG",
    "a\x00b",
    "我爱",
    "ØST Дом",
    "ΟΔΟΣ",
    "",
)
MARKS = ' if unicodedata.category(c) != "Mn"'

check_clean = Exercise(
    tokenizer.clean,
    lambda: [(text,) for text in TEXTS],
    right="Right: every text is cleaned as the library does it.",
    kept=("clean_character", "clean"),
    slips=[
        (
            "letters that are not English vanished: take away marks only, never a letter.",
            "NFD => NFC",
            f"{MARKS} =>  if c.isascii()",
        ),
        (
            "letters that have no accent, such as ß or 我, vanished: the category of each character decides, not its "
            "alphabet.",
            f"{MARKS} =>  if c.isascii()",
        ),
        (
            'é is one character and no mark: take the text apart first, unicodedata.normalize("NFD", text).',
            "NFD => NFC",
        ),
        (
            "signs that take up room (category Mc, a vowel in Hindi) were removed too: only Mn, marks without a width "
            "of their own, may go.",
            f'{MARKS} =>  if unicodedata.category(c)[0] != "M"',
        ),
        (
            "some marks of category Mn have the combining number 0, such as vowels in Hindi: ask for the category.",
            f"{MARKS} =>  if not unicodedata.combining(c)",
        ),
        (
            "you put the characters together again (NFC): BERT leaves them apart, and its vocabulary holds the parts.",
            'return "".join( => return unicodedata.normalize("NFC", "".join(',
            '!= "Mn") => != "Mn"))',
        ),
        ("NFKD also rewrites characters such as ﬁ and ²: NFD takes apart and changes nothing else.", "NFD => NFKD"),
        ("the letters are taken apart, but the marks (category Mn) are still there.", f"{MARKS} => "),
        ("begin with clean_character, for each character of the text.", '"".join(map(clean_character, text)) => text'),
        (
            "make small letters one by one: lower() of a whole text gives a sigma at the end of a word another form.",
            "c.lower() for c => c for c",
            '!= "Mn") => != "Mn").lower()',
        ),
        ("capitals stay: small letters are the last step.", "c.lower() => c"),
    ],
)


class Vocabulary(frozenset):
    """A vocabulary that notices when it is asked without end, gone through or hashed."""

    asked = 0

    def __contains__(self, piece: object) -> bool:
        self.asked += 1
        expect(self.asked < 20_000, ENDLESS)
        return super().__contains__(piece)

    def __hash__(self) -> int:
        raise Mistake(HASHED)

    def __iter__(self) -> Iterator[str]:
        raise Mistake(GONE_THROUGH)

    def __repr__(self) -> str:
        return f"{len(self)} pieces"


HASHED = "the vocabulary is a dictionary, which has no hash: do without @cache here."
GONE_THROUGH = "ask with `in`: a vocabulary has thousands of pieces, too many to go through for each word."
ENDLESS = "your loop does not end: after each piece go on behind it, and stop at its failure."
VOCABULARY = (
    "a un una una## ##aff ##ffa ##ble ##able ##ab ##le able play ##ing ##i ##n ##g s ##s x ##x ss ##st theatre".split()
)
WORDS = (
    "play",
    "playing",
    "unaffable",
    "plays",
    "singing",
    "unable",
    "playq",
    "qplay",
    "playa",
    "sst",
    "theatre",
    "x" * 100,
    "x" * 101,
)


def _endless(word, vocabulary):
    while "é" not in vocabulary:
        pass


def _first_piece_alone(word, vocabulary):
    pieces = tokenizer.cut_word(word, vocabulary)
    return pieces if len(pieces) == 1 else [pieces[0], *pieces[2:]]


def _tries_again(word, vocabulary, start=0):
    """Shorter pieces where the longest leads nowhere."""
    if start == len(word):
        return []
    for end in range(len(word), start, -1):
        piece = ("##" if start else "") + word[start:end]
        rest = _tries_again(word, vocabulary, end) if piece in vocabulary else ["[UNK]"]
        if rest != ["[UNK]"]:
            return [piece, *rest]
    return ["[UNK]"]


def _keeps_the_start(word, vocabulary):
    known = next((n for n in range(len(word), 0, -1) if tokenizer.cut_word(word[:n], vocabulary) != ["[UNK]"]), 0)
    return tokenizer.cut_word(word[:known], vocabulary) + ["[UNK]"] * (known < len(word))


check_cut_word = Exercise(
    tokenizer.cut_word,
    lambda: [(word, Vocabulary(VOCABULARY)) for word in WORDS],
    right="Right: from the left, the longest piece each time, [UNK] where no way leads through.",
    observe=listed,
    kept=("cut_word",),
    slips=[
        ("a word of more than 100 characters is [UNK] as a whole: do not try to cut it.", "len(word) > 100 => False"),
        (
            "a word of exactly 100 letters is still cut: only longer ones are [UNK].",
            "len(word) > 100 => len(word) >= 100",
        ),
        (
            "##a is not in the vocabulary, only a is: inside a word a piece counts with its ## alone.",
            "if piece in vocabulary => if piece in vocabulary or word[start:end] in vocabulary",
        ),
        (
            "the longest piece is taken for good: if what is left then fits nothing, the word is [UNK], even if a "
            "shorter piece would lead through.",
            lambda word, vocabulary: ["[UNK]"] if len(word) > 100 else _tries_again(word, vocabulary),
        ),
        ("where a part of a word fits nothing, the whole word is [UNK], just one.", _keeps_the_start),
        (
            "look up the whole word first, all its letters: the longest piece may be the word.",
            "range(len(word), start, -1) => range(len(word) - 1, start, -1)",
        ),
        (
            "behind the first piece look for pieces with ##: inside a word no other counts.",
            '("##" if start else "") + word => word',
        ),
        ("pieces inside a word carry ##: return them with it.", 'append(piece) => append(piece.removeprefix("##"))'),
        ("the first piece of a word has no ##.", '"##" if start else "" => "##"'),
        ("the first piece of a word has no ##.", lambda word, vocabulary: ["##" + word]),
        (
            "try the longest piece first, then one letter less.",
            "range(len(word), start, -1) => range(start + 1, len(word) + 1)",
        ),
        (
            "put together, the pieces are not the word: after a piece go on exactly behind its last letter.",
            _first_piece_alone,
        ),
        (ENDLESS, _endless),
    ],
)


SENTENCES = {
    "my dog is hairy.": "plain words and a full stop",
    "  my\tdog\n is  hairy ": "white space of all kinds",
    "My DOG": "capitals become small letters",
    "h\u00e0iry": "accents go",
    "my-dog,is(hairy)!": "punctuation stands alone",
    "my$dog^is": "so does every mark of the keyboard, such as $ and ^",
    "my\u2014dog~is!": "and a mark that no keyboard has; ~ and ! are the last and the first that it has",
    "\u6211my\u7231": "each Chinese character stands alone",
    "my\u0000 d\u200dog": "control characters go, without leaving a gap",
    "unaffable dogs": "pieces inside a word",
    "my zebra": "a word that cannot be cut is [UNK]",
    "my dog, my dogs": "a word that comes twice has its ids twice",
    "": "a text may be empty",
}
PIECES = [*SPECIAL, *"my dog is hairy un ##aff ##able ##s . - , ( ) ! ~ $ ^ a b c \u2014 \u6211 \u7231".split()]


def _text_to_ids(cls: type) -> dict[str, Any]:
    mine = cls({token: number for number, token in enumerate(PIECES)})
    found: dict[str, Any] = {f"ids of {text!r} ({rule})": mine.ids(text) for text, rule in SENTENCES.items()}
    expect(
        all(isinstance(ids, list) for ids in found.values()), "return the ids as a list: later parts join and cut it."
    )
    names = ("vocab_size", "pad_token_id", "cls_token_id", "sep_token_id", "mask_token_id")
    return found | {name: getattr(mine, name, None) for name in names}


IDS = "[self.vocabulary[piece] for word in split(clean(text)) for piece in cut_word(word, self.vocabulary)]"

check_tokenizer = Exercise(
    tokenizer.Tokenizer,
    lambda: [()],
    right="Right: the library's tokenizer gives the same ids.",
    observe=_text_to_ids,
    helpers=(tokenizer.is_mark, tokenizer.split),
    kept=("is_mark", "split", "Tokenizer"),
    slips=[
        (
            "accents go, and control characters: clean the text before you split it.",
            "split(clean(text)) => split(text.lower())",
        ),
        ("capitals become small letters: clean the text before you split it.", "split(clean(text)) => split(text)"),
        (
            "punctuation stands alone: split(clean(text)), not white space alone.",
            "split(clean(text)) => clean(text).split()",
        ),
        ("a word that comes twice has its ids twice.", f"{IDS} => list(dict.fromkeys({IDS}))"),
        ("leave [CLS] and [SEP] to the function that makes the batch.", f"{IDS} => [2, *{IDS}, 3]"),
        ("these are pieces: look up the id of each in self.vocabulary.", "[self.vocabulary[piece] for => [piece for"),
        (
            "one list for the whole text, not one for each word.",
            f"{IDS} => [[self.vocabulary[p] for p in cut_word(w, self.vocabulary)] for w in split(clean(text))]",
        ),
        (
            "look up what cut_word returns: a word need not be a piece.",
            f"{IDS} => [self.vocabulary[word] for word in split(clean(text))]",
        ),
    ],
    spared={"'!' < character": "! is punctuation of Unicode too"},
)
