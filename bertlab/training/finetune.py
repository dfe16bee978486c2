"""Fine-tune: a pretrained encoder and one new layer learn a task together (Devlin et al. 2019, section 4)."""

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.inputs.features import Feature, collate
from bertlab.model import BertModel
from bertlab.model.attend import few_sizes
from bertlab.model.base import OTHER_MODEL, PretrainedModel, check_first_token
from bertlab.tasks.base import Task
from bertlab.tasks.registry import family_of, find_task, foreign_options
from bertlab.tasks.sequence import problem_of
from bertlab.tokenizer import Tokenizer
from bertlab.training.dev_set import DevSet
from bertlab.training.engine.callbacks import Callbacks
from bertlab.training.engine.checkpoints import State
from bertlab.training.engine.loop import LoopSettings
from bertlab.training.engine.micro_batches import Batch
from bertlab.training.engine.optim import freeze
from bertlab.training.engine.precision import Products
from bertlab.training.engine.throughput import Row, encoder_operations
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.run import Run
from bertlab.training.run_settings import FinetuneSettings
from bertlab.training.task_loss import loss_of

POOL = 50  # batches whose examples are sorted by length together
LEAST_SAVE = 50  # steps from one state to the next: that of a large model takes seconds to write
HEAD = ("pooling", "layer_mix", "token_decoder")  # fields of the config that decide the kind of head


@dataclass
class Finetuned:
    """The result of a run: the best model in eval mode, its tokenizer and task, the logged rows, the evaluations on
    the dev set, the seconds it took in all. `stopped`: Ctrl-C, SIGTERM or SIGUSR1 ended the run; it can be resumed."""

    model: PretrainedModel
    tokenizer: Tokenizer
    task: Task
    rows: list[Row]
    evaluations: list[Row]
    seconds: float
    stopped: bool = False


def finetune(
    recipe: FinetuneRecipe,
    examples: Sequence,
    dev: Sequence = (),
    *,
    settings: FinetuneSettings = FinetuneSettings(),  # noqa: B008 (frozen, so safe to share)
    model: PretrainedModel | None = None,
    out: str | Path | None = None,
    on_log: Callable[[Row], None] | None = None,
    log_every: int = 20,
    progress: bool = True,
) -> Finetuned:
    """Train a head for `recipe.task` and the encoder under it on `examples`; keep the checkpoint that is best on `dev`.

    `examples` and `dev` are TextExamples, TokenExamples, QAExamples or ChoiceExamples, as the task reads them. `model`
    is trained instead of one opened by `recipe.model`: it has the head already, and with `lora` that encoder's weights.
    Everything random follows from the recipe's seed. `out` is the run folder (None: nothing is written); the snapshots
    of `snapshot_steps` go there in 16 bits. `settings` say where to train, what to save and what to call on the way;
    `on_log` gets every logged row. With `lora` the run folder holds an adapter; the model of the result is merged.

    Every `save_every` steps, or where evaluations on the dev set are more frequent, at these (at least 50 steps apart),
    the whole state goes to the run folder. With `resume` a run goes on from there after a kill or Ctrl-C, to the same
    weights. With `devices` above 1 PyTorch's launcher runs this process's command line once for each of them, and this
    process ends with their exit code. The first of them alone writes, evaluates and has the best checkpoint in the end.
    InputError: no examples, a label that does not fit, a run folder in use.
    """
    run = Run(settings)
    task, model, features = prepare(recipe, examples, dev, model)
    with run.opened(recipe, out, products(recipe, model, features), whole_batches=task.whole_batches):
        learned = ((feature.rows, feature.targets) for feature in features)
        run.begin(chain(learned, dev), on_log, settings.on_evaluation)
        dev_set = DevSet(task, model, dev, recipe.patience, run.log_evaluation)
        if run.state:
            dev_set.restore(run.state)
        run.announce(task)
        rows = run.fit(
            model,
            dev_set.while_patient(batches(features, task.tokenizer, recipe, run.first), run.devices.broadcast),
            loss_of(recipe, task, model, features),
            LoopSettings(recipe.count_steps(len(features)), recipe.optim, seed=recipe.seed, progress=progress),
            replace(callbacks(recipe, len(features), dev_set, run), log_every=log_every),
            operations=partial(encoder_operations, model.config),
        )
        if run.devices.is_first:
            dev_set.load_best()
            if not run.stopped:
                task.tune(model.to(run.devices.device), dev)
        model.to("cpu")
        run.finish(model, task.tokenizer)
        if model.adapted_from:
            from bertlab.model.lora import merge

            merge(model)
    return Finetuned(model, task.tokenizer, task, rows, dev_set.rows, run.seconds, run.stopped)


