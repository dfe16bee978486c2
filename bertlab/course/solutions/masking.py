"""My BERT, chapter 06: masked tokens and their labels."""

import torch

from bertlab.course.solutions.config import IGNORED, SPECIAL

# %% masking (chapter 06): Devlin et al., section 3.1, task 1


def choose(special, rate, generator):
    """Bool (B, S): round(rate x n) of each row's n ordinary tokens, at least one."""
    wanted = ((~special).sum(1, keepdim=True) * rate).round().clamp(min=1)  # (B, 1)
    draws = torch.rand(special.shape, generator=generator).masked_fill(special, 2.0)  # (B, S)
    return draws.argsort(1).argsort(1) < wanted  # the smallest draws of each row


def mask_tokens(ids, special, tokenizer, generator, rate=0.15):
    """ids, special (B, S) -> what the model sees (B, S); labels (B, S): the token where it was chosen, else -100."""
    chosen = choose(special, rate, generator)
    labels = ids.masked_fill(~chosen, IGNORED)
    positions = chosen.nonzero()  # (M, 2)
    positions = positions[torch.randperm(len(positions), generator=generator)]
    masks, randoms = round(0.8 * len(positions)), round(0.1 * len(positions))
    hidden = ids.clone()
    row, column = positions[:masks].T
    hidden[row, column] = tokenizer.mask_token_id
    row, column = positions[masks : masks + randoms].T
    hidden[row, column] = torch.randint(len(SPECIAL), tokenizer.vocab_size, (len(row),), generator=generator)
    return hidden, labels
