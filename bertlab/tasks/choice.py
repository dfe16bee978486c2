"""Which of several continuations is the right one (Devlin et al. 2019, section 4.4)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bertlab.config import BertConfig
from bertlab.corpora.examples import ChoiceExample
from bertlab.errors import InputError
from bertlab.inputs.features import Feature, choice_features
from bertlab.model import BertForMultipleChoice, ClassifierOutput
from bertlab.model.base import PretrainedModel
from bertlab.tasks.base import Compared, Given, Prediction, Task, TaskName, lazily, ranked, surprisal
from bertlab.tasks.measures import score_choices


@dataclass(frozen=True)
class ChoicePrediction(Prediction):
    """The number of the likeliest choice, from 0, and the probability of each."""

    choice: int
    probabilities: tuple[float, ...]


class ChoiceTask(Task[ChoiceExample, ChoicePrediction]):
    """All examples have the same number of choices."""

    names = {"choice": TaskName("which of several continuations is right", lazily("storyworld", "choices"))}
    head = BertForMultipleChoice
    best = "accuracy"
    options = frozenset({"pooling", "layer_mix", "label_smoothing"})
    given = (("text", "choices"),)
    read_rows = staticmethod(lazily("labelled.tabular", "choice_examples"))

    def head_fields(self, examples: Sequence[ChoiceExample]) -> dict[str, Any]:
        return {}

    def check(self, examples: Iterable[ChoiceExample], config: BertConfig) -> None:
        for example in examples:
            _right(example)

    def features(self, examples: Sequence[ChoiceExample], config: BertConfig, learn: bool) -> list[Feature]:
        for example in examples:
            if len(example.choices) != len(examples[0].choices):
                counts = f"{len(example.choices)} choices, {examples[0].id} has {len(examples[0].choices)}"
                raise InputError(f"example {example.id}: has {counts}: give all the same number")
        return choice_features(examples, self.tokenizer, self.max_length)

    def read_output(self, config: BertConfig, out: ClassifierOutput) -> list[ChoicePrediction]:
        shares = out.logits.float().softmax(-1)  # (B, C)
        rows = zip(shares.argmax(-1).tolist(), shares.tolist(), strict=True)
        return [ChoicePrediction(choice, tuple(row)) for choice, row in rows]

    def predict_given(self, model: PretrainedModel, given: Given, top: int) -> list[dict]:
        text, choices = given["text"], given["choices"]
        if len(choices) < 2:
            raise InputError("--choices: give two or more to choose from")
        prediction = next(self.predict(model, [ChoiceExample("", text, choices)]))
        return ranked(zip(choices, prediction.probabilities, strict=True))  # all of them, whatever `top` is

    def measures(self, examples: Sequence[ChoiceExample], predictions: Sequence[ChoicePrediction]) -> dict[str, float]:
        return score_choices([_right(example) for example in examples], [p.choice for p in predictions])

    def baselines(
        self, known: Sequence[ChoiceExample], examples: Sequence[ChoiceExample]
    ) -> dict[str, dict[str, float]]:
        from bertlab.tasks.baselines import likeliest_choice

        guesses = [ChoicePrediction(likeliest_choice(example), ()) for example in examples]
        return {
            "by chance": {"accuracy": 1 / len(examples[0].choices)},
            "word overlap": self.measures(examples, guesses),
        }

    def compare(self, examples: Sequence[ChoiceExample], predictions: Sequence[ChoicePrediction]) -> list[Compared]:
        compared = []
        for e, p in zip(examples, predictions, strict=True):
            right = _right(e)
            error = surprisal(p.probabilities[right])
            compared.append(Compared(e.id, e.text, e.choices[right], e.choices[p.choice], error))
        return compared


def _right(example: ChoiceExample) -> int:
    """Return the number of the right choice; InputError for an example that does not name it."""
    if example.label is None:
        raise InputError(f"example {example.id}: does not tell which choice is right")
    return example.label
