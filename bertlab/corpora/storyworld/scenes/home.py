"""Pets, meals, the weather at the window, small accidents, hobbies."""

from collections.abc import Iterator

from bertlab.corpora.storyworld.lexicon import words
from bertlab.corpora.storyworld.telling import Sentence
from bertlab.corpora.storyworld.world import Thing, World


def pet(w: World) -> Iterator[Sentence]:
    _, _, young, sound, eats, lives, look, _, _ = w.pet_row
    slots = {"young": young, "eats": eats, "lives": lives, "look": look}
    yield w.tell("“My {animal} is {look},” <say> {hero}.", {"How <be> the {animal}?": "look"}, **slots)
    yield w.tell(
        "{pet} <eat> {eats} near the {lives}.",
        {"What <do> {pet} eat?": "eats", "Where <do> {pet} eat?": "lives"},
        **slots,
    )
    yield w.tell("{friend} <call> {pet}, and the {animal} {adverb} <come>.", {"Who <call> {pet}?": "friend"}, **slots)
    yield w.tell("{hero} <get> {pet} as a {young}.", {"What <be> {pet} at first?": "young"}, **slots)


def meal(w: World) -> Iterator[Sentence]:
    dish, first = w.pair(words("food", "dishes"), words("food", "ingredients"))
    second, third = w.rng.sample([i for i in words("food", "ingredients") if i != first], 2)
    slots = {
        "dish": Thing(dish, (w.choice("food", "tastes"),)),
        "first": first,
        "second": second,
        "third": third,
    }
    slots |= {"drink": w.choice("food", "drinks"), "sweet": w.choice("food", "sweets")}
    yield w.tell(
        "{hero} <cook> {dish_full}: {first}, {second}, {third}.",
        {"What <do> {hero} cook?": "dish_full"},
        **slots,
    )
    yield w.tell(
        "{friend} <cut> {first}, {hero} <wash> {second} and {third}.",
        {"What <do> {friend} cut?": "first", "Who <cut> the {first}?": "friend"},
        **slots,
    )
    yield w.tell("With the {dish} {hero} and {friend} <drink+> {drink}.", {"What <do+> they drink?": "drink"}, **slots)
    yield w.tell("After {dish} and {drink} {friend} <serve> {sweet}.", {"What <do> {friend} serve?": "sweet"}, **slots)
    yield w.tell("“{dish}, {drink}, {sweet}: thank you!” <say> {hero}.", **slots)


def weather(w: World) -> Iterator[Sentence]:
    verb, ground, wear, adjective, what, effect = w.row("weather", "kinds")
    slots = {"verb": w.verb(verb), "ground": ground, "wear": wear, "adjective": adjective}
    slots |= {"what": what, "effect": w.verb(effect, many=True)}
    subject = {"blaze": "The sun", "howl": "The wind"}.get(verb, "It")
    yield w.tell(subject + " {verb} all {day} in {town}, and {what} {effect}.", **slots)
    yield w.tell(
        "{street} Street, where {hero} <live>, <be> {ground}.", {"How <be> {street} Street?": "ground"}, **slots
    )
    yield w.tell(
        "“{adjective} {day}! Take the {wear},” <say> {friend}.",
        {"What <do> {hero} take along?": "wear"},
        **slots,
    )
    yield w.tell("{hero} <take> the {wear} and {adverb} <walk> down {ground} {street} Street.", **slots)


HURT = "When {he} <hurt> {his} {part}, {friend} <call> the {helper}."


def accident(w: World) -> Iterator[Sentence]:
    part, how, remedy, helper = w.row("body", "hurts")
    slots = {"part": part, "how": how, "remedy": remedy, "helper": helper}
    yield w.tell(
        "{hero} <hurt> {his} {part} because {he} {how}.",
        {"What <do> {hero} hurt?": "part", "How <do> it happen?": "how"},
        **slots,
    )
    yield w.tell(HURT, {"Who <call> the {helper}?": "friend", "Whom <do> {friend} call?": "helper"}, **slots)
    yield w.tell(
        "“{part}? Then {remedy},” <say> the {helper} to {hero}.",
        {"What <do> the {helper} give {hero}?": "remedy"},
        **slots,
    )
    yield w.tell("With {remedy} the {part} of {hero} soon <heal>.", **slots)


def hobby(w: World) -> Iterator[Sentence]:
    do, thing, place, goal = w.row("hobby", "kinds")
    slots = {"thing": thing, "place": w.thing(place, ("places", "qualities")), "goal": goal, "verb": do}
    slots["lesson"] = w.choice("hobby", "lessons")
    asks = {f"What <do> {{hero}} {do}?": "thing", f"Where <do> {{hero}} {do} {{thing}}?": "place"}
    yield w.tell(f"Every {{day}} {{hero}} <{do}> {{thing}} at the {{place}}.", asks, **slots)
    yield w.tell("{hero} <win> the {goal}, {friend} <clap> {adverb}.", {"What <do> {hero} win?": "goal"}, **slots)
    yield w.tell("“{thing} can teach you {lesson},” <say> {hero}.", **slots)
    yield w.tell(
        "“I need {lesson}!” <answer> {friend} and <join> {him} at the {place}.",
        {"What <do> {friend} need?": "lesson"},
        **slots,
    )


SCENES = (pet, pet, meal, meal, meal, weather, accident, hobby)
