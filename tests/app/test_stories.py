"""Every claim of every story, computed again on the models that its link opens; and what following a story is like."""

import re
from functools import cache
from itertools import product

import pytest
import torch
from pages import boxes, fine, opened, said
from torch import Tensor

from app.explore import ADDRESSES, FIRST
from app.shared.stories import BUNDLED
from bertlab import (
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    Tokenizer,
)
from bertlab.corpora import storyworld
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.heads import ROLES, head_roles
from bertlab.explain.attention.knockout import fill_knockouts, fill_without
from bertlab.explain.attention.maps import attention_maps
from bertlab.explain.attribution import attribute_span
from bertlab.explain.labels import label_text, label_words
from bertlab.explain.runs import read_run
from bertlab.explain.spans import answer, window_batch
from bertlab.explain.vectors import layer_measures, text_vectors
from bertlab.explain.words.next_sentence import both_orders
from bertlab.io.stories import Station, read_stories

STORIES = read_stories(BUNDLED, ADDRESSES)
STATIONS = {(name, n): one for name, story in STORIES.items() for n, one in enumerate(story.stations, 1)}
FIGURE = re.compile(r"(\d+(?:\.\d+)?)(%| nats)")
LIMIT = 128
TINY, MINI = "storyworld-tiny", "english-mini"
TIRED = "the animal didn't cross the street because the [MASK] was too tired."
WIDE = TIRED.replace("tired", "wide")


@cache
def model(kind: type, name: str, random: bool = False):
    found = kind.from_pretrained(name).eval()
    return random_control(found) if random else found


tokenizer = cache(Tokenizer.from_pretrained)


def chosen(station: Station) -> dict:
    """What a link chooses; a list where it chooses several."""
    found: dict = {}
    for key, value in station.choices:
        found[key] = [*found[key], value] if key in found else [value]
    return {key: values if len(values) > 1 else values[0] for key, values in found.items()}


def percent(*shares) -> list[float]:
    return [100 * float(share) for share in shares]


def weights(name: str, text: str, query: str, key: str, random: bool = False) -> Tensor:
    """How much of the attention of one word goes to another, by layer and head (L, A)."""
    maps = attention_maps(model(BertModel, name, random), tokenizer(name), text)
    return maps.weights[:, :, maps.tokens.index(query), maps.tokens.index(key)]


def share(text: str, noun: str, name: str = TINY, random: bool = False, head: tuple[int, int] = (3, 1)) -> float:
    """How much of the attention of [MASK] one head gives to a noun."""
    return float(weights(name, text, "[MASK]", noun, random)[head])


def fill(text: str, word: str, first: str | None = None, name: str = TINY, off: tuple = ()) -> float:
    """The probability of a word in the gap; `first` is the first guess, by default the word itself."""
    every = tokenizer(name).vocab_size
    found = fill_without(model(BertForPreTraining, name), tokenizer(name), text, None, (), 0, word, off, every).after
    assert found.tokens[0] == (first or word)
    return found.probabilities[found.tokens.index(word)]


def label(text: str, expected: str) -> float:
    name = "storyworld-tiny-sentiment"
    found = label_text(model(BertForSequenceClassification, name), tokenizer(name), text).prediction
    assert found.label == expected, text
    return found.probabilities[expected]


def names(text: str) -> tuple[list[str], float]:
    """The persons in a text, and the probability of its first word's label."""
    name = "storyworld-tiny-entities"
    found = label_words(model(BertForTokenClassification, name), tokenizer(name), text)
    assert {one.kind for one in found.names} <= {"person"}
    return [text[one.start : one.stop] for one in found.names], found.prediction.probabilities[0]


def answered(station: Station, expected: str, question: str = "", passage: str = "", random: bool = False) -> float:
    """The probability of the answer, which is as expected."""
    asked = question or chosen(station)["question"], passage or chosen(station)["passage"]
    name = chosen(station)["model"]
    found = answer(model(BertForQuestionAnswering, name, random), tokenizer(name), *asked)
    assert random or found.best.text == expected, found.best.text
    return found.best.probability


