"""Pretrain, from text to checkpoint: tokenizer, pairs, masks, and both losses at once."""

import hashlib
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor, nn

from bertlab.config import IGNORED
from bertlab.corpora import storyworld
from bertlab.errors import InputError
from bertlab.inputs.store import TokenStore
from bertlab.model import BertForPreTraining
from bertlab.model.attend import Packing
from bertlab.model.heads import labelled_positions
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents, batches, can_prefetch, prefetch, token_ids
from bertlab.training.distill import distillation
from bertlab.training.engine.callbacks import Callbacks, call_each
from bertlab.training.engine.checkpoints import State
from bertlab.training.engine.conditions import fixed_conditions
from bertlab.training.engine.devices import check_processes, compile_layers, is_first, launch, make_fabric
from bertlab.training.engine.loggers import open_loggers, require_loggers
from bertlab.training.engine.loop import LoopSettings, LossFunction, train
from bertlab.training.engine.micro_batches import WHOLE, Batch, Shares
from bertlab.training.engine.precision import Products
from bertlab.training.engine.throughput import Row, pretraining_operations
from bertlab.training.initial_weights import new_model, new_parts, trained_model
from bertlab.training.objective import Objective
from bertlab.training.recipes import PretrainRecipe, as_record
from bertlab.training.run_folder import RunFolder
from bertlab.training.run_settings import PretrainSettings

if TYPE_CHECKING:
    from lightning_fabric import Fabric

TOKENIZER_SAMPLE = 6000  # documents that the vocabulary is learned from
Texts = Sequence[Sequence[str]] | TokenStore  # documents of sentences, or a store of their token ids


@dataclass
class Pretrained:
    """The result of a run: the model in eval mode, its tokenizer, the logged rows, the seconds it took in all.

    `stopped`: Ctrl-C, SIGTERM or SIGUSR1 ended the run, which can be resumed.
    """

    model: BertForPreTraining  # or the model of the Objective that was given
    tokenizer: Tokenizer
    rows: list[Row]
    seconds: float
    stopped: bool = False


def pretrain(
    recipe: PretrainRecipe,
    texts: Texts | Callable[[], Texts | None] | None = None,
    *,
    settings: PretrainSettings = PretrainSettings(),  # noqa: B008 (frozen, so safe to share)
    tokenizer: Tokenizer | None = None,
    objective: Objective | None = None,
    out: str | Path | None = None,
    on_log: Callable[[Row], None] | None = None,
    log_every: int = 50,
    progress: bool = True,
) -> Pretrained:
    """Train a BERT on `texts` (documents of sentences, or a store), or on the storyworld.

    It begins with random weights, or goes on from the trained model that the recipe names (`model`). Instead of `texts`
    give a function that reads them: it is called when all that can be refused without them has been accepted.

    A store brings its own tokenizer; else it is the `tokenizer` given, that of the recipe's `model` or `teacher`, or
    one learned from the text. Heads that the `model` lacks start anew, and stderr says so. With an `objective` another
    model than a BERT learns, with another loss, from the same batches; it has no run folder. `out` is the run folder
    (None: nothing is written). `settings` say where and how long to train, what to save and what to call before the
    first step and after the last; `on_log` gets every logged row.

    The same recipe, text and machine give the same model (except under `minutes`, which depends on the clock). Every
    `save_every` steps the whole state goes to the run folder, where the newest `keep` stay until the run ends. With
    `resume` a run goes on from there after a kill or Ctrl-C, in the precision and on as many threads as it began, and
    ends with the same weights as without the break; stderr says if anything else differs. InputError if the run folder
    holds another recipe, was made from another text, or is being written by another run.

    With `devices` above 1 the first process starts the others with its own command line; it alone writes and shows
    progress, and each has the model in the end. Neither their number nor `micro_batch` changes what is learned, except
    for rounding and the draws of dropout.
    """
    started = time.perf_counter()
    recipe = recipe.with_model_shape()
    if objective and out and not objective.saved:
        raise InputError(f"out={out}: a run folder is for a BERT's own objectives; save the model that is returned")
    require_loggers(settings.tensorboard, settings.wandb)
    fabric = make_fabric(settings.device, settings.devices, settings.precision, products(recipe, settings))
    check_processes(fabric, recipe.batch_size)
    tokenizer = known_tokenizer(texts, tokenizer, recipe)
    chosen = objective or own_objective(recipe, tokenizer)
    with ExitStack() as held:
        run = None
        if out and fabric.is_global_zero:
            run = held.enter_context(RunFolder(out, as_record(recipe), settings.keep, settings.resume))
        launch(fabric)
        state = fabric.broadcast(run.saved_state(settings.minutes) if run else None)
        conditions = held.enter_context(fixed_conditions(fabric, state, settings.precision))
        documents, tokenizer = tokenized(texts() if callable(texts) else texts, tokenizer, recipe)
        if run:
            run.begin(fingerprint(documents, tokenizer), conditions)
        if settings.on_start and fabric.is_global_zero:
            settings.on_start(documents, tokenizer, conditions)
        training = Pretraining(recipe, settings, tokenizer, fabric, run, state, chosen, documents)
        if run:
            opened = open_loggers(run.folder, training.first, settings.tensorboard, settings.wandb)
            on_log = call_each(held.enter_context(opened)[0], on_log)
        rows = training.learn(documents, training.callbacks(on_log, log_every), progress)
        training.model.requires_grad_(True)
        seconds = time.perf_counter() - started + (state["seconds"] if state else 0.0)
        result = Pretrained(training.model, tokenizer, rows, seconds, stopped=bool(run and run.stopped))
        if run:
            run.finish(result.model, tokenizer, settings.half, settings.on_end and partial(settings.on_end, result))
    return result


