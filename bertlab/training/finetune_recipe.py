"""What a fine-tuning depends on, in one frozen record."""

from dataclasses import dataclass
from typing import Literal

from bertlab.corpora.examples import Problem
from bertlab.errors import InputError, at_least_one, check_batch_size, check_seed
from bertlab.training.engine.optim import OWN, Optimization


@dataclass(frozen=True)
class FinetuneRecipe:
    """A head for a task on top of a pretrained encoder, and how both are trained (Devlin et al. 2019, appendix A.3)."""

    task: str = "sentiment"  # a name of bertlab.tasks.NAMES
    model: str = "storyworld-tiny"
    examples: int = 32_000  # of the storyworld; unused with a file of your own
    # head
    problem: Problem = "single_label_classification"  # of texts and pairs: a class, a number, any number of classes
    pooling: Literal["cls", "mean"] = "cls"
    layer_mix: Literal["last", "second-to-last", "sum-last-4", "concat-last-4", "scalar-mix"] = "last"
    token_decoder: Literal["linear", "cnn", "crf"] = "linear"
    dropout: float | None = None  # that of the model if not given
    freeze: str = "none"  # embeddings, encoder, or how many of the lowest layers are left as they are
    lora: int = 0  # rank of the low-rank changes that alone are learned with the head; 0: all weights are
    # input
    max_length: int = 128  # tokens of a row
    stride: int = 0  # tokens from one window of a long passage to the next; 0: a third of max_length
    # training
    batch_size: int = 32
    epochs: float = 3.0
    steps: int = 0  # instead of epochs
    label_smoothing: float = 0.0
    class_weights: Literal["none", "balanced"] = "none"  # balanced: rare classes count as much as frequent ones
    evaluate_every: int = 0  # steps between two evaluations on the dev set; 0: once an epoch
    patience: int = 0  # evaluations in a row without a better figure that end the training; 0: none do
    snapshot_steps: tuple[int, ...] = ()
    optim: Optimization = OWN  # of the model above; bertlab.training.engine.optim has what suits others
    seed: int = 0

    def __post_init__(self) -> None:
        at_least_one(examples=self.examples, max_length=self.max_length)
        check_batch_size(self.batch_size)
        for name in ("stride", "steps", "evaluate_every", "patience", "lora"):
            if getattr(self, name) < 0:
                raise InputError(f"{name}={getattr(self, name)}: must not be negative")
        check_seed(self.seed)
        if not 0 < self.epochs < float("inf"):
            raise InputError(f"epochs={self.epochs}: must be above 0")
        if not 0 <= self.label_smoothing < 1:
            raise InputError(f"label_smoothing={self.label_smoothing}: must be at least 0 and below 1")
        self.check_loss(self.problem)
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise InputError(f"dropout={self.dropout}: must be at least 0 and below 1")

    def check_loss(self, problem: Problem) -> None:
        """Raise an InputError for a loss that does not fit the problem which is learned."""
        for name, off in (("label_smoothing", 0.0), ("class_weights", "none")):
            value = getattr(self, name)
            if value != off and (self.token_decoder == "crf" or problem != "single_label_classification"):
                raise InputError(f"{name}={value}: is for one class of several, and not for a CRF")

    @property
    def name(self) -> str:
        """The name of the run folder and its card."""
        return f"{self.model.rstrip('/').rpartition('/')[2]}-{self.task}"

    def count_steps(self, features: int) -> int:
        """Return the number of steps for so many features an epoch."""
        return self.steps or max(1, round(self.epochs * -(-features // self.batch_size)))
