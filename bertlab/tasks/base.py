"""What is particular about a task family, in one shape: the same trainer, evaluation and prediction serve all four."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from math import log

import torch

from bertlab.config import BertConfig
from bertlab.inputs.features import Batch, Feature, collate
from bertlab.model.base import PretrainedModel
from bertlab.tokenizer import Tokenizer

CHUNK = 1024  # examples that are read at a time, and sorted by length
TOKENS, GPU_TOKENS = 1024, 16_384  # of model input at a time: enough for full speed, few enough to need little padding


class Prediction:
    """What a model says of one example; each family has its own, a frozen dataclass."""

    def as_row(self) -> dict:
        """As plain data, for a line of JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Judged:
    """One example beside its prediction, for a report: `shown` is its text, `wrong` 0 for a perfect answer and more
    the further off it is (-log of the probability of the right class, say)."""

    id: str
    shown: str
    gold: str
    said: str
    wrong: float


class Task(ABC):
    """One family: how its examples become rows, and what the head's scores for them mean."""

    head: type[PretrainedModel]
    best: str  # the measure by which checkpoints are compared; higher is better

    def __init__(self, tokenizer: Tokenizer, max_length: int):
        self.tokenizer, self.max_length = tokenizer, max_length

    @abstractmethod
    def settle(self, examples: Sequence) -> dict:
        """Fields of the config (num_labels, id2label, problem_type) that a head for these examples needs."""

    @abstractmethod
    def check(self, examples: Iterable, config: BertConfig) -> None:
        """InputError for an example without a label, or with one that a model with this config cannot give."""

    @abstractmethod
    def features(self, examples: Sequence, config: BertConfig, learn: bool) -> list[Feature]:
        """Rows of the examples, in their order; with `learn`, for examples that were checked, with their targets."""

    @abstractmethod
    def decode(self, model: PretrainedModel, examples: Sequence, features: Sequence[Feature]) -> list[Prediction]:
        """One prediction for each example, from a model in eval mode."""

    @abstractmethod
    def measures(self, examples: Sequence, predictions: Sequence[Prediction]) -> dict[str, float]:
        """How good the predictions are, by the measures that the field has for this family."""

    @abstractmethod
    def judged(self, examples: Sequence, predictions: Sequence[Prediction]) -> list[Judged]:
        """Each example beside its prediction, for a report."""

    def baselines(self, known: Sequence, examples: Sequence) -> dict[str, dict[str, float]]:
        """What guesses that need no model reach on `examples`, having seen `known`: their names in words, measures."""
        return {}

    def confusions(self, examples: Sequence, predictions: Sequence[Prediction]) -> list[tuple[str, str]] | None:
        """(right, said) class of each thing that has one; None where there are no classes."""
        return None

    def tune(self, model: PretrainedModel, examples: Sequence) -> None:  # noqa: B027 (most families need none)
        """Settle on the dev set what no gradient teaches."""

    def predict(self, model: PretrainedModel, examples: Iterable) -> Iterator[Prediction]:
        """A prediction for each example, in their order; about a thousand of them are in memory at a time."""
        examples = iter(examples)
        while chunk := list(islice(examples, CHUNK)):
            with torch.inference_mode():  # not around the yield: it would hold for the caller too
                predictions = self.decode(model.eval(), chunk, self.features(chunk, model.config, learn=False))
            yield from predictions

    def outputs(self, model: PretrainedModel, features: Sequence[Feature]) -> Iterator[tuple[list[Feature], object]]:
        """(features, output of the model) batch by batch, those of like length together: so little of a batch is
        padding that packing would cost more than it saves."""
        on_cpu = next(model.parameters()).device.type == "cpu"
        for chosen in batches(features, TOKENS if on_cpu else GPU_TOKENS):
            yield chosen, model(**self.inputs(chosen, model))

    def inputs(self, features: Sequence[Feature], model: PretrainedModel) -> Batch:
        """The batch of these features on the model's device, without targets."""
        device = next(model.parameters()).device
        batch = collate([Feature(feature.rows) for feature in features], self.tokenizer)
        return {name: tensor.to(device) for name, tensor in batch.items()}


def batches(features: Iterable[Feature], tokens: int) -> Iterator[list[Feature]]:
    """The features by length, as many at a time as fill at most `tokens` with their padding; at least one."""
    chosen: list[Feature] = []
    for feature in sorted(features, key=lambda feature: feature.length):
        if chosen and (len(chosen) + 1) * len(feature.rows) * feature.length > tokens:
            yield chosen
            chosen = []
        chosen.append(feature)
    if chosen:
        yield chosen


def surprise(probability: float) -> float:
    """-log of the probability that the right answer got; 0 where it got all."""
    return -log(max(probability, 1e-12))
