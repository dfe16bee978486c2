"""The measures of every task family, against examples worked by hand and the formulas of the books."""

import math
import re
import string
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import accuracy_score, classification_report
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support
from sklearn.metrics import f1_score, matthews_corrcoef

from bertlab.errors import InputError
from bertlab.tasks.measures import (
    matthews,
    score_answers,
    score_choices,
    score_classes,
    score_entities,
    score_label_sets,
    score_numbers,
    score_ranks,
    score_tags,
)
from tests.conftest import tries

YES_NO, ABC = ["no", "yes"], ["a", "b", "c"]
TAGS = ["O", "B-person", "I-person", "B-place", "I-place"]
ANSWERS = ["", "the red hat", "red hat", "Red Hat!", "hat", "an old hat", "blue coat", "hat hat"]


@pytest.mark.parametrize(
    ("right", "found", "exact", "f1"),
    [
        (("光荣和ω-force",), "光荣和ω-force。", 1, 1),
        (("《光荣》",), "光荣", 1, 1),
        (("光荣和ω-force",), "光荣", 0, 2 * 2 / (5 + 2)),  # 光 荣 和 ω force
        (("战国无双",), "无双战国", 0, 2 * 2 / (4 + 4)),  # the longest shared part: characters elsewhere do not count
        (("光荣", "光荣公司"), "光荣公司", 1, 1),
        (("2009年",), "2009", 0, 2 * 1 / (2 + 1)),
        (("光荣",), "", 0, 0),
        (("",), "光荣", 0, 0),
    ],
)
def test_answers_in_chinese_as_cmrc_scores_them(right, found, exact, f1):
    scores = score_answers([right], [found])
    assert (scores["exact"], scores["f1"]) == (exact, pytest.approx(f1))


def test_two_classes():
    # yes is the positive class: 2 right (tp), 1 missed (fn), 1 too many (fp), 4 right no (tn)
    gold = ["yes", "yes", "yes", "no", "no", "no", "no", "no"]
    said = ["yes", "yes", "no", "yes", "no", "no", "no", "no"]
    found = score_classes(gold, said, YES_NO)
    assert found["accuracy"] == 6 / 8
    assert found["positive_f1"] == pytest.approx(2 / 3)  # 2 * 2 / (2 * 2 + 1 + 1)
    assert found["macro_f1"] == pytest.approx((2 / 3 + 4 / 5) / 2)  # of no: 2 * 4 / (2 * 4 + 1 + 1)
    # (tp * tn - fp * fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn))
    assert found["matthews"] == pytest.approx((2 * 4 - 1 * 1) / math.sqrt(3 * 3 * 5 * 5))
    swapped = score_classes(gold, said, YES_NO[::-1])
    assert swapped["positive_f1"] == pytest.approx(4 / 5)  # the second label is the positive one


def test_more_classes():
    # a: tp 1, fp 1, fn 0: 2/3; b: tp 1, fp 0, fn 1: 2/3; c occurs nowhere and does not count
    found = score_classes(["a", "b", "b"], ["a", "b", "a"], ABC)
    assert found["macro_f1"] == pytest.approx(2 / 3) and "positive_f1" not in found


@pytest.mark.parametrize("gold", [["yes", "no"], ["yes", "yes"]])
def test_one_class_throughout_tells_nothing(gold):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score_classes(gold, ["yes", "yes"], YES_NO)["matthews"] == 0


def test_numbers():
    gold, said = [1.0, 2.0, 3.0, 6.0], [1.0, 3.0, 2.0, 10.0]
    found = score_numbers(gold, said)
    # means 3 and 4: deviations -2 -1 0 3 and -3 -1 -2 6, so covariance 6 + 1 + 0 + 18, squares 14 and 50
    assert found["pearson"] == pytest.approx(25 / math.sqrt(14 * 50))
    # ranks 1 2 3 4 and 1 3 2 4: 1 - 6 * (0 + 1 + 1 + 0) / (4 * (16 - 1))
    assert found["spearman"] == pytest.approx(0.8)
    assert found["rmse"] == pytest.approx(math.sqrt((0 + 1 + 1 + 16) / 4))


