"""Labelled examples of the small town: the same for everyone, right, balanced, without a short cut, held out."""

import re
from collections import Counter

import pytest

from bertlab.corpora import storyworld
from bertlab.corpora.storyworld import lexicon
from bertlab.corpora.storyworld.tasks.facts import people
from bertlab.corpora.storyworld.world import SPLITS, World
from tests.corpora.storyworld.test_storyworld import TASKS, word_of

COUNT = 400


@pytest.fixture(scope="module")
def drawn() -> tuple[dict[str, dict[str, list]], dict[str, dict[str, set]]]:
    """The examples of each task and split, and the combinations that they were built from."""
    examples: dict[str, dict[str, list]] = {task: {} for task in TASKS}
    combined: dict[str, dict[str, set]] = {task: {} for task in TASKS}
    pair = World.pair
    with pytest.MonkeyPatch.context() as patch:
        for task in TASKS:
            for split in SPLITS:
                seen = combined[task][split] = set()

                def spy(self, firsts, seconds, seen=seen):
                    first, second = pair(self, firsts, seconds)
                    seen.add((word_of(first), word_of(second)))
                    return first, second

                patch.setattr(World, "pair", spy)
                examples[task][split] = list(getattr(storyworld, task)(0, COUNT, split))
    return examples, combined


@pytest.fixture(scope="module")
def examples(drawn) -> dict[str, list]:
    """The examples of each task, of all splits."""
    return {task: [e for split in SPLITS for e in drawn[0][task][split]] for task in TASKS}


# Held out


@pytest.mark.parametrize("task", [task for task in TASKS if task != "entailment"])  # that one is read, below
def test_splits_share_no_combination(task, drawn):
    train, dev, test = (drawn[1][task][split] for split in SPLITS)
    assert min(map(len, (train, dev, test))) > 30
    assert not train & dev and not train & test and not dev & test


def test_who_has_what_is_told_of_one_split_only(drawn):
    """Said independently of the code that draws: what a premise tells of somebody stands in no other split."""
    found = {split: {fact for e in drawn[0]["entailment"][split] for fact in _told(e.text)} for split in SPLITS}
    assert min(map(len, found.values())) > 200
    assert not found["train"] & found["test"] and not found["train"] & found["dev"]


def test_held_out_names_are_in_the_entities_of_no_other_split(drawn):
    """Many a name of the test split never stands in train, where every name of its own does."""
    names = {
        split: {text.split()[0] for e in drawn[0]["entities"][split] for kind, text in _spans(e) if kind == "person"}
        for split in SPLITS
    }
    held_out = {"test": {"Hazel", "Fern", "Agnes", "Greta"}, "dev": names["dev"] - names["train"] - names["test"]}
    assert held_out["test"] <= names["test"] and len(held_out["dev"]) >= 4
    assert not held_out["test"] & names["train"] and not held_out["test"] & names["dev"]


# Balance


@pytest.mark.parametrize("task, labels", [("sentiment", 2), ("entailment", 3), ("matching", 2), ("choices", 4)])
def test_labels_are_balanced(task, labels, examples):
    counts = Counter(example.label for example in examples[task])
    share = 1 / labels
    assert len(counts) == labels
    assert all(abs(count / (3 * COUNT) - share) < 0.06 for count in counts.values()), counts


@pytest.mark.parametrize("task", TASKS)
def test_examples_are_short_and_differ(task, drawn, examples):
    assert all(len({example.id for example in part}) == COUNT for part in drawn[0][task].values())
    texts = [" ".join(e.words) if task == "entities" else f"{e.text} {getattr(e, 'pair', '')}" for e in examples[task]]
    assert len(set(texts)) > 0.8 * len(texts)
    assert all(2 <= len(text.split()) < 60 for text in texts)


@pytest.mark.parametrize("task", TASKS)
def test_text_is_whole(task, examples):
    """Nothing unfilled, doubled or misspelt by the machinery."""
    for example in examples[task]:
        parts = [" ".join(example.words)] if task == "entities" else [example.text, getattr(example, "pair", None)]
        for text in (*filter(None, parts), *getattr(example, "choices", ())):
            assert not re.search(r"[\x00-\x1f{}<>|\[\]_]|RIDE", text), text
            assert not re.search(r"(?i)\b(\w+) \1\b|\b(?:a|an|the) (?:a|an|the)\b|  ", text), text
            assert not re.search(r"\b[Aa] [aeiou](?!ne\b|ni|se)|\b[Aa]n (?!hour\b)[^aeiou]", text), text
            assert re.match(r"[A-Z“‘\"]", text) and re.search(r"[.!?”’\"]$", text), text


# Labels, by rules of their own


