"""Minimal pairs of English grammar: two sentences that differ in one word, of which one is wrong.

A model that knows the rule finds the right one more likely (Linzen et al. 2016; Warstadt et al. 2020, whose phenomena
these are in little). Singular and plural, he and she, are right equally often, so that preferring the more frequent
word gains about nothing. All words are frequent ones.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from bertlab.errors import InputError


@dataclass(frozen=True)
class MinimalPair:
    """A right sentence and a wrong one, which differ in one word."""

    phenomenon: str
    good: str
    bad: str


@dataclass(frozen=True)
class Noun:
    """Both numbers of a noun, and the reflexive pronoun of the singular ("" where that is open)."""

    singular: str
    plural: str
    reflexive: str = ""


def _nouns(text: str) -> tuple[Noun, ...]:
    return tuple(Noun(*words.split()) for words in text.split(","))


# Each form is one token of a vocabulary of 8,000, so that the two sentences of a pair are of the same length.
PEOPLE = _nouns(
    "man men himself,woman women herself,boy boys himself,girl girls herself,brother brothers himself,"
    "sister sisters herself,son sons himself,daughter daughters herself,gentleman gentlemen himself,lady ladies herself"
)
OTHERS = _nouns(
    "child children,friend friends,soldier soldiers,student students,officer officers,prisoner prisoners,"
    "servant servants,enemy enemies,member members,leader leaders,guest guests"
)
THINGS = _nouns(
    "book books,letter letters,house houses,horse horses,ship ships,story stories,picture pictures,tree trees,"
    "flower flowers,door doors,song songs,street streets,window windows,dog dogs,bird birds,scene scenes,word words,"
    "game games,city cities,room rooms,boat boats,stone stones"
)
NOUNS = PEOPLE + OTHERS
VERBS = tuple(  # singular, plural
    tuple(words.split())
    for words in ("is are,was were,has have,knows know,wants want,likes like,sees see,needs need,loves love").split(",")
)
AFTER = {  # what can follow each of them
    "is": ("very old", "in the house", "here again", "not happy", "quite sure of it"),
    "was": ("very young", "in the garden", "there again", "not alone", "afraid of the dark"),
    "has": ("a small garden", "the old book", "no money", "a good idea", "two brothers"),
    "": ("the old house", "this story", "the truth", "a better life", "many things", "the other side"),
}
BETWEEN = ("near", "beside", "behind", "with", "from")
REFLEXIVE_VERBS = ("hurt", "saw", "asked", "found", "told", "called", "killed", "saved", "helped", "loved")
TIMES = ("", "yesterday", "at last", "once more", "that day", "last night", "in the end", "again")
IRREGULAR = tuple(  # past tense, participle, what follows
    (past, participle, rest.split("/"))
    for past, participle, rest in (
        ("wrote", "written", "a letter/the book/to his friend/this story"),
        ("saw", "seen", "the river/a ship/the old man/the picture"),
        ("took", "taken", "the money/a book/his hand/the road to the town"),
        ("gave", "given", "the child a book/them the money/her a letter/up all hope"),
        ("broke", "broken", "the window/his word/the box/the door"),
        ("spoke", "spoken", "to the king/of the war/to her mother/about the story"),
        ("knew", "known", "the truth/the man/his father/her name"),
        ("went", "gone", "to the town/into the house/to the river/away from there"),
        ("began", "begun", "the work/the story/a new life/a long letter"),
        ("forgot", "forgotten", "the name/his promise/the story/her book"),
        ("chose", "chosen", "a horse/the best place/a good name/the other road"),
        ("fell", "fallen", "into the river/from the tree/on the floor/to the ground"),
    )
)
SUBJECTS = ("he", "she", "the boy", "the girl", "the man", "the woman", "the king", "the doctor", "my friend")
SINGULAR_DETERMINERS = ("this", "that", "every", "each", "one")
PLURAL_DETERMINERS = ("these", "those", "many", "several", "two")
DETERMINED = ("saw", "found", "wanted", "liked", "remembered", "passed", "loved", "had seen", "looked at", "knew")
LICENSED = (  # "ever" and "any" are right after the first of the two words, wrong after the second
    ("{} has", "nobody", "everybody"),
    ("{} one has", "no", "every"),
    ("{} people have", "few", "many"),
    ("she has {}", "never", "always"),
    ("he has {}", "hardly", "often"),
)
PARTICIPLES = ("seen", "loved", "found", "had", "wanted", "liked", "lost", "needed", "known")


def agreement(rng: random.Random) -> tuple[str, str, str]:
    """The verb has the number of its subject."""
    subject, verbs, plural = rng.choice(NOUNS), rng.choice(VERBS), rng.random() < 0.5
    return f"the {_number(subject, plural)} {{}} {_after(verbs, rng)}.", *_ordered(verbs, plural)


def agreement_attractor(rng: random.Random) -> tuple[str, str, str]:
    """It has so even if a noun of the other number stands between them."""
    subject, verbs, plural = rng.choice(NOUNS), rng.choice(VERBS), rng.random() < 0.5
    between = f"{rng.choice(BETWEEN)} the {_number(rng.choice(THINGS), not plural)}"
    return f"the {_number(subject, plural)} {between} {{}} {_after(verbs, rng)}.", *_ordered(verbs, plural)


def reflexive(rng: random.Random) -> tuple[str, str, str]:
    """A reflexive pronoun has gender and number of its subject."""
    subject, time = rng.choice(PEOPLE), rng.choice(TIMES)
    rest = f"{rng.choice(REFLEXIVE_VERBS)} {{}} {time}".rstrip()
    if rng.random() < 1 / 3:
        return f"the {subject.plural} {rest}.", "themselves", subject.reflexive
    other = {"himself": "herself", "herself": "himself"}[subject.reflexive]
    return f"the {subject.singular} {rest}.", subject.reflexive, rng.choice((other, "themselves"))


def determiner_noun(rng: random.Random) -> tuple[str, str, str]:
    """A noun has the number that its determiner asks for."""
    plural = rng.random() < 0.5
    determiner = rng.choice(PLURAL_DETERMINERS if plural else SINGULAR_DETERMINERS)
    noun, time = rng.choice(THINGS), rng.choice(TIMES)
    start = f"{rng.choice(SUBJECTS)} {rng.choice(DETERMINED)} {determiner}"
    return f"{start} {{}} {time}".rstrip() + ".", *_ordered((noun.singular, noun.plural), plural)


def polarity(rng: random.Random) -> tuple[str, str, str]:
    """ "ever" and "any" need a negation, or something near to one, before them."""
    start, right, wrong = rng.choice(LICENSED)
    participle, thing = rng.choice(PARTICIPLES), rng.choice(THINGS)
    if start.startswith("{}") and rng.random() < 0.5:
        return f"{start} ever {participle} the {thing.singular}.", right, wrong
    return f"{start} {participle} any {thing.plural} at all.", right, wrong


def irregular(rng: random.Random) -> tuple[str, str, str]:
    """The participle stands after "has" or "had", the past tense without it."""
    past, participle, rests = rng.choice(IRREGULAR)
    subject, rest, time = rng.choice(SUBJECTS), rng.choice(rests), rng.choice(TIMES)
    end = f"{rest} {time}".rstrip()
    if rng.random() < 0.5:
        return f"{subject} {rng.choice(('has', 'had'))} {{}} {end}.", participle, past
    return f"{subject} {{}} {end}.", past, participle


PHENOMENA: dict[str, Callable[[random.Random], tuple[str, str, str]]] = {
    "agreement": agreement,
    "attractor": agreement_attractor,
    "reflexive": reflexive,
    "determiner": determiner_noun,
    "polarity": polarity,
    "irregular": irregular,
}


def minimal_pairs(phenomenon: str, count: int = 500, seed: int = 0) -> list[MinimalPair]:
    """Return so many pairs of a phenomenon, all different; the same seed gives the same ones."""
    if phenomenon not in PHENOMENA:
        raise InputError(f"phenomenon={phenomenon!r}: choose one of {', '.join(PHENOMENA)}")
    rng = random.Random(f"{seed} {phenomenon}")
    found: dict[MinimalPair, None] = {}
    for _ in range(100 * count):
        frame, good, bad = PHENOMENA[phenomenon](rng)
        found[MinimalPair(phenomenon, _sentence(frame, good), _sentence(frame, bad))] = None
        if len(found) == count:
            return list(found)
    raise InputError(f"count={count}: {phenomenon} has no more than about {len(found)} different pairs")


def _sentence(frame: str, word: str) -> str:
    sentence = frame.format(word)
    return sentence[0].upper() + sentence[1:]


def _number(noun: Noun, plural: bool) -> str:
    return noun.plural if plural else noun.singular


def _after(verbs: tuple[str, ...], rng: random.Random) -> str:
    return rng.choice(AFTER.get(verbs[0], AFTER[""]))


def _ordered(forms: tuple[str, ...], plural: bool) -> tuple[str, str]:
    """(right, wrong) of (singular, plural)."""
    singular, several = forms
    return (several, singular) if plural else (singular, several)
