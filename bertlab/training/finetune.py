"""Fine-tuning: a pretrained encoder and one new layer learn a task together (Devlin et al. 2019, section 4)."""

import hashlib
import random
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.config import IGNORED, BertConfig
from bertlab.errors import InputError
from bertlab.inputs.features import Feature, collate
from bertlab.model import BertModel
from bertlab.model.checkpoint import PretrainedModel
from bertlab.tasks.base import Task
from bertlab.tasks.registry import family_of, find_task, foreign_options
from bertlab.tasks.sequence import problem_of
from bertlab.tokenizer import Tokenizer
from bertlab.training.dev_set import Looks, Row
from bertlab.training.engine.checkpoints import State
from bertlab.training.engine.conditions import Conditions, settled
from bertlab.training.engine.devices import launch, make_fabric
from bertlab.training.engine.loop import train
from bertlab.training.engine.micro_batches import WHOLE, Batch, Shares
from bertlab.training.engine.optim import freeze
from bertlab.training.engine.precision import Precision, Products
from bertlab.training.engine.throughput import encoder_operations
from bertlab.training.recipes import FinetuneRecipe, as_record
from bertlab.training.run_folder import Run, to_all

POOL = 50  # batches whose examples are sorted by length together
LEAST_SAVE = 50  # steps from one state to the next: that of a large model takes seconds to write
HEAD = ("pooling", "layer_mix", "token_decoder")  # fields of the config that make the head another one


@dataclass
class Finetuned:
    """The result of a run: the best model in eval mode, its tokenizer and task, the logged rows, the looks at the dev
    set, the seconds it took in all. `stopped`: Ctrl-C or SIGTERM ended the run, which can be resumed."""

    model: PretrainedModel
    tokenizer: Tokenizer
    task: Task
    rows: list[Row]
    looks: list[Row]
    seconds: float
    stopped: bool = False


