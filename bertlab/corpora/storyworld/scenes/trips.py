"""Outings, journeys and what one sees on the way."""

from collections.abc import Iterator

from bertlab.corpora.storyworld.lexicon import words
from bertlab.corpora.storyworld.telling import Sentence
from bertlab.corpora.storyworld.world import World


def outing(w: World) -> Iterator[Sentence]:
    place, (_, sight, did, bring) = w.place()
    slots = {
        "place": place,
        "sight": w.thing(sight, ("shops", "qualities")),
        "did": w.verb(did, many=True),
        "bring": bring,
    }
    yield w.tell(
        "{day}: {hero} and {friend} <visit+> the {place}.",
        {"Where <do+> they go on {day}?": "place", "When <do+> they visit the {place}?": "day"},
        **slots,
    )
    yield w.tell("{friend} <bring> {hero} a {bring}.", {"What <do> {friend} bring?": "bring"}, **slots)
    yield w.tell(
        "[There|At the {place}] {hero} and {friend} {did} and <see+> a {sight_full}.",
        {"What <do+> they see?": "sight_full"},
        **slots,
    )
    yield w.tell("“{place}, {sight}, {bring}, {friend}: lovely!” <say> {hero}.", **slots)


def journey(w: World) -> Iterator[Sentence]:
    goal = w.rng.choice([t.title() for t in words("places", "towns") if t != w.slots["town"].lower()])
    slots = {
        "goal": goal,
        "hours": w.choice("shops", "prices"),
        "vehicle": w.thing(w.slots["vehicle"], ("shops", "colours")),
    }
    yield w.tell(
        "{hero} <{ride}> a {vehicle_full} from {town} to {goal}.".replace("{ride}", w.slots["ride"]),
        {"Where <do> {hero} travel to?": "goal", "How <do> {hero} travel?": "vehicle_full"},
        **slots,
    )
    yield w.tell(
        "The {vehicle} {trouble}, so {town} to {goal} <take> {hero} {hours} hours.",
        {"How many hours <do> it take?": "hours", "What happened to the {vehicle}?": "trouble"},
        **slots,
    )
    yield w.tell("{friend} <wait> at the {stop} of {goal}.", {"Where <do> {friend} wait?": "stop"}, **slots)
    yield w.tell("“{hours} hours to {goal}!” <say> {hero} at the {stop}, “the {vehicle} {trouble}.”", **slots)


def ride(w: World) -> Iterator[Sentence]:
    slots = {"vehicle": w.thing(w.slots["vehicle"], ("shops", "colours"))}
    yield w.tell(
        "{hero} <{ride}> a {vehicle_full} to the {workplace}.".replace("{ride}", w.slots["ride"]),
        {"How <do> {hero} go to work?": "vehicle_full"},
        **slots,
    )
    yield w.tell("The {vehicle} of {hero} <stay> at the {stop}.", {"Where <do> the {vehicle} stay?": "stop"}, **slots)
    yield w.tell(
        "One {day} the {vehicle} {trouble}; {friend} <help> {hero}.",
        {"Who <help> {hero}?": "friend"},
        **slots,
    )


def search(w: World) -> Iterator[Sentence]:
    slots = {"place": w.place()[0]}
    yield w.tell("“Where is {friend}?” <ask> {hero}.")
    yield w.tell("“At the {place}, {name},” <say> a neighbour.", {"Where <be> {friend}?": "place"}, **slots)
    yield w.tell(
        "{hero} {adverb} <run> to the {place} and <find> {friend}.",
        {"Who <run> to the {place}?": "hero"},
        **slots,
    )


SCENES = (outing, outing, outing, journey, journey, journey, ride, search)
