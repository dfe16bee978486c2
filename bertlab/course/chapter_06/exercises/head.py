"""The loss of masked words, and their head."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.config import IGNORED
from bertlab.course.exercise import Exercise
from bertlab.course.observe import module, random_tensor
from bertlab.course.solutions import pretraining
from bertlab.course.solutions.config import Config


def my_loss(logits, labels):
    asked = labels != -100  # (B, S)
    log_p = logits[asked].log_softmax(-1)  # (M, V)
    right = log_p.gather(1, labels[asked][:, None])  # (M, 1)
    return -right.sum() / asked.sum().clamp(min=1)


def _asked() -> list[tuple]:
    logits, labels = random_tensor(3, 8, 12), torch.full((3, 8), IGNORED)
    labels[0, 1:6], labels[1, 2], labels[2, [0, 3]] = torch.tensor([4, 0, 7, 1, 3]), 5, torch.tensor([0, 9])
    one, none = (logits[1:2], labels[1:2]), (logits, torch.full_like(labels, IGNORED))
    return [(logits, labels), one, none, (99 * logits, labels)]


def _by_rows(logits, labels):
    return torch.stack([my_loss(*row) for row in zip(logits, labels, strict=True)]).mean()


MEAN, WORDS = "-right.sum() / asked.sum().clamp(min=1)", "(labels.clamp(min=0))"

check_mlm_loss = Exercise(
    my_loss,
    _asked,
    right="Right: the mean over the masked positions alone.",
    slips=[
        (
            "you divide by all positions: the loss then shrinks with every unmasked or padded token. Divide by the "
            "number of labels that are not -100.",
            "asked.sum().clamp(min=1) => labels.numel()",
        ),
        ("this is the sum: divide by the number of masked positions.", " / asked.sum().clamp(min=1) => "),
        (
            "you average over rows first: a row with one mask then weighs as much as one with five. Take one mean over "
            "all masked positions.",
            _by_rows,
        ),
        (
            "-100 was counted as word 0: positions without a label must not enter the loss.",
            lambda logits, labels: F.cross_entropy(logits.flatten(0, 1), labels.clamp(min=0).flatten()),
        ),
        ("you ignore label 0, which is a word like any other; ignore -100.", "labels != -100 => labels > 0"),
        ("you took probabilities where log-probabilities belong: the loss is -log p.", "log_softmax => softmax"),
        (
            "a small probability becomes 0, and its logarithm infinite: log_softmax takes both steps at once.",
            "logits[asked].log_softmax(-1) => logits[asked].softmax(-1).log()",
        ),
        ("softmax is applied twice: cross_entropy wants raw logits.", "logits[asked] => logits[asked].softmax(-1)"),
        ("the sign is wrong: the loss is minus the log-probability.", "-right.sum() => right.sum()"),
        ("this is in bits; BERT's loss is in nats (natural logarithm).", "-right.sum() => -right.sum() / 0.69314718"),
        (
            "with no label at all the loss is nan, and one such batch ruins all weights: divide by max(count, 1).",
            ".clamp(min=1) => ",
        ),
        (
            "no gradient passes the loss: return a tensor, without item, detach or no_grad.",
            f"return {MEAN} => return ({MEAN}).item()",
        ),
        (
            "no gradient passes the loss: return a tensor, without item, detach or no_grad.",
            f"return {MEAN} => return ({MEAN}).detach()",
        ),
        (
            "return one number, the mean: yours is a loss for each position.",
            lambda logits, labels: F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none"),
        ),
        (
            "cross-entropy wants (N, V) and (N,); -100 is no word, leave it out.",
            lambda logits, labels: -logits.log_softmax(-1).gather(-1, labels[..., None]).mean(),
        ),
    ],
)


def _heads() -> list[tuple]:
    found = []
    for H, V in ((12, 20), (6, 15)):
        word = nn.Embedding(V, H)
        states = random_tensor(2, 5, H) if H == 12 else random_tensor(4, H)  # also of the masked positions alone
        found.append(((Config(V, H, layer_norm_eps=0.1), word), {"forward": (states,)}))
    return found


def _tied(cls: type[nn.Module], options: Sequence, runs: Any) -> dict[str, Any]:
    table = options[-1].weight
    found = module(cls, options, runs)
    head: Any = cls(*options)
    tied = head.decoder.weight is options[-1].weight
    return found | {
        "the decoder's matrix is the table of word vectors": tied,
        "the encoder keeps its table": options[-1].weight is table,
    }


HEAD = "self.decoder(self.norm(F.gelu(self.dense(states))))"
TIE = "the decoder has a matrix of its own: self.decoder.weight = word.weight makes both the same parameter."

check_mlm_head = Exercise(
    pretraining.MaskedLMHead,
    _heads,
    right="Right: dense, GELU, LayerNorm, then a logit for every word vector.",
    observe=_tied,
    kept=("MaskedLMHead",),
    slips=[
        (TIE, "        self.decoder.weight = word.weight\n => "),
        (TIE, "= word.weight => = nn.Parameter(word.weight.clone())"),
        (
            "the encoder has lost its table of word vectors to the decoder: self.decoder.weight = word.weight.",
            "self.decoder.weight = word.weight => word.weight = self.decoder.weight",
        ),
        ("the layer before the decoder is missing: dense, GELU, norm.", f"{HEAD} => self.decoder(states)"),
        ("there is no activation between dense and norm.", "F.gelu(self.dense(states)) => self.dense(states)"),
        ("the activation is GELU, as in the encoder, not ReLU.", "F.gelu => F.relu"),
        ("the activation is GELU; tanh is the pooler's.", "F.gelu => torch.tanh"),
        ("the LayerNorm is missing.", "self.norm(F.gelu(self.dense(states))) => F.gelu(self.dense(states))"),
        (
            "GELU comes before the LayerNorm.",
            "self.norm(F.gelu(self.dense(states))) => F.gelu(self.norm(self.dense(states)))",
        ),
        ("GELU comes after `dense`.", "F.gelu(self.dense(states)) => self.dense(F.gelu(states))"),
        ("give the logits of all words, (B, S, V), not the best word.", f"{HEAD} => {HEAD}.argmax(-1)"),
        (
            "nothing is added here: the head has no residual connection.",
            "F.gelu(self.dense(states)) => states + F.gelu(self.dense(states))",
        ),
        ("the decoder's bias is missing.", f"{HEAD} => {HEAD} - self.decoder.bias.detach()"),
        ("the decoder's bias is missing.", f"{HEAD} => self.norm(F.gelu(self.dense(states))) @ self.decoder.weight.T"),
        *(
            ("give the logits: the softmax is the loss's business.", f"{HEAD} => {HEAD}.{softmax}(-1)")
            for softmax in ("softmax", "log_softmax")
        ),
        (
            "these are still states: the product with the word vectors is missing.",
            f"{HEAD} => self.norm(F.gelu(self.dense(states)))",
        ),
        ("LayerNorm has its own eps: use config.layer_norm_eps.", ", eps=config.layer_norm_eps => "),
        (
            "the decoder passes no gradient on: the head and the encoder learn through it; no detach and no no_grad.",
            "self.decoder(self.norm => self.decoder(1 * self.norm",
            "(states)))) => (states))).detach())",
        ),
        (
            "no gradient reaches the encoder: the head learns, and what is below it must too.",
            "self.dense(states) => self.dense(states.detach())",
        ),
    ],
)
