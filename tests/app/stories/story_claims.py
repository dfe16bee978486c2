"""The figures of each station of each story, computed again, in the order in which its texts name them."""

from collections.abc import Sequence
from itertools import product
from operator import eq

import torch
from story_measures import (
    ENGLISH,
    TINY,
    answered,
    attention,
    chosen,
    filled,
    film,
    follows,
    frames,
    guess_from_left,
    guesses,
    label,
    model,
    names,
    opinions_on,
    percent,
    separated,
    tokenizer,
    weights,
)
from story_sentences import (
    BLAME,
    PRAISE,
    THINGS,
    Reference,
    by_meaning,
    everyday_gaps,
    never_meant,
    of_one_gender,
    of_one_number,
)
from torch import Tensor

from app.shared.text.texts import TIRED, TOWN
from bertlab import BertForQuestionAnswering, BertModel
from bertlab.corpora import storyworld
from bertlab.explain.attention.heads import ROLES, head_roles
from bertlab.explain.attention.maps import AttentionMaps, attention_maps
from bertlab.explain.attribution import attribute_span
from bertlab.explain.runs import read_run
from bertlab.explain.spans import answer, window_batch
from bertlab.io.stories import Station

# What fills a gap?


def first_guesses(station: Station, *expected: str) -> list[float]:
    """The probabilities of the first guesses in the versions of a link, which are as expected."""
    found = [guesses(chosen(station)[key]) for key in ("text", "other")[: len(expected)]]
    assert tuple(each.first for each in found) == expected
    return [each.highest for each in found]


def untrained(station: Station) -> float:
    """The bound on what random weights give to their first guess, which is the same in all versions."""
    found = [guesses(chosen(station)[key], random=True) for key in ("text", "other") if key in chosen(station)]
    assert len({each.first for each in found}) == 1 and max(each.highest for each in found) < 0.001
    return 0.001


def likeliest(station: Station) -> list[float]:
    text = guesses(chosen(station)["text"])
    assert text[text.best(2)[1]] < 0.02
    return percent(*first_guesses(station, "asleep"), 0.02, untrained(station))


def behind_the_gap(station: Station) -> list[float]:
    found = first_guesses(station, "door", "book")
    return percent(*found, guesses(chosen(station)["other"])["door"], untrained(station))


def no_fact(station: Station) -> list[float]:
    found = first_guesses(station, "situated", "located")
    assert {*guesses(chosen(station)["text"]).best(5)} == {"situated", "located", "unknown", "important", "capital"}
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


def scores(text: str, role: str, name: str = ENGLISH, random: bool = False) -> Tensor:
    """How much each head gives to the tokens of a role, averaged over the words that have one (L, A)."""
    maps = attention_maps(model(BertModel, name, random), tokenizer(name), text)
    return role_scores(maps, role)


def role_scores(maps: AttentionMaps, role: str) -> Tensor:
    return head_roles(maps).scores[:, :, ROLES.index(role)]


def resting(text: str, random: bool = False) -> Tensor:
    return scores(text, "[CLS] + [SEP]", random=random)


def door(station: Station, *off: tuple[int, int]) -> float:
    """The probability of *door*, which is the first guess."""
    found = guesses(chosen(station)["text"], off=off)
    assert found.first == "door"
    return found["door"]


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


def preferred(random: bool, sentences: Sequence[Reference]) -> Tensor:
    """In which of N sentences each head gives the right noun more of the pronoun's attention (N, L, A)."""
    found, (weights, tokens) = [], attention(ENGLISH, [each.text for each in sentences], random)
    for row, words, (_, pronoun, right, other) in zip(weights, tokens, sentences, strict=True):
        at = row[:, :, len(words) - 1 - words[::-1].index(pronoun)]  # the last one, (L, A, S)
        found.append(at[..., words.index(right)] > at[..., words.index(other)])
    return torch.stack(found).float()


