"""The measures that the field has for each task family, by the libraries that define them, with 95% intervals.

All are 0..1, correlations -1..1, the error of numbers in their own unit. The main ones come with the bounds of their
95% interval, `NAME_low` and `NAME_high`. `gold` is what is right, `said` what the model says, in the same order.

Intervals are from the percentile bootstrap (Efron and Tibshirani 1993, chapter 13). They leave out that another
training run gives another model, and have no width where all examples are alike.
"""

import warnings
from collections.abc import Callable, Collection, Sequence

import numpy as np

from bertlab.errors import InputError

RESAMPLES = 1000
AT_ONCE = 200_000  # figures of resamples that are in memory at a time

Statistic = Callable[..., np.ndarray]  # of columns (..., N) and axis=-1, to (...)


def bounded(name: str, value: float, statistic: Statistic, *columns: np.ndarray, seed: int = 0) -> dict[str, float]:
    """The measure `name` with the bounds of its 95% interval, `NAME_low` and `NAME_high`.

    Each of `columns` has one figure for each example (N,); `statistic` makes the measure of them. The bounds never
    leave out `value` itself, and do not depend on the order of the examples.
    """
    low, high = interval(statistic, *columns, seed=seed)
    return {name: value, f"{name}_low": min(low, value), f"{name}_high": max(high, value)}