class Pretraining:
    """One pretraining on a launched fabric: its model, its callbacks, its loop."""

    def __init__(
        self,
        recipe: PretrainRecipe,
        settings: PretrainSettings,
        tokenizer: Tokenizer,
        fabric: "Fabric",
        run: RunFolder | None,
        state: State | None,
        objective: Objective,
        documents: Documents,
    ):
        self.recipe, self.settings, self.tokenizer = recipe, settings, tokenizer
        self.fabric, self.run, self.state, self.objective = fabric, run, state, objective
        model = objective.new_model(recipe, tokenizer, documents)
        if isinstance(model, BertForPreTraining):
            model.bert.encoder.gradient_checkpointing = settings.gradient_checkpointing
            if settings.compiled:
                compile_layers(model.bert.encoder)
        self.model: Any = model

    @property
    def first(self) -> int:
        """The step that the state was saved after; 0 for a new run."""
        return self.state["step"] if self.state else 0

    def callbacks(self, on_log: Callable[[Row], None] | None, log_every: int) -> Callbacks:
        """Log to the run folder and to `on_log`; save snapshots and states in the run folder."""
        run, recipe, settings = self.run, self.recipe, self.settings
        if run is None:
            return Callbacks(call_each(on_log), log_every)
        return Callbacks(
            call_each(run.log, on_log),
            log_every,
            lambda step: run.snapshot(self.model, self.tokenizer, step),
            recipe.snapshot_steps,
            run.save_state,
            settings.save_every,
        )

    def learn(self, documents: Documents, callbacks: Callbacks, progress: bool) -> list[Row]:
        recipe, settings, objective = self.recipe, self.settings, self.objective
        made = batches(documents, self.tokenizer, recipe, self.first)
        if change := objective.batch:
            made = (change(batch, self.tokenizer) for batch in made)
        on_gpu = self.fabric.device.type == "cuda" and isinstance(self.model, BertForPreTraining)
        limits = settings.minutes, settings.micro_batch
        with closing(prefetch(made, can_prefetch(settings.device))) as ready:
            return train(
                self.model,
                ready,
                objective.loss,
                LoopSettings(recipe.steps, recipe.optim, *limits, recipe.seed, progress),
                callbacks,
                prepare=partial(with_positions, unpadded=settings.unpadded) if on_gpu else None,
                operations=partial(objective.operations, self.model),
                resume=self.state,
                fabric=self.fabric,
            )


