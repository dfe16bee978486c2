"""The figures of each station of each story, computed again, in the order in which its texts name them."""

from itertools import product

import torch
from story_measures import (
    ENGLISH,
    SCRATCH,
    TINY,
    TIRED,
    WIDE,
    answered,
    chosen,
    fill,
    follows,
    guess_from_left,
    guesses,
    label,
    model,
    names,
    percent,
    role,
    separated,
    share,
    tokenizer,
    weights,
)
from torch import Tensor

from bertlab import (
    BertForPreTraining,
    BertForQuestionAnswering,
    BertModel,
)
from bertlab.corpora import storyworld
from bertlab.explain.attention.heads import ROLES, head_roles
from bertlab.explain.attention.knockout import fill_knockouts
from bertlab.explain.attention.maps import attention_maps
from bertlab.explain.attribution import attribute_span
from bertlab.explain.runs import read_run
from bertlab.explain.spans import answer, window_batch
from bertlab.io.stories import Station

# What fills a gap?


def first_guesses(station: Station, *expected: str) -> list[float]:
    """The probabilities of the first guesses in the versions of a link, which are as expected."""
    found = [guesses(chosen(station)[key]) for key in ("text", "other")[: len(expected)]]
    assert tuple(next(iter(each)) for each in found) == expected
    return [next(iter(each.values())) for each in found]


def untrained(station: Station) -> float:
    """The bound on what random weights give to their first guess, which is the same in all versions."""
    found = [guesses(chosen(station)[key], random=True) for key in ("text", "other") if key in chosen(station)]
    assert len({next(iter(each)) for each in found}) == 1 and max(max(each.values()) for each in found) < 0.001
    return 0.001


def likeliest(station: Station) -> list[float]:
    assert sorted(guesses(chosen(station)["text"]).values())[-2] < 0.02
    return percent(*first_guesses(station, "asleep"), 0.02, untrained(station))


def behind_the_gap(station: Station) -> list[float]:
    found = first_guesses(station, "door", "book")
    return percent(*found, guesses(chosen(station)["other"])["door"], untrained(station))


def no_fact(station: Station) -> list[float]:
    found = first_guesses(station, "situated", "located")
    assert {*list(guesses(chosen(station)["text"]))[:5]} == {"situated", "located", "unknown", "important", "capital"}
    return percent(found[0], *(guesses(chosen(station)[key])["paris"] for key in ("text", "other")))


def repeats(station: Station) -> list[float]:
    person = guesses(chosen(station)["text"].replace("nurse", "person"))
    return percent(*first_guesses(station, "she", "he"), person["he"], person["she"])


# From both sides


def from_left(station: Station, *expected: str) -> list[float]:
    found = [guess_from_left(chosen(station)[key]) for key in ("text", "other")]
    assert tuple(word for word, _ in found) == expected
    return [p for _, p in found]


def decided_behind(station: Station) -> list[float]:
    left = from_left(station, "door", "door")
    assert abs(left[0] - left[1]) < 1e-6
    return percent(left[0], *first_guesses(station, "door", "book"))


def decided_before(station: Station) -> list[float]:
    return percent(*from_left(station, "were", "is"), *first_guesses(station, "were", "was"))


def at_the_end(station: Station) -> list[float]:
    left, both = from_left(station, "asleep", "asleep"), first_guesses(station, "asleep", "down")
    return percent(left[0], *both, left[1])


# Heads at rest


def resting(text: str, random: bool = False) -> Tensor:
    """How much each head gives to [CLS] and [SEP], averaged over the words (L, A)."""
    maps = attention_maps(model(BertModel, ENGLISH, random), tokenizer(ENGLISH), text)
    return head_roles(maps).scores[:, :, ROLES.index("[CLS] + [SEP]")]


def door(station: Station, *off: tuple[int, int], first: str = "door") -> float:
    return fill(chosen(station)["text"], "door", first, ENGLISH, off)


def most_rest(station: Station) -> list[float]:
    text = chosen(station)["text"]
    trained, control = resting(text), resting(text, random=True)
    assert int((trained > 0.5).sum()) == 59 and trained.numel() == 72
    assert len(tokenizer(ENGLISH).tokenize(text)) + 2 == 15
    return percent(trained[5, 3], control.max(), 2 / 15)


def one_resting_head_off(station: Station) -> list[float]:
    others = [(5, head) for head in range(12) if head != 6]
    return percent(door(station, (5, 3)), door(station), door(station, *others), door(station, (5, 6)))


def until_it_is_needed(station: Station) -> list[float]:
    text = chosen(station)["text"]
    fire, gap = (float(weights(ENGLISH, text, *words)[4, 11]) for words in (("fire", "[CLS]"), ("[MASK]", "closed")))
    return percent(fire, gap, resting(text)[4, 11], door(station), door(station, (4, 11)))