def interval(statistic: Statistic, *columns: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Both ends of the 95% interval of `statistic`; of a single example twice its value."""
    from scipy.stats import bootstrap

    order = np.lexsort(columns)
    columns = tuple(column[order] for column in columns)
    if len(order) == 1:
        return (float(statistic(*columns, axis=-1)),) * 2
    size = {"n_resamples": RESAMPLES, "batch": max(1, AT_ONCE // len(order))}
    found = bootstrap(columns, statistic, **size, paired=True, vectorized=True, method="percentile", rng=seed)
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def f1_of_counts(hits: np.ndarray, gold: np.ndarray, said: np.ndarray, axis: int = -1) -> np.ndarray:
    """F1 over all examples of their counts: right, to be found, said; 0 where nothing is to be found or said."""
    hits, total = hits.sum(axis), gold.sum(axis) + said.sum(axis)
    return 2 * hits / np.maximum(total, 1)


def pearson(gold: np.ndarray, said: np.ndarray, axis: int = -1) -> np.ndarray:
    """Pearson correlation; 0 where one side is the same number throughout, and so tells nothing of the other."""
    from scipy.stats import pearsonr

    if gold.shape[axis] < 2:
        return np.zeros(())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of constant input, which is the 0
        return np.nan_to_num(pearsonr(gold, said, axis=axis).statistic)


NO_ANSWER = ("",)  # the right answers of a question that the passage does not answer


def score_classes(gold: Sequence[str], said: Sequence[str], labels: Sequence[str]) -> dict[str, float]:
    """`accuracy`, `macro_f1` over the classes that occur, `matthews` (0 where gold or said is one class throughout).

    With two labels also `positive_f1`, that of the second: what GLUE reports of MRPC and QQP (Wang et al. 2019).
    """
    from sklearn.metrics import f1_score, matthews_corrcoef

    _check(gold, said)
    _check_labels({*gold, *said}, labels)
    scores = _share("accuracy", np.equal(gold, said))
    scores["macro_f1"] = float(f1_score(gold, said, average="macro", zero_division=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a single class, which is the 0
        scores["matthews"] = float(matthews_corrcoef(gold, said))
    if len(labels) == 2:
        right, found = np.equal(gold, labels[1]), np.equal(said, labels[1])
        value = float(f1_score(right, found, zero_division=0))
        scores |= bounded("positive_f1", value, f1_of_counts, *_counts(right[:, None], found[:, None]))
    return scores


def score_numbers(gold: Sequence[float], said: Sequence[float]) -> dict[str, float]:
    """`pearson` and `spearman` as GLUE reports them of STS-B, and `rmse` in the unit of the numbers.

    A correlation is 0 where one side is the same number throughout, or there is one example only.
    """
    from scipy.stats import rankdata
    from sklearn.metrics import root_mean_squared_error

    _check(gold, said)
    gold, said = np.asarray(gold, dtype=float), np.asarray(said, dtype=float)
    if not (np.isfinite(gold).all() and np.isfinite(said).all()):
        raise InputError("numbers to be scored must be finite, but there is a nan or an infinity among them")
    scores = bounded("pearson", float(pearson(gold, said)), pearson, gold, said)
    scores["spearman"] = float(pearson(rankdata(gold), rankdata(said)))
    return scores | {"rmse": float(root_mean_squared_error(gold, said))}


def score_label_sets(
    gold: Sequence[Collection[str]], said: Sequence[Collection[str]], labels: Sequence[str]
) -> dict[str, float]:
    """`micro_f1` over all labels of all texts, `macro_f1` over the labels that occur, `exact`: share of texts with
    exactly the right set. An F1 of no label at all is 0."""
    from sklearn.metrics import f1_score
    from sklearn.preprocessing import MultiLabelBinarizer

    _check(gold, said)
    used = {label for labels in (*gold, *said) for label in labels}
    _check_labels(used, labels)
    binarizer = MultiLabelBinarizer(classes=sorted(used)).fit([])
    right, found = (binarizer.transform(sets).astype(bool) for sets in (gold, said))  # (N, labels that occur)
    value = float(f1_score(right, found, average="micro", zero_division=0)) if used else 0.0
    scores = bounded("micro_f1", value, f1_of_counts, *_counts(right, found))
    scores["macro_f1"] = float(f1_score(right, found, average="macro", zero_division=0)) if used else 0.0
    return scores | _share("exact", (right == found).all(1))


def score_entities(gold: Sequence[Sequence[str]], said: Sequence[Sequence[str]]) -> dict[str, float]:
    """`precision`, `recall` and `f1` of whole entities, by seqeval's default mode, which is that of conlleval (CoNLL
    2003): type and both ends must be right. `f1:TYPE` for each type that is to be found;
    `token_accuracy` over all words.

    One list of labels ("O", "B-person", "I-person" ...) a sentence. A figure of no entity at all is 0.
    """
    _check(gold, said)
    for number, (right, found) in enumerate(zip(gold, said, strict=True), 1):
        if len(right) != len(found):
            raise InputError(f"sentence {number} has {len(right)} words, but {len(found)} labels are given for it")
    gold, said = [list(labels) for labels in gold], [list(labels) for labels in said]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tags without B- and I-, which count as entities of their own
        return _score_entities(gold, said)


def _score_entities(gold: list[list[str]], said: list[list[str]]) -> dict[str, float]:
    from seqeval.metrics import accuracy_score
    from seqeval.metrics.sequence_labeling import get_entities, precision_recall_fscore_support

    spans = [[set(get_entities(labels)) for labels in sentences] for sentences in (gold, said)]  # (type, first, last)
    counts = [(len(right & found), len(right), len(found)) for right, found in zip(*spans, strict=True)]
    precision, recall, f1, _ = precision_recall_fscore_support(gold, said, average="micro", zero_division=0)
    scores = {"precision": float(precision), "recall": float(recall)}
    scores |= bounded("f1", float(f1), f1_of_counts, *np.array(counts).T)
    scores["token_accuracy"] = float(accuracy_score(gold, said))
    known, other = ({span[0] for sentence in sentences for span in sentence} for sentences in spans)
    each = precision_recall_fscore_support(gold, said, average=None, zero_division=0)[2]
    each = dict(zip(sorted(known | other), each, strict=True))
    return scores | {f"f1:{name}": float(each[name]) for name in sorted(known)}  # the same ones whatever is said


def score_answers(gold: Sequence[tuple[str, ...]], said: Sequence[str]) -> dict[str, float]:
    """`exact` and `f1` as SQuAD 2.0 defines them (Rajpurkar et al. 2018): case, punctuation and articles do not
    count, and of several right answers the best matching one does.

    "" says that there is no answer, and ("",) that this is right. Where such questions are, `no_answer` is the share
    of them for which "" was said; where others are, `has_answer_f1` is their f1.
    """
    _check(gold, said)
    exact, f1 = np.array([answer_score(right, found) for right, found in zip(gold, said, strict=True)]).T
    scores = _share("exact", exact) | _share("f1", f1)
    unanswerable = np.array([tuple(right) == NO_ANSWER for right in gold])
    if unanswerable.any():
        scores["no_answer"] = float((np.array(said) == "")[unanswerable].mean())
    if not unanswerable.all():
        scores["has_answer_f1"] = float(f1[~unanswerable].mean())
    return scores


def answer_score(right: Sequence[str], found: str) -> tuple[float, float]:
    """Exact match and F1 of one question, 0..1."""
    from torchmetrics.functional.text import squad

    answers = {"text": list(right), "answer_start": [0] * len(right)}
    found = squad({"prediction_text": found, "id": ""}, {"answers": answers, "id": ""})
    return float(found["exact_match"]) / 100, float(found["f1"]) / 100


def score_choices(gold: Sequence[int], said: Sequence[int]) -> dict[str, float]:
    """`accuracy`: how often the right one is chosen."""
    _check(gold, said)
    return _share("accuracy", np.equal(gold, said))


def _share(name: str, figures: np.ndarray) -> dict[str, float]:
    """The mean of one figure for each example (N,), with its bounds."""
    return bounded(name, float(figures.mean()), np.mean, figures)


def _counts(right: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, ...]:
    """Of label sets (N, labels) how many in each are right, to be found, said: (N,) each."""
    return (right & found).sum(1), right.sum(1), found.sum(1)


def _check(gold: Sequence, said: Sequence) -> None:
    if not len(gold):
        raise InputError("there is no example to measure on")
    if len(gold) != len(said):
        raise InputError(f"{len(gold)} examples have a right answer, but {len(said)} predictions are given")


def _check_labels(used: set[str], labels: Sequence[str]) -> None:
    if unknown := sorted(used - set(labels)):
        raise InputError(f"{unknown[0]!r} is not one of the labels {', '.join(labels)}")