def callbacks(recipe: FinetuneRecipe, features: int, dev_set: DevSet, run: Run) -> Callbacks:
    """Evaluate on the dev set, and save snapshots and states in the run folder, for so many `features` an epoch."""
    steps = recipe.count_steps(features)
    every = recipe.evaluate_every or -(-features // recipe.batch_size)
    evaluations = [*range(every, steps, every), steps]

    def snapshot(step: int) -> None:
        if step in evaluations:
            dev_set.evaluate(step)
        if step in recipe.snapshot_steps:
            run.snapshot(dev_set.model, dev_set.task.tokenizer, step)

    def save(state: State | None, stopped: bool) -> None:
        assert run.save_state, "asked for below"
        run.save_state(state and state | dev_set.state(), stopped)

    return Callbacks(
        snapshot=snapshot,
        snapshot_steps=[*evaluations, *recipe.snapshot_steps],
        save=run.save_state and save,
        save_every=min(run.settings.save_every, every * -(-LEAST_SAVE // every)),
    )


def products(recipe: FinetuneRecipe, model: PretrainedModel, features: Sequence[Feature]) -> Products:
    """Estimate the largest matrix products of a step."""
    whole = sum(feature.length * len(feature.rows) for feature in features)
    tokens = recipe.batch_size * whole // max(1, len(features))
    return Products(tokens, model.config.hidden_size, model.config.intermediate_size)


def prepare(
    recipe: FinetuneRecipe, examples: Sequence, dev: Sequence, model: PretrainedModel | None
) -> tuple[Task, PretrainedModel, Sequence[Feature]]:
    """Return the task, the model (by default that of the recipe, with a new head) and the rows it learns from."""
    task, fields = task_and_fields(recipe, examples)
    model = model or start_model(recipe, task, fields)
    task.labels = list(model.config.label2id)
    for some in (examples, dev):
        task.check(some, model.config)
    choose_trained(model, recipe)
    return task, model, task.features(examples, model.config, learn=True)


def choose_trained(model: PretrainedModel, recipe: FinetuneRecipe) -> None:
    """Freeze what the recipe leaves as it is; with `lora` all of the encoder, which gets low-rank changes."""
    freeze(model, recipe.freeze)
    if recipe.lora:
        from bertlab.model.lora import adapt

        adapt(model, recipe.model, recipe.lora, torch.Generator().manual_seed(recipe.seed))


def count_rows(recipe: FinetuneRecipe, examples: Sequence) -> int:
    """Return the number of rows that the examples become: a long text or passage is several."""
    task, fields = task_and_fields(recipe, examples)
    return len(task.features(examples, head_config(recipe, fields)[0], learn=True))


def task_and_fields(recipe: FinetuneRecipe, examples: Sequence) -> tuple[Task, dict[str, Any]]:
    """Return the task of the recipe, and the config fields that a head for these examples needs."""
    if not examples:
        raise InputError("there is no example to learn from")
    check_options(recipe)
    family = find_task(recipe.task).family
    task = family(Tokenizer.from_pretrained(recipe.model), recipe.max_length, recipe.stride)
    fields = task.head_fields(examples)
    recipe.check_loss(fields.get("problem_type", recipe.problem))
    return task, fields


def check_options(recipe: FinetuneRecipe) -> None:
    """Raise an InputError for a field of the recipe that means nothing for its task."""
    for name in foreign_options(find_task(recipe.task).family):
        if (value := getattr(recipe, name)) != getattr(FinetuneRecipe, name):
            raise InputError(f"{name}={value}: means nothing for the task {recipe.task}")


def check_encoder(recipe: FinetuneRecipe, config: BertConfig) -> None:
    """Raise an InputError for rows that are longer than the model with this config reads, or of more segments, and for
    a left-to-right one under a head that reads [CLS]."""
    if (segments := find_task(recipe.task).segments) > (known := config.type_vocab_size):
        reads = f"{recipe.model} reads one text in a row (type_vocab_size {known})"
        raise InputError(f"{reads}, the task {recipe.task} needs {segments}: choose another --model, such as english")
    if recipe.max_length > (most := config.max_position_embeddings):
        limit = f"the {most} positions of {recipe.model}"
        raise InputError(f"max_length={recipe.max_length} is more than {limit}: give less with --max-length")
    advice = f"{OTHER_MODEL}, or let the head read the mean of all tokens (--set pooling=mean)"
    check_first_token(find_task(recipe.task).family.head, config.changed(pooling=recipe.pooling), recipe.model, advice)


def head_config(recipe: FinetuneRecipe, fields: dict[str, Any]) -> tuple[BertConfig, bool]:
    """Return the config of the model to train, and whether its checkpoint has a head for these labels already."""
    config = BertConfig.from_pretrained(recipe.model)
    check_encoder(recipe, config)
    changes = {name: getattr(recipe, name) for name in HEAD}
    if recipe.dropout is not None:
        changes |= {"hidden_dropout_prob": recipe.dropout, "attention_probs_dropout_prob": recipe.dropout}
        changes["classifier_dropout"] = None  # that of the hidden states
    known = keeps_head(recipe, config, fields)
    if known:  # its labels stay, in their order
        fields = {name: value for name, value in fields.items() if name not in ("id2label", "num_labels")}
    return config.changed(**fields | changes), known


def start_model(recipe: FinetuneRecipe, task: Task, fields: dict[str, Any]) -> PretrainedModel:
    """Return the pretrained encoder with a new head, drawn from the seed; or with its own, if that has these labels."""
    config, known = head_config(recipe, fields)
    changes = {name: value for name, value in vars(config).items() if name not in ("num_labels", "id2label")}
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        torch.manual_seed(recipe.seed)
        warnings.filterwarnings("ignore", ".*newly initialised")  # that the head is new is the point here
        if known:
            return task.head.from_pretrained(recipe.model, **changes)
        model = task.head(config)
        encoder = BertModel.from_pretrained(recipe.model, **changes)
    bert: BertModel = model.bert  # type: ignore[assignment]  # every head stands on one
    encoder.pooler = encoder.pooler if bert.pooler else None
    model.bert = encoder
    return model


def keeps_head(recipe: FinetuneRecipe, config: BertConfig, fields: dict[str, Any]) -> bool:
    """Return whether the checkpoint's head, by its config, is of the same kind and has these labels."""
    problem = problem_of(config)
    return (
        family_of(recipe.model) in (None, find_task(recipe.task).family)  # None: it has no head that could not fit
        and {*fields.get("id2label", {}).values()} <= {*config.label2id}
        and fields.get("problem_type", problem) == problem
        and fields.get("num_labels", config.num_labels) == config.num_labels
        and all(getattr(config, name) == getattr(recipe, name) for name in HEAD)
    )


def batches(features: Sequence[Feature], tokenizer: Tokenizer, recipe: FinetuneRecipe, start: int) -> Iterator[Batch]:
    """Yield batches without end after step `start`; an epoch has each feature once, in an order set by its number."""
    size = recipe.batch_size
    each = -(-len(features) // size)
    epoch = start // each
    while True:
        order = by_length(features, size, random.Random(f"{recipe.seed} {epoch}"))
        for chosen in order[max(0, start - epoch * each) :]:
            some = [features[number] for number in chosen]
            longest = max(feature.length for feature in some)
            yield collate(some, tokenizer, min(few_sizes(longest), recipe.max_length))
        epoch += 1


def by_length(features: Sequence[Feature], size: int, rng: random.Random) -> list[list[int]]:
    """Return all numbers of features, shuffled, in batches of similar length: so little of a batch is padding."""
    order = list(range(len(features)))
    rng.shuffle(order)
    made = []
    for first in range(0, len(order), POOL * size):
        pool = sorted(order[first : first + POOL * size], key=lambda number: features[number].length)
        made += [pool[i : i + size] for i in range(0, len(pool), size)]
    rng.shuffle(made)
    return made
