"""Looks at the dev set while a model is fine-tuned: which weights were best, and whether it is time to end."""

from collections.abc import Callable, Iterator, Sequence

from torch import Tensor

from bertlab.model.base import PretrainedModel
from bertlab.tasks.base import Task
from bertlab.training.engine.micro_batches import Batch

Row = dict[str, float]


class Looks:
    """A row for each look: step and the measures of the task. The weights of the best one are kept, on the CPU."""

    def __init__(
        self,
        task: Task,
        model: PretrainedModel,
        examples: Sequence,
        patience: int = 0,
        on_look: Callable[[Row], None] | None = None,
    ):
        """After `patience` looks without a better figure it is enough; 0: never. Without `examples` nothing is done."""
        self._task, self._model, self._examples = task, model, examples
        self._patience, self._on_look = patience, on_look
        self.rows: list[Row] = []
        self._best: dict[str, Tensor] = {}

    def after(self, step: int) -> None:
        """Measure the model as it is after `step`, and keep it if it is better than before."""
        if not self._examples:
            return
        training = self._model.training
        predictions = list(self._task.predict(self._model, self._examples))
        self._model.train(training)
        self.rows.append({"step": step, **self._task.measures(self._examples, predictions)})
        if best_of(self.rows, self._task) is self.rows[-1]:
            self._best = {name: tensor.to("cpu", copy=True) for name, tensor in self._model.state_dict().items()}
        if self._on_look:
            self._on_look(self.rows[-1])

    @property
    def enough(self) -> bool:
        since = len(self.rows) - 1 - self.rows.index(best_of(self.rows, self._task)) if self.rows else 0
        return 0 < self._patience <= since

    def until_enough(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches, until it is enough."""
        for batch in batches:
            if self.enough:
                return
            yield batch

    def take_best(self) -> None:
        """Give the model the best weights that were seen."""
        if self._best:
            self._model.load_state_dict(self._best)

    def state(self) -> dict:
        """What `go_on` needs to go on looking after a kill."""
        return {"looks": self.rows, "best": self._best}

    def go_on(self, state: dict) -> None:
        self.rows, self._best = list(state["looks"]), state["best"]


def best_of(rows: Sequence[Row], task: Task) -> Row:
    """The first of the rows with the best figure."""
    return max(rows, key=lambda row: row[task.best])
