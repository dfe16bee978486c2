"""Shops, things, prices, counting, what gets lost and found."""

from collections.abc import Iterator

from bertlab.corpora.storyworld.lexicon import table, words
from bertlab.corpora.storyworld.telling import Sentence
from bertlab.corpora.storyworld.world import Thing, World

_NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()


def shopping(w: World) -> Iterator[Sentence]:
    shop, seller, goods = w.rng.choice(table("shops", "goods"))
    item = w.rng.choice(goods.split(",")).strip()
    slots = {"shop": w.thing(shop, ("places", "qualities")), "seller": seller, "item": item}
    slots["price"] = w.choice("shops", "prices")
    yield w.tell("[{hero}|The {man}] <go> to the {shop}.", {"Which shop <do> {hero} visit?": "shop"}, **slots)
    yield w.tell(
        "{H} <buy> a {item} [there|from the {seller}] for {price} coins.",
        {"What <do> {hero} buy?": "item", "How many coins <do> {hero} pay?": "price"},
        **slots,
    )
    yield w.tell("“{price} coins for a {item}?” <cry> {friend}.", **slots)
    yield w.tell("“The price of the {shop},” <say> {hero} to the {seller}.", **slots)


def store(w: World) -> Iterator[Sentence]:
    """The man went to the store; he bought a gallon of milk."""
    measure, contents = w.rng.choice(table("shops", "measures"))
    slots = {"measure": measure, "content": w.rng.choice(contents.split(", "))}
    slots["second"] = w.rng.choice([c for c in contents.split(", ") if c != slots["content"]])
    yield w.tell("[{hero}|The {man}] <go> to the store.", {"Where <do> {hero} go?": "store"}, store="store")
    yield w.tell("{H} <buy> a {measure} of {content}.", {"What <do> {hero} buy?": "content"}, **slots)
    yield w.tell("“A {measure} of {content}, not a {measure} of {second}!” <cry> {friend}.", **slots)


def coloured_thing(w: World) -> Iterator[Sentence]:
    item, shop, seller = w.item()
    slots = {"item": item, "shop": shop, "seller": seller, "price": w.choice("shops", "prices")}
    yield w.tell(
        "{hero} <want> a {item_full}, so {he} <walk> to the {shop}.",
        {"What <do> {hero} want?": "item_full", "Where <do> {hero} walk?": "shop"},
        **slots,
    )
    yield w.tell(
        "“{item}? {price} coins,” <say> the {seller}.",
        {"What <be> the price of the {item}?": "price"},
        **slots,
    )
    yield w.tell(
        "{H} <pay> {price} coins to the {seller} and <take> the {item}.",
        {"Who <sell> the {item}?": "seller"},
        **slots,
    )
    yield w.tell("Now {hero} <own> a {item}, {price} coins poorer.", **slots)


def lost(w: World) -> Iterator[Sentence]:
    item, _, _ = w.item()
    first, second = w.rng.sample(words("places", "hiding"), 2)
    slots = {"item": item, "first": first, "second": second}
    yield w.tell("{hero} <lose> [a|{his}] {item_full}.", {"What <do> {hero} lose?": "item_full"}, **slots)
    yield w.tell("{H} <look> {first}: no {item}.", **slots)
    yield w.tell("“{second}?” <ask> {friend}, who <remember> the {item}.", **slots)
    yield w.tell(
        "[There it <be>:|Yes,] {second} {hero} <find> the {item}.",
        {"Where <do> {hero} find the {item}?": "second"},
        **slots,
    )


def counting(w: World) -> Iterator[Sentence]:
    total = w.rng.randint(4, 12)
    given = w.rng.randint(2, total - 2)
    fruit = Thing(w.choice("food", "fruits"), (w.choice("food", "tastes"),))
    slots = {
        "fruit": fruit,
        "total": _NUMBERS[total - 1],
        "given": _NUMBERS[given - 1],
        "rest": _NUMBERS[total - given - 1],
    }
    yield w.tell("{hero} <have> {total} {fruit_full}.", {"How many {fruit} <do> {hero} have?": "total"}, **slots)
    yield w.tell(
        "{H} <give> {given} {fruit} to {friend} and <keep> {rest}.",
        {"How many {fruit} <do> {friend} get?": "given"},
        **slots,
    )
    yield w.tell("{total} {fruit}: {given} for {friend}, {rest} for {hero}.", **slots)


def inventory(w: World) -> Iterator[Sentence]:
    first, second, third = (w.item()[0] for _ in range(3))
    slots = {"first": first, "second": second, "third": third, "where": w.choice("places", "hiding")}
    yield w.tell(
        "{hero} <keep> [a|{his}] {first_full}, [a|{his}] {second_full} and [a|{his}] {third_full} {where}.",
        {"Where <do> {hero} keep the {first}?": "where"},
        **slots,
    )
    yield w.tell("{friend} <borrow> the {second}.", {"What <do> {friend} borrow?": "second"}, **slots)
    yield w.tell("So {hero} <have> only the {first} and the {third} {where}.", **slots)


def made_of(w: World) -> Iterator[Sentence]:
    item, _, _ = w.item()
    slots = {"item": Thing(item.noun, item.attributes[:2]), "material": w.choice("shops", "materials")}
    yield w.tell(
        "{friend} <own> a {material} {item}.",
        {"What <be> the {item} made of?": "material", "Who <own> the {item}?": "friend"},
        **slots,
    )
    yield w.tell("“Real {material}?” <ask> {hero} and {adverb} <touch> the {item}.", **slots)
    yield w.tell("“Only the best {material},” <answer> {friend}.", **slots)


SCENES = (
    store,
    shopping,
    shopping,
    coloured_thing,
    coloured_thing,
    lost,
    lost,
    counting,
    inventory,
    inventory,
    made_of,
)
