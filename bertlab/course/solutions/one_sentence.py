"""My BERT, chapter 09: a classifier on [CLS], and the loop that fine-tunes every model of part two."""

import random

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course.solutions.config import IGNORED
from bertlab.course.solutions.encoder import Bert
from bertlab.course.solutions.training import AdamW, rate_share

# %% one sentence (chapter 09): Devlin et al., section 4.1 and appendix A.3


def inputs(tokenizer, first, second=None, max_tokens=128):
    """Texts, and maybe a second text for each -> input_ids, attention_mask, token_type_ids (B, S). Too long: the end of
    the longer text is cut."""
    rows, kinds = [], []
    for number, text in enumerate(first):
        a, b = tokenizer.ids(text), tokenizer.ids(second[number]) if second else []
        free = max_tokens - (3 if second else 2)
        while len(a) + len(b) > free:
            (a if len(a) >= len(b) else b).pop()
        row = [tokenizer.cls_token_id, *a, tokenizer.sep_token_id]
        behind = [*b, tokenizer.sep_token_id] if second else []
        rows.append(row + behind)
        kinds.append([0] * len(row) + [1] * len(behind))
    longest = max(map(len, rows))
    padding = [longest - len(row) for row in rows]
    return dict(
        input_ids=torch.tensor([row + [tokenizer.pad_token_id] * n for row, n in zip(rows, padding, strict=True)]),
        attention_mask=torch.tensor([[1] * len(row) + [0] * n for row, n in zip(rows, padding, strict=True)]),
        token_type_ids=torch.tensor([kind + [0] * n for kind, n in zip(kinds, padding, strict=True)]),
    )


def epochs(examples, size=32, seed=0):
    """Yield lists of `size` examples without end; each epoch has every example once, in another order."""
    rng = random.Random(seed)
    while True:
        order = rng.sample(examples, len(examples))
        yield from (order[start : start + size] for start in range(0, len(order), size))


class BertForSequenceClassification(nn.Module):
    """One linear layer on the pooled [CLS]."""

    def __init__(self, config, num_labels):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, num_labels)
        nn.init.normal_(self.classifier.weight, std=config.initializer_range)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, S) -> logits (B, N)."""
        _, pooled = self.bert(input_ids, attention_mask, token_type_ids)
        return self.classifier(self.dropout(pooled))

    def loss(self, batch):
        """The three inputs (B, S) and labels (B,) -> the mean loss."""
        rows = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        return F.cross_entropy(self(**rows), batch["labels"], ignore_index=IGNORED)


def layer_shares(model, decay):
    """A model with `bert` and a head -> [(module, share of the learning rate), ...]: 1 for the head, the pooler and the
    last layer; each layer below has `decay` times the share of the one above, the embeddings the least."""
    blocks = [model.bert.embeddings, *model.bert.encoder.layers]
    top = [model.bert.pooler, *(module for name, module in model.named_children() if name != "bert")]
    depths = reversed(range(len(blocks)))  # below the last layer
    return [(block, decay**depth) for block, depth in zip(blocks, depths, strict=True)] + [(part, 1.0) for part in top]


def finetune(model, batches, steps, rate=1e-3, warmup=0.1, clip=1.0, on_step=None, shares=None):
    """Train any model that has `loss(batch)` on an iterable of batches; `on_step(step, loss)` is called after each.
    `shares` are [(module, share of the learning rate), ...]; without them the whole model has the whole rate."""
    optimizers = [(AdamW(module), share) for module, share in shares or [(model, 1.0)]]
    weights = [weight for optimizer, _ in optimizers for weight in optimizer.parameters]
    model.train()
    for step, batch in zip(range(steps), batches, strict=False):
        loss = model.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, clip)
        for optimizer, share in optimizers:
            optimizer.step(share * rate * rate_share((step + 0.5) / steps, warmup))
            optimizer.zero_grad()
        if on_step:
            on_step(step, loss.item())
    return model.eval()