@cache
def separated(name: str, which: str, pooling: str, random: bool = False) -> tuple[list[float], float]:
    """How often neighbours name the label after each layer, as the page on embeddings measures it, and chance."""
    examples = list(getattr(storyworld, which)(seed=0, count=240, split="test"))
    rows = text_vectors(model(BertModel, name, random), tokenizer(name), [e.text for e in examples], pooling, LIMIT)
    found = [layer.neighbours for layer in layer_measures(rows, [e.label for e in examples])]
    return [layer.accuracy for layer in found], found[0].chance


def follows(text: str, pair: str, random: bool = False) -> list[float]:
    found = both_orders(model(BertForPreTraining, TINY, random), tokenizer(TINY), text, pair, LIMIT)
    return percent(*(verdict.probability for verdict in found))


def role(name: str, kind: str, head: tuple[int, int], random: bool = False) -> float:
    maps = attention_maps(model(BertModel, name, random), tokenizer(name), TIRED)
    return float(head_roles(maps).scores[(*head, ROLES.index(kind))])


# Find the head that follows it


def it_is_written(station: Station) -> list[float]:
    text = chosen(station)["text"]
    return percent(*(weights(TINY, text, "it", "animal", random).max() for random in (False, True)))


def a_head_goes_looking(station: Station) -> list[float]:
    assert chosen(station) == {"model": TINY, "text": TIRED, "head": "4-2"}
    best = {random: most_weight_on_the_noun(random) for random in (False, True)}
    assert int(best[False].argmax()) == 3 * 4 + 1  # layer 4, head 2
    found = percent(share(TIRED, "animal"), share(TIRED, "street"))
    return [*found, *percent(best[False].max(), best[True].max())]


def most_weight_on_the_noun(random: bool) -> Tensor:
    """In how many of 224 sentences each head gives most of the attention of [MASK] to the right noun (L, A)."""
    animals = ("animal", "dog", "cat", "horse", "fox", "man", "boy", "woman")
    places = ("street", "road", "river", "bridge")
    endings = {"tired": 0, "scared": 0, "weak": 0, "wide": 1, "deep": 1, "narrow": 1, "steep": 1}
    hits = []
    for animal, place, (ending, right) in product(animals, places, endings.items()):
        text = f"the {animal} didn't cross the {place} because the [MASK] was too {ending}."
        maps = attention_maps(model(BertModel, TINY, random), tokenizer(TINY), text)
        noun, gap = maps.tokens.index((animal, place)[right]), maps.tokens.index("[MASK]")
        hits.append(maps.weights[:, :, gap].argmax(-1) == noun)
    assert len(hits) == 224
    return torch.stack(hits).float().mean(0)


def change_one_word(station: Station) -> list[float]:
    assert (chosen(station)["text"], chosen(station)["other"]) == (TIRED, WIDE)
    control = [
        (weights(TINY, WIDE, "[MASK]", noun, True) - weights(TINY, TIRED, "[MASK]", noun, True)).abs().max()
        for noun in ("animal", "street")
    ]
    return percent(share(WIDE, "street"), share(WIDE, "animal"), max(control))


def does_the_head_decide(station: Station) -> list[float]:
    off = ((3, 1), (3, 2))
    figures = percent(fill(TIRED, "animal"), fill(TIRED, "animal", "cat", off=off))
    changes = [
        torch.tensor(list(fill_knockouts(model(BertForPreTraining, TINY, random), tokenizer(TINY), *asked)))
        for random in (False, True)
        for asked in [(TIRED, None, (), 0, "animal")]
    ]
    assert int(changes[0].argmin()) == 0  # layer 1, head 1
    return [*figures, float(-changes[0].min()), float(changes[1].abs().max())]


def real_english(station: Station) -> list[float]:
    for text in (TIRED, WIDE):
        fill(text, "doctor", name=MINI)
    return percent(share(TIRED, "animal", MINI), share(WIDE, "animal", MINI))


# Where is the negation?


def one_word_turns(station: Station) -> list[float]:
    one, two = (chosen(station)[f"label_{key}"] for key in ("text", "other"))
    return percent(label(one, "bad"), label(two, "good"), label("The soup was not delicious.", "bad"))


