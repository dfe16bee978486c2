"""My BERT, chapter 10: sentence vectors that are compared, and multiple choice."""

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course.solutions.encoder import Bert
from bertlab.course.solutions.one_sentence import inputs

# %% two sentences (chapter 10): Devlin et al., section 4.1; Reimers and Gurevych 2019


def mean_pool(states, attention_mask):
    """States (B, S, H) and the mask (B, S), 1 at tokens and 0 at padding -> their mean over the tokens (B, H)."""
    real = attention_mask[:, :, None].to(states.dtype)  # (B, S, 1)
    return (states * real).sum(1) / real.sum(1)


def in_batch_loss(first, second, scale=20.0):
    """Vectors (B, H) of the first and of the second texts -> mean cross-entropy of finding each text's partner."""
    logits = scale * F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).T  # (B, H) @ (H, B) -> (B, B)
    return F.cross_entropy(logits, torch.arange(len(logits)))


class SentenceEncoder(nn.Module):
    """One vector for each text: the mean over its tokens. Both texts of a pair go through the same weights."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.bert = Bert(config)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, S) -> vectors (B, H)."""
        states, _ = self.bert(input_ids, attention_mask, token_type_ids)
        return mean_pool(states, attention_mask)

    def loss(self, batch):
        """The three inputs of the first texts under "first", those of their partners under "second" -> the loss."""
        return in_batch_loss(self(**batch["first"]), self(**batch["second"]))


def choice_rows(tokenizer, texts, choices, max_tokens=128):
    """B texts and a list of C choices for each -> the three inputs (B, C, S): each choice stands behind its text."""
    first = [text for text, options in zip(texts, choices, strict=True) for _ in options]
    second = [option for options in choices for option in options]
    rows = inputs(tokenizer, first, second, max_tokens)
    return {name: row.view(len(texts), -1, row.size(1)) for name, row in rows.items()}


class BertForMultipleChoice(nn.Module):
    """One logit for each row, and a softmax over the rows of one question."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, 1)
        nn.init.normal_(self.classifier.weight, std=config.initializer_range)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, C, S) -> logits (B, C)."""
        rows = (x.flatten(0, 1) for x in (input_ids, attention_mask, token_type_ids))  # (B, C, S) -> (B*C, S)
        _, pooled = self.bert(*rows)
        return self.classifier(self.dropout(pooled)).view(input_ids.shape[:2])  # (B*C, 1) -> (B, C)

    def loss(self, batch):
        """The three inputs (B, C, S) and labels (B,), the numbers of the right choices -> the mean loss."""
        rows = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        return F.cross_entropy(self(**rows), batch["labels"])
