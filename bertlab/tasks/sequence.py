"""One class, a number or several classes for a text or a pair (Devlin et al. 2019, section 4.1)."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from bertlab.config import BertConfig
from bertlab.corpora.examples import Label, Problem, TextExample
from bertlab.errors import InputError, printable
from bertlab.inputs.features import Feature, text_features
from bertlab.model import BertForSequenceClassification
from bertlab.model.base import PretrainedModel
from bertlab.tasks.base import Compared, Given, Prediction, Task, TaskName, lazily, ranked, surprisal
from bertlab.tasks.measures import score_classes, score_label_sets, score_numbers

MOST_CLASSES = 1000  # more different labels than this are no classes
FEW_NUMBERS = 10  # decimals that may be classes, as half stars are
NEGATION = re.compile("(not|non|no)[_ -]")
LARGEST = 1e18  # the square of a larger number overflows 32 bits


class UnknownLabelError(InputError):
    """An example has `labels` that the model does not know."""

    def __init__(self, message: str, labels: Sequence[str]):
        super().__init__(message)
        self.labels = labels


@dataclass(frozen=True)
class TextPrediction(Prediction):
    """The likeliest class, the number, or all classes above one half, in alphabetical order; and the probability of
    each class."""

    label: Label
    probabilities: dict[str, float]


class SequenceTask(Task[TextExample, TextPrediction]):
    """The labels tell the problem: a str is one class of several, a float a number, a tuple any number of classes.

    `best` follows the labels that `head_fields` has seen.
    """

    names = {
        "sentence": TaskName("a class, a number or several classes for each text"),
        "pair": TaskName("the same for each pair of texts", pairs=True),
        "sentiment": TaskName("what a text thinks of its subject", lazily("storyworld", "sentiment")),
        "entailment": TaskName(
            "whether the second text follows from the first", lazily("storyworld", "entailment"), True
        ),
        "matching": TaskName("whether two texts mean the same", lazily("storyworld", "matching"), pairs=True),
    }
    head = BertForSequenceClassification
    best = "accuracy"
    options = frozenset({"problem", "pooling", "layer_mix", "label_smoothing", "class_weights"})
    given = (("text",), ("text", "pair"))
    read_rows = staticmethod(lazily("labelled.tabular", "text_examples"))

    def head_fields(self, examples: Sequence[TextExample]) -> dict[str, Any]:
        labels = [known_label(example.id, example.label) for example in examples]
        if isinstance(labels[0], float):
            self.best = "spearman"
            return {"problem_type": "regression", "num_labels": 1}
        several = isinstance(labels[0], tuple)
        names = sorted_labels({name for label in labels for name in classes(label)})
        if not names:
            raise InputError(f"none of the {len(labels)} examples has a label: there is nothing to learn")
        if len(names) < 2 and not several:
            raise InputError(f"all {len(labels)} examples have the label {names[0]!r}: there is nothing to learn")
        if not several and are_measurements(names, len(labels)):
            raise InputError(
                f"the labels are {len(names):,} different numbers, such as {names[0]} and {names[1]}, not classes: "
                "--set problem=regression learns them"
            )
        if len(names) > MOST_CLASSES:
            raise InputError(f"{len(names)} different labels are no classes; numbers? --set problem=regression")
        self.best = "micro_f1" if several else "accuracy"
        problem = "multi_label_classification" if several else "single_label_classification"
        return {"problem_type": problem, "id2label": dict(enumerate(names))}

    @staticmethod
    def counted_labels(example: TextExample) -> Iterable[str]:
        return classes(example.label)

    def check(self, examples: Iterable[TextExample], config: BertConfig) -> None:
        for example in examples:
            check_label(example.id, example.label, config)

    def features(self, examples: Sequence[TextExample], config: BertConfig, learn: bool) -> list[Feature]:
        return text_features(examples, self.tokenizer, self.max_length, config.label2id if learn else None)

    def decode(self, model: PretrainedModel, examples: Sequence[TextExample]) -> list[TextPrediction]:
        """Of a text that is read in windows: from the mean of their logits, which multiplies what they say."""
        numbers, rows = [], []
        for chosen, out in self.outputs(model, self.features(examples, model.config, learn=False)):
            numbers += [feature.example for feature in chosen]
            rows.append(out.logits.float().cpu())  # (B, N)
        logits, owner = torch.cat(rows), torch.tensor(numbers)  # (W, N), (W,) of all windows
        sums = torch.zeros(len(examples), logits.size(1)).index_add_(0, owner, logits)
        return text_predictions(model.config, sums / owner.bincount()[:, None])

    def predict_given(self, model: PretrainedModel, given: Given, top: int) -> list[dict]:
        prediction = next(self.predict(model, [TextExample("", given["text"], given.get("pair"))]))
        if not prediction.probabilities:
            return [{"value": prediction.label}]
        return ranked((printable(name), p) for name, p in prediction.probabilities.items())[:top]

    def measures(self, examples: Sequence[TextExample], predictions: Sequence[TextPrediction]) -> dict[str, float]:
        gold: list = [example.label for example in examples]
        predicted: list = [prediction.label for prediction in predictions]
        if isinstance(predicted[0], float):
            return score_numbers(gold, predicted)
        names = list(predictions[0].probabilities)
        return (score_label_sets if isinstance(predicted[0], tuple) else score_classes)(gold, predicted, names)

    def baselines(self, known: Sequence[TextExample], examples: Sequence[TextExample]) -> dict[str, dict[str, float]]:
        from bertlab.tasks.baselines import has_linear_models, predicted_by_overlap, predicted_by_tfidf, skipped

        labels = [known_label(example.id, example.label) for example in known]
        numbers = isinstance(labels[0], float)
        mean = math.fsum(label for label in labels if isinstance(label, float)) / len(labels)
        usual: Label = mean if numbers else Counter(labels).most_common(1)[0][0]
        found = {"always the mean" if numbers else "always the most frequent": [usual] * len(examples)}
        guesses = {f"TF-IDF, {'ridge' if numbers else 'logistic'} regression": predicted_by_tfidf}
        if known[0].pair is not None:
            guesses["word overlap"] = predicted_by_overlap
        for name, guess in guesses.items() if has_linear_models() else ():
            with skipped(name):
                found[name] = guess(known, examples)
        names = {name for label in [*labels, *(e.label for e in examples)] for name in classes(label)}
        shares = {} if numbers else dict.fromkeys([*self.labels, *sorted_labels(names)], 0.0)  # the model's order
        return {
            name: self.measures(examples, [TextPrediction(label, shares) for label in predicted])
            for name, predicted in found.items()
        }

    def compare(self, examples: Sequence[TextExample], predictions: Sequence[TextPrediction]) -> list[Compared]:
        compared = []
        for e, p in zip(examples, predictions, strict=True):
            text = e.text if e.pair is None else f"{e.text} | {e.pair}"
            sure = p.probabilities[p.label] if isinstance(p.label, str) else None
            compared.append(Compared(e.id, text, in_words(e.label), in_words(p.label), _error(e.label, p), sure))
        return compared

    def confusions(
        self, examples: Sequence[TextExample], predictions: Sequence[TextPrediction]
    ) -> list[tuple[str, str]] | None:
        if not isinstance(predictions[0].label, str):
            return None
        return [(str(e.label), str(p.label)) for e, p in zip(examples, predictions, strict=True)]


def are_measurements(names: Sequence[str], examples: int) -> bool:
    """Return whether the labels of so many examples look like numbers to be learned as such: decimals among them, and
    more than FEW_NUMBERS or, of few examples, more than half as many as these."""
    try:
        numbers = [float(name.replace(",", ".")) for name in names]  # 3,5 is a decimal, too
    except ValueError:
        return False
    return not all(number.is_integer() for number in numbers) and len(names) > min(FEW_NUMBERS, examples / 2)


def text_prediction(config: BertConfig, logits: Tensor) -> TextPrediction:
    """Return the prediction for one text from its logits (N,)."""
    return text_predictions(config, logits[None])[0]


def text_predictions(config: BertConfig, logits: Tensor) -> list[TextPrediction]:
    """Return the prediction for each of B texts from their logits (B, N). InputError: they are several numbers."""
    problem, names = problem_of(config), list(config.label2id)
    if problem == "regression":
        if (count := logits.size(1)) > 1:
            raise InputError(f"the model gives {count} numbers for each text (num_labels); bertlab reads one")
        return [TextPrediction(number, {}) for number in logits[:, 0].tolist()]
    several = problem == "multi_label_classification"
    shares = logits.sigmoid() if several else logits.softmax(-1)  # (B, N)
    found = []
    for row in shares.tolist():
        above_half = tuple(sorted(name for name, share in zip(names, row, strict=True) if share > 0.5))
        label: Label = above_half if several else names[row.index(max(row))]
        found.append(TextPrediction(label, dict(zip(names, row, strict=True))))
    return found


def problem_of(config: BertConfig) -> Problem:
    """Return config.problem_type; if that is not set, as in many published checkpoints, one label means a number."""
    guess = "regression" if config.num_labels == 1 else "single_label_classification"
    return cast(Problem, config.problem_type or guess)  # the config has checked it


def check_label(name: str, label: Label | None, config: BertConfig) -> None:
    """Raise InputError for a label that is missing, or that a model with this config cannot give."""
    label = known_label(name, label)
    numbers = problem_of(config) == "regression"
    if isinstance(label, float) != numbers:
        kind = "a class" if numbers else "no class"
        raise InputError(f"example {name}: the label {label!r} is {kind}, unlike the model's")
    if isinstance(label, float):
        if abs(label) > LARGEST:
            advice = "scale the numbers, to 0..1 or so"
            raise InputError(f"example {name}: the label {label:g} is too large to learn: {advice}")
        return
    if unknown := [one for one in classes(label) if one not in config.label2id]:
        raise UnknownLabelError(
            f"example {name}: the model knows no label {unknown[0]!r}; it knows {_listed(config.label2id)}", unknown
        )


def known_label(name: str, label: Label | None) -> Label:
    """Return the label; InputError for an example without one."""
    if label is None:
        raise InputError(f"example {name}: has no label to learn from or to be measured by")
    return label


def classes(label: Label | None) -> tuple[str, ...]:
    """Return the classes of a label: one, or any number."""
    if isinstance(label, tuple):
        return label
    return (label,) if isinstance(label, str) else ()


def _listed(names: Iterable[str], most: int = 12) -> str:
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def sorted_labels(names: set[str]) -> list[str]:
    """Return the labels by number if all are numbers, else by letter; but "not_x" comes before "x", as in GLUE: of two
    classes the second is the positive one."""
    ordered = sorted(names)  # so that "1" and "1.0", or "nan", have their place too
    try:
        return sorted(ordered, key=float)
    except ValueError:
        return sorted(ordered, key=lambda name: (NEGATION.sub("", name), not NEGATION.match(name)))


def in_words(label: Label | None) -> str:
    if isinstance(label, tuple):
        return ", ".join(label) or "none"
    return f"{label:.3f}" if isinstance(label, float) else str(label)


def _error(label: Label | None, prediction: TextPrediction) -> float:
    if isinstance(label, float) and isinstance(prediction.label, float):
        return abs(label - prediction.label)
    if isinstance(label, tuple):
        shares = prediction.probabilities.items()
        return math.fsum(surprisal(p if name in label else 1 - p) for name, p in shares)
    return surprisal(prediction.probabilities[str(label)])
