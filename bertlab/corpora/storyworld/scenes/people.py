"""People: who they are, what they do for a living, what they feel and say to each other."""

from collections.abc import Iterator

from bertlab.corpora.storyworld.telling import Sentence
from bertlab.corpora.storyworld.world import World


def opening_job(w: World) -> Iterator[Sentence]:
    yield w.tell(
        "{name} {family} <be> a {job} [from|in|of] {town}.",
        {"What <be> the job of {hero}?": "job", "Where <do> {hero} live?": "town"},
    )
    yield w.tell("{H} <live> on {street} Street with {his} {animal} {petname}.", {"What <be> {petname}?": "animal"})
    yield w.tell("[Often|Every {day}] {fname} {ffamily}, {his} {relation}, <visit> {hero} there.")


def opening_town(w: World) -> Iterator[Sentence]:
    yield w.tell("{day}, {month}: {seasonal} everywhere in {town}, for it <be> {season}.")
    yield w.tell("{name} {family}, {job} on {street} Street, <love> {season} and its {seasonal}.")
    yield w.tell(
        "So <do> {fname} {ffamily}, {his} {relation}, who <come> that {day}.", {"When <do> {friend} come?": "day"}
    )


def opening_friends(w: World) -> Iterator[Sentence]:
    yield w.tell("{hero} and {friend} <be+> [old|close|good] friends.")
    yield w.tell("{name} <be> a {job}, {fname} {his} {relation}.", {"Who <be> the {relation} of {hero}?": "fname"})
    yield w.tell("“{trait} {name}!” people of {town} <say+>, “and {ftrait} {fname}!”")


def introduction(w: World) -> Iterator[Sentence]:
    """The hero speaks: the only scene in the first person."""
    slots = {"look": w.pet_row[6], "eats": w.pet_row[4]}
    yield w.tell("I am {name} {family}, and I am a {job}.", {"What is {name}?": "job"})
    yield w.tell("My {animal} [is|{petname} is] {look}.", {"How is the {animal}?": "look"}, **slots)
    yield w.tell("[He|She] likes {eats}, and my {relation} {fname} likes {topic}.", **slots)


def at_work(w: World) -> Iterator[Sentence]:
    yield w.tell("{day}: {hero} <work> at the {workplace}.", {"Where <do> {hero} work?": "workplace"})
    yield w.tell(
        "With a {tool} {hero} <{make}> {product}.".replace("{make}", w.job[4]),
        {"What <do> {hero} use to {make} {product}?": "tool", "What <do> {hero} {make}?": "product"},
    )
    yield w.tell("{friend} <bring> {supply} to the {workplace}.", {"What <do> {friend} bring?": "supply"})
    yield w.tell("“{supply}, {tool}, {product}: life of a {job},” <laugh> {hero}.")


def new_tool(w: World) -> Iterator[Sentence]:
    yield w.tell("Broken {tool}! {hero} <need> another {tool} at the {workplace}.", {"What <do> {hero} need?": "tool"})
    yield w.tell("Without {tool} {hero} cannot {make} {product}.")
    yield w.tell(
        "{friend} <lend> {hero} a {tool}, so {hero} {adverb} <{make}> {product}.".replace("{make}", w.job[4]),
        {"Who <lend> {hero} a {tool}?": "friend"},
    )


def feeling(w: World) -> Iterator[Sentence]:
    feeling, reason = w.row("mind", "feelings")
    yield w.tell(
        "{hero} <be> {feeling} because {he} {reason}.",
        {"How <do> {hero} feel?": "feeling", "Why <be> {hero} {feeling}?": "reason"},
        feeling=feeling,
        reason=reason,
    )
    yield w.tell("“Why so {feeling}, {trait} {job}?” <ask> {friend} {adverb}.", feeling=feeling)
    yield w.tell("“I {reason},” <say> {feeling} {hero}.", feeling=feeling, reason=reason)


def talking(w: World) -> Iterator[Sentence]:
    yield w.tell(
        "{hero} and {friend} <talk+> about {topic} [for an hour|all evening|{adverb}].",
        {"What <do+> {hero} and {friend} talk about?": "topic"},
    )
    yield w.tell("“[Always|Only] {topic}!” <cry> {friend}.")
    yield w.tell("{hero} <love> {topic}, {friend} <hate> {topic}.", {"Who <hate> {topic}?": "friend"})


def appointment(w: World) -> Iterator[Sentence]:
    hour = w.rng.choice("one two three four five six seven eight nine ten eleven".split())
    slots = {"hour": hour, "place": w.place()[0]}
    yield w.tell(
        "“{day}, {hour} o'clock, {place}?” <ask> {hero}.",
        {"At what hour <do+> they meet?": "hour", "Where <do+> they meet?": "place"},
        **slots,
    )
    yield w.tell("“{hour} o'clock, {place},” <repeat> {friend}.", **slots)
    yield w.tell("But {friend} <come> to the {place} an hour after {hour}.", **slots)


def gift(w: World) -> Iterator[Sentence]:
    item, shop, _ = w.item()
    slots = {"item": item, "shop": shop}
    yield w.tell(
        "For {fhis} birthday {hero} <give> {friend} a {item_full}.",
        {"What <do> {hero} give to {friend}?": "item_full", "Whose birthday <be> it?": "friend"},
        **slots,
    )
    yield w.tell("“A {item}! From the {shop}?” <ask> {friend}.", {"Where <be> the {item} from?": "shop"}, **slots)
    yield w.tell("{friend} {adverb} <thank> {hero} for the {item}.", **slots)


def habits(w: World) -> Iterator[Sentence]:
    """Small things that {he} does with what is {his}: the pronouns agree."""
    patterns = ["{he} <wash> {his} hands.", "{he} <call> {his} mother.", "{he} <brush> {his} hair."]
    patterns += ["{he} <close> {his} eyes.", "{he} <open> {his} door.", "{he} <read> {his} letters."]
    first, second = w.rng.sample(patterns, 2)
    yield w.tell("Every {day} " + first.replace("{he}", "{H}"))
    yield w.tell("[After that|Later] " + second)


def closing_home(w: World) -> Iterator[Sentence]:
    yield w.tell("[At night|Then|In the evening] {hero} <go> home to {street} Street, {town}, where {pet} <wait>.")
    yield w.tell("Good {day}, {hero}; good {day}, {friend}!")


def closing_letter(w: World) -> Iterator[Sentence]:
    yield w.tell("{friend} <write> a letter from {town} about {hero}.")
    yield w.tell("“{trait} {job} {name}, {look} {animal}, {street} Street: lovely {day}! Your {relation} {fname}.”")


OPENINGS = (opening_job, opening_town, opening_friends, introduction)
CLOSINGS = (closing_home, closing_letter)
SCENES = (at_work, at_work, new_tool, feeling, talking, appointment, gift, gift)