def test_sentiment_is_the_word_of_the_main_clause_and_its_negation(examples):
    """Read from the text alone: cut at "but" and "although", look the word up, turn it round for each negation."""
    good = {word for row in lexicon.table("sentiment", "words") for word in row[1].split()}
    bad = {word for row in lexicon.table("sentiment", "words") for word in row[2].split()}
    assert not good & bad
    kinds = Counter()
    for example in examples["sentiment"]:
        clause = example.text.split(". ", 1)[-1].rstrip(".")
        if ", but " in clause:
            kind, clause = "but", clause.split(", but ")[1]
        elif ", and " in clause:  # both say the same
            kind, clause = "and", clause.split(", and ")[1]
        elif clause.startswith("Although "):
            kind, clause = "although first", clause.split(", ", 1)[1]
        else:
            kind = "although last" if ", although " in clause else "one clause"
            clause = clause.split(", although ")[0]
        words = clause.lower().split()
        negated = bool({"not", "never", "nobody"} & set(words))
        assert words[-1] in good | bad
        assert example.label == ("good" if (words[-1] in good) != negated else "bad"), example
        kinds[kind, negated] += 1
    assert len(kinds) == 10 and min(kinds.values()) > 30


def test_entity_labels_are_valid_bio(examples):
    for example in examples["entities"]:
        assert len(example.words) == len(example.labels)
        for before, label in zip(("O", *example.labels), example.labels, strict=False):
            assert label == "O" or label[:2] in ("B-", "I-")
            assert label[:2] != "I-" or before[2:] == label[2:]


def _spans(example) -> list[tuple[str, str]]:
    """(kind, text) of each entity."""
    spans: list[tuple[str, list[str]]] = []
    for word, label in zip(example.words, example.labels, strict=True):
        if label[:2] == "B-":
            spans.append((label[2:], [word]))
        elif label[:2] == "I-":
            spans[-1][1].append(word)
    return [(kind, " ".join(words)) for kind, words in spans]


def test_entities_are_the_names_and_nothing_else_is(examples):
    """Whatever is written large within a sentence is an entity, a day or a month; entities are names of their kind."""
    lists = {name: {w.title() for w in lexicon.words(*name)} for name in (
        ("people", "women"), ("people", "men"), ("people", "surnames"), ("places", "towns"),
        ("places", "streets"), ("animals", "pet_names"))}  # fmt: skip
    first = lists["people", "women"] | lists["people", "men"]
    roads = set(lexicon.lexicon()["habits"]["street"].split("|"))
    when = {word.title() for word in lexicon.words("mind", "days")}
    when |= {row[1].title() for row in lexicon.table("mind", "seasons")}
    for example in examples["entities"]:
        for kind, text in _spans(example):
            name, *rest = text.split()
            if kind == "person":
                assert name in first and all(word in lists["people", "surnames"] for word in rest), example
            elif kind == "pet":
                assert text in lists["animals", "pet_names"], example
            else:
                road = rest and name in lists["places", "streets"] and rest[0] in roads
                assert road or text in lists["places", "towns"], example
        for before, word, label in zip(example.words, example.words[1:], example.labels[1:], strict=False):
            if word[0].isupper() and label == "O" and before not in '.“‘":”’':
                assert word in when, (word, example)


def test_names_are_common_words_as_well(examples):
    """Many a word is a name here and none there."""
    named, common = Counter(), Counter()
    for example in examples["entities"]:
        for word, label in zip(example.words, example.labels, strict=True):
            (common if label == "O" else named)[word.lower()] += 1
    both = {word for word in named if common[word] > 2 and named[word] > 2}
    assert {"rose", "may", "baker", "king", "hill", "basil", "robin"} <= both
    assert len(both) > 40


TOLD = {  # what a sentence tells, after the name
    "job": r"(?:is|was) an? (.+)",
    "pet": r"(?:has|had) an? (\w+)",
    "birthday": r"(?:has|had) \w+ birthday in (\w+)",
    "gift": r"(?:gets|got) an? (.+) as a gift",
    "home": r"live[sd] in (\w+)",
    "thing": r"(?:has|had|owns|owned) an? (\w+) (?:\w+)",
}
CLAIMED = {
    "job": r"(\w+) (?:works?|worked) (?:as an?|at the) (.+)",
    "pet": r"(\w+) (?:owns|owned|has|had) an? (\w+)|[Tt]he pet of (\w+) (?:is|was) an? (\w+)",
    "birthday": r"[Tt]he birthday of (\w+) (?:is|was) in (\w+)",
    "gift": r"[Tt]he gift for (\w+) (?:is|was) (?:an?|from the) (.+)",
    "home": r"[Tt]he home of (\w+) (?:is|was) in (\w+)",
    "thing": r"[Tt]he \w+ of (\w+) (?:is|was) (\w+)",
}


def _told(text: str) -> list[tuple[str, str, str]]:
    """(who, what, which): one of each sentence; a pronoun is for whom the last sentence was of."""
    told, who = [], ""
    for sentence in text.rstrip(".").split(". "):
        name, rest = sentence.split(" ", 1)
        who = who if name in ("He", "She") else name
        what, match = next((what, m) for what, pattern in TOLD.items() if (m := re.fullmatch(pattern, rest)))
        told.append((who, what, match[1]))
    return told


