"""Pretrain, from text to checkpoint: tokenizer, pairs, masks, and both losses at once."""

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bertlab.errors import InputError
from bertlab.inputs.store import TokenStore
from bertlab.model import BertForPreTraining
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents, batches, can_prefetch, prefetch, token_ids
from bertlab.training.engine.callbacks import Callbacks
from bertlab.training.engine.devices import compile_layers, is_first
from bertlab.training.engine.loop import LoopSettings
from bertlab.training.engine.precision import Products
from bertlab.training.engine.throughput import Row
from bertlab.training.initial_weights import new_model, new_parts, trained_model
from bertlab.training.objective import LOSSES, Objective, bert_operations, with_positions
from bertlab.training.recipes import PretrainRecipe
from bertlab.training.run import Run
from bertlab.training.run_settings import PretrainSettings

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

    With `devices` above 1 PyTorch's launcher runs this process's command line once for each of them, and this process
    ends with their exit code. The first of them alone writes and shows progress, and each has the model in the end.
    Neither their number nor `micro_batch` changes what is learned, except for rounding and the draws of dropout.
    """
    run, recipe = Run(settings), recipe.with_model_shape()
    if settings.minutes and (recipe.phases or recipe.masking.final_rate):
        raise InputError("minutes: phases and masking.final_rate are shares of the steps, whose end it may cut off")
    if objective and out and not objective.saved:
        raise InputError(f"out={out}: a run folder is for a BERT's own objectives; save the model that is returned")
    tokenizer = known_tokenizer(texts, tokenizer, recipe)
    objective = objective or own_objective(recipe, tokenizer)
    with run.opened(recipe, out, products(recipe, settings), keep=settings.keep, minutes=settings.minutes):
        documents, tokenizer = tokenized(texts() if callable(texts) else texts, tokenizer, recipe)
        stored = [documents.header.checksums, len(documents)] if isinstance(documents, TokenStore) else None
        run.begin([sorted(tokenizer.vocab.items()), *(stored or documents)], on_log)
        run.announce(documents, tokenizer)
        model: Any = objective.new_model(recipe, tokenizer, documents)
        is_bert, on_gpu = isinstance(model, BertForPreTraining), run.devices.device.type == "cuda"
        if is_bert:
            model.bert.encoder.gradient_checkpointing = settings.gradient_checkpointing
            if settings.compiled:
                compile_layers(model.bert.encoder)
        made = batches(documents, tokenizer, recipe, run.first)
        if change := objective.batch:
            made = (change(batch, tokenizer) for batch in made)
        with closing(prefetch(made, can_prefetch(settings.device))) as ready:
            rows = run.fit(
                model,
                ready,
                objective.loss,
                LoopSettings(recipe.steps, recipe.optim, settings.minutes, settings.micro_batch, recipe.seed, progress),
                Callbacks(
                    log_every=log_every,
                    snapshot=partial(run.snapshot, model, tokenizer),
                    snapshot_steps=recipe.snapshot_steps,
                    save=run.save_state,
                    save_every=settings.save_every,
                ),
                prepare=partial(with_positions, unpadded=settings.unpadded) if is_bert and on_gpu else None,
                operations=partial(objective.operations, model),
            )
        result = Pretrained(model, tokenizer, rows, run.seconds, run.stopped)
        run.finish(model, tokenizer, settings.on_end and partial(settings.on_end, result))
    return result


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
        from bertlab.corpora import storyworld

        texts = [document.sentences for document in storyworld.documents(recipe.seed, recipe.documents)]
    tokenizer = tokenizer or learn_vocabulary(texts, recipe)
    return token_ids(texts, tokenizer), tokenizer


def learn_vocabulary(texts: Sequence[Sequence[str]], recipe: PretrainRecipe) -> Tokenizer:
    """Learn a WordPiece vocabulary from (the first part of) the text."""
    sample = (sentence for sentences in texts[:TOKENIZER_SAMPLE] for sentence in sentences)
    return Tokenizer.train(sample, recipe.vocab_size, recipe.lowercase)


def own_objective(recipe: PretrainRecipe, tokenizer: Tokenizer | None) -> Objective:
    """Return what a BERT learns by this recipe, with the vocabulary of the model or teacher that it names, if any.

    Opens that model. InputError: it cannot be opened, or is no start for this recipe.
    """
    if recipe.teacher:
        from bertlab.training.distill import distillation

        assert tokenizer is not None, "a teacher has one"
        return distillation(recipe, tokenizer)
    opened = None
    if recipe.model:
        assert tokenizer is not None, "a model has one"
        opened = trained_model(recipe, tokenizer)
        if (parts := new_parts(recipe, opened)) and is_first():
            print(f"bertlab: {parts}", file=sys.stderr)
    return Objective(partial(new_model, opened=opened), LOSSES[recipe.objective], bert_operations)
