"""Questions made without labels: take a name, a number, a date or a thing out of a sentence and ask for it.

After Lewis, Denoyer and Riedel 2019, "Unsupervised Question Answering by Cloze Translation": the clause around the
answer becomes the question, a question word stands in for the answer, and some noise keeps a model from matching the
clause word by word. The passage is the text around the sentence.
"""

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bertlab.corpora.examples import Document, QAExample
from bertlab.corpora.letters import MARKS, characters

PASSAGE_WORDS = 120  # at most
CLAUSE_WORDS = (5, 22)  # a shorter clause does not identify its answer; of a longer one, the part near it is asked
DROPPED = 0.1  # share of the clause's words that the question leaves out
SHUFFLED = 1.5  # how far a word may move, in words

CAPITALS, SMALL = characters("Lu", "Lt"), characters("Ll")
MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = re.compile(rf"(?:\d{{1,2}} )?(?:{MONTH})(?: \d{{1,2}}\b)?(?:,? \d{{4}}\b)?|\b(?:1[0-9]|20)\d\d\b")
NUMBER = re.compile(rf"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?: (?:hundred|thousand|million|billion))?(?=\s+[{SMALL}]{{3,}})")
PART = rf"[\w{MARKS}]"  # of a word
APOSTROPHE = rf"['’‘](?={PART}{{2}})(?!(?:ll|re|ve)\b)"  # as in Ch’en, not that of a possessive, or of "Ann’ll"
WORD = rf"[ʻʼ‘]?(?:[{CAPITALS}]['’‘])?[{CAPITALS}](?:{PART}|[-‐‑]|{APOSTROPHE})*{PART}"
NAME = re.compile(rf"(?<!{PART}){WORD}(?: (?:(?:of|de|von|van) )?{WORD}){{0,4}}")
ORGANISATION = re.compile(
    r"\b(?:University|College|School|Company|Party|League|Club|Church|Army|Museum|Park|Lake|Creek|Forest|Area|Mountains?|Association|Society|Institute|Council|"
    r"Committee|Court|Act|War|Battle|Prize|Award|Festival|Cup|Championship|Times|Records|Film|Street|River|Station)\b"
)
# A thing: words after an article or possessive, as far as one that ends such a phrase.
THING = re.compile(
    rf"\b(?:the|an?|its|their|his|her) (?P<thing>(?:[{SMALL}][{SMALL}{MARKS}-]+ ){{0,2}}[{SMALL}][{SMALL}{MARKS}-]+)"
    r"(?=[,.;:]| (?:of|in|on|at|to|for|from|with|by|and|or|but|that|which|who|is|are|was|were|has|had|as)\b)"
)
PERSON_BEHIND = re.compile(
    r" (?:was|is|had|has|became|said|wrote|won|died|began|married|moved|played|returned|and)\b|'s "
)
NATIONAL = re.compile(r"\w+(?:[ai]an|ish|ese|ch|sh)")  # followed by a small word: American football
PLACE_BEFORE = re.compile(r"\b(?:in|at|near|from|to|of|across|around|outside|throughout)(?: the)? $")
NO_NAME = frozenset(
    "The A An In On At By For From He She It They His Her Its Their This That These Those After Before During When "
    "While As There Although However Since Both One Two Some Many Most All And But Or If With Under Other Also".split()
)


@dataclass(frozen=True)
class Candidate:
    """A span of a sentence that can be asked for, and how: "who", "what", "where", "when", "how many"."""

    start: int  # in letters of the sentence
    end: int
    word: str


def cloze_questions(documents: Iterable[Document], seed: int = 0, most: int = 4) -> Iterator[QAExample]:
    """Yield at most `most` questions on each document, each with a passage that holds the answer once.

    The same documents and seed give the same questions.
    """
    for number, document in enumerate(documents):
        generator = random.Random(f"{seed} {number} {document.title}")
        asked = 0
        sentences = list(range(len(document.sentences)))
        generator.shuffle(sentences)
        for index in sentences:
            if asked == most:
                break
            example = _ask(document, index, f"cloze-{number}-{asked}", generator)
            if example is not None:
                yield example
                asked += 1


