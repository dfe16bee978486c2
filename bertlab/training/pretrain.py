"""Pretraining from text to checkpoint: tokenizer, pairs, masks, and both losses at once."""

import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.corpora import storyworld
from bertlab.errors import InputError, require
from bertlab.inputs.store import TokenStore
from bertlab.model import BertForPreTraining
from bertlab.model.fast import Packing
from bertlab.model.heads import labelled_positions
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents, ahead, batches, token_ids, worker_helps
from bertlab.training.engine.callbacks import tensorboard_log
from bertlab.training.engine.conditions import Conditions, settled
from bertlab.training.engine.devices import launch, make_fabric
from bertlab.training.engine.loop import train
from bertlab.training.engine.micro_batches import WHOLE, Batch, Shares
from bertlab.training.engine.precision import Precision, Products
from bertlab.training.engine.throughput import pretraining_operations
from bertlab.training.initial_weights import new_model
from bertlab.training.recipes import PretrainRecipe, as_record
from bertlab.training.run_folder import Run, to_all

TOKENIZER_SAMPLE = 6000  # documents that the vocabulary is learned from


@dataclass
class Pretrained:
    """The result of a run: the model in eval mode, its tokenizer, the logged rows, the seconds it took in all.

    `stopped`: Ctrl-C or SIGTERM ended the run, which can be resumed.
    """

    model: BertForPreTraining
    tokenizer: Tokenizer
    rows: list[dict[str, float]]
    seconds: float
    stopped: bool = False


def pretrain(
    recipe: PretrainRecipe,
    texts: Sequence[Sequence[str]] | TokenStore | None = None,
    *,
    out: str | Path | None = None,
    tokenizer: Tokenizer | None = None,
    minutes: float | None = None,
    micro_batch: int | None = None,
    half: bool = False,
    log_every: int = 50,
    on_start: Callable[[Documents, Tokenizer], None] | None = None,
    on_log: Callable[[dict[str, float]], None] | None = None,
    on_settled: Callable[[Conditions], None] | None = None,
    save_every: int = 500,
    keep: int = 2,
    resume: bool = False,
    tensorboard: bool = False,
    progress: bool = True,
    device: str = "auto",
    devices: int = 1,
    precision: Precision = "auto",
    compiled: bool = False,
    unpadded: bool = False,
    gradient_checkpointing: bool = False,
) -> Pretrained:
    """Train a BERT from random weights on `texts` (documents of sentences, or a store), or on the storyworld.

    A store brings its own tokenizer. `out` is the run folder (none: nothing is written), `half` saves the result in
    16 bits. `minutes` ends the run early with the learning rate brought down in time. `on_start` gets the text as it
    is learned from, as token ids, before the first step, and `on_log` every logged row.
    The same recipe, text and machine give the same model (but not under `minutes`, which depends on the clock).

    Every `save_every` steps the whole state goes to the run folder, where the newest `keep` stay until the run ends.
    `resume` goes on from there after a kill or Ctrl-C, to the same weights as without it. InputError where the run
    folder holds another recipe, was made from another text, or is being written by another run.

    `precision` is that of matrix products. "auto" measures whether bfloat16 is faster than float32 for this model, a
    matter of milliseconds. `on_settled` gets it, with device and threads, before the first step. A resumed run computes
    in the precision, and on as many threads, as it began; it says on stderr if something else differs.

    `devices` processes train together, each with a device of its own and its share of every batch; each has the model
    in the end. The first one, which starts the others with its own command line, alone writes and shows progress.
    Neither their number nor `micro_batch`, how many rows a device works on at a time, changes what is learned, but for
    rounding and dropout's draws.
    `tensorboard` logs the rows to the run folder for TensorBoard too.

    For a GPU: `compiled` has torch.compile fuse the layers, `unpadded` keeps padding out of all of them (on a CPU it
    always is), `gradient_checkpointing` takes less memory and a third more work.
    """
    started = time.perf_counter()
    if tensorboard:
        require("tensorboard", "tensorboard")
    fabric = make_fabric(device, devices, precision, products(recipe, micro_batch, devices))
    if recipe.batch_size < fabric.world_size:
        raise InputError(f"batch_size={recipe.batch_size}: fewer than the {fabric.world_size} processes")
    with ExitStack() as held:
        run = None
        if out and fabric.is_global_zero:
            run = held.enter_context(Run(out, as_record(recipe), keep=keep, resume=resume))
        launch(fabric)
        documents, tokenizer = material(texts, tokenizer, recipe)
        model = new_model(recipe, tokenizer)
        model.bert.encoder.gradient_checkpointing = gradient_checkpointing
        if compiled:
            model.bert.encoder.compile_layers()
        state = fabric.broadcast(run.go_on(fingerprint(documents, tokenizer), minutes) if run else None)
        conditions = held.enter_context(settled(fabric, state, precision))
        if run:
            run.note(conditions)
        board = tensorboard_log(run.folder, state["step"] if state else 0) if run and tensorboard else None
        if on_settled and fabric.is_global_zero:
            on_settled(conditions)
        if on_start and fabric.is_global_zero:
            on_start(documents, tokenizer)

        def snapshot(step: int) -> None:
            if run:
                run.save(model, tokenizer, step, dtype=torch.float16)

        made = batches(documents, tokenizer, recipe, state["step"] if state else 0)
        with closing(ahead(made, worker_helps(device))) as ready:
            rows = train(
                model,
                ready,
                LOSSES[recipe.objective],
                steps=recipe.steps,
                settings=recipe.optim,
                minutes=minutes,
                micro_batch=micro_batch,
                prepare=partial(with_places, unpadded=unpadded) if fabric.device.type == "cuda" else None,
                operations=partial(pretraining_operations, model.config),
                log=to_all(run and run.log, board, on_log),
                log_every=log_every,
                snapshot=snapshot,
                snapshot_steps=recipe.snapshot_steps,
                save=run and run.save_state,
                save_every=save_every,
                resume=state,
                progress=progress,
                fabric=fabric,
                seed=recipe.seed,
            )
        model.requires_grad_(True)
        if run:
            run.save(model, tokenizer, dtype=torch.float16 if half else None)
            run.end()
    seconds = time.perf_counter() - started + (state["seconds"] if state else 0.0)
    return Pretrained(model, tokenizer, rows, seconds, stopped=bool(run and run.stopped))


