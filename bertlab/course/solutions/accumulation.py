"""My BERT, chapter 17: a step for batches that do not fit into memory."""

import torch
import torch.nn.functional as F

from bertlab.course.solutions.config import IGNORED

# %% gradient accumulation (chapter 17)


def accumulated_step(model, optimizer, batch, rate, rows, clip=1.0):
    """What train_step does with the whole batch, at most `rows` rows at a time -> the loss of the batch (float)."""
    words, pairs = ((batch[name] != IGNORED).sum().clamp(min=1) for name in ("labels", "next_sentence_label"))
    total = 0.0
    for start in range(0, len(batch["input_ids"]), rows):
        part = {name: tensor[start : start + rows] for name, tensor in batch.items()}
        word_logits, pair_logits = model(part["input_ids"], part["attention_mask"], part["token_type_ids"])
        loss = F.cross_entropy(word_logits.flatten(0, 1), part["labels"].flatten(), reduction="sum") / words
        loss = loss + F.cross_entropy(pair_logits, part["next_sentence_label"], reduction="sum") / pairs
        loss.backward()  # adds to the gradients that are there
        total += loss.item()
    torch.nn.utils.clip_grad_norm_(optimizer.parameters, clip)
    optimizer.step(rate)
    optimizer.zero_grad()
    return total