def without_not(station: Station) -> list[float]:
    assert len(tokenizer("storyworld-tiny-sentiment").tokenize("nobody")) == 3
    other = label(chosen(station)["label_other"], "good")
    return percent(other, label("Nobody calls the soup delicious.", "bad"))


def which_clause(station: Station) -> list[float]:
    label(chosen(station)["label_text"], "good")
    return percent(label(chosen(station)["label_other"], "bad"), label("salty not soup the was", "good"))


def in_which_layer(station: Station) -> list[float]:
    trained, _ = separated(chosen(station)["model"], "sentiment", "cls")
    control, _ = separated(chosen(station)["model"], "sentiment", "cls", random=True)
    pretrained, _ = separated(TINY, "sentiment", "cls")
    return percent(*trained[2:], max(control[2:]), max(pretrained[2:]))


def where_it_ends(station: Station) -> list[float]:
    label(chosen(station)["label_text"], "good")
    texts = chosen(station)["label_other"], "The hotel was not bad at all."
    return percent(*(label(text, "bad") for text in texts))[:1] + percent(label(texts[1], "bad"))


def no_not_in_pretraining(station: Station) -> list[float]:
    text = chosen(station)["text"]
    others = text.replace("not ", ""), text.replace("not", "flightless")
    return percent(*(fill(each, "birds") for each in (text, *others)))


# Does it read, or match words?


def a_correct_answer(station: Station) -> list[float]:
    return percent(answered(station, "Mark"), answered(station, "", random=True))


def swapped_names(station: Station) -> list[float]:
    return percent(answered(station, "Ruth"))


def what_nobody_did(station: Station) -> list[float]:
    return percent(answered(station, "Mark"), answered(station, "", question="Who ate the leeks?"))


def somebody_else(station: Station) -> list[float]:
    return percent(answered(station, "bread"), answered(station, "bread", question="What did Rex eat?"))


def what_the_passage_says(station: Station) -> list[float]:
    asked = [example.question for example in storyworld.questions(seed=0, count=400, split="train")]
    assert len(asked) == 400 and not any("wash" in question for question in asked)
    return percent(answered(station, ""))


def which_words(station: Station) -> list[float]:
    name, question, passage = (chosen(station)[key] for key in ("model", "question", "passage"))
    reader, tok = model(BertForQuestionAnswering, name), tokenizer(name)
    best = answer(reader, tok, question, passage).best
    batch = window_batch(reader, tok, question, passage, best.window)
    found = attribute_span(reader, tok, batch, best.start_token, best.end_token)
    cut, leeks = (float(found.values[found.tokens.index(word)]) for word in ("cut", "leeks"))
    assert best.text == "Mark" and leeks < 0 < cut
    return [cut]


# How a head is born


def at_step_0(station: Station) -> list[float]:
    assert len(tokenizer(TINY).tokenize(TIRED)) + 2 == 17
    return percent(role(f"{TINY}/step-00000", "previous", (0, 1)), 1 / 17)


def loss_at(step: int) -> float:
    return next(row["mlm_loss"] for row in read_run(TINY).rows if row["step"] == step)


def at_step_300(station: Station) -> list[float]:
    name = f"{TINY}/step-00300"
    losses = {baseline.name: baseline.value for baseline in read_run(TINY).baselines if baseline.measure == "mlm_loss"}
    shares = percent(role(name, "previous", (0, 1)), role(name, "itself", (0, 1)))
    return [*shares, loss_at(300), losses["word frequency"], losses["two neighbours"]]


def at_step_600(station: Station) -> list[float]:
    name = f"{TINY}/step-00600"
    maps = attention_maps(model(BertModel, TINY, True), tokenizer(TINY), TIRED)
    control = head_roles(maps).scores[:, :, ROLES.index("previous")].max()
    return [*percent(role(name, "previous", (0, 1)), role(name, "next", (1, 0)), control), loss_at(600)]


def the_film(station: Station) -> list[float]:
    steps = [f"{TINY}/step-00300", f"{TINY}/step-00600", TINY]
    return percent(*(role(name, "previous", (0, 1)) for name in steps))


