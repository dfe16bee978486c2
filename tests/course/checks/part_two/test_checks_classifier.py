"""The checkers of a classifier pass right answers and name the mistake of each known wrong one."""

import random
from itertools import islice

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course import check_classifier, check_epochs, check_inputs
from bertlab.course.solutions import one_sentence as solution
from tests.course.checks.checking import checker_tests

Head = solution.BertForSequenceClassification

# Inputs


def changed(**slips):
    """The right inputs with these tensors changed."""

    def made(tokenizer, first, second=None, max_tokens=128):
        rows = solution.inputs(tokenizer, first, second, max_tokens)
        return rows | {name: change(rows) for name, change in slips.items()}

    return made


def first_alone(tokenizer, first, second=None, max_tokens=128):
    """The first text is cut and never the second."""
    room = max_tokens - 3
    if second:
        first = [" ".join(a.split()[: room - len(b.split())]) for a, b in zip(first, second, strict=True)]
    return solution.inputs(tokenizer, first, second, max_tokens)


INPUTS = {
    "special tokens count": lambda tok, first, second, limit: solution.inputs(tok, first, second, limit + 3),
    "0 on padding": changed(attention_mask=lambda rows: 1 - rows["attention_mask"]),
    "padding is no token": changed(attention_mask=lambda rows: rows["attention_mask"] | 1),
    "1 on the second text": changed(token_type_ids=lambda rows: rows["token_type_ids"] * 0),
    "the longer text loses its end": first_alone,
    "a dictionary with": lambda *args: tuple(solution.inputs(*args).values()),
}

# Epochs


def one_epoch(examples, size, seed):
    return islice(solution.epochs(examples, size, seed), -(-len(examples) // size))


def unshuffled(examples, size, seed):
    while True:
        yield from (examples[start : start + size] for start in range(0, len(examples), size))


def shuffled_once(examples, size, seed):
    order = random.Random(seed).sample(examples, len(examples))
    return unshuffled(order, size, seed)


def last_lost(examples, size, seed):
    return (batch for batch in solution.epochs(examples, size, seed) if len(batch) == min(size, len(examples)))


def with_replacement(examples, size, seed):
    rng = random.Random(seed)
    while True:
        yield rng.choices(examples, k=size)


def global_random(examples, size, seed):
    while True:
        yield from islice(solution.epochs(examples, size, random.random()), -(-len(examples) // size))


def in_place(examples, size, seed):
    rng = random.Random(seed)
    while True:
        rng.shuffle(examples)
        yield from ([*examples[start : start + size]] for start in range(0, len(examples), size))


def across_epochs(examples, size=32, seed=0):
    """Right in another way: an epoch may end within a batch."""
    rng, waiting = random.Random(seed), []
    while True:
        order = list(examples)
        rng.shuffle(order)
        waiting += order
        while len(waiting) >= min(size, len(examples)):
            count = min(size, len(examples))
            yield waiting[:count]
            waiting = waiting[count:]


EPOCHS = {
    "the batches end": one_epoch,
    "in their old order": unshuffled,
    "every epoch has the same order": shuffled_once,
    "the last examples of an epoch are lost": last_lost,
    "comes twice": with_replacement,
    "the same seed gave two orders": global_random,
    "two seeds gave one order": lambda examples, size, seed: solution.epochs(examples, size, 0),
    "changed the list": in_place,
    "where size is 4": lambda examples, size, seed: solution.epochs(examples, 10, seed),
}


def test_epochs_that_end_within_a_batch_are_right():
    check_epochs(across_epochs)


# Head


class Changed(Head):
    """The right head, with one thing changed by a subclass."""

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.changed(*self.bert(input_ids, attention_mask, token_type_ids), attention_mask)


def head(change):
    return type("Head", (Changed,), {"changed": change})


class NoMask(Head):
    def forward(self, input_ids, attention_mask, token_type_ids):
        return super().forward(input_ids, torch.ones_like(input_ids), token_type_ids)


class NoSegments(Head):
    def forward(self, input_ids, attention_mask, token_type_ids):
        return super().forward(input_ids, attention_mask, torch.zeros_like(input_ids))


class WideStart(Head):
    def __init__(self, config, num_labels):
        super().__init__(config, num_labels)
        self.classifier = nn.Linear(config.hidden_size, num_labels)


class NoDropout(Head):
    def __init__(self, config, num_labels):
        super().__init__(config, num_labels)
        self.dropout = nn.Identity()


class NoConfig(Head):
    def __init__(self, config, num_labels):
        super().__init__(config, num_labels)
        del self.config


def loss_of(change):
    return type("Head", (Head,), {"loss": change})


def logits_of(model, batch):
    return model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])


class TakesApart(Head):
    def loss(self, batch):
        labels = batch.pop("labels")
        return F.cross_entropy(self(**batch), labels)


class WrittenOut(Head):
    """Right in another way."""

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.classifier(self.dropout(self.bert(input_ids, attention_mask, token_type_ids)[1]))

    def loss(self, batch):
        kept = batch["labels"] != -100
        logs = logits_of(self, batch)[kept].log_softmax(-1)
        return -logs[torch.arange(len(logs)), batch["labels"][kept]].mean()


HEADS = {
    "the state of [CLS] itself": head(lambda self, hidden, pooled, mask: self.classifier(hidden[:, 0])),
    "logits for every token": head(lambda self, hidden, pooled, mask: self.classifier(hidden)),
    "the mean of the tokens": head(
        lambda self, hidden, pooled, mask: self.classifier(
            (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        )
    ),
    "without softmax": head(lambda self, hidden, pooled, mask: self.classifier(pooled).softmax(-1)),
    "no activation": head(lambda self, hidden, pooled, mask: self.classifier(pooled).relu()),
    "attention_mask is not passed": NoMask,
    "token_type_ids is not passed": NoSegments,
    "initializer_range": WideStart,
    "in training nothing is dropped": NoDropout,
    "keep the config": NoConfig,
    "loss changed the batch": TakesApart,
    "the loss is the sum": loss_of(
        lambda self, batch: F.cross_entropy(logits_of(self, batch), batch["labels"], reduction="sum")
    ),
    "went through softmax first": loss_of(
        lambda self, batch: F.cross_entropy(logits_of(self, batch).softmax(-1), batch["labels"])
    ),
    "one number": loss_of(
        lambda self, batch: F.cross_entropy(logits_of(self, batch), batch["labels"], reduction="none")
    ),
}


def test_a_head_written_in_another_way_is_right():
    check_classifier(WrittenOut)


RIGHT = {
    check_inputs: lambda *args: {n: t.float() for n, t in reversed(solution.inputs(*args).items())},
    check_epochs: solution.epochs,
    check_classifier: Head,
}
MISTAKES = {check_inputs: INPUTS, check_epochs: EPOCHS, check_classifier: HEADS}
test_right, test_mistake = checker_tests(RIGHT, MISTAKES)


def test_the_global_random_state_is_left_alone():
    state = torch.get_rng_state()
    check_classifier(Head)
    assert torch.equal(state, torch.get_rng_state())


def test_what_is_not_begun_is_called_so():
    def stub(*args):
        raise NotImplementedError

    with pytest.raises(AssertionError, match="write your code"):
        check_epochs(stub)
