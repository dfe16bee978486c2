"""The field's measures for each task family, as scikit-learn, conlleval and SQuAD's script count, with 95% intervals.

All are 0..1, correlations -1..1, the error of numbers in their own unit. The main ones come with the bounds of their
95% interval, `NAME_low` and `NAME_high`. `gold` and `predicted` hold the examples in the same order.

Intervals are from the percentile bootstrap (Efron and Tibshirani 1993, chapter 13). They ignore that another training
run gives another model, and have no width where all examples are alike.
"""

import re
import string
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import SequenceMatcher
from operator import eq

import numpy as np

from bertlab.corpora.labelled.schemes import OUTSIDE, PREFIX, as_names, entity_spans, spelling_of
from bertlab.errors import InputError
from bertlab.inputs.chinese import CHARACTER, mixed_words

RESAMPLES = 1000
AT_ONCE = 200_000  # resampled figures in memory at a time

Statistic = Callable[..., np.ndarray]  # of columns (..., N) and axis=-1, to (...)


def bounded(name: str, value: float, statistic: Statistic, *columns: np.ndarray, seed: int = 0) -> dict[str, float]:
    """Return the measure `name` with the bounds of its 95% interval, `NAME_low` and `NAME_high`.

    Each of `columns` has one figure for each example (N,); `statistic` computes the measure from them. The interval
    always contains `value`, and does not depend on the order of the examples.
    """
    low, high = interval(statistic, *columns, seed=seed)
    return {name: value, f"{name}_low": min(low, value), f"{name}_high": max(high, value)}