def born_late(station: Station) -> list[float]:
    def right(name: str) -> list[float]:
        return percent(share(TIRED, "animal", name), share(WIDE, "street", name))

    return [*right(f"{TINY}/step-04000"), *right(TINY), max(right(f"{TINY}/step-02000"))]


# What [CLS] knows


def trained_for(station: Station) -> list[float]:
    from app.views.masking.next_sentence import PAIRS

    text, pair = chosen(station)["text"], chosen(station)["pair"]
    assert (text, pair) == PAIRS["one story"]
    control = follows(text, pair, random=True)
    assert abs(control[0] - control[1]) < 2
    return [*follows(text, pair), control[0], follows(*PAIRS["two stories"])[0]]


def not_your_topic(station: Station) -> list[float]:
    trained, chance = separated(TINY, "labelled_sentences", "cls")
    return percent(trained[4], separated(TINY, "labelled_sentences", "cls", True)[0][4], chance, trained[4])


def the_mean_does(station: Station) -> list[float]:
    return percent(*(separated(TINY, "labelled_sentences", "mean", random)[0][4] for random in (False, True)))


def opinions(station: Station) -> list[float]:
    asked = (
        (TINY, "cls", False),
        ("storyworld-tiny-sentiment", "cls", False),
        (TINY, "cls", True),
        (TINY, "mean", False),
    )
    return percent(*(separated(name, "sentiment", pooling, random)[0][4] for name, pooling, random in asked))


def out_of_its_world(station: Station) -> list[float]:
    text, pair = chosen(station)["text"], chosen(station)["pair"]
    milk = follows(text, pair)[0]
    return [milk, follows(text, "penguins are flightless birds.")[0], milk]


# Break it


def shuffled(station: Station) -> list[float]:
    one, two = chosen(station)["text"], chosen(station)["other"]
    assert sorted(one.split()) == sorted(TIRED.split())
    return percent(fill(one, "animal"), fill(TIRED, "animal"), fill(two, "ditch"))


def misspelt(station: Station) -> list[float]:
    return percent(fill(chosen(station)["text"], "animal"), fill(TIRED, "animal"))


def another_world(station: Station) -> list[float]:
    return percent(label(chosen(station)["label_text"], "good"), label("The soup was not salty.", "good"))


def all_persons(station: Station) -> list[float]:
    assert names("A bakery bought Microsoft.")[0] == []
    found = [names(chosen(station)[f"label_{key}"]) for key in ("text", "other")]
    assert [persons for persons, _ in found] == [["Microsoft"], ["ok"]]
    return percent(*(sure for _, sure in found))


def another_dog(station: Station) -> list[float]:
    without, _, rest = chosen(station)["passage"].rpartition(" Lucky")
    assert rest
    return percent(answered(station, "carrots"), answered(station, "bread", passage=without))


def two_heads_off(station: Station) -> list[float]:
    text, off = chosen(station)["text"], ((3, 1), (3, 2))
    assert fill(text, "street", "avenue", off=off) < 0.1
    before = fill(text, "street")
    return percent(before, 0.1, fill(text, "avenue", off=off), fill(text, "street", off=((2, 2), (2, 3))))


CLAIMS = {
    "1-it": [it_is_written, a_head_goes_looking, change_one_word, does_the_head_decide, real_english],
    "2-negation": [
        one_word_turns, without_not, which_clause, in_which_layer, where_it_ends, no_not_in_pretraining,
    ],
    "3-read-or-match": [
        a_correct_answer, swapped_names, what_nobody_did, somebody_else, what_the_passage_says, which_words,
    ],
    "4-a-head-is-born": [at_step_0, at_step_300, at_step_600, the_film, born_late],
    "5-cls": [trained_for, not_your_topic, the_mean_does, opinions, out_of_its_world],
    "6-break-it": [shuffled, misspelt, another_world, all_persons, another_dog, two_heads_off],
}  # fmt: skip


def test_every_station_has_its_claims():
    assert {name: len(story.stations) for name, story in STORIES.items()} == {n: len(c) for n, c in CLAIMS.items()}


