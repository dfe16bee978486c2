"""transformers' Trainer on the rows that bertlab makes, from the same weights: what it learns and how fast."""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from random import Random

import transformers
from transformers import DataCollatorForTokenClassification, DataCollatorWithPadding, Trainer, TrainingArguments

from bertlab.inputs.features import Feature, collate
from bertlab.model.base import PretrainedModel
from bertlab.tasks.base import Task
from bertlab.training.engine.callbacks import Callbacks
from bertlab.training.engine.devices import Devices
from bertlab.training.engine.loop import LoopSettings, train
from bertlab.training.engine.precision import Precision
from bertlab.training.engine.throughput import encoder_operations
from bertlab.training.finetune import by_length, start_model
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.task_loss import task_loss

WARM = 5  # steps of a burst that are not timed
Burst = Callable[[list[list[Feature]], list[float]], None]  # trains on these batches, notes when each step began

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def arguments(recipe: FinetuneRecipe, folder: Path, **changes) -> TrainingArguments:
    """The recipe's AdamW, batch size and schedule."""
    settings = recipe.optim
    quiet = {"logging_strategy": "no", "save_strategy": "no", "report_to": "none", "disable_tqdm": True}
    return TrainingArguments(
        str(folder),
        per_device_train_batch_size=recipe.batch_size,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=settings.warmup,  # below 1 it is a share of the steps
        weight_decay=settings.weight_decay,
        adam_beta2=settings.beta2,
        max_grad_norm=settings.clip,
        seed=recipe.seed,
        use_cpu=True,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        **quiet | changes,
    )


def make_trainer(start: Path, features: Sequence[Feature], settings: TrainingArguments, **options) -> Trainer:
    """A Trainer that goes on from the checkpoint `start`; rows are padded to the longest of their batch."""
    kind = transformers.BertConfig.from_pretrained(start).architectures[0]
    tokenizer = transformers.AutoTokenizer.from_pretrained(start)
    by_word = isinstance(features[0].targets.get("labels"), list)
    collator = (DataCollatorForTokenClassification if by_word else DataCollatorWithPadding)(tokenizer)
    model = getattr(transformers, kind).from_pretrained(start)
    trainer = Trainer(model, settings, collator, [item(feature) for feature in features], **options)
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def item(feature: Feature) -> dict:
    row = feature.rows[0]
    return {
        "input_ids": row.ids,
        "token_type_ids": row.types,
        "attention_mask": [1] * len(row.ids),
        **feature.targets,
    }


def learn(recipe: FinetuneRecipe, task: Task, examples: Sequence) -> tuple[PretrainedModel, float, int]:
    """The model after the recipe's steps, opened by bertlab so that it is measured alike; seconds and steps."""
    settled = task.head_fields(examples)
    with tempfile.TemporaryDirectory() as place:
        folder, features = checkpoint(recipe, task, examples, Path(place))
        steps = recipe.count_steps(len(features))
        trainer = make_trainer(folder, features, arguments(recipe, folder / "out", max_steps=steps))
        begun = time.perf_counter()
        trainer.train()
        seconds = time.perf_counter() - begun
        trainer.save_model(folder / "learned")
        return task.head.from_pretrained(folder / "learned", **settled), seconds, steps


def checkpoint(recipe: FinetuneRecipe, task: Task, examples: Sequence, folder: Path) -> tuple[Path, list[Feature]]:
    """What bertlab's fine-tuning starts from, as a folder, and the rows that it learns from."""
    model = start_model(recipe, task, task.head_fields(examples))
    model.save_pretrained(folder, task.tokenizer)
    return folder, task.features(examples, model.config, learn=True)


class Clock(transformers.TrainerCallback):
    """Notes when each step of a Trainer begins."""

    def __init__(self, moments: list[float]):
        self.moments = moments

    def on_step_begin(self, *_, **__) -> None:
        self.moments.append(time.perf_counter())


def their_burst(start: Path, recipe: FinetuneRecipe, bf16: bool, batches: list[list[Feature]], moments: list) -> None:
    order = {"train_sampling_strategy": "sequential", "max_steps": len(batches), "bf16": bf16}
    features = [feature for batch in batches for feature in batch]
    with tempfile.TemporaryDirectory() as place:
        settings = arguments(recipe, Path(place), **order)
        make_trainer(start, features, settings, callbacks=[Clock(moments)]).train()


def our_burst(
    start: Path, recipe: FinetuneRecipe, task: Task, precision: Precision, batches: list[list[Feature]], moments: list
) -> None:
    """The training of bertlab.training.finetune on these batches."""
    model = task.head.from_pretrained(start)

    def stream() -> Iterator[dict]:
        for batch in batches:
            moments.append(time.perf_counter())
            yield collate(batch, task.tokenizer)

    settings = LoopSettings(len(batches), recipe.optim, progress=False)
    how = {"operations": partial(encoder_operations, model.config), "devices": Devices("cpu").settle(precision)}
    train(model, stream(), task_loss, settings, Callbacks(log_every=20), **how)


def contestants(start: Path, ours: FinetuneRecipe, adamw: FinetuneRecipe, task: Task) -> dict[str, Burst]:
    return {
        "Trainer, float32": partial(their_burst, start, adamw, False),
        "Trainer, bfloat16": partial(their_burst, start, adamw, True),
        "bertlab, AdamW, float32": partial(our_burst, start, adamw, task, "float32"),
        "bertlab, AdamW": partial(our_burst, start, adamw, task, "auto"),
        "bertlab": partial(our_burst, start, ours, task, "auto"),
    }


def race(
    ours: FinetuneRecipe, adamw: FinetuneRecipe, task: Task, examples: Sequence, rounds: int, steps: int
) -> dict[str, list[float]]:
    """Examples a second of each contestant in each round; they take turns, on the same batches of like length."""
    rates: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        start, features = checkpoint(adamw, task, examples, Path(place))
        bursts = contestants(start, ours, adamw, task)
        for number in range(rounds):
            batches = full_batches(features, adamw.batch_size, WARM + steps + 1, number)
            for name, burst in bursts.items():
                moments: list[float] = []
                burst(batches, moments)
                timed = moments[-1] - moments[WARM]
                rates.setdefault(name, []).append((len(moments) - WARM - 1) * adamw.batch_size / timed)
    return rates


def full_batches(features: Sequence[Feature], size: int, count: int, seed: int) -> list[list[Feature]]:
    """Of an epoch's batches so many, none of them shorter; after its end they come again."""
    full = [batch for batch in by_length(features, size, Random(seed)) if len(batch) == size]
    return [[features[number] for number in batch] for batch in islice(cycle(full), count)]
