"""What a task family is: one class that holds everything particular about it.

Training, evaluation, prediction and the command line reach a family through this class alone, so a new one is a file
and a call of `bertlab.tasks.registry.register`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import islice
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import torch

from bertlab.config import BertConfig
from bertlab.corpora.examples import Problem
from bertlab.errors import InputError
from bertlab.inputs.features import Batch, Feature, collate
from bertlab.io.files import INHERITED
from bertlab.model.base import PretrainedModel, beside
from bertlab.tokenizer import Tokenizer

if TYPE_CHECKING:
    from bertlab.corpora.labelled.columns import Columns
    from bertlab.corpora.labelled.hub_datasets import HubSet
    from bertlab.corpora.labelled.records import Record
    from bertlab.corpora.labelled.tabular import ReadOptions
    from bertlab.corpora.reading import Skipped

CHUNK = 1024  # examples that are read at a time, and sorted by length
CPU_TOKENS, GPU_TOKENS = 1024, 16_384  # of input at a time: enough for full speed, few enough to need little padding

Given = Mapping[str, Any]  # what a user typed for one prediction: text, pair, choices, question, passage


class Prediction:
    """The model's prediction for one example; each family has its own, a frozen dataclass."""

    def as_row(self) -> dict:
        """Return it as plain data, for a line of JSON."""
        return asdict(self)  # type: ignore[call-overload]  # subclasses are dataclasses


Example = TypeVar("Example")
Predicted = TypeVar("Predicted", bound=Prediction)
Row = TypeVar("Row", bound=Feature)


@dataclass(frozen=True)
class Compared:
    """An example beside its prediction, for a report. `error` is 0 for a perfect prediction and grows with the mistake:
    the surprisal of the right class, say. `probability` is that of the predicted class, where there is one."""

    id: str
    text: str
    gold: str
    predicted: str
    error: float
    probability: float | None = None


def lazily(module: str, name: str) -> Callable[..., Iterator]:
    """Return the function of that name in a module of bertlab.corpora, which is imported only when it is called."""
    return lambda *given: getattr(import_module(f"bertlab.corpora.{module}"), name)(*given)


@dataclass(frozen=True)
class TaskName:
    """A name by which users call a family: what it is for, in words, and examples that are at hand (seed, count,
    split), of the storyworld or from docstrings. `pairs`: each example has two texts."""

    about: str
    storyworld: Callable[[int, int, str], Iterator] | None = None
    pairs: bool = False
    docstrings: Callable[[int, int, str], Iterator] | None = None

    @property
    def at_hand(self) -> Callable[[int, int, str], Iterator] | None:
        """The examples that need no file."""
        return self.storyworld or self.docstrings


@dataclass(frozen=True, kw_only=True)
class NamedTask(TaskName):
    """A TaskName with its family."""

    family: "type[Task]"

    @property
    def segments(self) -> int:
        """How many texts stand in a row."""
        both = self.pairs or all(len(form) > 1 for form in self.family.given)
        return 2 if both and not self.family.apart else 1