def _ask(document: Document, index: int, name: str, generator: random.Random) -> QAExample | None:
    """Ask for a part of sentence `index`, or None where nothing in it can be asked for."""
    sentence = document.sentences[index]
    passage, start = _passage(document.sentences, index, generator)
    found = [c for c in candidates(sentence) if passage.count(sentence[c.start : c.end]) == 1]
    if not found:
        return None
    chosen = generator.choice(found)
    question = _question(sentence, chosen, generator)
    if question is None:
        return None
    answer = sentence[chosen.start : chosen.end]
    return QAExample(name, question, passage, answer, start + chosen.start, kind=chosen.word)


def candidates(sentence: str) -> list[Candidate]:
    """Return the dates, numbers and names of a sentence, none inside another."""
    found: list[Candidate] = []
    for pattern in (DATE, NUMBER, NAME, THING):
        for match in pattern.finditer(sentence):
            start, end = match.span("thing" if pattern is THING else 0)
            if all(end <= other.start or start >= other.end for other in found):
                word = _question_word(pattern, sentence, start, end)
                if word:
                    found.append(Candidate(start, end, word))
    return sorted(found, key=lambda candidate: candidate.start)


def _question_word(pattern: re.Pattern, sentence: str, start: int, end: int) -> str | None:
    """Return what asks for this span, None for a capital that makes no name."""
    text = sentence[start:end]
    if pattern is DATE:
        return "when" if text != "May" or start else None
    if pattern is NUMBER:
        return "how many"
    return "what" if pattern is THING else _word_for_name(text, sentence[:start], sentence[end:])


def _word_for_name(name: str, before: str, behind: str) -> str | None:
    words = name.split()
    if words[0] in NO_NAME or (not before and len(words) == 1):
        return None
    if NATIONAL.fullmatch(name) and re.match(rf" [{SMALL}]", behind):
        return None
    organisation = ORGANISATION.search(name)
    if PLACE_BEFORE.search(before) and not organisation:
        return "where"
    person = not name.isupper() and not before.endswith(("the ", "The ")) and (1 < len(words) < 4)
    return "who" if not organisation and (person or PERSON_BEHIND.match(behind)) else "what"


def _passage(sentences: tuple[str, ...], index: int, generator: random.Random) -> tuple[str, int]:
    """Return the sentences around `index`, and where that one starts: before and behind it, some by chance."""
    first = last = index
    words = len(sentences[index].split())
    while first > 0 or last < len(sentences) - 1:
        before = last == len(sentences) - 1 or (first > 0 and generator.random() < 0.5)
        words += len(sentences[first - 1 if before else last + 1].split())
        if words > PASSAGE_WORDS:
            break
        first, last = (first - 1, last) if before else (first, last + 1)
    start = sum(len(sentence) + 1 for sentence in sentences[first:index])
    return " ".join(sentences[first : last + 1]), start


def _question(sentence: str, chosen: Candidate, generator: random.Random) -> str | None:
    """Return the clause around the answer as a question, or None if the clause is too short."""
    before, behind = _clause(sentence[: chosen.start], sentence[chosen.end :])
    words = [*before, *behind]
    if len(words) < CLAUSE_WORDS[0]:
        return None
    if chosen.word == "how many":
        words = [*behind, *before]  # "how many people live in ..."
    elif PLACE_BEFORE.search(sentence[: chosen.start]) and chosen.word in ("where", "when") and before:
        words = [*before[:-1], *behind]  # "where was she born", without "in"
    return f"{chosen.word} {' '.join(_noisy(words, generator))}?"


def _clause(before: str, behind: str) -> tuple[list[str], list[str]]:
    """Return the words of the clause on both sides of the answer: from comma to comma, if that is long enough."""
    near = [re.split(r"[,;:]", before)[-1].split(), re.split(r"[,;:.]", behind)[0].split()]
    if len(near[0]) + len(near[1]) < CLAUSE_WORDS[0]:
        near = [re.findall(rf"(?:{PART}|['’‘‐‑-])+", side) for side in (before, behind)]
    half = CLAUSE_WORDS[1] // 2
    return near[0][-half:], near[1][:half]


def _noisy(words: list[str], generator: random.Random) -> list[str]:
    """Leave some words out and move the others a little (Lample et al. 2018, section 2.3), the first stays first."""
    kept = [word for word in words if generator.random() >= DROPPED]
    positions = [position + generator.uniform(0, SHUFFLED) for position in range(len(kept))]
    return [word for _, word in sorted(zip(positions, kept, strict=True))]