@pytest.mark.parametrize(("name", "number"), STATIONS)
def test_the_figures_of_a_station_are_those_of_its_models(name, number):
    station = STATIONS[name, number]
    written = FIGURE.findall(f"{station.look} {station.means} {station.control}")
    computed = CLAIMS[name][number - 1](station)
    assert len(written) == len(computed)
    for value, (figure, unit) in zip(computed, written, strict=True):
        assert float(figure) == pytest.approx(value, abs=1.0 if unit == "%" else 0.1), written


@pytest.mark.parametrize("name", STORIES)
def test_a_link_of_a_story_opens_its_page_with_every_choice(name):
    for number, station in enumerate(STORIES[name].stations, 1):
        app = opened(station.page or FIRST, **chosen(station), story=f"{name}/{number}")
        assert fine(app), said(app)
        assert station.means in said(app).replace("**What it means.** ", "") and station.control in said(app)
        for key, value in chosen(station).items():
            if key in app.session_state and isinstance(app.session_state[key], str | list):
                assert app.session_state[key] == value
        assert app.query_params["story"] == f"{name}/{number}"


def test_without_a_story_nothing_of_it_is_seen_and_one_can_leave_it():
    names = [element.key for element in opened("masking").button]
    assert "leave story" not in names
    app = opened("masking", story="6-break-it/1")  # a page, but not that of the link's text
    assert fine(app) and "Shuffle the words" in said(app)
    app.switch_page("views/labels/page.py").run()
    assert fine(app) and "Shuffle the words" in said(app) and STATIONS["6-break-it", 1].look not in said(app)
    app.button(key="leave story").click().run()
    assert fine(app) and "Shuffle the words" not in said(app) and "story" not in app.query_params
    for odd in ("nothing/1", "6-break-it/7", "6-break-it/0", "6-break-it/²", "6-break-it", "../x/1"):
        assert fine(opened("labels", story=odd)) and "leave story" not in app.session_state


GOOD = """title = "T"
about = "A"
[[station]]
title = "S"
link = "http://localhost:8501/labels?label_text=a"
look = "L"
means = "M"
control = "C"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "T"', "", "my.toml: title: give a text in quotes, it is missing"),
        ('about = "A"', "about = 3", "my.toml: about: give a text in quotes, not 3"),
        (
            'look = "L"',
            'lok = "L"',
            "my.toml: station 1: lok: no such key; there are control, link, look, means, title",
        ),
        ('control = "C"', 'control = " "', "my.toml: station 1: control: give a text in quotes"),
        ("labels?", "lables?", "my.toml: station 1: link: no page 'lables': copy the address of one (stories, masking"),
        ("[[station]]", "[station]", "my.toml: station: give one or more"),
        ('"M"', '"M', "my.toml: no TOML: Illegal character '\\n' (at line 7, column 11)"),
    ],
)
def test_a_bad_file_gets_one_line_with_file_and_key(old, new, message, tmp_path, monkeypatch, capsys):
    from bertlab.cli.main import main

    (tmp_path / "my.toml").write_text(GOOD)
    assert read_stories(tmp_path, ADDRESSES)["my"].stations[0].page == "labels"
    (tmp_path / "my.toml").write_text(GOOD.replace(old, new))
    monkeypatch.setattr("sys.argv", ["bertlab", "explore", "--stories", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    error = capsys.readouterr().err.strip()
    assert ended.value.code == 2 and "\n" not in error
    assert message.partition(" (stories")[0] in error
    monkeypatch.setenv("BERTLAB_STORIES", str(tmp_path))
    assert message.partition(": ")[0] in boxes(opened("stories"))


def test_a_teachers_story_is_offered_and_followed(tmp_path, monkeypatch):
    (tmp_path / "my.toml").write_text(GOOD.replace('"T"', '"Our own"'))
    monkeypatch.setenv("BERTLAB_STORIES", str(tmp_path))
    assert "Our own" in said(opened("stories"))
    app = opened("labels", story="my/1", label_text="a")
    assert fine(app) and "Our own, 1 of 1" in said(app)