@pytest.mark.parametrize(
    "gold, said", [([2, 2, 2], [1, 2, 3]), ([1, 2, 3], [0.1, 0.1, 0.1]), ([1, 1], [1, 1]), ([4], [3])]
)
def test_constant_numbers_correlate_with_nothing(gold, said):
    found = score_numbers(gold, said)
    assert found["pearson"] == found["spearman"] == found["pearson_low"] == found["pearson_high"] == 0


def test_numbers_are_finite():
    with pytest.raises(InputError, match="finite"):
        score_numbers([1.0, 2.0], [1.0, math.nan])


def test_label_sets():
    # a: tp 1, fp 1; b: fn 1; c: tp 1. All together: tp 2, fp 1, fn 1
    found = score_label_sets([("a", "b"), (), ("c",)], [("a",), ("a",), ("c",)], [*ABC, "d"])
    assert found["micro_f1"] == pytest.approx(4 / 6)
    assert found["macro_f1"] == pytest.approx((2 / 3 + 0 + 1) / 3)  # d occurs nowhere
    assert found["exact"] == pytest.approx(1 / 3)
    nothing = score_label_sets([()], [()], ABC)
    assert (nothing["micro_f1"], nothing["macro_f1"], nothing["exact"]) == (0, 0, 1)


@pytest.mark.parametrize("labels", [["toxic"], ["insult", "toxic"]])
def test_a_single_label_is_measured_as_a_label_not_as_two_classes(labels):
    """scikit-learn reads one column as two classes, so that each text without the label would be a hit."""
    gold = [("toxic",), (), (), (), ()]
    missed = score_label_sets(gold, [()] * 5, labels)
    assert (missed["micro_f1"], missed["macro_f1"], missed["micro_f1_high"]) == (0, 0, 0)
    assert missed["exact"] == pytest.approx(4 / 5)
    half = score_label_sets(gold, [("toxic",), ("toxic",), (), (), ()], labels)  # tp 1, fp 1
    assert half["micro_f1"] == half["macro_f1"] == pytest.approx(2 / 3)


SPELLED = {  # the same sentences: names at 2 to 5 and at 0 to 1, of which the first is found in two halves
    "BIO": "O O B-x I-x I-x I-x O . B-x I-x O | O O B-x I-x B-x I-x O . B-x I-x O",
    "bare": "O O B I I I O . B I O | O O B I B I O . B I O",
    "behind": "O O x-B x-I x-I x-I O . x-B x-I O | O O x-B x-I x-B x-I O . x-B x-I O",
    "underscores": "O O B_x I_x I_x I_x O . B_x I_x O | O O B_x I_x B_x I_x O . B_x I_x O",
    "small": "o o b-x i-x i-x i-x o . b-x i-x o | o o b-x i-x b-x i-x o . b-x i-x o",
    "BIOES": "O O B-x I-x I-x E-x O . B-x E-x O | O O B-x E-x B-x E-x O . B-x E-x O",
    "BILOU": "O O B-x I-x I-x L-x O . B-x L-x O | O O B-x L-x B-x L-x O . B-x L-x O",
    "BMES": "O O B-x M-x M-x E-x O . B-x E-x O | O O B-x E-x B-x E-x O . B-x E-x O",
    "IOB1": "O O I-x I-x I-x I-x O . I-x I-x O | O O I-x I-x B-x I-x O . I-x I-x O",
}


@pytest.mark.parametrize("measure", [score_entities, score_tags])
@pytest.mark.parametrize("name", SPELLED)
def test_names_are_the_same_however_their_labels_are_spelled(name, measure):
    gold, said = ([labels.split() for labels in side.split(".")] for side in SPELLED[name].split("|"))
    found = measure(gold, said)
    assert (found["precision"], found["recall"]) == (pytest.approx(1 / 3), pytest.approx(1 / 2))
    assert found["f1"] == pytest.approx(0.4)