def finetune(
    recipe: FinetuneRecipe,
    examples: Sequence,
    dev: Sequence = (),
    *,
    model: PretrainedModel | None = None,
    out: str | Path | None = None,
    half: bool = False,
    log_every: int = 20,
    on_start: Callable[[Task], None] | None = None,
    on_log: Callable[[Row], None] | None = None,
    on_look: Callable[[Row], None] | None = None,
    on_settled: Callable[[Conditions], None] | None = None,
    save_every: int = 500,
    resume: bool = False,
    progress: bool = True,
    device: str = "auto",
    precision: Precision = "auto",
) -> Finetuned:
    """Train a head for `recipe.task` and the encoder under it on `examples`; the best checkpoint on `dev` is kept.

    `examples` and `dev` are TextExamples, TokenExamples, QAExamples or ChoiceExamples, as the task reads them. `model`
    is trained instead of one opened by `recipe.model`: it has the head already. Everything that is random follows from
    the recipe's seed. `out` is the run folder (none: nothing is written), `half` saves the result in 16 bits, as the
    snapshots of the recipe's `snapshot_steps` always are.
    `on_start` gets the task before the first step.

    Every `save_every` steps, and with the looks at the dev set (but for those less than 50 steps apart), the whole
    state goes to the run folder; `resume` goes on from there after a kill or Ctrl-C, to the same weights as without it.
    `precision` and `on_settled` are those of `pretrain`.
    InputError: no examples, a label that does not fit, a run folder in use.
    """
    started = time.perf_counter()
    task, model, features = prepare(recipe, examples, dev, model)
    fabric = make_fabric(device, 1, precision, products(recipe, model, features))
    with ExitStack() as held:
        run = held.enter_context(Run(out, as_record(recipe), resume=resume)) if out else None
        launch(fabric)
        state = run.go_on(fingerprint(features, dev), None) if run else None
        conditions = held.enter_context(settled(fabric, state, precision))
        if run:
            run.note(conditions)
        if on_settled:
            on_settled(conditions)
        looks = Looks(task, model, dev, recipe.patience, to_all(run and run.log_look, on_look))
        if state:
            looks.go_on(state)
        if on_start:
            on_start(task)

        steps = recipe.count_steps(len(features))
        every = recipe.evaluate_every or -(-len(features) // recipe.batch_size)
        look_steps = [*range(every, steps, every), steps]

        def snapshot(step: int) -> None:
            if step in look_steps:
                looks.after(step)
            if run and step in recipe.snapshot_steps:
                run.save(model, task.tokenizer, step, dtype=torch.float16)

        def save(state: State | None, stopped: bool) -> None:
            run.save_state(state and state | looks.state(), stopped)

        rows = train(
            model,
            looks.until_enough(batches(features, task.tokenizer, recipe, state["step"] if state else 0)),
            partial(task_loss, smoothing=recipe.label_smoothing, target=task.target),
            steps=steps,
            settings=recipe.optim,
            operations=partial(encoder_operations, model.config),
            log=to_all(run and run.log, on_log),
            log_every=log_every,
            snapshot=snapshot,
            snapshot_steps=[*look_steps, *recipe.snapshot_steps],
            save=save if run else None,
            save_every=min(save_every, every * -(-LEAST_SAVE // every)),
            resume=state,
            progress=progress,
            fabric=fabric,
            seed=recipe.seed,
        )
        looks.take_best()
        model.requires_grad_(True)
        task.tune(model.to(fabric.device), dev)
        model.to("cpu")
        if run:
            run.save(model, task.tokenizer, dtype=torch.float16 if half else None)
            run.end()
    seconds = time.perf_counter() - started + (state["seconds"] if state else 0.0)
    return Finetuned(model, task.tokenizer, task, rows, looks.rows, seconds, bool(run and run.stopped))


def products(recipe: FinetuneRecipe, model: PretrainedModel, features: Sequence[Feature]) -> Products:
    """Those of a step, about."""
    whole = sum(feature.length * len(feature.rows) for feature in features)
    tokens = recipe.batch_size * whole // max(1, len(features))
    return Products(tokens, model.config.hidden_size, model.config.intermediate_size)


def prepare(
    recipe: FinetuneRecipe, examples: Sequence, dev: Sequence, model: PretrainedModel | None
) -> tuple[Task, PretrainedModel, Sequence[Feature]]:
    """The task, the model (by default that of the recipe, with a new head) and the rows that it learns from."""
    task, settled = settle(recipe, examples)
    model = model or start_model(recipe, task, settled)
    for some in (examples, dev):
        task.check(some, model.config)
    freeze(model, recipe.freeze)
    return task, model, task.features(examples, model.config, learn=True)


def settle(recipe: FinetuneRecipe, examples: Sequence) -> tuple[Task, dict]:
    """The task of the recipe, and what a head for these examples needs in its config."""
    if not examples:
        raise InputError("there is no example to learn from")
    family = find_task(recipe.task).family
    for name in foreign_options(family):
        if (value := getattr(recipe, name)) != getattr(FinetuneRecipe, name):
            raise InputError(f"{name}={value}: means nothing for the task {recipe.task}")
    task = family(Tokenizer.from_pretrained(recipe.model), recipe.max_length, recipe.stride)
    return task, task.head_fields(examples)


def head_config(recipe: FinetuneRecipe, settled: dict) -> tuple[BertConfig, bool]:
    """The config of the model that learns, and whether its checkpoint has a head for these labels already."""
    config = BertConfig.from_pretrained(recipe.model)
    if recipe.max_length > config.max_position_embeddings:
        limit = f"the {config.max_position_embeddings} positions of {recipe.model}"
        raise InputError(f"max_length={recipe.max_length} is more than {limit}: give less with --max-length")
    changes = {name: getattr(recipe, name) for name in HEAD}
    if recipe.dropout is not None:
        changes |= {"hidden_dropout_prob": recipe.dropout, "attention_probs_dropout_prob": recipe.dropout}
        changes["classifier_dropout"] = None  # that of the hidden states
    known = keeps_head(recipe, config, settled)
    if known:  # its labels stay, in their order
        settled = {name: value for name, value in settled.items() if name not in ("id2label", "num_labels")}
    return config.changed(**settled | changes), known


def start_model(recipe: FinetuneRecipe, task: Task, settled: dict) -> PretrainedModel:
    """The pretrained encoder with a new head, drawn from the seed; or with its own, if that is for these labels."""
    config, known = head_config(recipe, settled)
    changes = {name: value for name, value in vars(config).items() if name not in ("num_labels", "id2label")}
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        torch.manual_seed(recipe.seed)
        warnings.filterwarnings("ignore", ".*newly initialised")  # that the head is new is the point here
        if known:
            return task.head.from_pretrained(recipe.model, **changes)
        model = task.head(config)
        encoder = BertModel.from_pretrained(recipe.model, **changes)
    encoder.pooler = encoder.pooler if model.bert.pooler else None
    model.bert = encoder
    return model


def keeps_head(recipe: FinetuneRecipe, config: BertConfig, settled: dict) -> bool:
    """Whether the head of the checkpoint, which has this config, is of the same kind and knows these labels."""
    problem = problem_of(config)
    return (
        family_of(recipe.model) in (None, find_task(recipe.task).family)  # None: it has no head that could not fit
        and {*settled.get("id2label", {}).values()} <= {*config.label2id}
        and settled.get("problem_type", problem) == problem
        and all(getattr(config, name) == getattr(recipe, name) for name in HEAD)
    )


def batches(features: Sequence[Feature], tokenizer: Tokenizer, recipe: FinetuneRecipe, start: int) -> Iterator[Batch]:
    """Batches without end after step `start`; each epoch all features once, in a new order that its number tells."""
    size = recipe.batch_size
    each = -(-len(features) // size)
    epoch = start // each
    while True:
        order = by_length(features, size, random.Random(f"{recipe.seed} {epoch}"))
        for chosen in order[max(0, start - epoch * each) :]:
            yield collate([features[number] for number in chosen], tokenizer)
        epoch += 1


def by_length(features: Sequence[Feature], size: int, rng: random.Random) -> list[list[int]]:
    """All numbers of features, shuffled, in batches of like length: so little of a batch is padding."""
    order = list(range(len(features)))
    rng.shuffle(order)
    made = []
    for first in range(0, len(order), POOL * size):
        pool = sorted(order[first : first + POOL * size], key=lambda number: features[number].length)
        made += [pool[i : i + size] for i in range(0, len(pool), size)]
    rng.shuffle(made)
    return made


def task_loss(
    model, batch: Batch, shares: Shares = WHOLE, smoothing: float = 0.0, target: str = "labels"
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss that the head itself computes, or cross-entropy with `smoothing` (Szegedy et al. 2016, section 7); a
    mean over the entries of `target`."""
    out = model(**batch, packed=True)
    loss = shares[target] * (smoothed(out.logits, batch["labels"], smoothing) if smoothing else out.loss)
    return loss, {"loss": loss}


def smoothed(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    # (..., N) -> (B, N) or (B*S, N)
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=IGNORED, label_smoothing=smoothing)


def fingerprint(features: Sequence[Feature], dev: Sequence) -> str:
    """Changes with what is learned from, and with what the best checkpoint is chosen by."""
    digest = hashlib.sha256()
    for told in chain(((feature.rows, feature.targets) for feature in features), dev):
        digest.update(repr(told).encode())
    return digest.hexdigest()[:16]
