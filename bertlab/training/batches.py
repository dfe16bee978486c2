"""Turn text into the batches of a pretraining, ahead of time if a GPU would have to wait for them."""

import random
import signal
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import count
from multiprocessing import get_all_start_methods

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset

from bertlab.config import IGNORED
from bertlab.errors import InputError
from bertlab.inputs.masking import Masking, mask_tokens
from bertlab.inputs.pairs import Pair, Pairs, collate, sentence_pairs
from bertlab.inputs.store import FlatText, TokenStore
from bertlab.tokenizer import Tokenizer
from bertlab.training.engine.micro_batches import Batch
from bertlab.training.recipes import PretrainRecipe

Documents = Sequence[list[list[int]]]  # documents of sentences of token ids
SEEDS = 1_000_003  # so far apart are two seeds: more than any run has steps or epochs


def token_ids(texts: Sequence[Sequence[str]], tokenizer: Tokenizer) -> Documents:
    """Tokenize documents of sentences."""
    return [tokenizer.encode_batch(list(sentences)) for sentences in texts]


def batches(documents: Documents, tokenizer: Tokenizer, recipe: PretrainRecipe, start: int = 0) -> Iterator[Batch]:
    """Yield batches without end: every epoch draws new pairs, every step new masks.

    The batch of a step depends on the seed and the step's number alone, so a run can go on after step `start`.
    """
    text = documents if isinstance(documents, TokenStore) else FlatText.of(documents)
    step = 0
    for steps, max_tokens in recipe.schedule():
        if steps is not None and step + steps <= start:
            step += steps
            continue
        full, short = (pairs_of_steps(text, recipe, tokens) for tokens in (max_tokens, max_tokens // 2))
        for _ in count() if steps is None else range(steps):
            step += 1
            pairs = next(short if is_short(recipe, step) else full)
            if step > start:
                generator = torch.Generator().manual_seed(SEEDS * recipe.seed + step)
                yield step_batch(pairs, tokenizer, generator, recipe, recipe.masking_at(step))


def is_short(recipe: PretrainRecipe, step: int) -> bool:
    """Return whether the texts of this step have half of max_tokens, by the recipe's short_share."""
    return bool(recipe.short_share) and random.Random(SEEDS * recipe.seed + step).random() < recipe.short_share


def pairs_of_steps(text: FlatText | TokenStore, recipe: PretrainRecipe, max_tokens: int) -> Iterator[Pairs]:
    """Yield the pairs of one step after the other, without end."""
    for pairs in pairs_of_epochs(text, recipe, max_tokens):
        size = min(recipe.batch_size, len(pairs))
        for first in range(0, len(pairs) - size + 1, size):
            yield pairs[first : first + size]


def pairs_of_epochs(text: FlatText | TokenStore, recipe: PretrainRecipe, max_tokens: int) -> Iterator[Pairs]:
    """Yield all text as pairs, again and again, some cut to a single text; a large store comes window by window."""
    for epoch in count():
        rng = random.Random(SEEDS * recipe.seed + epoch)
        for window in text.windows(rng) if isinstance(text, TokenStore) else [text]:
            pairs = sentence_pairs(window, max_tokens, rng, recipe.second_task)
            yield pairs.alone(np.array([rng.random() < recipe.single_share for _ in range(len(pairs))]))


def step_batch(
    pairs: Pairs,
    tokenizer: Tokenizer,
    generator: torch.Generator,
    recipe: PretrainRecipe,
    masking: Masking | None = None,
) -> Batch:
    """Return inputs and labels of one step for the recipe's tasks; next_sentence_label only if there is a second.

    `masking` replaces the recipe's.
    """
    if recipe.objective == "left-to-right":
        return next_token_batch(pairs, tokenizer)
    batch = masked_batch(pairs, tokenizer, generator, masking or recipe.masking)
    if recipe.second_task == "none":
        del batch["next_sentence_label"]
    return batch


def masked_batch(
    pairs: Pairs | Sequence[Pair], tokenizer: Tokenizer, generator: torch.Generator, masking: Masking
) -> Batch:
    """Mask words of the pairs: input_ids, token_type_ids, attention_mask, labels, next_sentence_label."""
    batch = collate(pairs, tokenizer)
    masked = mask_tokens(batch["input_ids"], batch.pop("special_tokens_mask"), tokenizer, generator, masking)
    return batch | {"input_ids": masked.input_ids, "labels": masked.labels}


def next_token_batch(pairs: Pairs | Sequence[Pair], tokenizer: Tokenizer) -> Batch:
    """Return texts for a left-to-right (causal) model: the label of each token is the one after it, if it is a word."""
    batch = collate(pairs, tokenizer)
    inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
    following = torch.nn.functional.pad(batch["input_ids"][:, 1:], (0, 1))  # (B, S)
    return inputs | {"labels": following.masked_fill(tokenizer.special_mask(following), IGNORED)}


PREFETCHED = 16  # batches that lie ready: enough to draw the pairs of the next epoch meanwhile


def prefetch(batches: Iterable[Batch], worker: bool) -> Generator[Batch, None, None]:
    """Yield the same batches; with `worker` another process makes them, ahead of time and in pinned memory.

    Close it at the end (contextlib.closing): that ends the process, which ignores Ctrl-C.
    """
    if not worker:
        yield from batches
        return
    loader = DataLoader(
        _Stream(batches),
        batch_size=None,
        num_workers=1,
        prefetch_factor=PREFETCHED,
        pin_memory=torch.cuda.is_available(),
        multiprocessing_context="fork",  # shares the text's memory
        worker_init_fn=_ignore_ctrl_c,
        generator=torch.Generator(),  # or it would draw from the one that dropout draws from
    )
    for batch in loader:
        if isinstance(batch, InputError):
            raise batch
        yield batch


def can_prefetch(device: str) -> bool:
    """Return whether training on `device` leaves a core free for a worker: on a GPU, if the system can fork."""
    return device in ("auto", "cuda") and torch.cuda.is_available() and "fork" in get_all_start_methods()


class _Stream(IterableDataset[Batch | InputError]):
    def __init__(self, batches: Iterable[Batch]):
        self.batches = batches

    def __iter__(self) -> Iterator[Batch | InputError]:
        try:
            yield from self.batches
        except InputError as error:  # as a value: raised, it would arrive with a traceback in its message
            yield error


def _ignore_ctrl_c(_: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