class Task(ABC, Generic[Example, Predicted]):
    """A task family: its names, its head, and how its examples are read, encoded, predicted, measured and shown."""

    names: ClassVar[Mapping[str, TaskName]]
    head: ClassVar[type[PretrainedModel]]
    best: str  # the measure that checkpoints are compared by; higher is better
    target: ClassVar[str] = "labels"  # the tensor that holds what the loss is a mean over
    options: ClassVar[frozenset[str]] = (
        frozenset()
    )  # fields of FinetuneRecipe that not every family heeds, but this one
    whole_batches: ClassVar[bool] = False  # the loss compares the rows of a batch, which must not be cut
    apart: ClassVar[bool] = False  # each text of an example is a row of its own
    usual_length: ClassVar[int] = 128  # tokens of a row
    given: tuple[tuple[str, ...], ...] = (("text",),)  # what one prediction is made from: any one of these
    line_formats: ClassVar[
        Mapping[str, Callable[[Any], str]]
    ] = {}  # by file ending: a prediction as lines, beside JSON
    labels: Sequence[str] = ()  # of the model that is trained or open, in its order
    learned: NamedTask | None = None  # of a run folder: the task that it was fine-tuned for
    cut: int = 0  # inputs that were cut so far, at `cut_at` tokens, to be predicted for
    batch_size: int | None = None  # rows, or windows, that the model predicts at a time; None: as many as suit it

    def __init__(self, tokenizer: Tokenizer, max_length: int, stride: int = 0):
        """`stride` is for families that read a long text in windows: tokens from one to the next, 0 for the usual."""
        self.tokenizer, self.max_length = tokenizer, max_length

    @property
    def cut_at(self) -> int:
        """How many tokens are read of an input, or of the part of it that may be cut."""
        return self.max_length

    # Reading

    @staticmethod
    @abstractmethod
    def read_rows(records: "Iterator[Record]", source: str, options: "ReadOptions") -> Iterator:
        """Yield the examples of rows with named columns, from a file or the hub; errors call them `source`."""

    @classmethod
    def read_file(cls, path: Path, options: "ReadOptions") -> Iterator[Example]:
        """Yield the examples of a file; by default one of rows (.csv, .tsv, .jsonl, .txt)."""
        from bertlab.corpora.labelled.records import read_records

        records = read_records(path, options.encoding, options.skipped, options.columns, labelled=options.labelled)
        return cls.read_rows(records, str(path), options)

    @classmethod
    def read_examples(cls, path: Path, options: "ReadOptions") -> Iterator[Example]:
        """Yield the examples of a file. InputError names the file and line of a bad row, or a file without examples."""
        return some(cls.read_file(path, options), path, options.skipped)

    def read_new(self, path: Path, options: "ReadOptions") -> Iterator[Example]:
        """Yield the examples of a file to predict; by default it is one like those to learn from, without labels."""
        return self.read_examples(path, options)

    @classmethod
    def check_first(cls, path: Path, options: "ReadOptions") -> None:
        """Raise the InputErrors of `read_examples` that the first example of a file shows. What comes through a pipe
        can be read but once, so it is left alone."""
        if INHERITED.fullmatch(str(path)):
            return
        examples = cls.read_file(path, options)
        next(examples, None)
        if isinstance(examples, Generator):
            examples.close()  # and with it the file

    @classmethod
    def hub_set(cls, name: str, columns: "Columns", problem: Problem) -> "HubSet":
        """Return a data set by its short name (sst2, squad, ...), or any by its address with these columns.

        InputError: the short name is that of a data set for another family, or of one with other columns or another
        problem than are asked for.
        """
        from bertlab.corpora.labelled.hub_datasets import HUB, HubSet

        if name not in HUB:
            return HubSet(name, columns=columns, problem=problem)
        if HUB[name].task not in cls.names:
            fitting = ", ".join(other for other in HUB if HUB[other].task in cls.names)
            raise InputError(f"--dataset {name}: is for another task; for this one there are {fitting or 'none'}")
        own = HUB[name]
        if columns not in (own.columns, HubSet.columns) or problem not in (own.problem, HubSet.problem):
            known = f"its columns are known, and its problem is {own.problem}"
            raise InputError(f"--dataset {name}: {known}; to choose others, give its address: --dataset {own.address}")
        return own

    # Learning

    @abstractmethod
    def head_fields(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Return the fields of the config (num_labels, id2label, problem_type) that a head for these examples needs."""

    @abstractmethod
    def check(self, examples: Iterable[Example], config: BertConfig) -> None:
        """Raise InputError for an example without a label, or with one that a model with this config cannot give."""

    def knows(self, example: Example, config: BertConfig) -> bool:
        """Return whether an example has a label that a model with this config can give."""
        try:
            self.check([example], config)
        except InputError:
            return False
        return True

    @abstractmethod
    def features(self, examples: Sequence[Example], config: BertConfig, learn: bool) -> Sequence[Feature]:
        """Return the rows of the examples, in their order; with `learn`, of checked examples, with their targets."""

    @staticmethod
    def counted_labels(example: Example) -> Iterable[str]:
        """Return the labels of an example, for a warning of labels that are too rare to be learned."""
        return ()

    def tune(self, model: PretrainedModel, examples: Sequence[Example]) -> None:  # noqa: B027 (most families need none)
        """Choose on the dev set what no gradient teaches."""

    # Predicting

    def read_output(self, config: BertConfig, out: Any) -> list[Predicted]:
        """Return the predictions for a batch from the output of the head. Needed unless `decode` is replaced."""
        raise NotImplementedError

    def decode(self, model: PretrainedModel, examples: Sequence[Example]) -> list[Predicted]:
        """Return one prediction for each example, from a model in eval mode; by default each example is one row."""
        found: dict[int, Predicted] = {}
        for chosen, out in self.outputs(model, self.features(examples, model.config, learn=False)):
            predictions = self.read_output(model.config, out)
            found |= zip((feature.example for feature in chosen), predictions, strict=True)
        return [found[number] for number in range(len(examples))]

    def predict(self, model: PretrainedModel, examples: Iterable[Example]) -> Iterator[Predicted]:
        """Yield a prediction for each example, in their order; about a thousand examples are in memory at a time."""
        examples = iter(examples)
        while chunk := list(islice(examples, CHUNK)):
            with torch.inference_mode():  # not around the yield: it would hold for the caller too
                predictions = self.decode(model.eval(), chunk)
            yield from predictions

    def outputs(self, model: PretrainedModel, features: Sequence[Row]) -> Iterator[tuple[list[Row], Any]]:
        """Yield (features, output of the model) batch by batch. Features of like length share a batch: so little of it
        is padding that packing would cost more than it saves."""
        on_cpu = next(model.parameters()).device.type == "cpu"
        for chosen in batches(features, CPU_TOKENS if on_cpu else GPU_TOKENS, self.batch_size):
            self.cut += sum(feature.cut > 0 for feature in chosen)
            yield chosen, model(**self.inputs(chosen, model))

    def inputs(self, features: Sequence[Feature], model: PretrainedModel) -> Batch:
        """Return the batch of these features on the model's device, without targets."""
        return beside(model, collate([Feature(feature.rows) for feature in features], self.tokenizer))

    @abstractmethod
    def predict_given(self, model: PretrainedModel, given: Given, top: int) -> list[dict]:
        """Return the prediction for one input as rows to print: "text" with "probability", "value", or "kind", "text",
        "start" and "end". At most `top` rows where they are alternatives."""

    # Measuring

    @abstractmethod
    def measures(self, examples: Sequence[Example], predictions: Sequence[Predicted]) -> dict[str, float]:
        """Return how good the predictions are, by the field's measures for this family, `best` among them."""

    def baselines(self, known: Sequence[Example], examples: Sequence[Example]) -> dict[str, dict[str, float]]:
        """Return the measures on `examples` of guesses that need no model but have seen `known`, by name."""
        return {}

    @abstractmethod
    def compare(self, examples: Sequence[Example], predictions: Sequence[Predicted]) -> list[Compared]:
        """Return each example beside its prediction, for a report."""

    def confusions(self, examples: Sequence[Example], predictions: Sequence[Predicted]) -> list[tuple[str, str]] | None:
        """Return the (right, predicted) class of each thing that has one; None where there are no classes."""
        return None


def some(examples: Iterator[Example], source: str | Path, skipped: "Skipped | None") -> Iterator[Example]:
    """Yield the same examples; InputError where there is none."""
    if (first := next(examples, None)) is None:
        why = f" that can be used: {skipped}" if skipped else ""
        raise InputError(f"{source}: holds no example{why}")
    yield first
    yield from examples


def batches(features: Iterable[Row], tokens: int, size: int | None = None) -> Iterator[list[Row]]:
    """Yield the features by length, `size` at a time; without `size` as many as fill at most `tokens` with their
    padding, at least one."""
    chosen: list[Row] = []
    for feature in sorted(features, key=lambda feature: feature.length):
        tokens_then = (len(chosen) + 1) * len(feature.rows) * feature.length
        if chosen and (len(chosen) >= size if size else tokens_then > tokens):
            yield chosen
            chosen = []
        chosen.append(feature)
    if chosen:
        yield chosen


def surprisal(probability: float) -> float:
    """Return -ln of the probability of the right answer, in nats: 0 where it is 1."""
    return -log(max(probability, 1e-12))


def ranked(probabilities: Iterable[tuple[str, float]]) -> list[dict]:
    """Return (text, probability) pairs as rows, likeliest first."""
    rows = sorted(probabilities, key=lambda pair: -pair[1])
    return [{"text": text, "probability": probability} for text, probability in rows]
