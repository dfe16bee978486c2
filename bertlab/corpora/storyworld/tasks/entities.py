"""Named entities where the names are also common words: rose, may, hill, baker, basil, biscuit.

Only what stands around a word tells whether it names a person, a place (a town or a street), a pet or nothing.
"""

import re
from collections.abc import Iterator

from ...examples import TokenExample
from ..lexicon import lexicon, words
from ..telling import Sentence
from ..world import World
from .cast import people, worlds

KINDS = {"first": "person", "second": "person", "town": "place", "street": "place", "goal": "place", "pet": "pet"}
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
_WORD = re.compile(r"\w+(?:[-']\w+)*|[^\w\s]")


def entities(seed: int = 0, count: int | None = None, split: str = "train") -> Iterator[TokenExample]:
    """Yield one or two sentences as words, labelled O, B-person, I-person, B-place, I-place, B-pet or I-pet.

    Dev and test hold first names with surnames, streets with towns, and pets with names, as train never does.
    """
    for name, w in worlds("entities", seed, count, split):
        slots = _slots(w)
        patterns = [p.replace("RIDE", w.slots["ride"]) for p in w.rng.sample(PATTERNS, w.rng.randint(1, 2))]
        sentences = [labelled_words(w.teller.tell(pattern, slots)) for pattern in patterns]
        pairs = [pair for sentence in sentences for pair in sentence]
        yield TokenExample(name, tuple(word for word, _ in pairs), tuple(label for _, label in pairs))


def labelled_words(sentence: Sentence) -> list[tuple[str, str]]:
    """The words of a sentence and their labels, from where its slots stand."""
    named = [(*span, KINDS[slot]) for slot, span in sentence.spans.items() if slot in KINDS]
    pairs = []
    for match in _WORD.finditer(sentence.text):
        within = [(start, kind) for start, end, kind in named if start <= match.start() < end]
        label = "O" if not within else ("B-" if match.start() == within[0][0] else "I-") + within[0][1]
        pairs.append((match[0], label))
    return pairs


def _slots(w: World) -> dict[str, str]:
    """Names, and beside them the common words that are spelt the same."""
    (first, family), (second, ffamily) = (w.pair(people(), words("people", "surnames")) for _ in range(2))
    street, town = w.pair(words("places", "streets"), words("places", "towns"))
    two, three = w.rng.sample(words("food", "ingredients"), 2)
    common = {key: w.choice("names", key) for key in ("trade", "sight", "herb", "creature", "flower", "colour")}
    return (
        w.slots
        | common
        | {"two": two, "three": three, "eats": w.pet_row[4], "item": w.item()[0].noun}
        | {"quality": w.choice("places", "qualities")}
        | {"first": _called(w, first.name, family), "second": _called(w, second.name, ffamily)}
        | {"his": "her" if first.gender == "woman" else "his"}
        | {"town": town.title(), "goal": w.choice("places", "towns").title()}
        | {"street": f"{street.title()} {w.rng.choice(lexicon()['habits']['street'].split('|'))}"}
    )


def _called(w: World, name: str, family: str) -> str:
    return name.title() if w.rng.random() < 0.5 else f"{name} {family}".title()