def agreement(station: Station, pronouns: Sequence[str], nouns: Sequence[str], sentences: Sequence[Reference]):
    """The attention of the pronouns to the nouns in both versions, and how often the head of the link is right,
    beside the best one with random weights."""
    layer, head = (int(number) - 1 for number in chosen(station)["head"].split("-"))
    shares = [
        weights(ENGLISH, chosen(station)[key], pronoun, noun)[layer, head]
        for key, pronoun in zip(("text", "other"), pronouns, strict=True)
        for noun in nouns
    ]
    trained, control = (preferred(random, sentences).mean(0) for random in (False, True))
    return shares, trained[layer, head], control.max()


def it_or_they(station: Station) -> list[float]:
    assert len(of_one_number()) == 192
    shares, right, control = agreement(station, ("it", "they"), ("dog", "cats"), of_one_number())
    return percent(*shares, right, control)


def he_or_she(station: Station) -> list[float]:
    assert len(of_one_gender()) == 200
    (queen_she, king_she, queen_he, king_he), right, control = agreement(
        station, ("she", "he"), ("queen", "king"), of_one_gender()
    )
    return percent(queen_she, king_she, king_he, queen_he, right, control)


def compares(station: Station) -> list[float]:
    shares = [
        weights(ENGLISH, chosen(station)[key], "she", noun)[1, 3]
        for key, noun in (("text", "queen"), ("other", "king"))
    ]
    more = [
        weights(ENGLISH, same, pronoun, one)[1, 3] > weights(ENGLISH, different, pronoun, other)[1, 3]
        for pronoun, one, other, same, different in never_meant()
    ]
    assert len(more) == 30
    return percent(*shares, torch.stack(more).float().mean())


def only_the_meaning(station: Station) -> list[float]:
    big, small = (chosen(station)[key] for key in ("text", "other"))
    shares = [
        weights(ENGLISH, text, "it", noun)[3, 1]
        for text, noun in ((big, "suitcase"), (small, "suitcase"), (big, "trophy"), (small, "trophy"))
    ]
    assert abs(shares.pop(1) - shares[0]) < 0.005
    right = preferred(False, by_meaning())  # (N, L, A), two sentences for each pair of nouns
    assert len(right) == 80
    half = torch.arange(80) // 2 % 2 == 0
    chosen_on, measured_on = (right[rows].mean(0) for rows in (half, ~half))  # (L, A) each
    best = chosen_on == chosen_on.max()  # several heads may be equally good
    return percent(*shares, chosen_on.max(), measured_on[best].mean(), 0.5)


def hide_the_noun(station: Station) -> list[float]:
    found = first_guesses(station, "cow", "gate")
    return percent(*found, right_noun_likelier(random=False), right_noun_likelier(random=True))


def right_noun_likelier(random: bool) -> float:
    """The share of sentences in which the right noun is likelier than the other in place of *it*."""
    sentences = by_meaning()
    found = filled([each.text.replace(" it ", " the [MASK] ") for each in sentences], random)
    hits = [guess[each.right] > guess[each.other] for guess, each in zip(found, sentences, strict=True)]
    return sum(hits) / len(hits)


# Where is the negation?


def verdicts(station: Station, *expected: str) -> list[float]:
    """The probabilities of the labels of both versions, which are as expected."""
    keys = ("text", "other")
    return [label(chosen(station)[key], each) for key, each in zip(keys, expected, strict=True)]


def turned(station: Station, adverb: str, words: Sequence[str], to: str) -> float:
    """The share of sentences with one of the words that get the label `to` with the adverb, and do not without it."""
    frames = "The film was {}.", "The acting is {}.", "This story is {}.", "The ending was {}.", "I found it {}."
    pairs = [(frame.format(word), frame.format(f"{adverb} {word}")) for frame, word in product(frames, words)]
    assert len(pairs) == 50
    without, with_it = map(opinions_on, zip(*pairs, strict=True))
    return sum(one != to == two for one, two in zip(without, with_it, strict=True)) / len(pairs)


def praise_denied(station: Station) -> list[float]:
    found = verdicts(station, "positive", "negative")
    return percent(*found, *(turned(station, adverb, PRAISE, "negative") for adverb in ("not", "very")))


def blame_denied(station: Station) -> list[float]:
    _, boring = verdicts(station, "negative", "positive")
    not_, never = (turned(station, adverb, BLAME, "positive") for adverb in ("not", "never"))
    return percent(boring, not_, label("The film was not bad.", "positive"), never)