def products(recipe: PretrainRecipe, micro_batch: int | None, devices: int) -> Products:
    """Those of a step on one of the devices, about."""
    rows = min(-(-recipe.batch_size // max(1, devices)), micro_batch or recipe.batch_size)
    return Products(rows * recipe.max_tokens, recipe.hidden_size, 4 * recipe.hidden_size)


def material(
    texts: Sequence[Sequence[str]] | TokenStore | None, tokenizer: Tokenizer | None, recipe: PretrainRecipe
) -> tuple[Documents, Tokenizer]:
    """What is learned from, as token ids; with a vocabulary made of it, if none is given."""
    if isinstance(texts, TokenStore):
        return texts, texts.tokenizer
    if texts is None:
        texts = [document.sentences for document in storyworld.documents(recipe.seed, recipe.documents)]
    tokenizer = tokenizer or learn_vocabulary(texts, recipe)
    return token_ids(texts, tokenizer), tokenizer


def fingerprint(documents: Documents, tokenizer: Tokenizer) -> str:
    """Changes with the text and with the vocabulary."""
    digest = hashlib.sha256(repr(sorted(tokenizer.vocab.items())).encode())
    stored = isinstance(documents, TokenStore)
    for part in [documents.header.checksums, len(documents)] if stored else documents:
        digest.update(repr(part).encode())
    return digest.hexdigest()[:16]


def learn_vocabulary(texts: Sequence[Sequence[str]], recipe: PretrainRecipe) -> Tokenizer:
    """A WordPiece vocabulary from (the first part of) the text."""
    sample = (sentence for sentences in texts[:TOKENIZER_SAMPLE] for sentence in sentences)
    return Tokenizer.train(sample, recipe.vocab_size, recipe.lowercase)


def with_places(batch: Batch, unpadded: bool) -> Batch:
    """The batch and where its labels are, and with `unpadded` its tokens: a GPU would have to stop to look for them."""
    found = {"labelled": labelled_positions(batch["labels"])}
    return batch | found | ({"packed": Packing(batch["attention_mask"])} if unpadded else {})


def pretraining_loss(model, batch: Batch, shares: Shares = WHOLE) -> tuple[Tensor, dict[str, Tensor]]:
    """Sum of the losses of both tasks, or of masked words alone, and what to watch.

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


def next_token_loss(model, batch: Batch, shares: Shares = WHOLE) -> tuple[Tensor, dict[str, Tensor]]:
    """Loss of the next tokens, and what to watch."""
    out = model(**batch)
    loss = shares["labels"] * out.mlm_loss
    return loss, {"next_token_loss": loss, "next_token_accuracy": shares["labels"] * out.masked_accuracy}


LOSSES = {"masked": pretraining_loss, "left-to-right": next_token_loss}
