"""Evaluate on the dev set while a model is fine-tuned: keep the best weights, and end when nothing gets better."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch import Tensor

from bertlab.model.base import PretrainedModel
from bertlab.tasks.base import Task
from bertlab.training.engine.micro_batches import Batch
from bertlab.training.engine.throughput import Row


class DevSet:
    """One row for each evaluation: step and the measures of the task. The best weights are kept, on the CPU."""

    def __init__(
        self,
        task: Task,
        model: PretrainedModel,
        examples: Sequence,
        patience: int = 0,
        on_evaluation: Callable[[Row], None] | None = None,
    ):
        """`patience` evaluations in a row without a better figure end the training; 0: none do. Without `examples`
        nothing is evaluated."""
        self.task, self.model, self._examples = task, model, examples
        self._patience, self._on_evaluation = patience, on_evaluation
        self.rows: list[Row] = []
        self._best: dict[str, Tensor] = {}

    def evaluate(self, step: int) -> None:
        """Measure the model as it is after `step`; keep its weights if they are the best so far."""
        if not self._examples:
            return
        training = self.model.training
        predictions = list(self.task.predict(self.model, self._examples))
        self.model.train(training)
        self.rows.append({"step": step, **self.task.measures(self._examples, predictions)})
        if best_of(self.rows, self.task) is self.rows[-1]:
            self._best = {name: tensor.to("cpu", copy=True) for name, tensor in self.model.state_dict().items()}
        if self._on_evaluation:
            self._on_evaluation(self.rows[-1])

    @property
    def out_of_patience(self) -> bool:
        since = len(self.rows) - 1 - self.rows.index(best_of(self.rows, self.task)) if self.rows else 0
        return 0 < self._patience <= since

    def while_patient(self, batches: Iterator[Batch], agree: Callable[[bool], bool]) -> Iterator[Batch]:
        """Yield the batches until patience is out; of several processes the first one evaluates, and `agree` returns
        its answer to all."""
        for batch in batches:
            if self._patience and agree(self.out_of_patience):
                return
            yield batch

    def load_best(self) -> None:
        """Give the model the best weights that were seen."""
        if self._best:
            self.model.load_state_dict(self._best)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on after a kill."""
        return {"evaluations": self.rows, "best": self._best}

    def restore(self, state: dict[str, Any]) -> None:
        self.rows, self._best = list(state["evaluations"]), state["best"]


def best_of(rows: Sequence[Row], task: Task) -> Row:
    """Return the first of the rows with the best figure."""
    return max(rows, key=lambda row: row[task.best])