def test_entailment_by_a_reader_of_its_own(examples):
    """Find whom the claim is of, what was told of them, and look up what follows from it."""
    colours = set(lexicon.words("facts", "colours"))
    follows = {
        "job": {row[0]: row[1] for row in lexicon.table("work", "jobs")},
        "pet": {row[0]: row[1] for row in lexicon.table("animals", "kinds")},
        "birthday": {month.title(): season for season, month, _ in lexicon.table("mind", "seasons")},
        "gift": {g.strip(): row[0] for row in lexicon.table("shops", "goods") for g in row[2].split(",")},
    }
    seen = Counter()
    for example in examples["entailment"]:
        claims = example.pair.rstrip(".").split(" and ")
        assert len(claims) == 2
        right = set()
        for claim in claims:
            what, match = next((what, m) for what, pattern in CLAIMED.items() if (m := re.fullmatch(pattern, claim)))
            person, claimed = filter(None, match.groups())
            told = [value for who, fact, value in _told(example.text) if (who, fact) == (person, what)]
            if what == "thing":  # told of its colour, asked of what it is made of: that is open
                told = [value for value in told if (value in colours) == (claimed in colours)]
            assert len(told) <= 1
            holds = told and claimed in (told[0], follows.get(what, {}).get(told[0]))
            right.add("neutral" if not told else "entailment" if holds else "contradiction")
        assert right == {example.label}, example
        seen[what, example.label] += 1
    assert len(seen) == 6 * 3


def test_pronouns_of_a_premise_are_of_the_right_gender(examples):
    gender = {person.name.title(): person.gender for person in people()}
    for example in examples["entailment"]:
        for before, after in zip(example.text.split(". "), example.text.split(". ")[1:], strict=False):
            if (pronoun := after.split()[0]) in ("He", "She"):
                assert gender[before.split()[0]] == {"He": "man", "She": "woman"}[pronoun]


def test_the_same_words_may_match_or_not(examples):
    """How many words two texts share tells nothing: the best rule by overlap is little better than a coin."""
    rows = []
    for example in examples["matching"]:
        one, other = (set(re.findall(r"\w+", text.lower())) for text in (example.text, example.pair))
        rows.append((len(one & other) / len(one | other), example.label))
    assert max(share for share, label in rows if label == "0") > 0.9
    assert min(share for share, label in rows if label == "1") < 0.45
    for bound in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        right = sum((share >= bound) == (label == "1") for share, label in rows) / len(rows)
        assert 0.44 < right < 0.56, (bound, right)


def test_matching_of_who_gave_and_who_got(examples):
    """Read who is where in the texts that can be read simply."""
    giver = re.compile(r"^(\w+) (?:gives?|gave|lends?|lent|sells?|sold) (\w+) an? |"
                       r"^(\w+) (?:gives?|gave|lends?|lent|sells?|sold) an? .* to (\w+)\.$")  # fmt: skip
    getter = re.compile(
        r"^(\w+) (?:gets|got|borrows|borrowed|buys|bought|purchases|purchased|orders|ordered) an? .* from (\w+)\.$"
    )

    def roles(text):
        if match := giver.match(text):
            return tuple(filter(None, match.groups()))
        return (match[2], match[1]) if (match := getter.match(text)) else None

    read = [(roles(e.text), roles(e.pair), e.label) for e in examples["matching"]]
    read = [row for row in read if row[0] and row[1]]
    assert len(read) > 50
    assert all((one == other) == (label == "1") and set(one) == set(other) for one, other, label in read)


# Choices


def test_choices_are_four_different_ones(examples):
    assert all(len(set(example.choices)) == 4 for example in examples["choices"])


def test_the_right_choice_fits_the_person_and_the_job(examples):
    rows = {row[0]: row for row in lexicon.table("work", "jobs")}
    gender = {person.name.title(): person.gender for person in people()}
    checked = 0
    for example in examples["choices"]:
        match = re.match(r"(\w+) .*\. S?[Hh]e (?:is|was) an? (\w[\w ]*?) (?:from|in|of) ", example.text)
        if match and match[2] in rows:
            he = "she" if gender[match[1]] == "woman" else "he"
            _, place, tool, product, _, supply = rows[match[2]]
            fits = [
                bool(re.search(rf"\b{he}\b", choice.lower()))
                and sum(word in choice for word in (place, tool, product, supply)) >= 2
                for choice in example.choices
            ]
            assert fits.count(True) == 1 and fits[example.label], example
            checked += 1
    assert checked > 15


def test_choices_alone_do_not_give_the_right_one_away(examples):
    """Learn how often each word stands in right choices, then choose by the words alone: no better than by chance."""
    learned, judged = examples["choices"][:COUNT], examples["choices"][COUNT:]
    right, wrong = Counter(), Counter()
    for example in learned:
        for number, choice in enumerate(example.choices):
            (right if number == example.label else wrong).update(re.findall(r"\w+", choice.lower()))

    def score(choice):
        words = re.findall(r"\w+", choice.lower())
        return sum((right[word] + 1) / (right[word] + wrong[word] + 4) for word in words) / len(words)

    hits = sum(max(range(4), key=lambda n: score(e.choices[n])) == e.label for e in judged) / len(judged)
    assert hits == pytest.approx(0.25, abs=0.06)
