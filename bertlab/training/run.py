"""One training from opening to saving: the steps that pretraining and fine-tuning share, in their order."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import nn

from bertlab.model.base import PretrainedModel
from bertlab.tokenizer import Tokenizer
from bertlab.training.engine.callbacks import Callbacks, call_each, open_loggers, require_loggers
from bertlab.training.engine.checkpoints import State
from bertlab.training.engine.devices import Devices, check_processes
from bertlab.training.engine.loop import LoopSettings, LossFunction, train
from bertlab.training.engine.micro_batches import Batch
from bertlab.training.engine.precision import Products
from bertlab.training.engine.reproducibility import Conditions, fixed_conditions
from bertlab.training.engine.throughput import Row
from bertlab.training.run_folder import RunFolder, fingerprint
from bertlab.training.run_settings import RunSettings

if TYPE_CHECKING:
    from bertlab.training.finetune_recipe import FinetuneRecipe
    from bertlab.training.recipes import PretrainRecipe

Log = Callable[[Row], None]


@dataclass
class Run:
    """A training: its clock starts here, and a device or logger that is not there is refused. `opened` begins it."""

    settings: RunSettings
    devices: Devices = field(init=False)
    folder: RunFolder | None = field(init=False, default=None)  # None: nothing is written, or by another process
    state: State | None = field(init=False, default=None)  # what a resumed run goes on from
    conditions: Conditions = field(init=False)
    log: Log | None = field(init=False, default=None)  # gets each row of the training
    log_evaluation: Log | None = field(init=False, default=None)  # gets each evaluation on the dev set

    def __post_init__(self) -> None:
        self._began = time.perf_counter()
        require_loggers(self.settings.tensorboard, self.settings.wandb)
        self.devices = Devices(self.settings.device, self.settings.devices)

    @contextmanager
    def opened(
        self,
        recipe: "PretrainRecipe | FinetuneRecipe",
        out: str | Path | None,
        products: Products,
        *,
        keep: int = 2,
        minutes: float | None = None,
        whole_batches: bool = False,
    ) -> Iterator[Self]:
        """Start the processes, hold the run folder, fix precision and threads, until the block ends.

        `products` are the largest of a step, by which the precision is chosen. `out` is the run folder (None: nothing
        is written) with the newest `keep` states; `whole_batches`: processes cannot share one. InputError: a folder
        that another run uses or that holds another one.
        """
        devices, settings = self.devices, self.settings
        check_processes(devices, recipe.batch_size, whole_batches)
        devices.launch()
        devices.settle(settings.precision, products).connect()
        with ExitStack() as self._held:
            if out and devices.is_first:
                folder = RunFolder(out, recipe, keep, settings.resume)
                self.folder = self._held.enter_context(folder)
            self.state = devices.broadcast(self.folder.saved_state(minutes) if self.folder else None)
            self.conditions = self._held.enter_context(fixed_conditions(devices, self.state, settings.precision))
            yield self

    @property
    def first(self) -> int:
        """The step that the state was saved after; 0 for a new run."""
        return self.state["step"] if self.state else 0

    @property
    def stopped(self) -> bool:
        """Whether a signal or Ctrl-C ended the run, which can be resumed."""
        return bool(self.folder and self.folder.stopped)

    @property
    def seconds(self) -> float:
        """The seconds since the run was made, and those of the tries before."""
        return time.perf_counter() - self._began + (self.state["seconds"] if self.state else 0.0)

    def begin(self, data: Iterable[Any], on_log: Log | None, on_evaluation: Log | None = None) -> None:
        """Write where and on which data (a hash of them) the run takes place, and open its logs.

        InputError: the data are not those that a resumed run began with.
        """
        self.log, self.log_evaluation = call_each(on_log), call_each(on_evaluation)
        if self.folder:
            self.folder.begin(fingerprint(data), self.conditions)
            wanted = self.settings.tensorboard, self.settings.wandb
            loggers = open_loggers(self.folder.folder, self.first, *wanted)
            log, log_evaluation = self._held.enter_context(loggers)
            self.log = call_each(self.folder.log, log, on_log)
            self.log_evaluation = call_each(self.folder.log_evaluation, log_evaluation, on_evaluation)

    def announce(self, *what: Any) -> None:
        """Hand to `on_start` what the run begins with, and its conditions."""
        if self.settings.on_start and self.devices.is_first:
            self.settings.on_start(*what, self.conditions)

    @property
    def save_state(self) -> Callable[[State | None, bool], None] | None:
        """What saves a state of the training; None where nothing is written."""
        return self.folder.save_state if self.folder else None

    def snapshot(self, model: PretrainedModel, tokenizer: Tokenizer, step: int) -> None:
        """Save the model as it is after `step`, in 16 bits."""
        if self.folder:
            self.folder.save(model, tokenizer, step, dtype=torch.float16)

    def fit(
        self,
        model: nn.Module,
        batches: Iterable[Batch],
        loss: LossFunction,
        loop: LoopSettings,
        callbacks: Callbacks,
        **how: Any,
    ) -> list[Row]:
        """Train the model, from the state if there is one, and return the logged rows; `how` is for `train`."""
        callbacks = replace(callbacks, log=self.log)
        rows = train(model, batches, loss, loop, callbacks, resume=self.state, devices=self.devices, **how)
        model.requires_grad_(True)
        return rows

    def finish(self, model: PretrainedModel, tokenizer: Tokenizer, then: Callable[[], None] | None = None) -> None:
        """Save the model; call `then` and delete the states unless the run was stopped."""
        if self.folder:
            self.folder.save(model, tokenizer, dtype=torch.float16 if self.settings.half else None)
        if self.folder and not self.folder.stopped:
            if then:
                then()
            self.folder.states.remove()
