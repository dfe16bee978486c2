"""Measures in words, as cards, reports and the command line show them."""

from collections.abc import Mapping
from pathlib import Path

from bertlab.config import BertConfig

GRAMMAR = {  # phenomena of bertlab.corpora.minimal_pairs
    "": "",
    "agreement": ": subject and verb",
    "attractor": ": subject and verb, a noun of the other number between them",
    "reflexive": ": himself, herself, themselves",
    "determiner": ": this book, these books",
    "polarity": ": ever and any after a negation",
    "irregular": ": wrote, has written",
}
MEANING = {
    "masked_top1": "masked word, first guess right",
    "unigram_top1": "… guessing the most frequent word",
    "bigram_top1": "… guessing from both neighbours",
    "masked_loss": "masked word, loss in nats",
    "unigram_loss": "… of word frequency",
    "bigram_loss": "… of both neighbours",
    "nsp_accuracy": "next sentence, right",
    "nsp_accuracy_masked": "… with the masked words hidden, as in training",
    "order_accuracy": "sentence order, right",
    "order_accuracy_masked": "… with the masked words hidden, as in training",
    "next_token_top1": "next word, first guess right",
    "previous_top1": "… guessing from the word before",
    "next_token_loss": "next word, loss in nats",
    "previous_loss": "… of the word before",
    "perplexity": "next word, perplexity",
    **{
        f"{prefix}grammar{'_' * bool(name)}{name}": f"{start}{words}"
        for name, words in GRAMMAR.items()
        for prefix, start in {
            "": "grammar pairs, right",
            "unigram_": "… by word frequency",
            "bigram_": "… by both neighbours",
        }.items()
    },
    "probes": "right-context probes, first guess of all words right",
    "probes_crossing": "… who or what was too tired, too wide",
    "probes_fitting": "… what was too big, too small",
    "probes_pronoun": "… he or she",
    "accuracy": "accuracy",
    "macro_f1": "F1, mean of the classes",
    "micro_f1": "F1 of all labels together",
    "positive_f1": "F1 of the second class",
    "matthews": "Matthews correlation",
    "pearson": "Pearson correlation",
    "spearman": "Spearman rank correlation",
    "rmse": "root of the mean squared error",
    "f1": "F1",
    "exact": "exact match",
    "precision": "precision",
    "recall": "recall",
    "token_accuracy": "words with the right label",
    "recall_at_1": "partner found first",
    "recall_at_5": "partner among the first five",
    "mrr": "mean reciprocal rank of the partner",
    "no_answer": "questions without an answer, seen as such",
    "has_answer_f1": "questions with an answer, F1",
    "best_f1": "F1 with the best threshold for no answer",
}


def meaning(name: str, second: str = "") -> str | None:
    """Return a measure in words, None for one that is not shown; `masked_top1:novel` is that of one genre.

    `second` is the label of the second class of the model that was measured.
    """
    base, _, genre = name.partition(":")
    words = f"F1 of “{second}”" if second and base == "positive_f1" else MEANING.get(base)
    return f"{genre}: {words}" if words and genre else words


def second_label(model: str | Path) -> str:
    """Return the label of the second class of a saved model, of which `positive_f1` is the F1."""
    return BertConfig.from_pretrained(model).id2label.get(1, "")


def with_interval(measures: Mapping[str, float], name: str) -> str:
    """Return a measure with three decimals, and with its 95% interval where there is one: "0.781 (0.760 to 0.803)"."""
    found = bounds(measures, name)
    return f"{measures[name]:.3f}{f' ({found})' * bool(found)}"


def without_bounds(measures: Mapping[str, object]) -> list[str]:
    """Return the names of the measures, without those of the bounds of their intervals; a label may end like one."""
    return [name for name in measures if not name.partition(":")[0].endswith(("_low", "_high"))]


def bounds(measures: Mapping[str, float], name: str) -> str:
    """Return both ends of a measure's 95% interval in words; "" without one, and of one without a width: that all
    examples are alike, all right for example, does not make the measure certain."""
    base, colon, genre = name.partition(":")
    low, high = (measures.get(f"{base}_{end}{colon}{genre}") for end in ("low", "high"))
    return "" if low is None or high is None or low == high else f"{low:.3f} to {high:.3f}"


def print_measures(measures: dict[str, float], second: str = "") -> None:
    """Print each measure that has a meaning, in words, with its interval; `second` as in `meaning`."""
    rows = [(words, with_interval(measures, name)) for name in measures if (words := meaning(name, second))]
    width = max((len(words) for words, _ in rows), default=0)
    for words, value in rows:
        print(f"{words:<{width}}  {value}")


def in_figures(rows: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, str]]:
    """Return the same measures with three decimals."""
    return {row: {name: f"{value:.3f}" for name, value in measures.items()} for row, measures in rows.items()}


def print_comparison(rows: Mapping[str, Mapping[str, str]]) -> None:
    """Print figures of the run, and those of what it is compared with below: a row each, a column for each measure."""
    names = [name for name in next(iter(rows.values())) if name in MEANING]  # not those of single classes
    lines = [["", *names], *([row, *(figures.get(name, "") for name in names)] for row, figures in rows.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *others in lines:
        cells = [f"{text:>{width}}" for text, width in zip(others, widths[1:], strict=True)]
        print("  ".join([f"{first:<{widths[0]}}", *cells]))
