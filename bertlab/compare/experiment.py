"""Run what a table asks for, each training once: its result is kept in a folder named by a hash of all it depends on.

A folder appears when its training is complete. So a comparison that was killed goes on with the training that it was
in, and tables share the models that they have in common.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import islice
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bertlab.compare.material import Material, Texts
from bertlab.compare.systems import RATE, Budget, System, Table
from bertlab.compare.tables import TASKS
from bertlab.inputs.features import Batch
from bertlab.inputs.masking import Masking
from bertlab.io.atomic import atomic_folder
from bertlab.io.json_files import read_json
from bertlab.model import BertForPreTraining
from bertlab.model.base import PretrainedModel, best_device
from bertlab.relatives.kinds import carried_parameters, find_relative, head_on
from bertlab.relatives.sequence_to_sequence import SequenceToSequence, SequenceToSequenceTask
from bertlab.tasks.base import Task
from bertlab.tasks.measures import answer_score
from bertlab.tasks.span import SpanTask, right_answers
from bertlab.tasks.token import TokenTask, entities
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import batches, token_ids
from bertlab.training.dev_set import best_of
from bertlab.training.engine.throughput import Row
from bertlab.training.finetune import finetune, task_and_fields
from bertlab.training.pretrain import own_objective, pretrain
from bertlab.training.recipes import PretrainRecipe
from bertlab.training.run_folder import locked
from bertlab.training.run_settings import FinetuneSettings, PretrainSettings

FORMAT = 1  # raise it when a change of the code changes results
SYMMETRIC = ("matching",)  # tasks whose pairs have no order
RESULT, WEIGHTS, MODEL = "result.json", "weights.pt", "model"
HELD_OUT_BATCHES = 8


@dataclass(frozen=True)
class Result:
    """What one system reached on one task with one seed, and what that took."""

    system: str
    task: str
    seed: int
    measure: str
    scores: np.ndarray  # (N, 2), see bertlab.compare.statistics
    guess: float  # the best that needs no model
    pretraining: dict[str, float]  # parameters, operations, seconds; of those that predict masked words masked_loss
    rate: float
    seconds: float

    @property
    def value(self) -> float:
        numerator, denominator = self.scores.sum(0)
        return float(numerator / max(denominator, 1e-12))

    def record(self) -> dict[str, Any]:
        """Return it for JSON, rounded; the scores as numerators and denominators, 1 where each example counts once."""
        columns = np.round(self.scores, 4).T.tolist()
        numerators, denominators = ([int(x) if x == int(x) else x for x in column] for column in columns)
        pretraining = {name: float(f"{value:.4g}") for name, value in self.pretraining.items()}
        rounded = {"pretraining": pretraining, "seconds": round(self.seconds, 1), "guess": round(self.guess, 4)}
        return vars(self) | rounded | {"scores": [numerators, 1 if {*denominators} == {1} else denominators]}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "Result":
        numerators, denominators = (np.array(numbers, dtype=float) for numbers in record["scores"])
        return cls(**(record | {"scores": np.stack(np.broadcast_arrays(numerators, denominators), axis=-1)}))


@dataclass
class Experiment:
    """A folder of finished trainings, the text and tasks at hand, and the budget of each training."""

    folder: Path
    budget: Budget
    material: Material
    device: str = "auto"

    def run(
        self, table: Table, seeds: Sequence[int], tell: Callable[[str], None] = lambda message: None
    ) -> list[Result]:
        """Return the results of all systems, seeds and tasks; `tell` gets a line before each that is still to do."""
        wanted = [
            (system, task, seed)
            for seed in seeds  # so that a comparison that is cut short has some seeds of all systems
            for system in table.systems
            for task in self._tasks(table, system)
        ]
        results = []
        with locked(self.folder):
            for number, (system, task, seed) in enumerate(wanted, start=1):
                where = f"{number} of {len(wanted)}: {system.name}, {task}, seed {seed}"
                results.append(self.result(system, task, seed, partial(tell, where)))
        return results

    def _tasks(self, table: Table, system: System) -> tuple[str, ...]:
        """Return the tasks of a system, or the one that stands in for them in a small budget."""
        tasks = self.material.tasks(table.tasks, system.tasks)
        if self.material.labelled:
            return tasks
        return tuple(dict.fromkeys(self.budget.task or task if task in TASKS else task for task in tasks))

    # Pretraining

    def pretrained(self, system: System, seed: int) -> Path:
        """Return the folder of what a system pretrains, made now unless it is there."""
        recipe = system.pretraining(self.budget, seed)
        text = self.material.name(system.text, system.text_share)
        parts = {"relative": system.relative, "recipe": asdict(recipe), "text": text, "device": self.device}
        folder = self.folder / "pretrained" / f"{system.relative}-{digest(parts)}"
        if not (folder / RESULT).exists():
            self._pretrain(system, recipe, folder, parts)
        return folder

    def _pretrain(self, system: System, recipe: Any, folder: Path, parts: dict[str, Any]) -> None:
        relative, settings = find_relative(system.relative), self.settings
        texts = self.material.texts(system.text or "own", system.text_share)
        tokenizer = self.material.tokenizer(system.text or "own", recipe)
        found = {"operations": 0.0, "seconds": 0.0}
        if system.text:
            if system.teacher:
                recipe = replace(recipe, teacher=str(self.pretrained(system.teacher, recipe.seed) / MODEL))
            objective = relative.objective or own_objective(recipe, tokenizer)
            counter = Counter(objective.operations)
            counted = replace(objective, operations=counter)
            began = time.process_time()
            done = pretrain(
                recipe, texts, settings=settings, tokenizer=tokenizer, objective=counted, progress=False, log_every=100
            )
            check_ended(done.rows, recipe.steps)
            model: Any = done.model
            found = {"operations": counter.total, "seconds": done.rows[-1]["seconds"]}
            if self.device == "cpu" or best_device() == "cpu":  # others may use the processor too: its own time counts
                found["seconds"] = time.process_time() - began
            if isinstance(model, BertForPreTraining) and not model.config.is_decoder:
                found["masked_loss"] = masked_loss(model, tokenizer, self.material.texts("held out", 1.0), recipe)
        else:
            model = relative.new_model(recipe, tokenizer)
        found["parameters"] = carried_parameters(relative.encoder(model))
        with atomic_folder(folder) as work:
            torch.save(model.state_dict(), work / WEIGHTS)
            tokenizer.save_pretrained(work)
            if isinstance(model, BertForPreTraining):
                model.save_pretrained(work / MODEL, tokenizer)  # for its students
            (work / "config.json").write_text(json.dumps(recipe.config(tokenizer.vocab_size).to_dict(), indent=2))
            (work / RESULT).write_text(json.dumps(found | {"made_from": parts}, indent=2))

    @cached_property
    def settings(self) -> PretrainSettings:
        """Return the settings of all trainings: float32 everywhere, so that only what is compared differs."""
        return PretrainSettings(device=self.device, precision="float32")  # type: ignore[arg-type]

    # Fine-tuning

    def result(self, system: System, task: str, seed: int, tell: Callable[[], None] = lambda: None) -> Result:
        """Return what a system reaches on a task with one seed, read from its folder or found out now."""
        recipe = replace(self.budget.finetune, task=task, seed=seed)
        sizes = {"dev": self.budget.dev, "test": self.budget.test, "rates": self.budget.rates}
        pretraining = system.pretraining(self.budget, seed)
        parts = {
            "relative": system.relative,
            "layers": system.layers,
            "pretraining": asdict(pretraining),
            "text": self.material.name(system.text, system.text_share),
            "recipe": asdict(recipe),
            "examples": self.material.examples_name(task),
            "device": self.device,
            **sizes,
        }
        folder = self.folder / "finetuned" / f"{system.relative}-{task}-{digest(parts)}"
        if not (folder / RESULT).exists():
            tell()
            found = self._finetune(system, recipe, self.pretrained(system, seed))
            with atomic_folder(folder) as work:
                (work / RESULT).write_text(json.dumps(found | {"made_from": parts}))
        found = read_json(folder / RESULT)
        return Result(
            system.name,
            task,
            seed,
            found["measure"],
            np.array(found["scores"], dtype=float),
            found["guess"],
            found["pretraining"],
            found["rate"],
            found["seconds"],
        )

    def _finetune(self, system: System, recipe: Any, folder: Path) -> dict[str, Any]:
        """Fine-tune once for each rate; return the test scores of the one that was best on the dev examples."""
        sizes = {"train": recipe.examples, "dev": self.budget.dev, "test": self.budget.test}
        train, dev, test = (
            self.material.examples(recipe.task, split, size, recipe.seed) for split, size in sizes.items()
        )
        recipe = replace(recipe, task=self.material.task(recipe.task), model=str(folder), examples=len(train))
        trials = []
        for rate in self.budget.rates:
            trial = replace(recipe, optim=replace(recipe.optim, learning_rate=rate))
            head = self._head(system, trial, train, folder)
            settings = FinetuneSettings(device=self.settings.device, precision=self.settings.precision)
            trials.append(finetune(trial, train, dev, settings=settings, model=head, progress=False))
            check_ended(trials[-1].rows, trial.count_steps(len(train)))
        reached = [best_of(trial.evaluations, trial.task)[trial.task.best] for trial in trials]
        best = trials[int(np.argmax(reached))]
        predictions = list(best.task.predict(best.model, test))
        guesses = [guess[best.task.best] for guess in best.task.baselines(train, test).values()]
        pretraining = {k: v for k, v in read_json(folder / RESULT).items() if k != "made_from"}
        return {
            "measure": best.task.best,
            "scores": scores(best.task, test, predictions).tolist(),
            "guess": max(guesses, default=0.0),
            "pretraining": pretraining,
            "rate": self.budget.rates[int(np.argmax(reached))],
            "seconds": sum(trial.rows[-1]["seconds"] for trial in trials),
        }

    def _head(self, system: System, recipe: Any, examples: Sequence, folder: Path) -> PretrainedModel:
        """Return a new head, drawn from the seed, on the pretrained weights."""
        relative, tokenizer = find_relative(system.relative), Tokenizer.from_pretrained(folder)
        pretraining = system.pretraining(self.budget, recipe.seed)
        model = relative.new_model(pretraining, tokenizer)
        model.load_state_dict(torch.load(folder / WEIGHTS, weights_only=True))
        task, fields = task_and_fields(recipe, examples)
        config = pretraining.config(tokenizer.vocab_size).changed(**fields)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(recipe.seed)
            if isinstance(task, SequenceToSequenceTask):
                decoding = SequenceToSequence(config, tokenizer.cls_token_id, tokenizer.sep_token_id)
                return decoding.from_encoder(relative.encoder(model)) if system.text else decoding
            pair = recipe.task in SYMMETRIC
            return head_on(relative, model, task.head, config, tokenizer, system.layers, pair)  # type: ignore[return-value]


@torch.inference_mode()
def masked_loss(model: BertForPreTraining, tokenizer: Tokenizer, texts: Texts, recipe: PretrainRecipe) -> float:
    """Return the mean loss of masked words on held-out text: the same texts and masks for every model."""
    shown = replace(recipe, second_task="none", masking=Masking(RATE, 1.0, 0.0), batch_size=32, phases=(), seed=0)
    found = islice(batches(token_ids(texts, tokenizer), tokenizer, shown), HELD_OUT_BATCHES)
    losses = [(float(out.mlm_loss), len(out.masked_labels)) for out in (model(**batch) for batch in found)]
    return sum(loss * count for loss, count in losses) / sum(count for _, count in losses)


class Counter:
    """The operations of all steps, as they are counted for the log."""

    def __init__(self, operations: Callable[[Any, Batch], float]):
        self.operations, self.total = operations, 0.0

    def __call__(self, model: Any, batch: Batch) -> float:
        found = self.operations(model, batch)
        self.total += found
        return found


def check_ended(rows: Sequence[Row], steps: int) -> None:
    """Raise KeyboardInterrupt if a signal stopped the training before its last step, so that it is not kept."""
    if not rows or rows[-1]["step"] < steps:
        raise KeyboardInterrupt


def scores(task: Task, examples: Sequence, predictions: Sequence) -> np.ndarray:
    """Return what each example adds to the numerator and the denominator of the task's measure: (N, 2)."""
    pairs = list(zip(examples, predictions, strict=True))
    if isinstance(task, TokenTask) and task.best == "token_accuracy":
        return np.array([(sum(map(eq, e.labels, p.labels)), len(e.labels)) for e, p in pairs], dtype=float)
    if isinstance(task, TokenTask):
        both = [(set(entities(e.words, e.labels)), set(p.entities)) for e, p in pairs]
        return np.array([(2 * len(right & found), len(right) + len(found)) for right, found in both], dtype=float)
    if isinstance(task, SequenceToSequenceTask):
        return np.array([task.right_words(e, p) for e, p in pairs], dtype=float)
    if isinstance(task, SpanTask):
        return np.array([(answer_score(right_answers(e), p.text)[1], 1) for e, p in pairs], dtype=float)
    compared = task.compare(examples, predictions)
    return np.array([(one.gold == one.predicted, 1) for one in compared], dtype=float)


def digest(parts: dict[str, Any]) -> str:
    """Return a short hash of all that a result depends on."""
    return hashlib.sha256(json.dumps([FORMAT, parts], sort_keys=True, default=asdict).encode()).hexdigest()[:12]
