"""The joint loss, and the whole BERT."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from bertlab.config import IGNORED
from bertlab.course.exercise import Exercise
from bertlab.course.observe import module, random_tensor, small_batch
from bertlab.course.solutions import pretraining
from bertlab.course.solutions.config import Config


def _logits() -> list[tuple]:
    words, pairs = random_tensor(4, 6, 9), random_tensor(4, 2, seed=1)
    labels, one = torch.full((4, 6), IGNORED), torch.full((4, 6), IGNORED)
    labels[0, 1:4], labels[2, 2], labels[3, 4], one[1, 2] = torch.tensor([4, 0, 7]), 5, 8, 3
    following = torch.tensor([0, 1, 0, IGNORED])
    return [
        (words, pairs, labels, following.clamp(min=0)),  # at -100 a loss that ignores another label would stop
        (words, pairs, labels, following),
        (words, pairs, one, torch.tensor([IGNORED, 1, IGNORED, IGNORED])),
        (words, pairs, labels, torch.full_like(following, IGNORED)),
    ]


WORDS, PAIRS = "(labels != IGNORED).sum().clamp(min=1)", "(next_sentence_label != IGNORED).sum().clamp(min=1)"
SUM = f"words / {WORDS} + pairs / {PAIRS}"
LEARNS_WORDS = "the masked words teach the encoder nothing: prediction_logits must keep their gradient, no detach."

check_joint_loss = Exercise(
    pretraining.joint_loss,
    _logits,
    right="Right: the mean over the chosen words plus the mean over the pairs with a label.",
    kept=("joint_loss",),
    slips=[
        ("the pairs are missing: add the loss of the second task.", f"{SUM} => words / {WORDS}"),
        ("the words are missing: add the loss of the first task.", f"{SUM} => pairs / {PAIRS}"),
        ("this is the mean of the two losses: BERT takes their sum.", f"{SUM} => ({SUM}) / 2"),
        (
            "you ignore label 0 of the pairs, which is IsNext: only -100 is no label.",
            f"pairs / {PAIRS} => F.cross_entropy(relationship_logits, next_sentence_label, ignore_index=0)",
        ),
        (
            "you ignore label 0 of the pairs, which is IsNext: only -100 is no label.",
            f"pairs / {PAIRS} => F.cross_entropy(relationship_logits, next_sentence_label.clamp(min=0), "
            f"ignore_index=0)",
        ),
        (
            "you ignore word 0, which is a word like any other: only -100 is no label.",
            f"words / {WORDS} => F.cross_entropy(prediction_logits.flatten(0, 1), labels.clamp(min=0).flatten(), "
            f"ignore_index=0)",
        ),
        ("these are sums: each loss is a mean, over what was asked.", f"{SUM} => words + pairs"),
        ("the second loss is a sum: divide it by the number of pairs with a label.", f"pairs / {PAIRS} => pairs"),
        (
            "you divide by all rows: the text alone, with label -100, was not asked.",
            f"pairs / {PAIRS} => pairs / len(next_sentence_label)",
        ),
        (
            "the text alone, with label -100, was taken for IsNext.",
            f"pairs / {PAIRS} => F.cross_entropy(relationship_logits, next_sentence_label.clamp(min=0))",
        ),
        ("the first loss is divided by all positions.", f"words / {WORDS} => words / labels.numel()"),
        ("the first loss is a sum: divide it by the number of chosen words.", f"words / {WORDS} => words"),
        ("the labels of the pairs are swapped.", "(relationship_logits, => (relationship_logits.flip(1),"),
        (
            "softmax is applied twice: cross_entropy takes logits.",
            "(relationship_logits, => (relationship_logits.softmax(-1),",
        ),
        (
            "softmax is applied twice: cross_entropy takes logits.",
            "prediction_logits.flatten => prediction_logits.softmax(-1).flatten",
        ),
        (
            "in a batch of single texts no pair has a label, and the loss should be that of the words alone, not nan.",
            f"pairs / {PAIRS} => F.cross_entropy(relationship_logits, next_sentence_label)",
        ),
        (LEARNS_WORDS, "prediction_logits.flatten => prediction_logits.detach().flatten"),
        (
            "the pairs teach the encoder nothing: relationship_logits must keep their gradient, no detach.",
            "(relationship_logits, => (relationship_logits.detach(),",
        ),
        (
            "return the loss as a tensor: without a gradient nothing is learned, no item and no detach.",
            f"return {SUM} => return ({SUM}).detach()",
        ),
        ("return one number, the sum of both losses.", f"return {SUM} => return words / {WORDS}, pairs / {PAIRS}"),
    ],
)


def _models() -> list[tuple]:
    sizes = ((12, 3, 2, 7), (6, 1, 1, 5))  # hidden size, heads, layers, tokens
    options: dict[str, Any] = {
        "max_position_embeddings": 9,
        "initializer_range": 0.3,
        "hidden_dropout_prob": 0.4,
        "layer_norm_eps": 0.1,
    }
    return [((Config(30, H, L, A, 10, **options),), {"forward": small_batch(width=S)}) for H, A, L, S in sizes]


def _whole(cls: type[nn.Module], options: Sequence, runs: Any) -> dict[str, Any]:
    model = cls(*options)
    found = module(cls, options, runs)
    return found | {
        "self.config is the configuration": getattr(model, "config", None) == options[0],
        "weights start with initializer_range, biases with 0": starts(model, options[0].initializer_range),
    }


def starts(model: nn.Module, wanted: float) -> bool:
    """Whether matrices and tables start with the spread that is wanted, and biases with 0."""
    parts = [part for part in model.modules() if isinstance(part, nn.Linear | nn.Embedding)]
    close = [
        abs(float(part.weight.detach().std()) / wanted - 1) < 4 / (2 * part.weight.numel()) ** 0.5 + 0.1
        for part in parts
    ]
    biases = [part.bias for part in parts if isinstance(part, nn.Linear)]
    return all(close) and not any(bias is not None and bool(bias.any()) for bias in biases)


CALL = "self.bert(input_ids, attention_mask, token_type_ids)"
START = (
    "the weights do not all start with initializer_range, biases with 0: call initialise(self, "
    "config.initializer_range) "
    "in the last line of __init__."
)

check_pretraining_model = Exercise(
    pretraining.BertForPreTraining,
    _models,
    right="Right: with the same weights your BERT and the library's give the same logits, for words and for pairs.",
    observe=_whole,
    gives=("the logits of the words", "the logits of the pairs"),
    kept=("BertForPreTraining",),
    slips=[
        (
            "the head is not tied to your own word vectors: give it self.bert.embeddings.word.",
            "self.bert.embeddings.word => nn.Embedding(config.vocab_size, config.hidden_size)",
        ),
        ("keep the configuration, self.config = config: saving needs it.", "        self.config = config\n => "),
        (START, "        initialise(self, config.initializer_range)\n => "),
        (START, "self, config.initializer_range => self"),
        (
            START,
            "        self.nsp = nn.Linear(config.hidden_size, 2)\n => ",
            "initialise(self, config.initializer_range) => initialise(self, config.initializer_range); self.nsp = "
            "nn.Linear(config.hidden_size, 2)",
        ),
        (
            "the two results have changed places: words come first.",
            "self.mlm(hidden), self.nsp(pooled) => self.nsp(pooled), self.mlm(hidden)",
        ),
        (
            "attention_mask does not reach the encoder.",
            f"{CALL} => {CALL.replace('attention_mask', 'torch.ones_like(attention_mask)')}",
        ),
        (
            "token_type_ids do not reach the encoder.",
            f"{CALL} => {CALL.replace('token_type_ids', '0 * token_type_ids')}",
        ),
        (
            "attention_mask and token_type_ids have changed places.",
            f"{CALL} => self.bert(input_ids, token_type_ids, attention_mask)",
        ),
        ("these are states: they have not been through the head `mlm`.", "self.mlm(hidden) => hidden"),
        (
            "`nsp` reads the pooler's output, not the state of [CLS] itself.",
            "self.nsp(pooled) => self.nsp(hidden[:, 0])",
        ),
        (
            "`nsp` reads the pooler's output, not the mean over the tokens.",
            "self.nsp(pooled) => self.nsp(hidden.mean(1))",
        ),
        (
            "`nsp` gives two logits for each pair: it reads the pooler's output (B, H).",
            "self.nsp(pooled) => self.nsp(hidden)",
        ),
        ("return the logits: the softmax is part of the loss.", "self.nsp(pooled) => self.nsp(pooled).softmax(-1)"),
        ("return the logits: the softmax is part of the loss.", "self.mlm(hidden) => self.mlm(hidden).softmax(-1)"),
        (
            "the masked words teach the encoder nothing: no gradient passes `mlm`; no detach and no no_grad.",
            "self.mlm(hidden) => self.mlm(hidden.detach())",
        ),
        (
            "the pairs teach the encoder nothing: no gradient passes `nsp`; no detach and no no_grad.",
            "self.nsp(pooled) => self.nsp(pooled.detach())",
        ),
        (
            "the encoder learns nothing: no gradient reaches it; no detach and no no_grad.",
            "return self.mlm(hidden), self.nsp(pooled) => return self.mlm(hidden.detach()), self.nsp(pooled.detach())",
        ),
    ],
)
