"""Pretraining from text to checkpoint: tokenizer, pairs, masks, and both losses at once."""

import hashlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from bertlab.corpora import storyworld
from bertlab.errors import InputError
from bertlab.inputs.flat import FlatText
from bertlab.inputs.loading import ahead, worker_helps
from bertlab.inputs.masking import IGNORED, Masking, mask_tokens
from bertlab.inputs.pairs import Pair, Pairs, collate, sentence_pairs
from bertlab.inputs.store import TokenStore
from bertlab.launch import require
from bertlab.model import BertForPreTraining
from bertlab.tokenizer import Tokenizer
from bertlab.training.flops import pretraining_operations
from bertlab.training.loop import train
from bertlab.training.parts import WHOLE, Shares
from bertlab.training.processes import launch, make_fabric
from bertlab.training.recipes import PretrainRecipe, as_record
from bertlab.training.run import Run, to_all
from bertlab.training.start import new_model
from bertlab.training.tensorboard import tensorboard_log

Documents = Sequence[list[list[int]]]  # documents of sentences of token ids
SEEDS = 1_000_003  # steps and epochs of one seed, and then of the next
TOKENIZER_SAMPLE = 6000  # documents that the vocabulary is learned from


@dataclass
class Pretrained:
    """The result of a run: the model in eval mode, its tokenizer, the logged rows, the seconds it took in all.

    `stopped`: Ctrl-C ended the run, which can be resumed.
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
    save_every: int = 500,
    keep: int = 2,
    resume: bool = False,
    tensorboard: bool = False,
    progress: bool = True,
    device: str = "auto",
    devices: int = 1,
) -> Pretrained:
    """Train a BERT from random weights on `texts` (documents of sentences, or a store), or on the storyworld.

    A store brings its own tokenizer. `out` is the run folder (none: nothing is written), `half` saves the result in
    16 bits. `minutes` ends the run early with the learning rate brought down in time. `on_start` gets the text as it
    is learned from, as token ids, before the first step, and `on_log` every logged row.
    The same recipe, text and machine give the same model (but not under `minutes`, which depends on the clock).

    Every `save_every` steps the whole state goes to the run folder, where the newest `keep` stay until the run ends.
    `resume` goes on from there after a kill or Ctrl-C, to the same weights as without it. InputError where the run
    folder holds another recipe, or was made from another text.

    `devices` processes train together, each with a device of its own and its share of every batch; each has the model
    in the end. The first one, which starts the others with its own command line, alone writes and shows progress.
    Neither their number nor `micro_batch`, how many rows a device works on at a time, changes what is learned, but for
    rounding and dropout's draws.
    `tensorboard` logs the rows to the run folder for TensorBoard too.
    """
    started = time.perf_counter()
    if tensorboard:
        require("tensorboard", "tensorboard")
    fabric = make_fabric(device, devices)
    if recipe.batch_size < fabric.world_size:
        raise InputError(f"batch_size={recipe.batch_size}: fewer than the {fabric.world_size} processes")
    run = Run(out, as_record(recipe), keep=keep, resume=resume) if out and fabric.is_global_zero else None
    launch(fabric)
    if texts is None:
        texts = [document.sentences for document in storyworld.documents(recipe.seed, recipe.documents)]
    if isinstance(texts, TokenStore):
        documents, tokenizer = texts, texts.tokenizer
    else:
        tokenizer = tokenizer or learn_vocabulary(texts, recipe)
        documents = token_ids(texts, tokenizer)
    model = new_model(recipe, tokenizer)
    if recipe.second_task == "none":  # nothing teaches them, and several processes would wait for their gradients
        model.bert.pooler.requires_grad_(False)
        model.nsp.requires_grad_(False)
    state = fabric.broadcast(run.go_on(fingerprint(documents, tokenizer), minutes) if run else None)
    board = tensorboard_log(run.folder, state["step"] if state else 0) if run and tensorboard else None
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
    if run:
        run.save(model, tokenizer, dtype=torch.float16 if half else None)
        run.end()
    seconds = time.perf_counter() - started + (state["seconds"] if state else 0.0)
    return Pretrained(model, tokenizer, rows, seconds, stopped=bool(run and run.stopped))


def fingerprint(documents: Documents, tokenizer: Tokenizer) -> str:
    """Changes with the text and with the vocabulary."""
    digest = hashlib.sha256(repr(sorted(tokenizer.vocab.items())).encode())
    stored = isinstance(documents, TokenStore)
    for part in [documents.header.checksums, len(documents)] if stored else documents:
        digest.update(repr(part).encode())
    return digest.hexdigest()[:16]


def token_ids(texts: Sequence[Sequence[str]], tokenizer: Tokenizer) -> Documents:
    """Documents of sentences as token ids."""
    return [tokenizer.encode_batch(list(sentences)) for sentences in texts]


def learn_vocabulary(texts: Sequence[Sequence[str]], recipe: PretrainRecipe) -> Tokenizer:
    """A WordPiece vocabulary from (the first part of) the text."""
    sample = (sentence for sentences in texts[:TOKENIZER_SAMPLE] for sentence in sentences)
    return Tokenizer.train(sample, recipe.vocab_size, recipe.lowercase)


def batches(
    documents: Documents, tokenizer: Tokenizer, recipe: PretrainRecipe, start: int = 0
) -> Iterator[dict[str, Tensor]]:
    """Batches without end: every epoch draws new pairs, every step new masks.

    What a step sees depends on the seed and its number alone, so a run can go on after step `start`.
    """
    text = documents if isinstance(documents, TokenStore) else FlatText.of(documents)
    step = 0
    for steps, max_tokens in recipe.schedule():
        if steps is not None and step + steps <= start:
            step += steps
            continue
        for pairs in islice(rows(text, recipe, max_tokens), steps):
            step += 1
            if step > start:
                generator = torch.Generator().manual_seed(SEEDS * recipe.seed + step)
                yield step_batch(pairs, tokenizer, generator, recipe)


def rows(text: FlatText | TokenStore, recipe: PretrainRecipe, max_tokens: int) -> Iterator[Pairs]:
    """The pairs of one step after the other, without end."""
    for pairs in epochs(text, recipe, max_tokens):
        size = min(recipe.batch_size, len(pairs))
        for first in range(0, len(pairs) - size + 1, size):
            yield pairs[first : first + size]


def epochs(text: FlatText | TokenStore, recipe: PretrainRecipe, max_tokens: int) -> Iterator[Pairs]:
    """All text as pairs, again and again, some of them cut to a text alone; a large store comes in parts."""
    for epoch in count():
        rng = random.Random(SEEDS * recipe.seed + epoch)
        for part in text.windows(rng) if isinstance(text, TokenStore) else [text]:
            pairs = sentence_pairs(part, max_tokens, rng, recipe.second_task)
            yield pairs.alone(np.array([rng.random() < recipe.single_share for _ in range(len(pairs))]))


def step_batch(
    pairs: Pairs, tokenizer: Tokenizer, generator: torch.Generator, recipe: PretrainRecipe
) -> dict[str, Tensor]:
    """The inputs and labels of one step, for the tasks of the recipe; next_sentence_label only if there is a second."""
    if recipe.objective == "left-to-right":
        return next_token_batch(pairs, tokenizer)
    batch = masked_batch(pairs, tokenizer, generator, recipe.masking)
    if recipe.second_task == "none":
        del batch["next_sentence_label"]
    return batch


def masked_batch(
    pairs: Pairs | Sequence[Pair], tokenizer: Tokenizer, generator: torch.Generator, masking: Masking
) -> dict[str, Tensor]:
    """Pairs with words hidden: input_ids, token_type_ids, attention_mask, labels, next_sentence_label."""
    batch = collate(pairs, tokenizer)
    masked = mask_tokens(batch["input_ids"], batch.pop("special_tokens_mask"), tokenizer, generator, masking)
    return batch | {"input_ids": masked.input_ids, "labels": masked.labels}


def next_token_batch(pairs: Pairs | Sequence[Pair], tokenizer: Tokenizer) -> dict[str, Tensor]:
    """Texts for a model that reads from left to right: the label of each token is the one after it, [SEP] too."""
    batch = collate(pairs, tokenizer)
    inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
    following = torch.nn.functional.pad(batch["input_ids"][:, 1:], (0, 1))  # (B, S)
    there = torch.nn.functional.pad(batch["attention_mask"][:, 1:], (0, 1)).bool()  # (B, S): not after the end
    return inputs | {"labels": following.masked_fill(~there, IGNORED)}


def pretraining_loss(model, batch: dict[str, Tensor], shares: Shares = WHOLE) -> tuple[Tensor, dict[str, Tensor]]:
    """Sum of the losses of both tasks, or of masked words alone, and what to watch.

    The encoder runs on tokens alone, not on padding, and the decoder on the masked positions alone.
    """
    out = model(**batch, loss_only=True, packed=True)
    masked = shares["labels"]
    watched = {"mlm_loss": masked * out.mlm_loss, "masked_accuracy": masked * out.masked_accuracy}
    if out.nsp_loss is None:
        return watched["mlm_loss"], watched
    label = batch["next_sentence_label"]
    next_right = (out.seq_relationship_logits.argmax(-1) == label).float().sum() / (label != IGNORED).sum().clamp(min=1)
    labelled = shares["next_sentence_label"]
    watched |= {"nsp_loss": labelled * out.nsp_loss, "nsp_accuracy": labelled * next_right}
    return watched["mlm_loss"] + watched["nsp_loss"], watched


def next_token_loss(model, batch: dict[str, Tensor], shares: Shares = WHOLE) -> tuple[Tensor, dict[str, Tensor]]:
    """Loss of the next tokens, and what to watch."""
    out = model(**batch, loss_only=True, packed=True)
    loss = shares["labels"] * out.mlm_loss
    return loss, {"next_token_loss": loss, "next_token_accuracy": shares["labels"] * out.masked_accuracy}


LOSSES = {"masked": pretraining_loss, "left-to-right": next_token_loss}
