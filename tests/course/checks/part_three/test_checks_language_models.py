"""The checkers of chapter 14's language models pass right answers and name each known mistake."""

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course import (
    check_backwards,
    check_both_sides,
    check_causal_mask,
    check_elmo,
    check_gpt,
)
from bertlab.course.solutions import family as solution
from bertlab.course.solutions.config import IGNORED
from bertlab.course.solutions.family import backwards, causal_mask
from tests.course.checks.checking import checker_tests, not_begun_test, otherwise_test

# The causal mask


def ahead(mask, diagonal=1):
    return torch.ones(mask.size(1), mask.size(1), dtype=torch.bool).triu(diagonal)


def padded(mask):
    return (mask == 0)[:, None, None, :]


def by_positions(mask):
    positions = torch.arange(mask.size(1))
    return ((positions[:, None] < positions) | (mask == 0)[:, None, :])[:, None]


# GPT


def gpt(**changes):
    return type("OwnGpt", (solution.Gpt,), changes)


def with_mask(make):
    def forward(self, input_ids, attention_mask):
        x = self.dropout(self.word(input_ids) + self.position(torch.arange(input_ids.size(1))))
        return self.encoder(x, make(attention_mask)) @ self.word.weight.T

    return gpt(forward=forward)


def without_positions(self, input_ids, attention_mask):
    return self.encoder(self.dropout(self.word(input_ids)), causal_mask(attention_mask)) @ self.word.weight.T


def without_dropout(self, input_ids, attention_mask):
    x = self.word(input_ids) + self.position(torch.arange(input_ids.size(1)))
    return self.encoder(x, causal_mask(attention_mask)) @ self.word.weight.T


def language_loss(of_logits, of_ids, hide=True, reduction="mean"):
    """The loss of the logits and ids that two slices leave."""

    def loss(self, batch):
        ids, mask = batch["input_ids"], batch["attention_mask"]
        ids = ids.masked_fill(mask == 0, IGNORED) if hide else ids
        logits = self(batch["input_ids"], mask)[:, of_logits]
        return F.cross_entropy(logits.flatten(0, 1), ids[:, of_ids].flatten(), reduction=reduction)

    return gpt(loss=loss)


def mean_of_texts(self, batch):
    each = [{name: tensor[i : i + 1] for name, tensor in batch.items()} for i in range(len(batch["input_ids"]))]
    return torch.stack([solution.Gpt.loss(self, one) for one in each]).mean()


def gathered(x, mask):
    places = torch.arange(x.size(1)).expand(len(x), -1)
    lengths = mask.sum(1, keepdim=True)
    return x.gather(1, torch.where(places < lengths, lengths - 1 - places, places))


class WithNorm(solution.Gpt):
    def __init__(self, config):
        super().__init__(config)
        self.norm = nn.LayerNorm(config.hidden_size)


BEFORE, AFTER, ALL = slice(None, -1), slice(1, None), slice(None)

# ELMo


def elmo(**changes):
    return type("OwnElmo", (solution.Elmo,), changes)


def reading(right):
    """An ELMo whose states from the right are those of `right`(self, ids, mask)."""

    def forward(self, input_ids, attention_mask):
        return torch.cat([self.one_way(input_ids, self.lefts), right(self, input_ids, attention_mask)], -1)

    return elmo(forward=forward)


def one_way(first):
    def states(self, input_ids, layers):
        found = [self.word(input_ids)]
        for number, layer in enumerate(layers):
            new, _ = layer(found[-1])
            found.append(found[-1] + new if number >= first else new)
        return torch.stack(found)

    return elmo(one_way=states)


def swapped(self, input_ids, attention_mask):
    return torch.cat(solution.Elmo.forward(self, input_ids, attention_mask).chunk(2, -1)[::-1], -1)


def elmo_loss(*parts, share=0.5):
    """The loss of the sum of some of: next (from the left), before, ahead (from the right), own, unpadded."""

    def loss(self, batch):
        ids, mask = batch["input_ids"], batch["attention_mask"]
        left, right = (self.decoder(x) for x in self(ids, mask)[-1].chunk(2, -1))
        real = ids.masked_fill(mask == 0, IGNORED)
        hidden = real[:, :-1].masked_fill(real[:, 1:] == IGNORED, IGNORED)
        cases = {
            "next": (left[:, :-1], real[:, 1:]),
            "before": (right[:, 1:], hidden),
            "ahead": (right[:, :-1], real[:, 1:]),
            "own": (left, real),
            "own right": (right, real),
            "unpadded": (right[:, 1:], real[:, :-1]),
        }
        pairs = [cases[part] for part in parts]
        return share * sum(F.cross_entropy(x.flatten(0, 1), y.flatten()) for x, y in pairs)

    return elmo(loss=loss)


class WithPacking(solution.Elmo):
    def one_way(self, input_ids, layers):
        return super().one_way(input_ids.clone(), layers)

    def forward(self, input_ids, attention_mask):
        states = super().forward(input_ids, attention_mask)
        return states * attention_mask[..., None]  # padding is 0, as packed LSTMs leave it


