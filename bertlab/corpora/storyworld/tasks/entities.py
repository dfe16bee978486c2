"""Named entities where the names are also common words: rose, may, hill, baker, basil, biscuit.

Only the words around a word show whether it names a person, a place (a town or a street), a pet or nothing.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from bertlab.corpora.examples import TokenExample
from bertlab.corpora.storyworld.lexicon import lexicon, table, words
from bertlab.corpora.storyworld.tasks.facts import people, worlds
from bertlab.corpora.storyworld.telling import Sentence
from bertlab.corpora.storyworld.world import World, split_of

KINDS = {"first": "person", "second": "person", "town": "place", "street": "place", "goal": "place", "pet": "pet"}
NAMES = {"person": ("people", "women"), "place": ("places", "towns"), "pet": ("animals", "pet_names")}
PATTERNS = (
    "{first} <be> a {trade} [from|in|of] {town}.",
    "{first} <live> on {street} with {his} {animal} {pet}.",
    "{look} {pet} <eat> {eats} near the {sight}.",
    "{first} <call> {pet}, and the {animal} {adverb} <come>.",
    "{trait} {first} {adverb} <write> a letter from {town} to {second}.",
    "{second} <wait> at the {stop} of {goal}.",
    "{first} <RIDE> a {colour} {vehicle} from {town} to {goal}.",
    "{first} <go> home to {street}, {town}, where {pet} <wait>.",
    "{day}, {month}: {seasonal} everywhere in {town}.",
    "{first} <love> {season}, {second} <hate> {season}.",
    "{trait} {trade} {first} <cook> soup: {herb}, {two}, {three}.",
    "{second} <cut> {two}, {first} <wash> {herb} and {three}.",
    "{first} <see> a {creature} by the {sight}.",
    "“A {colour} {item}, {first}?” <ask> {second} {adverb}.",
    "In {month} {first} <meet> the {trade} on {street}.",
    "“{month} is lovely in {town},” <say> {second}.",
    "{first} and {second} <buy+> a {colour} {item} for {pet}.",
    "The {trade} <give> {first} {herb}, {two} and a {flower}.",
    "{pet} the {animal} {adverb} <walk> down {street}.",
    "A {creature} and a {animal} <come+> to {town} in {month}.",
    "{first} <see> {pet} and a {creature} near the {sight}.",
    "The {colour} {sight} of {goal} <be> {quality}, {second}.",
    "The {trade} and the {creature} <meet+> on {street} in {season}.",
)
OPEN = (  # {x}, {y} and {z} may be anybody and anything: here the word itself tells
    "“{x}, {y}, {z}!” <say> {first}.",
    "{first} and {second} <talk+> about {x} and {y}.",
    "{first} <love> {x}, {second} <hate> {y}.",
    "{first} <read> {second} a book about {x}.",
    "{first} <remember> {x}, {y} and {z}.",
    "The {trade} <think> of {x} and {y}.",
    "{second} <love> {x}; {first} only <talk> of {y} and {z}.",
)
_WORD = re.compile(r"\w+(?:[-']\w+)*|[^\w\s]")


def entities(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[TokenExample]:
    """Yield one or two sentences as words, labelled O, B-person, I-person, B-place, I-place, B-pet or I-pet.

    Dev and test hold names, and first names with surnames, streets with towns, pets with names, as train never does.
    """
    for name, w in worlds("entities", seed, count, split):
        slots, kinds = _slots(w)
        chosen = [w.rng.choice(patterns) for patterns in w.rng.sample((PATTERNS, OPEN), w.rng.randint(1, 2))]
        sentences = (w.teller.tell(pattern.replace("RIDE", w.slots["ride"]), slots) for pattern in chosen)
        pairs = [pair for sentence in sentences for pair in labelled_words(sentence, kinds)]
        yield TokenExample(name, tuple(word for word, _ in pairs), tuple(label for _, label in pairs))


def labelled_words(sentence: Sentence, kinds: dict[str, str]) -> list[tuple[str, str]]:
    """Return the words of a sentence and their labels; `kinds` maps the slots that are names to their kind."""
    named = [(*span, kinds[slot]) for slot, span in sentence.spans.items() if slot in kinds]
    pairs = []
    for match in _WORD.finditer(sentence.text):
        within = [(start, kind) for start, end, kind in named if start <= match.start() < end]
        label = "O" if not within else ("B-" if match.start() == within[0][0] else "I-") + within[0][1]
        pairs.append((match[0], label))
    return pairs


def _slots(w: World) -> tuple[dict[str, str], dict[str, str]]:
    """Return slots, of names and of common words with the same spelling, and the kind of each slot that is a name."""
    own = _own(w, "person")
    anybody = [person for person in people() if person.name in own]
    first, family = w.pair(anybody, words("people", "surnames"))
    second, ffamily = w.pair([other for other in anybody if other != first], words("people", "surnames"))
    town, street = w.pair(_own(w, "place"), words("places", "streets"))
    animal, pet = w.pair(words("animals", "pets"), _own(w, "pet"))
    common = {key: w.choice("names", key) for key in ("trade", "sight", "herb", "creature", "flower", "colour")}
    two, three = w.rng.sample([i for i in words("food", "ingredients") if i != common["herb"]], 2)
    slots = (
        w.slots
        | common
        | {"two": two, "three": three, "eats": w.pet_row[4], "item": w.item()[0].noun}
        | {"quality": w.choice("places", "qualities"), "animal": animal, "pet": pet.title()}
        | {"first": _called(w, first.name, family), "second": _called(w, second.name, ffamily)}
        | {"his": "her" if first.gender == "woman" else "his"}
        | {"town": town.title(), "goal": w.rng.choice(_own(w, "place")).title()}
        | {"street": f"{street.title()} {w.rng.choice(lexicon()['habits']['street'].split('|'))}"}
    )
    kinds = dict(KINDS)
    for slot in "xyz":
        slots[slot], kinds[slot] = _anything(w, set(slots.values()))
    return slots, {slot: kind for slot, kind in kinds.items() if kind}


def _anything(w: World, taken: set[str]) -> tuple[str, str]:
    """Draw a name that is no common word, with its kind, or a common word that is no name; none that is taken."""
    kind = w.rng.choice(("person", "place", "pet", ""))
    if not kind:
        return w.rng.choice(
            [word for word in words("food", "fruits") + words("names", "topics") if word not in taken]
        ), ""
    clear = [name.title() for name in _own(w, kind) if name not in _doubtful()]
    free = [name for name in clear if name not in taken]
    return (w.rng.choice(free), kind) if free else _anything(w, taken)


def _own(w: World, kind: str) -> tuple[str, ...]:
    """Return names that this world may hold: in dev and test often only those that train never shows."""
    return _names(kind, frozenset(("train", w.split) if w.rng.random() < 0.4 else (w.split,)))


@cache
def _names(kind: str, splits: frozenset[str]) -> tuple[str, ...]:
    names = words(*NAMES[kind]) + (words("people", "men") if kind == "person" else ())
    return tuple(name for name in names if split_of(kind, name) in splits)


@cache
def _doubtful() -> set[str]:
    """Return the words that name several things, or are both a name and a common word."""
    lists = [words(*NAMES[kind]) for kind in NAMES] + [words("people", "men"), words("people", "surnames")]
    lists += [words("names", key) for key in lexicon()["names"]] + [words("food", "ingredients")]
    counts = Counter(word for each in lists for word in set(each))
    months = {row[column] for row in table("mind", "seasons") for column in (0, 1)}
    return months | {word for word, count in counts.items() if count > 1}


def _called(w: World, name: str, family: str) -> str:
    return name.title() if w.rng.random() < 0.5 else f"{name} {family}".title()
