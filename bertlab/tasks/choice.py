"""Which of several continuations is the right one (Devlin et al. 2019, section 4.4)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bertlab.config import BertConfig
from bertlab.corpora.examples import ChoiceExample
from bertlab.errors import InputError
from bertlab.inputs.features import Feature, choice_features
from bertlab.model import BertForMultipleChoice
from bertlab.tasks.base import Judged, Prediction, Task, surprise
from bertlab.tasks.measures import score_choices


@dataclass(frozen=True)
class ChoicePrediction(Prediction):
    """The number of the likeliest choice, from 0, and the probability of each."""

    choice: int
    probabilities: tuple[float, ...]


class ChoiceTask(Task):
    """All examples have the same number of choices."""

    head = BertForMultipleChoice
    best = "accuracy"

    def settle(self, examples: Sequence[ChoiceExample]) -> dict:
        return {}

    def check(self, examples: Iterable[ChoiceExample], config: BertConfig) -> None:
        for example in examples:
            if example.label is None:
                raise InputError(f"example {example.id}: does not tell which choice is right")

    def features(self, examples: Sequence[ChoiceExample], config: BertConfig, learn: bool) -> list[Feature]:
        for example in examples:
            if len(example.choices) != len(examples[0].choices):
                counts = f"{len(example.choices)} choices, {examples[0].id} has {len(examples[0].choices)}"
                raise InputError(f"example {example.id}: has {counts}: give all the same number")
        return choice_features(examples, self.tokenizer, self.max_length)

    def decode(self, model, examples: Sequence[ChoiceExample], features: Sequence[Feature]) -> list[ChoicePrediction]:
        found: dict[int, ChoicePrediction] = {}
        for chosen, out in self.outputs(model, features):
            shares = out.logits.float().softmax(-1)  # (B, C)
            rows = zip(chosen, shares.argmax(-1).tolist(), shares.tolist(), strict=True)
            found |= {feature.example: ChoicePrediction(choice, tuple(row)) for feature, choice, row in rows}
        return [found[number] for number in range(len(examples))]

    def measures(self, examples: Sequence[ChoiceExample], predictions: Sequence[ChoicePrediction]) -> dict[str, float]:
        return score_choices([example.label for example in examples], [p.choice for p in predictions])

    def baselines(self, known: Sequence[ChoiceExample], examples: Sequence[ChoiceExample]):
        return {"by chance": {"accuracy": 1 / len(examples[0].choices)}}

    def judged(self, examples: Sequence[ChoiceExample], predictions: Sequence[ChoicePrediction]) -> list[Judged]:
        return [
            Judged(e.id, e.text, e.choices[e.label], e.choices[p.choice], surprise(p.probabilities[e.label]))
            for e, p in zip(examples, predictions, strict=True)
        ]
