"""How an author of the small town tells a sentence: slots, spans, habits, and words in their right form."""

import random
import re

import pytest

from bertlab.corpora import storyworld
from bertlab.corpora.storyworld import lexicon, telling
from bertlab.corpora.storyworld.world import Thing


class Author(telling.Teller):
    """Tells in plain words, in one tense."""

    def __init__(self, tense):
        super().__init__(random.Random(0), plain=True)
        self.tense = tense


def test_slots_articles_choices_and_spans():
    slots = {"hero": "Rose", "item": "old umbrella", "hour": "unicorn"}
    sentence = Author("past").tell(
        "{hero} <buy> a {item} and [soon|soon] <carry> it home.", slots, {"What <do> {hero} buy?": "item"}
    )
    assert sentence.text == "Rose bought an old umbrella and soon carried it home."
    assert {name: sentence.text[slice(*span)] for name, span in sentence.spans.items()} == {
        "hero": "Rose",
        "item": "old umbrella",
    }
    assert sentence.asks == (("What did Rose buy?", "item"),)
    assert Author("past").tell("a {hour}", slots).text == "A unicorn"
    assert Author("present").tell("{hero} <go>, they <go+>, they <be+>.", slots).text == "Rose goes, they go, they are."


def test_a_slot_said_twice_is_asked_for_where_it_stands_first():
    assert Author("past").tell("{item} or {item}.", {"item": "tea"}).spans == {"item": (0, 3)}


def test_two_sentences_become_one():
    author = Author("past")
    first = author.tell("{hero} <sleep>.", {"hero": "Rose"}, {"Who <sleep>?": "hero"})
    named = author.tell("{hero} <sing>.", {"hero": "Mark"}, {"Who <sing>?": "hero"})
    both = first.joined("; ", named)
    assert both.text == "Rose slept; Mark sang."
    assert both.answer("Who slept?") == "Rose" and both.answer("Who sang?") == "Mark"
    plain = first.joined(" – ", author.tell("The {pet} <sing>.", {"pet": "cat"}))
    assert plain.text == "Rose slept – the cat sang."


def test_an_author_who_names_the_speaker_first():
    told = {
        telling.Teller(random.Random(seed)).tell("“Yes,” <cry> {hero}.", {"hero": "Rose"}).text for seed in range(40)
    }
    assert {"“Yes,” cried Rose.", "Rose cried: “Yes.”"} <= told


def test_a_question_on_a_slot_that_is_not_said_is_left_out():
    assert Author("past").tell("{hero} <sleep>.", {"hero": "Rose", "item": "hat"}, {"What?": "item"}).asks == ()


def test_an_author_keeps_to_choices_and_habits():
    for seed in range(20):
        teller = telling.Teller(random.Random(seed))
        said = {teller.tell("He [ran|walked|hopped] to the lake because of “rain”.", {}).text for _ in range(5)}
        assert len(said) == 1
        assert re.search(r"“\w+”|\"\w+\"|‘\w+’", said.pop())


def test_a_thing_is_mentioned_by_its_noun_and_some_attributes():
    thing = Thing("coat", ("old", "red"))
    mentions = {thing.mention(random.Random(seed)) for seed in range(40)}
    assert mentions == {"coat", "old coat", "red coat", "old red coat"} and str(thing) == "old red coat"


# Inflection


@pytest.mark.parametrize(
    "entry",
    "stop stopped|carry carried|bake baked|go went|put put out|listen listened to the echo|be was|be were".split("|"),
)
def test_past(entry):
    verb, _, form = entry.partition(" ")
    rest = form.partition(" ")[2]
    assert Author("past").inflect(f"{verb} {rest}".strip(), many=form == "were") == form


def test_past_of_verbs_in_the_text_is_regular_or_listed():
    """Every verb of the patterns and habits: its past is on the list of irregular ones, or built by the rules.

    A short verb that ends in one vowel and one consonant doubles it: "stop", "stopped".
    """
    verbs = set()
    with pytest.MonkeyPatch.context() as patch:
        inflect = telling.Teller.inflect
        patch.setattr(
            telling.Teller, "inflect", lambda self, v, many=False: verbs.add(v.split()[0]) or inflect(self, v, many)
        )
        for _ in storyworld.documents(11, 400):
            pass
    assert len(verbs) > 150
    irregular = lexicon._irregular()
    one_syllable = re.compile(r"^[^aeiou]+[aeiou][bdgklmnprt]$")
    for verb in verbs - set(irregular):
        past = lexicon.past(verb)
        if one_syllable.match(verb):
            assert past == f"{verb}{verb[-1]}ed"
        elif verb.endswith("e"):
            assert past == f"{verb}d"
        elif re.search(r"[^aeiou]y$", verb):
            assert past == f"{verb[:-1]}ied"
        else:
            assert past == f"{verb}ed"


@pytest.mark.parametrize(
    "verb, form",
    [entry.split(" ", 1) for entry in "ask asks|carry carries|play plays|watch watches|wash washes|fix fixes|fly flies"
     "|go goes|do does|have has|be is|buzz buzzes|pass passes|put puts out".split("|")],
)  # fmt: skip
def test_present(verb, form):
    rest = form.partition(" ")[2]
    assert Author("present").inflect(f"{verb} {rest}".strip()) == form
    assert Author("present").inflect(verb, many=True) == ("are" if verb == "be" else verb)


def test_plurals_of_the_animals():
    forms = {row[0]: lexicon.plural(row[0]) for row in lexicon.table("animals", "kinds")}
    regular = {kind for kind, form in forms.items() if form in (kind + "s", kind + "es")}
    assert set(forms) - regular == {"mouse", "wolf", "sheep", "goose", "goldfish", "salmon", "butterfly"}
    assert {kind for kind in regular if forms[kind] == kind + "es"} == {"fox", "ostrich"}