def products(recipe: PretrainRecipe, settings: PretrainSettings) -> Products:
    """Estimate the largest matrix products of a step on one of the devices."""
    rows = min(-(-recipe.batch_size // max(1, settings.devices)), settings.micro_batch or recipe.batch_size)
    return Products(rows * recipe.max_tokens, recipe.hidden_size, 4 * recipe.hidden_size)


def known_tokenizer(
    texts: Texts | Callable[[], Texts | None] | None, tokenizer: Tokenizer | None, recipe: PretrainRecipe
) -> Tokenizer | None:
    """Return the vocabulary that a run has before its text is read; None if it is learned from the text."""
    if isinstance(texts, TokenStore):
        return texts.tokenizer
    named = recipe.teacher or recipe.model
    return tokenizer or (Tokenizer.from_pretrained(named) if named else None)


def tokenized(texts: Texts | None, tokenizer: Tokenizer | None, recipe: PretrainRecipe) -> tuple[Documents, Tokenizer]:
    """Return the text as token ids, and the tokenizer; its vocabulary is learned from the text if none is given."""
    if isinstance(texts, TokenStore):
        return texts, texts.tokenizer
    if texts is None:
        texts = [document.sentences for document in storyworld.documents(recipe.seed, recipe.documents)]
    tokenizer = tokenizer or learn_vocabulary(texts, recipe)
    return token_ids(texts, tokenizer), tokenizer


def fingerprint(documents: Documents, tokenizer: Tokenizer) -> str:
    """Return a hash of the text and of the vocabulary."""
    digest = hashlib.sha256(repr(sorted(tokenizer.vocab.items())).encode())
    stored = [documents.header.checksums, len(documents)] if isinstance(documents, TokenStore) else None
    for item in stored or documents:
        digest.update(repr(item).encode())
    return digest.hexdigest()[:16]


def learn_vocabulary(texts: Sequence[Sequence[str]], recipe: PretrainRecipe) -> Tokenizer:
    """Learn a WordPiece vocabulary from (the first part of) the text."""
    sample = (sentence for sentences in texts[:TOKENIZER_SAMPLE] for sentence in sentences)
    return Tokenizer.train(sample, recipe.vocab_size, recipe.lowercase)


def with_positions(batch: Batch, unpadded: bool) -> Batch:
    """Add the positions of the labels, and with `unpadded` of the tokens; a GPU would have to stop to look for them."""
    added = {"labelled": labelled_positions(batch["labels"])}
    if unpadded:
        added["packed"] = Packing(batch["attention_mask"])  # type: ignore[assignment]  # goes to a device like a tensor
    return batch | added


def pretraining_loss(model: nn.Module, batch: Batch, shares: Shares = WHOLE) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the sum of the losses of both tasks, or that of masked words alone, and what to watch.

    The encoder runs on tokens alone, not on padding, and the decoder on the masked positions alone.
    """
    out = model(**batch)
    masked = shares["labels"]
    watched = {"mlm_loss": masked * out.mlm_loss, "masked_accuracy": masked * out.masked_accuracy}
    if out.nsp_loss is None:
        return watched["mlm_loss"], watched
    label = batch["next_sentence_label"]
    next_right = (out.seq_relationship_logits.argmax(-1) == label).float().sum() / (label != IGNORED).sum().clamp(min=1)
    labelled = shares["next_sentence_label"]
    watched |= {"nsp_loss": labelled * out.nsp_loss, "nsp_accuracy": labelled * next_right}
    return watched["mlm_loss"] + watched["nsp_loss"], watched


def next_token_loss(model: nn.Module, batch: Batch, shares: Shares = WHOLE) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss of the next tokens, and what to watch."""
    out = model(**batch)
    loss = shares["labels"] * out.mlm_loss
    return loss, {"next_token_loss": loss, "next_token_accuracy": shares["labels"] * out.masked_accuracy}


LOSSES: dict[str, LossFunction] = {"masked": pretraining_loss, "left-to-right": next_token_loss}


def own_objective(recipe: PretrainRecipe, tokenizer: Tokenizer | None) -> Objective:
    """Return what a BERT learns by this recipe, with the vocabulary of the model or teacher that it names, if any.

    Opens that model. InputError: it cannot be opened, or is no start for this recipe.
    """
    if recipe.teacher:
        assert tokenizer is not None, "a teacher has one"
        return distillation(recipe, tokenizer)
    opened = None
    if recipe.model:
        assert tokenizer is not None, "a model has one"
        opened = trained_model(recipe, tokenizer)
        if (parts := new_parts(recipe, opened)) and is_first():
            print(f"bertlab: {parts}", file=sys.stderr)
    return Objective(partial(new_model, opened=opened), LOSSES[recipe.objective], bert_operations)


def bert_operations(model: nn.Module, batch: Batch) -> float:
    """Count the floating-point operations of a step of BertForPreTraining."""
    return pretraining_operations(cast(BertForPreTraining, model).config, batch)
