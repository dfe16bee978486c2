"""The words of the small town, read once from `lexicon.toml`: how they are inflected, and what kind each one names."""

import tomllib
from collections import Counter
from functools import cache
from importlib.resources import files

_PAST = """be was|have had|do did|go went|buy bought|bring brought|think thought|catch caught|teach taught|see saw
say said|tell told|find found|lose lost|leave left|feel felt|keep kept|sleep slept|meet met|give gave|take took
make made|come came|become became|eat ate|drink drank|drive drove|ride rode|write wrote|break broke|wake woke
speak spoke|choose chose|freeze froze|sing sang|ring rang|begin began|swim swam|run ran|sit sat|get got|forget forgot
win won|hold held|stand stood|understand understood|put put|cut cut|hurt hurt|shut shut|grow grew|know knew|throw threw
blow blew|fly flew|draw drew|wear wore|sell sold|pay paid|spend spent|send sent|build built|lie lay|fall fell
hear heard|read read|sew sewed|bake baked|grind ground|wind wound|weave wove|shear sheared|fry fried|steal stole
hide hid|bite bit|tear tore|spring sprang|dig dug|feed fed|hit hit|lend lent|lead led|light lit|hang hung|fight fought
shake shook|weep wept|sweep swept|fit fit|let let"""
FOOD = ("dishes", "ingredients", "fruits", "drinks", "sweets")


@cache
def lexicon() -> dict:
    text = files(__package__).joinpath("lexicon.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def words(section: str, name: str) -> tuple[str, ...]:
    """The entries of one list; entries are split at "|" where the list has it, else at spaces."""
    text = lexicon()[section][name]
    separator = "|" if "|" in text else None
    return tuple(word.strip() for word in text.split(separator))


@cache
def table(section: str, name: str) -> tuple[tuple[str, ...], ...]:
    """The rows of one table, a tuple of columns each."""
    lines = lexicon()[section][name].strip().splitlines()
    return tuple(tuple(column.strip() for column in line.split("|")) for line in lines)


@cache
def goods() -> tuple[tuple[str, str, str], ...]:
    """Return (thing, shop, seller) of all that is sold one by one: no bottles or sacks of something."""
    shops = table("shops", "goods")
    rows = [(thing.strip(), shop, seller) for shop, seller, things in shops for thing in things.split(",")]
    return tuple(row for row in rows if " of " not in row[0])


@cache
def _irregular() -> dict[str, str]:
    return dict(entry.split() for line in _PAST.splitlines() for entry in line.split("|"))


_DOUBLED = set("stop wrap clap chop chat drop hop plan trim beg hug grab shop rub nod skip spot".split())


def past(verb: str) -> str:
    """ "bake" -> "baked"; the first word of a phrase is the verb: "put out" -> "put out"."""
    head, _, rest = verb.partition(" ")
    tail = f" {rest}" if rest else ""
    if head in _irregular():
        return _irregular()[head] + tail
    if head.endswith("e"):
        return head + "d" + tail
    if head.endswith("y") and head[-2] not in "aeiou":
        return head[:-1] + "ied" + tail
    return head + (head[-1] if head in _DOUBLED else "") + "ed" + tail


def present(verb: str) -> str:
    """ "carry" -> "carries"."""
    head, _, rest = verb.partition(" ")
    tail = f" {rest}" if rest else ""
    special = {"be": "is", "have": "has", "do": "does", "go": "goes"}
    if head in special:
        return special[head] + tail
    return plural(head) + tail


def plural(noun: str) -> str:
    """ "box" -> "boxes"; also the -s of a verb."""
    special = {"mouse": "mice", "goose": "geese", "wolf": "wolves", "ox": "oxen", "larva": "larvae"}
    if noun in special or noun in ("sheep", "goldfish", "salmon", "fish"):
        return special.get(noun, noun)
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh", "z")) else "s")


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
    jobs, animals, outings = table("work", "jobs"), table("animals", "kinds"), table("places", "outings")
    qualities = words("places", "qualities") + words("shops", "qualities") + words("mind", "traits")
    verbs = [row[4] for row in jobs]
    return {
        "animal": {form for row in animals for form in (row[0], plural(row[0]), row[2])},
        "job": {row[0] for row in jobs},
        "food": {word for name in FOOD for word in words("food", name)},
        "place": {row[column] for rows, column in ((outings, 0), (jobs, 1)) for row in rows},
        "person": {*words("people", "women"), *words("people", "men")},
        "quality": {*qualities, *words("shops", "colours"), *(row[6] for row in animals)},
        "action": {form(verb) for verb in verbs for form in (past, present)} | {row[7] for row in animals},
    }