RIGHT = {
    check_causal_mask: causal_mask,
    check_gpt: solution.Gpt,
    check_backwards: backwards,
    check_elmo: solution.Elmo,
    check_both_sides: lambda left, right, prior: (left + right - prior).log_softmax(-1),
}
MISTAKES = {
    check_causal_mask: {
        "True where attending is allowed": lambda mask: ~causal_mask(mask),
        "rows and columns are swapped": lambda mask: padded(mask) | ahead(mask).T,
        "may attend to itself": lambda mask: padded(mask) | ahead(mask, 0),
        "this hides padding alone": lambda mask: padded(mask).expand(-1, 1, 6, 6),
        "nothing of their padding": ahead,
        "padding is missing": lambda mask: ahead(mask).expand(2, 1, 6, 6),
        "padding OR": lambda mask: padded(mask) & ahead(mask),
        "hide its columns": lambda mask: (mask == 0)[:, None, :, None] | ahead(mask),
        "stands for the heads": lambda mask: causal_mask(mask)[:, 0],
        "True and False": lambda mask: causal_mask(mask).float(),
    },
    check_gpt: {
        "sees the words to its right": with_mask(padded),
        "wrong way round": with_mask(lambda mask: ~causal_mask(mask)),
        "positions are missing": gpt(forward=without_positions),
        "return logits": gpt(forward=lambda self, *rows: solution.Gpt.forward(self, *rows).softmax(-1)),
        "only in yours: norm.weight": WithNorm,
        "token i, which it sees": language_loss(ALL, ALL),
        "shifted the wrong way": language_loss(AFTER, BEFORE),
        "padding counts as a word": language_loss(BEFORE, AFTER, hide=False),
        "this is the sum": language_loss(BEFORE, AFTER, reduction="sum"),
        "one mean over the tokens of all texts": gpt(loss=mean_of_texts),
        "in training nothing is dropped": None,
    },
    check_backwards: {
        "nothing has changed": lambda x, mask: x,
        "padding stands in front": lambda x, mask: x.flip(1),
        "order of the texts": lambda x, mask: x.flip(0),
        "off by one": lambda x, mask: backwards(x, mask).roll(1, 1),
        "states (B, S, H)": lambda x, mask: backwards(x, mask) if x.dim() == 2 else x.flip(1),
        "On ids it works; it should also reverse states (B, S, H)": gathered,
        "should become": lambda x, mask: backwards(x, mask).sort(1).values,
    },
    check_elmo: {
        "still in reading order": reading(lambda self, ids, mask: self.one_way(backwards(ids, mask), self.rights)),
        "read from the left": reading(lambda self, ids, mask: self.one_way(ids, self.rights)),
        "halves are swapped": elmo(forward=swapped),
        "puts padding in front": reading(lambda self, ids, mask: self.one_way(ids.flip(1), self.rights).flip(2)),
        "each has its own LSTMs": reading(
            lambda self, ids, mask: torch.stack(
                [backwards(x, mask) for x in self.one_way(backwards(ids, mask), self.lefts)]
            )
        ),
        "residual connection is missing": one_way(9),
        "first LSTM has no residual": one_way(0),
        "all layers, (L+1, B, S, H)": elmo(forward=lambda self, *rows: solution.Elmo.forward(self, *rows)[-1]),
        "from the right is missing": elmo_loss("next", share=1),
        "from the left is missing": elmo_loss("before", share=1),
        "this is the sum": elmo_loss("next", "before", share=1),
        "has been read already": elmo_loss("next", "ahead"),
        "shift by one": elmo_loss("own", "own right"),
        "padding has no token before it": elmo_loss("next", "unpadded"),
    },
    check_both_sides: {
        "do not sum to one": lambda left, right, prior: left + right - prior,
        "counts twice": lambda left, right, prior: (left + right).log_softmax(-1),
        "sign of the prior": lambda left, right, prior: (left + right + prior).log_softmax(-1),
        "mean of the probabilities": lambda left, right, prior: ((left.exp() + right.exp()) / 2).log(),
        "evidence of both sides adds up": lambda left, right, prior: ((left + right) / 2).log_softmax(-1),
        "return ln p, not p": lambda left, right, prior: (left + right - prior).softmax(-1),
        "runs over the words": lambda left, right, prior: (left + right - prior).log_softmax(0),
    },
}
MISTAKES[check_gpt]["in training nothing is dropped"] = gpt(
    __init__=lambda self, config: solution.Gpt.__init__(
        self, config.changed(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    )
)

test_right_answer_passes, test_mistake_is_named = checker_tests(RIGHT, MISTAKES)

OTHERWISE = [
    (check_causal_mask, by_positions),
    (check_elmo, WithPacking),
    (check_both_sides, lambda left, right, prior: (left + right - prior).softmax(-1).log()),
]

test_a_right_answer_written_another_way_passes = otherwise_test(OTHERWISE)
test_what_is_not_begun_is_called_so = not_begun_test(RIGHT)
