"""Adversarial passages: a sentence about somebody or something else, in nearly the words of the question.

After Jia and Liang 2017, "Adversarial Examples for Evaluating Reading Comprehension Systems": the sentence answers a
question that looks like the one asked ("What did Bill buy?", where Leila is meant). Whoever reads is not misled, and
the right answer, or that there is none, stays right. A neutral sentence in its place is the control: as foreign to the
passage, but with few words of the question.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from bertlab.corpora.examples import QAExample
from bertlab.corpora.storyworld.documents import questions, tell_document
from bertlab.corpora.storyworld.lexicon import goods, table, words
from bertlab.corpora.storyworld.telling import Teller

DRAWS = 40  # of other people and things, until one fits the passage
FUNCTION_WORDS = frozenset(
    "a an and at be did do does for from give had has have he her him his how in is it many of on she that the they "
    "this to too was were what when where which who whom whose why with".split()
)
RULES = (  # a question, and what says the same of others: the person of the question, else its first slot, is another
    ("Which shop <do> {who} visit?", "{who} <visit> the {shop}."),
    ("Where <be> the {item} from?", "The {item} <be> from the {shop}."),
    ("Where <do> the {vehicle} stay?", "The {vehicle} <stay> at the {stop}."),
    ("Where <do> {who} find the {item}?", "{who} <find> the {item} {hiding}."),
    ("Where <do> {who} keep the {item}?", "{who} <keep> the {item} {hiding}."),
    ("Where <do> {who} travel to?", "{who} <travel> to {town}."),
    ("Where <do> {who} live?", "{who} <live> in {town}."),
    ("Where <do> {who} walk?", "{who} <walk> to the {shop}."),
    ("Where <do> {who} work?", "{who} <work> at the {workplace}."),
    ("Where <do> {who} wait?", "{who} <wait> at the {stop}."),
    ("Where <do> {pet} eat?", "{pet} <eat> at the {home}."),
    ("Where <do> {who} {doing}?", "{who} <{doing}> at the {club}."),
    ("Where <do+> they go on {day}?", "They <go+> to the {place} on {day}."),
    ("Where <be> {who}?", "{who} <be> at the {place}."),
    ("When <do+> they visit the {place}?", "They <visit+> the {place} on {day}."),
    ("When <do> {who} come?", "{who} <come> on {day}."),
    ("How many coins <do> {who} pay?", "{who} <pay> {number} coins."),
    ("How many {fruit} <do> {who} have?", "{who} <have> {number} {fruit}."),
    ("How many {fruit} <do> {who} get?", "{who} <get> {number} {fruit}."),
    ("How <be> {street} Street?", "{street} Street <be> {ground}."),
    ("How <be> the {pet_kind}?", "The {pet_kind} <be> {look}."),
    ("How <do> {who} feel?", "{who} <feel> {feeling}."),
    ("How <do> {who} go to work?", "{who} <go> to work on a {colour} {vehicle}."),
    ("How <do> {who} travel?", "{who} <travel> on a {colour} {vehicle}."),
    ("Why <be> {who} {feeling}?", "{who} <be> {feeling} and {reason}."),
    ("What <be> the price of the {item}?", "The price of the {item} <be> {number} coins."),
    ("What <be> the job of {who}?", "The job of {who} <be> {job}."),
    ("What <be> the {item} made of?", "The {item} <be> made of {material}."),
    ("What is the young of a {animal}?", "The young of a {animal} is a {young}."),
    ("What does a {animal} eat?", "A {animal} eats {food}."),
    ("What was too {quality}?", "The {cargo} was too {quality}."),
    ("What <do+> {who} and {whom} talk about?", "{who} and {whom} <talk+> about {topic}."),
    ("What <do> the {helper} give {who}?", "The {helper} <give> {who} {remedy}."),
    ("What <do> {who} give to the {animal}?", "{who} <give> {food} to the {animal}."),
    ("What <do> {who} give to {whom}?", "{who} <give> the {item} to {whom}."),
    ("What <do> {who} use to {work}?", "{who} <use> the {tool} to {work}."),
    ("What <do> {who} take along?", "{who} <take> the {wear} along."),
    ("What <do> {who} bring?", "{who} <bring> the {brought}."),
    ("What <do> {who} see?", "{who} <see> a {colour} {animal}."),
    ("What <do> {who} cook?", "{who} <cook> the {dish}."),
    ("What <do> {who} serve?", "{who} <serve> the {sweet}."),
    ("What <do> {who} win?", "{who} <win> the {prize}."),
    ("What <do> {who} hurt?", "{who} <hurt> a {part}."),
    ("What <do> {who} need?", "{who} <need> a {tool}."),
    ("What <do> {who} buy?", "{who} <buy> the {item}."),
    ("What <do> {who} want?", "{who} <want> a {colour} {item}."),
    ("What <do> {who} lose?", "{who} <lose> a {colour} {item}."),
    ("What <do> {who} borrow?", "{who} <borrow> a {colour} {item}."),
    ("What <do> {who} cut?", "{who} <cut> {ingredient}."),
    ("What <do> {pet} eat?", "{pet} <eat> {food}."),
    ("What <be> {pet} at first?", "{pet} <be> a {young} at first."),
    ("What <be> {who}?", "{who} <be> a {job}."),
    ("Whom <do> {who} call?", "{who} <call> the {helper}."),
    ("Who <lend> {whom} a {tool}?", "{who} <lend> {whom} a {tool}."),
    ("Who <sell> the {item}?", "The {seller} <sell> the {item}."),
    ("Who <own> the {item}?", "{who} <own> the {item}."),
    ("Who <cut> the {ingredient}?", "{who} <cut> the {ingredient}."),
    ("Who <run> to the {place}?", "{who} <run> to the {place}."),
    ("Who <hate> {topic}?", "{who} <hate> {topic}."),
    ("Who <help> {whom}?", "{who} <help> {whom}."),
    ("Who <call> the {helper}?", "{who} <call> the {helper}."),
    ("Who <call> {pet}?", "{who} <call> {pet}."),
)


def adversarial(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[QAExample]:
    """Yield the questions of `questions` on passages that end with an adversarial sentence.

    Questions that ask for nobody and nothing by name ("What did they drink?") are left out.
    """
    found = 0
    for example in questions(seed, None, split):
        if found == count:
            return
        sentence = distractor(example, seed)
        if sentence is not None:
            found += 1
            yield added(example, sentence)


def added(example: QAExample, sentence: str, before: bool = False) -> QAExample:
    """Return the example with a sentence behind its passage, or before it; the answer is found where it was."""
    context = f"{sentence} {example.context}" if before else f"{example.context} {sentence}"
    shift = len(sentence) + 1 if before and not example.is_impossible else 0
    return replace(example, context=context, answer_start=example.answer_start + shift)


def distractor(example: QAExample, seed: int = 0) -> str | None:
    """Return a sentence that answers the question for somebody or something else, None if no rule fits the question.

    Whoever and whatever is new in it does not occur in the passage, and it never contains a right answer.
    """
    rng = random.Random(f"distractor {seed} {example.id}")
    for asked, statement in RULES:
        for past in (True, False):
            match = _question(asked, past).fullmatch(example.question)
            if match:
                return _statement(example, statement, match.groupdict(), _teller(rng, past))
    return None


def neutral(example: QAExample, seed: int = 0, split: str = "train") -> str:
    """Return a sentence of another story that has as few words of the question as possible, and no right answer."""
    rng = random.Random(f"neutral {seed} {example.id}")
    texts = [sentence.text for _ in range(2) for sentence in tell_document(rng, split)]
    unrelated = [text for text in texts if text.endswith(".") and not _answers(example, text)]
    asked = _content(example.question)
    return min(unrelated, key=lambda text: (len(asked & _content(text)), abs(len(text.split()) - 7)))


def _statement(example: QAExample, pattern: str, asked: dict[str, str], teller: Teller) -> str | None:
    """Fill the pattern. Drawn anew are whom the question is about, and the slots that it does not have."""
    swapped = next((slot for slot in ("who", "whom") if slot in asked), next(iter(asked)))
    known = _content(f"{example.question} {example.context}")
    if "doing" in asked:
        pattern = pattern.replace("{doing}", asked["doing"])
    fresh = {slot for slot in re.findall(r"\{(\w+)\}", pattern) if slot == swapped or slot not in asked}
    for _ in range(DRAWS):
        drawn = {slot: teller.rng.choice(values()[slot]) for slot in sorted(fresh)}
        new = _content(" ".join(value for slot, value in drawn.items() if slot != "colour"))
        text = teller.tell(pattern, asked | drawn).text
        if not new & known and not _answers(example, text):
            return text
    return None


def _answers(example: QAExample, text: str) -> bool:
    """Whether the text contains a right answer."""
    return any(answer.lower() in text.lower() for answer in (example.answer, *example.others) if answer)


def _content(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - FUNCTION_WORDS


def _teller(rng: random.Random, past: bool) -> Teller:
    teller = Teller(rng, plain=True)
    teller.tense = "past" if past else "present"
    return teller


@cache
def _question(pattern: str, past: bool) -> re.Pattern:
    """Return what matches the question in one tense, with a group for each slot; people and pets are one word."""
    teller = _teller(random.Random(0), past)
    text = re.sub(r"<(\w+)(\+?)>", lambda verb: teller.inflect(verb[1], bool(verb[2])), pattern)
    one_word = dict.fromkeys(("who", "whom", "pet"), r"[A-Z]\w+")
    return re.compile(re.sub(r"\\\{(\w+)\\\}", lambda m: f"(?P<{m[1]}>{one_word.get(m[1], '.+')})", re.escape(text)))


COLUMNS = {  # of tables: section, name, number of the column
    "shop": ("shops", "goods", 0),
    "seller": ("shops", "goods", 1),
    "vehicle": ("travel", "vehicles", 0),
    "stop": ("travel", "vehicles", 2),
    "job": ("work", "jobs", 0),
    "workplace": ("work", "jobs", 1),
    "tool": ("work", "jobs", 2),
    "place": ("places", "outings", 0),
    "brought": ("places", "outings", 3),
    "animal": ("animals", "kinds", 0),
    "pet_kind": ("animals", "kinds", 0),
    "young": ("animals", "kinds", 2),
    "food": ("animals", "kinds", 4),
    "home": ("animals", "kinds", 5),
    "look": ("animals", "kinds", 6),
    "club": ("hobby", "kinds", 2),
    "prize": ("hobby", "kinds", 3),
    "part": ("body", "hurts", 0),
    "remedy": ("body", "hurts", 2),
    "helper": ("body", "hurts", 3),
    "ground": ("weather", "kinds", 1),
    "wear": ("weather", "kinds", 2),
    "feeling": ("mind", "feelings", 0),
    "reason": ("mind", "feelings", 1),
}
LISTS = {
    "topic": ("mind", "topics"),
    "hiding": ("places", "hiding"),
    "number": ("shops", "prices"),
    "colour": ("shops", "colours"),
    "material": ("shops", "materials"),
    "fruit": ("food", "fruits"),
    "dish": ("food", "dishes"),
    "sweet": ("food", "sweets"),
    "ingredient": ("food", "ingredients"),
    "cargo": ("because", "cargo"),
    "quality": ("because", "barrier_adjectives"),
}
NAMES = {
    "pet": ("animals", "pet_names"),
    "town": ("places", "towns"),
    "street": ("places", "streets"),
    "day": ("mind", "days"),
}


@cache
def values() -> dict[str, tuple[str, ...]]:
    """Return what each slot can be filled with, from the lexicon."""
    people = dict.fromkeys(words("people", "women") + words("people", "men"))
    names = tuple(name.title() for name in people)
    return {
        "who": names,
        "whom": names,
        "item": tuple(thing for thing, *_ in goods() if not thing.startswith("dozen")),
        **{slot: tuple(dict.fromkeys(row[n] for row in table(*names))) for slot, (*names, n) in COLUMNS.items()},
        **{slot: words(*names) for slot, names in LISTS.items()},
        **{slot: tuple(name.title() for name in words(*names)) for slot, names in NAMES.items()},
    }
