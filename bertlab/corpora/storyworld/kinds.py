"""What kind of thing each word of the town names, as its lexicon has it: labels for probes."""

from collections import Counter
from functools import cache

from bertlab.corpora.storyworld.lexicon import past, plural, present, table, words

JOBS, ANIMALS, OUTINGS = table("work", "jobs"), table("animals", "kinds"), table("places", "outings")
FOOD = ("dishes", "ingredients", "fruits", "drinks", "sweets")


@cache
def word_kinds() -> dict[str, str]:
    """Return the kind of each word, in lower case, that can name one kind of thing alone: animal, job, food, place,
    person, quality or action. Words of two kinds, such as fisher or rose, are left out."""
    kinds = _entries()
    count = Counter(word for entries in kinds.values() for word in entries)
    doubtful = {*words("people", "surnames"), *words("animals", "pet_names"), *words("places", "streets")}
    return {
        word: kind
        for kind, entries in kinds.items()
        for word in sorted(entries)
        if word.isalpha() and count[word] == 1 and word not in doubtful
    }


def _entries() -> dict[str, set[str]]:
    qualities = words("places", "qualities") + words("shops", "qualities") + words("mind", "traits")
    verbs = [row[4] for row in JOBS]
    return {
        "animal": {form for row in ANIMALS for form in (row[0], plural(row[0]), row[2])},
        "job": {row[0] for row in JOBS},
        "food": {word for name in FOOD for word in words("food", name)},
        "place": {row[column] for rows, column in ((OUTINGS, 0), (JOBS, 1)) for row in rows},
        "person": {*words("people", "women"), *words("people", "men")},
        "quality": {*qualities, *words("shops", "colours"), *(row[6] for row in ANIMALS)},
        "action": {form(verb) for verb in verbs for form in (past, present)} | {row[7] for row in ANIMALS},
    }
