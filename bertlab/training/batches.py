"""From text to the batches of a pretraining: what each step sees."""

import random
from collections.abc import Iterator, Sequence
from itertools import count, islice

import numpy as np
import torch
from torch import Tensor

from bertlab.inputs.flat import FlatText
from bertlab.inputs.masking import IGNORED, Masking, mask_tokens
from bertlab.inputs.pairs import Pair, Pairs, collate, sentence_pairs
from bertlab.inputs.store import TokenStore
from bertlab.tokenizer import Tokenizer
from bertlab.training.recipes import PretrainRecipe

Documents = Sequence[list[list[int]]]  # documents of sentences of token ids
SEEDS = 1_000_003  # steps and epochs of one seed, and then of the next


def token_ids(texts: Sequence[Sequence[str]], tokenizer: Tokenizer) -> Documents:
    """Documents of sentences as token ids."""
    return [tokenizer.encode_batch(list(sentences)) for sentences in texts]


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
                yield step_batch(pairs, tokenizer, generator, recipe, recipe.masking_at(step))


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
    pairs: Pairs,
    tokenizer: Tokenizer,
    generator: torch.Generator,
    recipe: PretrainRecipe,
    masking: Masking | None = None,
) -> dict[str, Tensor]:
    """The inputs and labels of one step, for the tasks of the recipe; next_sentence_label only if there is a second.

    `masking` replaces the recipe's, which it begins with.
    """
    if recipe.objective == "left-to-right":
        return next_token_batch(pairs, tokenizer)
    batch = masked_batch(pairs, tokenizer, generator, masking or recipe.masking)
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
    """Texts for a model that reads from left to right: the label of each token is the one after it, if it is a word."""
    batch = collate(pairs, tokenizer)
    inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
    following = torch.nn.functional.pad(batch["input_ids"][:, 1:], (0, 1))  # (B, S)
    return inputs | {"labels": following.masked_fill(tokenizer.special_mask(following), IGNORED)}