@pytest.mark.parametrize("gold", [["PER", "PER", "O"], ["PER-B", "PER-I", "O"], ["I-PER", "I-PER", "O"]])
def test_both_sides_may_be_spelled_differently(gold):
    figures = score_entities([gold], [["B-PER", "I-PER", "O"]])
    assert figures["f1"] == figures["f1:PER"] == 1.0


def test_sentences_without_a_word_cannot_be_scored():
    for score in (score_tags, score_entities):
        with pytest.raises(InputError, match="there is no word to measure on"):
            score([[], []], [[], []])


def test_plain_labels_that_end_like_marks_are_no_names():
    gold, said = [["O", "V-S", "N-S", "N-S"]], [["O", "V-S", "N-S", "V-S"]]
    assert score_tags(gold, said)["f1:N-S"] == 0 and score_tags(gold, said)["token_accuracy"] == 3 / 4


def test_gold_answers_of_which_nothing_is_left_do_not_count_beside_others():
    """As in the official script of SQuAD 2.0."""
    assert score_answers([("Paris", "the")], [""])["exact"] == 0
    assert score_answers([("Paris", "A.")], ["paris!"])["exact"] == 1
    assert score_answers([("the",)], [""])["f1"] == 1  # it is all there is
    assert score_answers([("",)], [""])["exact"] == 1


def test_entities():
    gold = [["B-person", "I-person", "O", "B-place"], ["O", "B-person"], ["B-place", "B-place"]]
    said = [["B-person", "I-person", "O", "B-person"], ["O", "B-person"], ["B-place", "I-place"]]
    # right: person 0-1, place 3 | person 1 | place 0, place 1; said: person 0-1, person 3 | person 1 | place 0-1
    found = score_entities(gold, said)
    assert found["precision"] == pytest.approx(2 / 4) and found["recall"] == pytest.approx(2 / 5)
    assert found["f1"] == pytest.approx(4 / 9)
    assert found["f1:person"] == pytest.approx(2 * 2 / (2 + 3)) and found["f1:place"] == 0
    assert found["token_accuracy"] == pytest.approx(6 / 8)


def test_the_measures_of_entities_do_not_depend_on_what_is_said():
    """They are columns of dev.csv, a row for each look at the same examples."""
    gold = [["B-person", "O", "B-place"]]
    looks = [score_entities(gold, [said.split()]) for said in ("O O O", "B-pet O B-place", "B-person O B-place")]
    assert {tuple(look) for look in looks} == {tuple(looks[0])} and looks[1]["f1:place"] == 1
    assert looks[0].keys() > {"f1:person", "f1:place"}


MARKED = st.lists(st.sampled_from("O B-person I-person B-place I-place S-place E-person".split()), min_size=1)


@tries(50)
@given(st.lists(st.tuples(MARKED, MARKED).map(lambda pair: list(zip(*pair, strict=False))), min_size=1))
def test_entities_as_seqeval_counts(sentences):
    gold, said = ([[pair[side] for pair in pairs] for pairs in sentences] for side in (0, 1))
    found = score_entities(gold, said)
    support = precision_recall_fscore_support(gold, said, average="micro", zero_division=0)
    assert [found[name] for name in ("precision", "recall", "f1")] == pytest.approx(support[:3])
    assert found["token_accuracy"] == pytest.approx(accuracy_score(gold, said))
    kinds = [name.removeprefix("f1:") for name in found if name.startswith("f1:")]
    each = classification_report(gold, said, output_dict=True, zero_division=0) if kinds else {}
    assert [found[f"f1:{kind}"] for kind in kinds] == pytest.approx([each[kind]["f1-score"] for kind in kinds])


def test_an_entity_may_begin_with_an_inside_tag():
    """As conlleval reads it, and seqeval's default mode: not the strict one."""
    assert score_entities([["B-person", "O"]], [["I-person", "O"]])["f1"] == 1