def which_half(station: Station) -> list[float]:
    return percent(*verdicts(station, "negative", "positive"))


def without_not(station: Station) -> list[float]:
    denied = label("It is anything but boring.", "negative"), label("It is anything but good.", "positive")
    return percent(*verdicts(station, "negative", "positive"), *denied)


def in_which_layer(station: Station) -> list[float]:
    asked = (("english-sentiment", False), (ENGLISH, False), ("english-sentiment", True))
    tuned, pretrained, control = (separated(name, "film reviews", "cls", random)[0][4:] for name, random in asked)
    return percent(*tuned, max(pretrained), max(control), 1 / 40)


def no_not_in_pretraining(station: Station) -> list[float]:
    found = first_guesses(station, "fish", "fish")
    texts = [f"{'An' if thing[0] in 'aeiou' else 'A'} {thing} is a kind of [MASK]." for thing in THINGS]
    denied = [text.replace(" is ", " is not ") for text in texts]
    both = zip(filled(texts), filled(denied), THINGS.values(), strict=True)
    likelier = [without[kind] > with_it[kind] for with_it, without, kind in both]
    assert (sum(likelier), len(likelier)) == (24, 25)
    milk = guesses("There is [MASK] milk in the fridge."), guesses("There is not [MASK] milk in the fridge.")
    assert [each.first for each in milk] == ["no", "any"]
    return percent(*found, milk[0]["no"], milk[1]["any"])


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


GARDEN = 5  # the sentence of the film that the page opens with


def in_film(head: tuple[int, int], query: str, key: str) -> dict[int, float]:
    """How much of the attention of one word of that sentence goes to another, by step."""
    shown = [(frame.step, frame.maps) for frame in frames(GARDEN)]
    return {step: float(maps.weights[*head, maps.tokens.index(query), maps.tokens.index(key)]) for step, maps in shown}


def before_the_gap(number: int) -> Tensor:
    """How much of the attention of [MASK] the head 1-3 gives to the token before it in a sentence, by step (T,)."""
    gap = frames(number)[0].maps.tokens.index("[MASK]")
    return torch.stack([frame.maps.weights[0, 2, gap, gap - 1] for frame in frames(number)])


def a_neighbour(station: Station) -> list[float]:
    assert film().probabilities[-1, :, 0].argmax() == GARDEN and film().steps[:4] == [0, 20, 60, 150]
    own = role_scores(frames(GARDEN)[0].maps, "previous")[0, 2]
    every = torch.stack([before_the_gap(number) for number in range(20)]).mean(0)  # (T,)
    assert len(film().sentences) == 20 and every[4:].min() == 1
    random = scores(film().sentences[GARDEN], "previous", random=True)[0, 2]
    return percent(own, before_the_gap(GARDEN)[0], every[0], every[2], every[3], every[-1], random)


def copied(at: int) -> int:
    """How many first guesses of the film's sentences are words of their sentence, at a step counted from 0."""
    pairs = zip(film().guesses[at, :, 0], film().sentences, strict=True)
    return sum(guess in tokenizer(ENGLISH).tokenize(text) for guess, text in pairs)


def a_head_that_copies(station: Station) -> list[float]:
    garden = in_film((5, 10), "[MASK]", "garden")
    guessed = {(step, word): share for step, word, share in film().words(GARDEN)}
    late = film().guesses[-2:, GARDEN, 0], max(guessed.get((step, "garden"), 0) for step in film().steps[-2:])
    assert late[0].tolist() == ["door", "door"] and late[1] < 0.02
    assert (film().steps[2], copied(2), copied(-1)) == (60, 4, 1)
    return percent(garden[60], garden[300], garden[9724], guessed[300, "garden"], 0.02)


def what_one_opens(station: Station) -> list[float]:
    opened = in_film((4, 11), "[MASK]", "opened")
    others = in_film((4, 11), "garden", "opened")
    return percent(*(opened[step] for step in (0, 60, 150, 9724)), others[9724])