def interval(statistic: Statistic, *columns: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Return both ends of the 95% interval of `statistic`; of a single example its value, twice."""
    from scipy.stats import bootstrap

    order = np.lexsort(columns)
    columns = tuple(column[order] for column in columns)
    if len(order) == 1:
        return (float(statistic(*columns, axis=-1)),) * 2
    size = {"n_resamples": RESAMPLES, "batch": max(1, AT_ONCE // len(order))}
    found = bootstrap(columns, statistic, **size, paired=True, vectorized=True, method="percentile", rng=seed)
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def f1_of_counts(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the F1 over all examples from their counts of hits, right and predicted labels; 0 if there is no label."""
    hits, total = hits.sum(axis), gold.sum(axis) + predicted.sum(axis)
    return 2 * hits / np.maximum(total, 1)


def pearson(gold: np.ndarray, predicted: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the Pearson correlation; 0 where one side is constant."""
    from scipy.stats import pearsonr

    if gold.shape[axis] < 2:
        return np.zeros(())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of constant input, which is the 0
        return np.nan_to_num(pearsonr(gold, predicted, axis=axis).statistic)


NO_ANSWER = ("",)  # the gold of a question that the passage does not answer
ARTICLE = re.compile(r"\b(?:a|an|the)\b")
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def score_classes(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> dict[str, float]:
    """Return `accuracy`, `macro_f1` over the classes that occur, `matthews` (0 where gold or predicted is constant).

    With two labels also `positive_f1`, that of the second: what GLUE reports for MRPC and QQP (Wang et al. 2019).
    """
    _check(gold, predicted)
    _check_labels({*gold, *predicted}, labels)
    scores = _share("accuracy", np.equal(gold, predicted))
    confusions = confusion_matrix(gold, predicted)
    scores |= {"macro_f1": macro_f1(confusions), "matthews": matthews(confusions)}
    if len(labels) == 2:
        right, found = np.equal(gold, labels[1]), np.equal(predicted, labels[1])
        hits, gold_count, found_count = _counts(right[:, None], found[:, None])
        value = float(f1_of_counts(hits, gold_count, found_count))
        scores |= bounded("positive_f1", value, f1_of_counts, hits, gold_count, found_count)
    return scores


def confusion_matrix(gold: Sequence[str], predicted: Sequence[str]) -> np.ndarray:
    """Return how often each class (row) was predicted as each (column), of the C classes that occur: (C, C)."""
    classes, numbers = np.unique([*gold, *predicted], return_inverse=True)  # (2 N,)
    right, found = np.split(numbers, 2)  # (N,) each
    return np.bincount(right * len(classes) + found, minlength=len(classes) ** 2).reshape(-1, len(classes))


def macro_f1(confusions: np.ndarray) -> float:
    """Return the mean of the classes' F1."""
    return float(np.mean(2 * confusions.diagonal() / (confusions.sum(0) + confusions.sum(1))))


def matthews(confusions: np.ndarray) -> float:
    """Return Matthews' correlation for any number of classes (Gorodkin 2004); 0 where one side is constant."""
    counts = confusions.astype(float)  # whose squares no integer would hold
    total, gold, predicted = counts.sum(), counts.sum(1), counts.sum(0)
    spread = (total**2 - gold @ gold) * (total**2 - predicted @ predicted)
    return float((total * counts.trace() - gold @ predicted) / np.sqrt(spread)) if spread > 0 else 0.0


def score_numbers(gold: Sequence[float], predicted: Sequence[float]) -> dict[str, float]:
    """Return `pearson` and `spearman`, as GLUE reports them for STS-B, and `rmse` in the unit of the numbers.

    A correlation is 0 where one side is constant, or there is one example only.
    """
    from scipy.stats import rankdata

    _check(gold, predicted)
    right, found = np.asarray(gold, dtype=float), np.asarray(predicted, dtype=float)
    if not (np.isfinite(right).all() and np.isfinite(found).all()):
        raise InputError("numbers to be scored must be finite, but there is a nan or an infinity among them")
    scores = bounded("pearson", float(pearson(right, found)), pearson, right, found)
    scores["spearman"] = float(pearson(rankdata(right), rankdata(found)))
    return scores | {"rmse": float(np.sqrt(np.mean((right - found) ** 2)))}


def score_label_sets(
    gold: Sequence[Collection[str]], predicted: Sequence[Collection[str]], labels: Sequence[str]
) -> dict[str, float]:
    """Return `micro_f1` over all labels of all texts, `macro_f1` over the labels that occur, and `exact`, the share of
    texts with exactly the right set. An F1 without any label is 0.

    They are computed from the counts of labels here: scikit-learn reads a single column as two classes and counts the
    texts without the label as hits.
    """
    _check(gold, predicted)
    used = sorted({label for labels in (*gold, *predicted) for label in labels})
    _check_labels(used, labels)
    right, found = (_members(sets, used) for sets in (gold, predicted))  # (N, labels that occur)
    hits, gold_count, found_count = _counts(right, found)
    value = float(f1_of_counts(hits, gold_count, found_count))
    scores = bounded("micro_f1", value, f1_of_counts, hits, gold_count, found_count)
    each = f1_of_counts(right & found, right, found, axis=0)  # (labels that occur,)
    scores["macro_f1"] = float(each.mean()) if used else 0.0
    return scores | _share("exact", (right == found).all(1))


def _members(sets: Sequence[Collection[str]], labels: Sequence[str]) -> np.ndarray:
    """Return which of the labels each set holds: bool (N, labels)."""
    rows = [[label in members for label in labels] for members in map(set, sets)]
    return np.array(rows, dtype=bool).reshape(len(sets), len(labels))


def score_entities(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return `precision`, `recall` and `f1` of whole entities, in seqeval's default mode, which is that of conlleval
    (CoNLL 2003): type and both ends must be right; `f1:TYPE` for each type in `gold`; `token_accuracy` over all words.

    One list of labels ("O", "B-person", "I-person" ...) a sentence; other spellings (PER-B, B_PER, or B alone), BMES
    and BILOU are read as what they mean, and plain labels as as_names does. A figure of no entity at all is 0.
    """
    _check_words(gold, predicted)
    named = _named(gold, predicted)
    spans = [[set(entity_spans(labels)) for labels in sentences] for sentences in named]
    kinds = sorted({kind for sentence in spans[0] for kind, *_ in sentence})  # the same ones whatever is predicted
    hits, right, found = _span_counts(*spans)
    scores = {"precision": hits.sum() / max(1, found.sum()), "recall": hits.sum() / max(1, right.sum())}
    scores |= bounded("f1", float(f1_of_counts(hits, right, found)), f1_of_counts, hits, right, found)
    pairs = [pair for sentences in zip(*named, strict=True) for pair in zip(*sentences, strict=True)]
    scores["token_accuracy"] = sum(label == other for label, other in pairs) / len(pairs)
    for kind in kinds:
        of_kind = ([{span for span in sentence if span[0] == kind} for sentence in side] for side in spans)
        scores[f"f1:{kind}"] = f1_of_counts(*_span_counts(*of_kind))
    return {name: float(value) for name, value in scores.items()}


def _named(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> tuple[list[list[str]], ...]:
    """Return both sides as labels of names: read together, but each by itself where their spellings differ."""
    every = {label for labels in (*gold, *predicted) for label in labels}
    if spelling_of(every) is None and any(map(PREFIX.match, every)):
        return as_names(gold), as_names(predicted)
    named = as_names([*gold, *predicted])
    return named[: len(gold)], named[len(gold) :]


def score_tags(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the measures of plain labels of words (DET): `token_accuracy` over all words, and `macro_f1` over the
    labels that occur. If some words are labelled O, or the labels do mark names (B_PER), also those of score_entities;
    of plain ones, neighbours with one label are one entity."""
    _check_words(gold, predicted)
    right = np.array([sum(map(eq, *pair)) for pair in zip(gold, predicted, strict=True)])
    words = np.array([len(labels) for labels in gold])
    flat = [[label for labels in sentences for label in labels] for sentences in (gold, predicted)]
    scores = bounded("token_accuracy", float(share_of_words(right, words)), share_of_words, right, words)
    scores["macro_f1"] = macro_f1(confusion_matrix(*flat))
    if OUTSIDE not in flat[0] and spelling_of({*flat[0], *flat[1]}) is None:
        return scores
    return score_entities(gold, predicted) | scores


def share_of_words(right: np.ndarray, words: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the share of words with the right label, from the counts of each sentence."""
    return right.sum(axis) / words.sum(axis)


def _span_counts(gold: Sequence[set], predicted: Sequence[set]) -> np.ndarray:
    """Return the numbers of hits, of right and of predicted entities in each of N sentences (3, N)."""
    return np.array([(len(a & b), len(a), len(b)) for a, b in zip(gold, predicted, strict=True)]).T


def score_answers(gold: Sequence[tuple[str, ...]], predicted: Sequence[str]) -> dict[str, float]:
    """Return `exact` and `f1` as SQuAD 2.0 defines them (Rajpurkar et al. 2018): case, punctuation and articles do not
    count, and of several right answers the best matching one does; one of which nothing is left ("the") counts only
    where there is no other. Answers in Chinese are scored much as CMRC 2018 does.

    "" predicts that there is no answer, and ("",) means that this is right. If there are such questions, `no_answer` is
    the share of them predicted as such; if there are others, `has_answer_f1` is their f1.
    """
    _check(gold, predicted)
    if text := next((right for right in gold if isinstance(right, str)), None):
        raise InputError(f"the right answers of a question are a tuple, such as ({text[:40]!r},), not one text")
    exact, f1 = np.array([answer_score(right, found) for right, found in zip(gold, predicted, strict=True)]).T
    scores = _share("exact", exact) | _share("f1", f1)
    unanswerable = np.array([tuple(right) == NO_ANSWER for right in gold])
    if unanswerable.any():
        scores["no_answer"] = float((np.array(predicted) == "")[unanswerable].mean())
    if not unanswerable.all():
        scores["has_answer_f1"] = float(f1[~unanswerable].mean())
    return scores


def answer_score(right: Sequence[str], found: str) -> tuple[float, float]:
    """Return exact match and F1 of one question, 0..1: those of SQuAD, or for Chinese characters much as CMRC's."""
    if any(map(CHARACTER.search, (*right, found))):
        exact, f1 = zip(*(chinese_score(mixed_words(answer), mixed_words(found)) for answer in right), strict=True)
        return max(exact), max(f1)
    answers, said = [words for answer in right if (words := counted_words(answer))] or [[]], counted_words(found)
    return float(said in answers), max(word_f1(answer, said) for answer in answers)


def counted_words(answer: str) -> list[str]:
    """Return what SQuAD's script compares of an answer: its words, without capitals, punctuation and articles."""
    return ARTICLE.sub(" ", answer.lower().translate(NO_PUNCTUATION)).split()


def word_f1(right: list[str], found: list[str]) -> float:
    """Return the F1 of the words of an answer, in any order; 1 where neither has one."""
    hits = (Counter(right) & Counter(found)).total()
    return 2 * hits / (len(right) + len(found)) if right or found else 1.0


def chinese_score(right: list[str], found: list[str]) -> tuple[float, float]:
    """Return exact match and F1 of an answer, much as CMRC 2018 defines them (Cui et al. 2019), from characters and
    words without punctuation, of which its program keeps a few signs: those of the longest part that both share are the
    hits."""
    shared = SequenceMatcher(None, right, found, autojunk=False).find_longest_match().size
    return float(right == found), 2 * shared / max(1, len(right) + len(found))


def score_choices(gold: Sequence[int], predicted: Sequence[int]) -> dict[str, float]:
    """Return `accuracy`: how often the right one is chosen."""
    _check(gold, predicted)
    return _share("accuracy", np.equal(gold, predicted))


def _share(name: str, figures: np.ndarray) -> dict[str, float]:
    """Return the mean of one figure for each example (N,), with its bounds."""
    return bounded(name, float(figures.mean()), np.mean, figures)


def _counts(right: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the number of hits, of right and of predicted labels in each of N label sets (N, labels): (N,) each."""
    return (right & found).sum(1), right.sum(1), found.sum(1)


def _check(gold: Sequence, predicted: Sequence) -> None:
    if not len(gold):
        raise InputError("there is no example to measure on")
    if len(gold) != len(predicted):
        raise InputError(f"{len(gold)} examples have a right answer, but {len(predicted)} predictions are given")


def _check_words(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> None:
    _check(gold, predicted)
    for number, (right, found) in enumerate(zip(gold, predicted, strict=True), 1):
        if len(right) != len(found):
            raise InputError(f"sentence {number} has {len(right)} words, but {len(found)} labels are given for it")
    if not any(gold):
        raise InputError("there is no word to measure on")


def _check_labels(used: Iterable[str], labels: Sequence[str]) -> None:
    if unknown := sorted(set(used) - set(labels)):
        raise InputError(f"{unknown[0]!r} is not one of the labels {', '.join(labels)}")


def score_ranks(ranks: Sequence[int]) -> dict[str, float]:
    """Return how well partners were found, from the rank of each, counted from 1: the shares at rank 1 and at 5 or
    better, and the mean of 1 / rank (mean reciprocal rank, Voorhees 1999), with intervals."""
    found = np.array(ranks, dtype=float)
    if not (found.size and (found >= 1).all()):
        raise InputError("no pair means the same (or a rank is below 1): there is nothing to measure")
    columns = {"mrr": 1 / found, "recall_at_1": found <= 1, "recall_at_5": found <= 5}
    figures = (bounded(name, float(column.mean()), np.mean, column.astype(float)) for name, column in columns.items())
    return {name: value for figure in figures for name, value in figure.items()}