def test_plain_labels():
    gold = [["DET", "NOUN"], ["NOUN", "VERB", "NOUN"]]
    found = score_tags(gold, [["DET", "VERB"], ["NOUN", "VERB", "NOUN"]])
    assert set(found) == {"token_accuracy", "token_accuracy_low", "token_accuracy_high", "macro_f1"}
    assert found["token_accuracy"] == pytest.approx(4 / 5)
    assert found["macro_f1"] == pytest.approx((1 + 0.8 + 2 / 3) / 3)  # DET, NOUN, VERB


def test_plain_labels_beside_o_are_entities_too():
    found = score_tags([["PER", "PER", "O", "LOC"]], [["PER", "O", "O", "LOC"]])
    assert found["f1"] == pytest.approx(1 / 2) and (found["f1:PER"], found["f1:LOC"]) == (0, 1)
    assert found["token_accuracy"] == pytest.approx(3 / 4)


@pytest.mark.parametrize("gold, said", [([["O"]], [["O"]]), ([["B-x"]], [["O"]]), ([["NOUN", "?"]], [["VERB", "O"]])])
def test_entities_without_a_word_of_warning(gold, said, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score_entities(gold, said)["f1"] == 0
    assert not capfd.readouterr().err


def test_sentences_are_labelled_in_full():
    with pytest.raises(InputError, match="sentence 2 has 2 words, but 1 labels"):
        score_entities([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(InputError, match="sentence 1 has 2 words, but 1 labels"):
        score_tags([["DET", "NOUN"]], [["DET"]])


def test_right_answers_are_no_single_text():
    with pytest.raises(InputError, match=r"a tuple, such as \('Paris',\), not one text"):
        score_answers(["Paris"], ["Paris"])


@pytest.mark.parametrize("ranks", [[], [0, 1], [math.nan]])
def test_ranks_count_from_one(ranks):
    with pytest.raises(InputError, match="nothing to measure"):
        score_ranks(ranks)


def test_answers():
    gold = [("the red hat", "a hat"), ("",), ("",), ("forty-two",), ("red hat",)]
    said = ["Hat!", "", "hat", "", "old red hat"]
    # exact: 1 1 0 0 0; f1: 1 1 0 0 and 2 * (2/3 * 1) / (2/3 + 1) = 4/5
    found = score_answers(gold, said)
    assert found["exact"] == pytest.approx(2 / 5) and found["f1"] == pytest.approx(2.8 / 5)
    assert found["no_answer"] == 1 / 2 and found["has_answer_f1"] == pytest.approx(1.8 / 3)
    assert "no_answer" not in score_answers(gold[:1], said[:1])
    assert "has_answer_f1" not in score_answers(gold[1:3], said[1:3])


def squad_words(text: str) -> list[str]:
    """As the official evaluation of SQuAD 2.0 cleans an answer."""
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def squad_f1(gold: str, said: str) -> float:
    gold, said = squad_words(gold), squad_words(said)
    if not gold or not said:
        return float(gold == said)
    shared = sum((Counter(gold) & Counter(said)).values())
    return 2 * shared / (len(gold) + len(said))


@tries(50)
@given(st.lists(st.tuples(st.lists(st.sampled_from(ANSWERS[1:]), min_size=1), st.sampled_from(ANSWERS)), min_size=1))
def test_answers_as_the_official_evaluation_counts(pairs):
    gold, said = [tuple(right) for right, _ in pairs], [found for _, found in pairs]
    exact = [max(squad_words(one) == squad_words(found) for one in right) for right, found in pairs]
    f1 = [max(squad_f1(one, found) for one in right) for right, found in pairs]
    found = score_answers(gold, said)
    assert found["exact"] == pytest.approx(sum(exact) / len(exact))
    assert found["f1"] == found["has_answer_f1"] == pytest.approx(sum(f1) / len(f1), abs=1e-6)


@given(pairs=st.lists(st.tuples(st.sampled_from([*ABC, "d"]), st.sampled_from([*ABC, "d"])), min_size=1))
@tries(100)
def test_classes_are_scored_as_by_scikit_learn(pairs):
    gold, said = zip(*pairs, strict=True)
    found = score_classes(gold, said, [*ABC, "d"])
    assert found["macro_f1"] == pytest.approx(f1_score(gold, said, average="macro", zero_division=0))
    if len({*gold, *said}) > 1:  # of one class it warns
        assert found["matthews"] == pytest.approx(matthews_corrcoef(gold, said))
    assert score_tags([gold], [said])["macro_f1"] == found["macro_f1"]


def test_the_correlation_of_classes_holds_for_many_examples():
    """Squares of so many examples fit no 64-bit integer once they are multiplied."""
    confusions = np.array([[3_000_000, 1_000_000], [1_000_000, 3_000_000]])
    assert matthews(confusions) == pytest.approx(0.5)


def test_choices():
    assert score_choices([0, 2, 1, 1], [0, 2, 1, 0])["accuracy"] == 3 / 4


def classes(gold, said):
    return score_classes(gold, said, ABC)


def sets(gold, said):
    return score_label_sets(gold, said, ABC)


SENTENCES = st.lists(st.sampled_from(TAGS), min_size=3, max_size=3)
ONE = {
    classes: st.sampled_from(ABC),
    score_numbers: st.integers(-3, 3).map(float),
    sets: st.sets(st.sampled_from(ABC)).map(tuple),
    score_entities: SENTENCES,
    score_tags: st.lists(st.sampled_from(["O", "DET", "NOUN"]), min_size=3, max_size=3),
    score_answers: st.sampled_from(ANSWERS),
    score_choices: st.integers(0, 3),
}
# what a perfect prediction needs, so that there is something to be right about
SOME = {
    classes: ["a", "b"],
    score_numbers: [0.0, 1.0],
    sets: [("a",), ()],
    score_entities: [["O", "B-person", "O"]],
    score_tags: [["O", "DET", "O"]],
}


def gold_of(score, values):
    return [(value,) for value in values] if score is score_answers else values


@pytest.mark.parametrize("score", ONE)
@tries(25)
@given(data=st.data())
def test_scores_stay_in_their_range_and_their_bounds(score, data):
    pairs = data.draw(st.lists(st.tuples(ONE[score], ONE[score]), min_size=1, max_size=12))
    order = data.draw(st.permutations(pairs))
    found, again = (score(gold_of(score, [a for a, _ in some]), [b for _, b in some]) for some in (pairs, order))
    assert again == pytest.approx(found)  # the order of the examples says nothing
    for name, value in found.items():
        assert (-1 - 1e-9 if name.split("_")[0] in ("pearson", "spearman", "matthews") else 0) <= value
        assert value <= 1 + 1e-9 or name == "rmse"
        if f"{name}_low" in found:
            assert found[f"{name}_low"] <= value <= found[f"{name}_high"]


@pytest.mark.parametrize("score", ONE)
@tries(15)
@given(data=st.data())
def test_a_perfect_prediction_scores_one(score, data):
    values = SOME.get(score, []) + data.draw(st.lists(ONE[score], min_size=1, max_size=8))
    found = score(gold_of(score, values), values)
    for name, value in found.items():
        if not name.endswith("_low"):  # a resample may hold nothing to find
            assert value == pytest.approx(0 if name == "rmse" else 1), name


@pytest.mark.parametrize("score", ONE)
def test_nothing_cannot_be_scored(score):
    with pytest.raises(InputError, match="no example"):
        score([], [])


@pytest.mark.parametrize("score", ONE)
def test_every_example_needs_a_prediction(score):
    some = {classes: "a", score_numbers: 1.0, sets: ("a",), score_entities: ["O"], score_answers: "a", score_choices: 1}
    some[score_tags] = ["DET"]
    with pytest.raises(InputError, match="2 examples have a right answer, but 1 predictions"):
        score(gold_of(score, [some[score]] * 2), [some[score]])


@pytest.mark.parametrize("score, one, other", [(classes, "a", "d"), (sets, ("a",), ("b", "d"))])
def test_a_label_nobody_knows(score, one, other):
    for gold, said in ((one, other), (other, one)):
        with pytest.raises(InputError, match="'d' is not one of the labels a, b, c"):
            score([gold], [said])