def is_it_needed(station: Station) -> list[float]:
    return percent(door(station), door(station, (4, 11)), door(station, (0, 2)))


def from_random_weights(station: Station) -> list[float]:
    steps = [f"{TINY}/step-00300", f"{TINY}/step-00600", TINY, f"{TINY}/step-00000"]
    loss = {row["step"]: row["mlm_loss"] for row in read_run(TINY).rows}
    return [*percent(*(scores(TIRED, "previous", name)[0, 1] for name in steps)), loss[300], loss[600]]


# What [CLS] knows


def trained_for(station: Station) -> list[float]:
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
    proper = "The film was so boring that I fell [MASK]."
    assert sorted(one.lower().split()) == sorted(two.lower().split()) == sorted(proper.lower().split())
    found = first_guesses(station, "asleep", "short")
    return percent(found[0], guesses(proper)["asleep"], found[1], guesses(two)["asleep"])


def misspelt(station: Station) -> list[float]:
    assert tokenizer(ENGLISH).tokenize("aweful") == ["awe", "##ful"]
    others = label("This film is horible.", "negative"), label("A wonderfull film.", "positive")
    assert abs(others[1] - label("A wonderful film.", "positive")) < 0.001
    return percent(*verdicts(station, "negative", "positive"), *others)


def irony(station: Station) -> list[float]:
    asked = ((chosen(station)["text"], "positive"), ("The capital of France is Paris.", "negative"))
    return percent(*(label(*each) for each in (*asked, ("Please close the door.", "negative"))))


def an_orchard(station: Station) -> list[float]:
    found = [names(chosen(station)[key]) for key in ("text", "other")]
    other = names("Subway bought a company.")
    assert [every for every, _ in (*found, other)] == [[("Microsoft", "ORG")], [], [("Subway", "ORG")]]
    return percent(*(sure for _, sure in (*found, other)))


def one_true_sentence(station: Station) -> list[float]:
    without, _, rest = chosen(station)["text"].rpartition(" Her daughter")
    assert rest
    return percent(answered(station, "1935"), answered(station, "1911", passage=without))


def a_layer_of_heads(station: Station) -> list[float]:
    text, third, first = chosen(station)["text"], *(tuple((layer, head) for head in range(12)) for layer in (2, 0))
    assert chosen(station)["off"] == [f"3-{head + 1}" for head in range(12)]
    gaps = [*film().sentences, *everyday_gaps()]
    sure = [(gap, guess.first) for gap, guess in zip(gaps, filled(gaps), strict=True) if guess.highest > 0.4]
    texts, words = zip(*sure, strict=True)
    kept = [[guess.first for guess in filled(texts, off=off)] for off in (third, first)]
    assert (len(sure), *(sum(map(eq, words, each)) for each in kept)) == (14, 13, 7)
    found = [guesses(text, off=off) for off in (third, (), first)]
    assert [guess.first for guess in found[:2]] == ["asleep"] * 2
    asleep = [guess["asleep"] for guess in found]
    return percent(*asleep[:2], 0.4, asleep[2])


CLAIMS = {
    "01-the-gap": [likeliest, behind_the_gap, no_fact, repeats],
    "02-both-sides": [decided_behind, decided_before, at_the_end],
    "03-it": [it_or_they, he_or_she, compares, only_the_meaning, hide_the_noun],
    "04-negation": [
        praise_denied, blame_denied, which_half, without_not, in_which_layer, no_not_in_pretraining,
    ],
    "05-at-rest": [most_rest, one_resting_head_off, until_it_is_needed],
    "06-a-head-is-born": [a_neighbour, a_head_that_copies, what_one_opens, is_it_needed, from_random_weights],
    "07-same-words": [no_word_in_common, all_words_in_common, no_proof],
    "08-read-or-match": [
        a_correct_answer, swapped_names, what_nobody_did, somebody_else, what_the_passage_says, which_words,
    ],
    "09-cls": [trained_for, not_your_topic, the_mean_does, opinions, out_of_its_world],
    "10-break-it": [shuffled, misspelt, irony, an_orchard, one_true_sentence, a_layer_of_heads],
}  # fmt: skip
