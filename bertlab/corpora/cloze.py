"""Questions made without labels: take a name, a number, a date or a thing out of a sentence and ask for it.

After Lewis, Denoyer and Riedel 2019, "Unsupervised Question Answering by Cloze Translation": the clause around the
answer becomes the question, a question word stands in for the answer, and some noise keeps a model from matching the
clause word by word. The passage is the text around the sentence; or, after Li, Wang, Dong, Wei and Xu 2020,
"Harvesting and Refining Question-Answer Pairs for Unsupervised QA", other text that holds the same answer.
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
SHARED = 2  # words that a sentence elsewhere has in common with the one that is asked, beside the answer
LONG = re.compile(r"\w{4,}")
COMMON = frozenset(
    "with from that this which were have been they their there about after also before between during first into more "
    "most other over some such than then these those through under when where while would could only many being both "
    "each later made used year years early late known well".split()
)

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


def cloze_questions(
    documents: Iterable[Document], seed: int = 0, most: int = 4, words: int = PASSAGE_WORDS
) -> Iterator[QAExample]:
    """Yield at most `most` questions on each document, each with a passage of at most so many `words`, or of one
    sentence, that holds the answer once.

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
            example = _ask(document, index, f"cloze-{number}-{asked}", words, generator)
            if example is not None:
                yield example
                asked += 1


def questions_elsewhere(
    documents: Iterable[Document], seed: int = 0, most: int = 8, words: int = PASSAGE_WORDS
) -> Iterator[QAExample]:
    """Yield the same kind of questions, each with a passage around another sentence of its document that holds the same
    answer and says something alike. No two questions on a document have the same answer."""
    for number, document in enumerate(documents):
        generator = random.Random(f"{seed} {number} {document.title}")
        asked: set[str] = set()
        for index in generator.sample(range(len(document.sentences)), len(document.sentences)):
            if len(asked) == most:
                break
            name = f"elsewhere-{number}-{len(asked)}"
            example = _ask_elsewhere(document.sentences, index, name, asked, words, generator)
            if example is not None:
                yield example
                asked.add(example.answer)


def _ask_elsewhere(
    sentences: tuple[str, ...], index: int, name: str, asked: set[str], most: int, generator: random.Random
) -> QAExample | None:
    """Ask for a part of sentence `index` that none of the answers `asked` is, or None where that cannot be done."""
    sentence = sentences[index]
    found = candidates(sentence)
    for chosen in generator.sample(found, len(found)):
        answer = sentence[chosen.start : chosen.end]
        other = None if answer in asked or len(answer) < 4 else _most_alike(sentences, index, answer)
        if other is None:
            continue
        passage, _ = _passage(sentences, other, most, generator, without=index)
        places = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", passage)]
        question = _question(sentence, chosen, generator) if len(places) == 1 else None
        if question is not None:
            return QAExample(name, question, passage, answer, places[0], kind=chosen.word)
    return None


def _most_alike(sentences: tuple[str, ...], index: int, answer: str) -> int | None:
    """Return the sentence with this answer that has most long words in common with sentence `index`, if enough."""

    def long_words(sentence: str) -> set[str]:
        return {word.lower() for word in LONG.findall(sentence.replace(answer, ""))} - COMMON

    wanted = long_words(sentences[index])
    holding = [n for n, sentence in enumerate(sentences) if n != index and answer in sentence]
    shared = {n: len(wanted & long_words(sentences[n])) for n in holding}
    best = max(holding, key=shared.__getitem__, default=None)
    return best if best is not None and shared[best] >= SHARED else None


def _ask(document: Document, index: int, name: str, words: int, generator: random.Random) -> QAExample | None:
    """Ask for a part of sentence `index`, or None where nothing in it can be asked for."""
    sentence = document.sentences[index]
    passage, start = _passage(document.sentences, index, words, generator)
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


def _passage(
    sentences: tuple[str, ...], index: int, most: int, generator: random.Random, without: int = -1
) -> tuple[str, int]:
    """Return at most so many words around sentence `index`, and where that starts: sentences before and behind it, some
    by chance, as far as the one that must not be among them."""
    first = last = index
    words = len(sentences[index].split())
    while sides := [
        before
        for before, next_one in ((True, first - 1), (False, last + 1))
        if 0 <= next_one < len(sentences) and next_one != without
    ]:
        before = generator.choice(sides)
        words += len(sentences[first - 1 if before else last + 1].split())
        if words > most:
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