# Same words, other meaning


def judged(station: Station, expected: str, other: str, answer: str) -> list[float]:
    """The probabilities of the answer to the link's pair, and of that to another second sentence."""
    text, pair = (chosen(station)[key] for key in ("text", "pair"))
    asked = ((expected, pair), (answer, other))
    return percent(*(label(text, said, second, "english-pairs") for said, second in asked))


def no_word_in_common(station: Station) -> list[float]:
    text, pair = (set(chosen(station)[key].lower().strip(".").split()) for key in ("text", "pair"))
    assert not text & pair
    return judged(station, "entailment", "The stage is empty.", "contradiction")


def all_words_in_common(station: Station) -> list[float]:
    return judged(station, "entailment", "The dog slept.", "contradiction")


def no_proof(station: Station) -> list[float]:
    return judged(station, "entailment", "He sold her the house.", "entailment")


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
        fill(text, "animal", name=SCRATCH)
    return percent(*(share(text, "animal", SCRATCH, head=(1, 2)) for text in (TIRED, WIDE)))


# Where is the negation?


def one_word_turns(station: Station) -> list[float]:
    one, two = (chosen(station)[key] for key in ("text", "other"))
    return percent(label(one, "bad"), label(two, "good"), label("The soup was not delicious.", "bad"))


def without_not(station: Station) -> list[float]:
    assert len(tokenizer("storyworld-tiny-sentiment").tokenize("nobody")) == 3
    other = label(chosen(station)["other"], "good")
    return percent(other, label("Nobody calls the soup delicious.", "bad"))


def which_clause(station: Station) -> list[float]:
    label(chosen(station)["text"], "good")
    return percent(label(chosen(station)["other"], "bad"), label("salty not soup the was", "good"))


def in_which_layer(station: Station) -> list[float]:
    trained, _ = separated(chosen(station)["model"], "sentiment", "cls")
    control, _ = separated(chosen(station)["model"], "sentiment", "cls", random=True)
    pretrained, _ = separated(TINY, "sentiment", "cls")
    return percent(*trained[2:], max(control[2:]), max(pretrained[2:]))


def where_it_ends(station: Station) -> list[float]:
    label(chosen(station)["text"], "good")
    texts = chosen(station)["other"], "The hotel was not bad at all."
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
    name, question, passage = (chosen(station)[key] for key in ("model", "question", "text"))
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
    from app.shared.text.texts import TOWN

    text, pair = chosen(station)["text"], chosen(station)["pair"]
    assert (text, pair) == tuple(TOWN.next_sentence["one story"].values())
    control = follows(text, pair, random=True)
    assert abs(control[0] - control[1]) < 2
    return [*follows(text, pair), control[0], follows(*TOWN.next_sentence["two stories"].values())[0]]


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
    return percent(label(chosen(station)["text"], "good"), label("The soup was not salty.", "good"))


def all_persons(station: Station) -> list[float]:
    assert names("A bakery bought Microsoft.")[0] == []
    found = [names(chosen(station)[key]) for key in ("text", "other")]
    assert [persons for persons, _ in found] == [["Microsoft"], ["ok"]]
    return percent(*(sure for _, sure in found))


def another_dog(station: Station) -> list[float]:
    without, _, rest = chosen(station)["text"].rpartition(" Lucky")
    assert rest
    return percent(answered(station, "carrots"), answered(station, "bread", passage=without))


def two_heads_off(station: Station) -> list[float]:
    text, off = chosen(station)["text"], ((3, 1), (3, 2))
    assert fill(text, "street", "avenue", off=off) < 0.1
    before = fill(text, "street")
    return percent(before, 0.1, fill(text, "avenue", off=off), fill(text, "street", off=((2, 2), (2, 3))))


CLAIMS = {
    "01-the-gap": [likeliest, behind_the_gap, no_fact, repeats],
    "02-both-sides": [decided_behind, decided_before, at_the_end],
    "03-it": [it_is_written, a_head_goes_looking, change_one_word, does_the_head_decide, real_english],
    "04-negation": [
        one_word_turns, without_not, which_clause, in_which_layer, where_it_ends, no_not_in_pretraining,
    ],
    "05-at-rest": [most_rest, one_resting_head_off, until_it_is_needed],
    "06-a-head-is-born": [at_step_0, at_step_300, at_step_600, the_film, born_late],
    "07-same-words": [no_word_in_common, all_words_in_common, no_proof],
    "08-read-or-match": [
        a_correct_answer, swapped_names, what_nobody_did, somebody_else, what_the_passage_says, which_words,
    ],
    "09-cls": [trained_for, not_your_topic, the_mean_does, opinions, out_of_its_world],
    "10-break-it": [shuffled, misspelt, another_world, all_persons, another_dog, two_heads_off],
}  # fmt: skip
