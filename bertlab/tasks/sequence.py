"""One class, a number or several classes for a text or a pair (Devlin et al. 2019, section 4.1)."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from bertlab.config import BertConfig
from bertlab.corpora.examples import TextExample
from bertlab.errors import InputError
from bertlab.inputs.features import Feature, text_features
from bertlab.model import BertForSequenceClassification
from bertlab.tasks.base import Judged, Prediction, Task, surprise
from bertlab.tasks.measures import score_classes, score_label_sets, score_numbers

MOST_CLASSES = 1000  # more different labels than this are no classes
NEGATION = re.compile("(not|non|no)[_ -]")
LARGEST = 1e18  # the square of a larger number is none that 32 bits hold


@dataclass(frozen=True)
class TextPrediction(Prediction):
    """The likeliest class, the number, or all classes above one half; the probability of each class."""

    label: str | float | tuple[str, ...]
    probabilities: dict[str, float]


class SequenceTask(Task):
    """Labels are what the examples hold: a str is one class of several, a float a number, a tuple any classes."""

    head = BertForSequenceClassification
    best = "accuracy"

    def settle(self, examples: Sequence[TextExample]) -> dict:
        labels = [known_label(example.id, example.label) for example in examples]
        if isinstance(labels[0], float):
            self.best = "spearman"
            return {"problem_type": "regression", "num_labels": 1}
        several = isinstance(labels[0], tuple)
        names = sorted_labels({name for label in labels for name in (label if several else (label,))})
        if len(names) < (1 if several else 2):
            raise InputError(f"all {len(labels)} examples have the label {names[0]!r}: there is nothing to learn")
        if len(names) > MOST_CLASSES:
            raise InputError(f"{len(names)} different labels are no classes; numbers? --set problem=regression")
        self.best = "micro_f1" if several else "accuracy"
        problem = "multi_label_classification" if several else "single_label_classification"
        return {"problem_type": problem, "id2label": dict(enumerate(names))}

    def check(self, examples: Iterable[TextExample], config: BertConfig) -> None:
        for example in examples:
            check_labels(example.id, example.label, config)

    def features(self, examples: Sequence[TextExample], config: BertConfig, learn: bool) -> list[Feature]:
        return text_features(examples, self.tokenizer, self.max_length, config.label2id if learn else None)

    def decode(self, model, examples: Sequence[TextExample], features: Sequence[Feature]) -> list[TextPrediction]:
        found: dict[int, TextPrediction] = {}
        for chosen, out in self.outputs(model, features):
            said = text_predictions(model.config, out.logits.float().cpu())
            found |= zip((feature.example for feature in chosen), said, strict=True)
        return [found[number] for number in range(len(examples))]

    def measures(self, examples: Sequence[TextExample], predictions: Sequence[TextPrediction]) -> dict[str, float]:
        gold, said = [example.label for example in examples], [prediction.label for prediction in predictions]
        if isinstance(said[0], float):
            return score_numbers(gold, said)
        names = list(predictions[0].probabilities)
        return (score_label_sets if isinstance(said[0], tuple) else score_classes)(gold, said, names)

    def judged(self, examples: Sequence[TextExample], predictions: Sequence[TextPrediction]) -> list[Judged]:
        return [
            Judged(e.id, shown(e), in_words(e.label), in_words(p.label), _wrong(e.label, p))
            for e, p in zip(examples, predictions, strict=True)
        ]

    def baselines(self, known: Sequence[TextExample], examples: Sequence[TextExample]) -> dict[str, dict[str, float]]:
        if isinstance(known[0].label, float):
            mean = math.fsum(example.label for example in known) / len(known)
            constant = TextPrediction(mean, {})
            return {"always the mean": self.measures(examples, [constant] * len(examples))}
        frequent = Counter(example.label for example in known).most_common(1)[0][0]
        names = {name for e in [*known, *examples] for name in (e.label if isinstance(e.label, tuple) else (e.label,))}
        constant = TextPrediction(frequent, dict.fromkeys(sorted_labels(names), 0.0))
        return {"always the most frequent": self.measures(examples, [constant] * len(examples))}

    def confusions(self, examples, predictions) -> list[tuple[str, str]] | None:
        if not isinstance(predictions[0].label, str):
            return None
        return [(e.label, p.label) for e, p in zip(examples, predictions, strict=True)]


def text_prediction(config: BertConfig, logits: Tensor) -> TextPrediction:
    """Return the prediction for one text from its logits (N,)."""
    return text_predictions(config, logits[None])[0]


def text_predictions(config: BertConfig, logits: Tensor) -> list[TextPrediction]:
    """Return the prediction for each of B texts from their logits (B, N)."""
    problem, names = problem_of(config), list(config.id2label.values())
    if problem == "regression":
        return [TextPrediction(number, {}) for number in logits[:, 0].tolist()]
    several = problem == "multi_label_classification"
    shares = logits.sigmoid() if several else logits.softmax(-1)  # (B, N)
    choose = _above_half if several else _likeliest
    rows = (dict(zip(names, row, strict=True)) for row in shares.tolist())
    return [TextPrediction(choose(probabilities), probabilities) for probabilities in rows]


def _likeliest(probabilities: dict[str, float]) -> str:
    return max(probabilities, key=probabilities.get)


def _above_half(probabilities: dict[str, float]) -> tuple[str, ...]:
    return tuple(name for name, p in probabilities.items() if p > 0.5)


def problem_of(config: BertConfig) -> str:
    """config.problem_type; where it is not set, as in many published checkpoints, a single label is a number."""
    return config.problem_type or ("regression" if config.num_labels == 1 else "single_label_classification")


def check_labels(name: str, label: str | float | tuple | None, config: BertConfig) -> None:
    """InputError for an example without a label that `config` knows."""
    known_label(name, label)
    numbers = problem_of(config) == "regression"
    if isinstance(label, float) != numbers:
        kind = "a class" if numbers else "no class"
        raise InputError(f"example {name}: the label {label!r} is {kind}, unlike the model's")
    if numbers and abs(label) > LARGEST:
        raise InputError(f"example {name}: the label {label:g} is too large to learn: scale the numbers, to 0..1 or so")
    for one in () if numbers else label if isinstance(label, tuple) else (label,):
        if one not in config.label2id:
            raise InputError(f"example {name}: the model knows no label {one!r}; it knows {_listed(config.label2id)}")


def known_label(name: str, label: str | float | tuple | None) -> str | float | tuple:
    """The label; InputError for an example without one."""
    if label is None:
        raise InputError(f"example {name}: has no label to learn from or to be measured by")
    return label


def _listed(names, most: int = 12) -> str:
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def sorted_labels(names: set[str]) -> list[str]:
    """In the order of their numbers if all are numbers, else of their letters; but "not_x" stands before "x", as in
    GLUE: of two classes the second is the positive one."""
    ordered = sorted(names)  # so that "1" and "1.0", or "nan", have their place too
    try:
        return sorted(ordered, key=float)
    except ValueError:
        return sorted(ordered, key=lambda name: (NEGATION.sub("", name), not NEGATION.match(name)))


def shown(example: TextExample) -> str:
    return example.text if example.pair is None else f"{example.text} | {example.pair}"


def in_words(label: str | float | tuple[str, ...]) -> str:
    if isinstance(label, tuple):
        return ", ".join(label) or "none"
    return f"{label:.3f}" if isinstance(label, float) else label


def _wrong(label: str | float | tuple[str, ...], prediction: TextPrediction) -> float:
    if isinstance(label, float):
        return abs(label - prediction.label)
    if isinstance(label, tuple):
        shares = prediction.probabilities.items()
        return math.fsum(surprise(p if name in label else 1 - p) for name, p in shares)
    return surprise(prediction.probabilities[label])
