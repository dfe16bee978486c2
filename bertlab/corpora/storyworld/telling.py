"""From a sentence pattern to a sentence: slots, verbs in the tense of the document, the author's choice of words.

A pattern reads like its sentence:

    "{hero} <buy> a {colour} {item} and [soon|quickly] <carry> it home."

`{slot}` is filled from the state, `<verb>` is inflected (`<verb+>` for a plural subject), `[one|other]` is a choice
that one author tends to repeat, and "a" becomes "an" where it must.
"""

import random
import re
from dataclasses import dataclass, field

from bertlab.corpora.storyworld.lexicon import lexicon, past, present

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_VERB = re.compile(r"<([a-z ]+)(\+?)>")
_SLOT = re.compile(r"\{(\w+)\}")
_MARK = re.compile("\x01(\\w+)\x02|\x03")
_ARTICLE = re.compile("\\b([Aa]) (?=(?:\x01\\w+\x02)?[aeiou])(?!(?:\x01\\w+\x02)?(?:one|uni|use))")
_FIRST = re.compile(r"^\W*\w|(?<=[.!?] )\w|(?<=: [“‘\"])\w")  # what is capitalised
_WORD = re.compile(r"(?<![{\w])([A-Za-z]+)(?![\w}])|[^\w\s{}\[\]<>|+']")
_QUOTED = re.compile(r"“([^“”]*)([,?!])” (<\w+>) (\{\w+\})\.")
ONE_THING = "item vehicle seller shop place first second third agent barrier blamed thing container helper".split()
_ONE_THING = re.compile(r" \{(?:" + "|".join(ONE_THING) + r")\}")
PLAIN_HABIT = 0.4  # how often an author writes the plain form of a word that has others


@dataclass(frozen=True)
class Sentence:
    """One sentence, the character spans of its slots, and the questions that it answers."""

    text: str
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    asks: tuple[tuple[str, str], ...] = ()  # (question, slot that answers it)
    opening: str = ""  # the first letter as it is within a sentence

    def answer(self, question: str) -> str:
        """Return the answer to one of this sentence's questions."""
        return self.text[slice(*self.spans[dict(self.asks)[question]])]

    def joined(self, mark: str, other: "Sentence") -> "Sentence":
        """Return both as one sentence: "June paints." and "Kenji sings." -> "June paints; Kenji sings."

        Slots of the other whose names are taken here get a ' after theirs.
        """
        text = other.opening + other.text[1:]
        shift = len(self.text) - 1 + len(mark)
        names = {slot: slot + "'" if slot in self.spans else slot for slot in other.spans}
        spans = {names[slot]: (start + shift, end + shift) for slot, (start, end) in other.spans.items()}
        asks = tuple((question, names[slot]) for question, slot in other.asks)
        return Sentence(self.text[:-1] + mark + text, self.spans | spans, self.asks + asks, self.opening)


class Teller:
    """One author: a tense, and habits of wording that last for a document.

    A `plain` author uses only the plain words of the lexicon's [habits].
    """

    def __init__(self, rng: random.Random, plain: bool = False):
        self.rng = rng
        self.tense = "past" if plain else rng.choice(("past", "past", "present"))
        self._choices: dict[str, str] = {}
        self._habits = {} if plain else _draw_habits(rng)
        self._speaker_first = not plain and rng.random() < 0.5

    def tell(
        self,
        pattern: str,
        slots: dict[str, str],
        asks: dict[str, str] | None = None,
        plain: dict[str, str] | None = None,
    ) -> Sentence:
        """Write the sentence of a pattern. `asks` maps question patterns, filled from `plain`, to slots that answer."""
        if self._speaker_first:
            pattern = _QUOTED.sub(lambda m: f"{m[4]} {m[3]}: “{m[1]}{m[2].replace(',', '.')}”", pattern)
        text, spans = self._render(_WORD.sub(self._habitual, pattern), slots)
        named = text.startswith("I ") or any(start == 0 for start, _ in spans.values())
        opening = text[0] if named else text[0].lower()
        questions = tuple(
            (_capital(self._render(q, plain or slots)[0]), slot) for q, slot in (asks or {}).items() if slot in spans
        )
        return Sentence(_capital(text), spans, questions, opening)

    def _render(self, pattern: str, slots: dict[str, str]) -> tuple[str, dict[str, tuple[int, int]]]:
        while _CHOICE.search(pattern):
            pattern = _CHOICE.sub(self._choose, pattern)
        text = _VERB.sub(lambda m: self.inflect(m[1], bool(m[2])), pattern)
        text = _SLOT.sub(lambda m: f"\x01{m[1]}\x02{slots[m[1]]}\x03", text)
        text = _ARTICLE.sub(r"\1n ", text)
        return _unmark(text)

    def _habitual(self, match: re.Match) -> str:
        word = match[0]
        if word.lower() == "the" and not _ONE_THING.match(match.string, match.end()):
            return word
        return self._habits.get(word, self._habits.get(word.lower(), word))

    def _choose(self, match: re.Match) -> str:
        options = match[1]
        if options not in self._choices:
            self._choices[options] = self.rng.choice(options.split("|"))
        return self._choices[options]

    def inflect(self, verb: str, many: bool = False) -> str:
        """Inflect the verb of a phrase for this author's tense, for one or many."""
        head, _, rest = verb.partition(" ")
        if head == "be" and many:
            return " ".join(filter(None, ("were" if self.tense == "past" else "are", rest)))
        if self.tense == "past":
            return past(verb)
        return verb if many else present(verb)


def _draw_habits(rng: random.Random) -> dict[str, str]:
    """Draw what this author writes for each word that has other forms; quotation marks come as a pair."""
    habits = {}
    for word, forms in lexicon()["habits"].items():
        plain, *others = forms.split("|")
        habits[word] = plain if rng.random() < PLAIN_HABIT else rng.choice(others)
    opening, closing = (lexicon()["habits"][mark].split("|") for mark in "“”")
    habits["”"] = closing[opening.index(habits["“"])]
    return habits


def _unmark(text: str) -> tuple[str, dict[str, tuple[int, int]]]:
    """Remove the slot marks and return the span of each slot."""
    spans: dict[str, tuple[int, int]] = {}
    open_slot, start, removed = "", 0, 0
    for match in _MARK.finditer(text):
        position = match.start() - removed
        removed += len(match[0])
        if match[1]:
            open_slot, start = match[1], position
        else:
            spans.setdefault(open_slot, (start, position))
    return _MARK.sub("", text), spans


def _capital(text: str) -> str:
    return _FIRST.sub(lambda match: match[0].upper(), text)
