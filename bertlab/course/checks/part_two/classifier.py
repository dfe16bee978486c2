"""Checkers of a classifier: texts as inputs, batches epoch after epoch, a head on the pooled [CLS]."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.course.checks.base import (
    Mistake,
    check_dropout,
    checker,
    close,
    expect,
    none_of,
    run,
    same_weights,
    small_batch,
)
from bertlab.course.solutions import one_sentence as solution
from bertlab.course.solutions.config import SPECIAL
from bertlab.course.solutions.tokenizer import Tokenizer
from bertlab.model.classifiers import BertForSequenceClassification

SIZES: dict[str, Any] = dict(
    vocab_size=50, hidden_size=24, num_attention_heads=3, intermediate_size=40, num_hidden_layers=3
)
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@checker
def check_inputs(fn: Callable[..., dict[str, Tensor]]) -> None:
    """Check fn(tokenizer, first, second, max_tokens) -> input_ids, attention_mask, token_type_ids (B, S)."""
    letters = {letter: number for number, letter in enumerate("abcdefghijklmnopqrst", start=len(SPECIAL))}
    tokenizer = Tokenizer({token: number for number, token in enumerate(SPECIAL)} | letters)
    long = " ".join("abcdefghij"), " ".join("klmnop")
    cases: list[tuple[list[str], list[str] | None, int]] = [
        (["a b c", "d"], None, 128),
        (["a b", "c d e"], ["f", "g h i"], 128),
        ([long[0], "a"], None, 8),
        ([long[0], "a"], [long[1], "b"], 11),
        (["a b c d", "a"], [long[0], "b"], 9),
    ]
    for first, second, limit in cases:
        given = list(first), second and list(second)
        found = run(fn, tokenizer, *given, limit)
        expect(given == (first, second), "your function changed the texts it was given.")
        expect(isinstance(found, dict) and {*found} == {*INPUTS}, f"return a dictionary with {', '.join(INPUTS)}.")
        _check_rows(found, solution.inputs(tokenizer, first, second, limit), limit)
    print("Right: every row has its [CLS] and [SEP], and fits.")


def _check_rows(found: dict[str, Tensor], right: dict[str, Tensor], limit: int) -> None:
    ids, mask, kinds = (found[name] for name in INPUTS)
    expect(all(isinstance(tensor, Tensor) for tensor in (ids, mask, kinds)), "each of the three should be a tensor.")
    expect(ids.size(-1) <= limit, f"a row has {ids.size(-1)} tokens where max_tokens={limit}: special tokens count.")
    real, wanted = right["attention_mask"], right["token_type_ids"]
    none_of(mask, [(1 - real, "attention_mask is 1 on tokens, 0 on padding."), (real | 1, "padding is no token: 0.")])
    slips = [
        (wanted * 0, "token_type_ids are 1 on the second text and its [SEP]."),
        (wanted | (1 - real), "on padding 0."),
    ]
    none_of(kinds, [(slip, message) for slip, message in slips if not torch.equal(slip, wanted)])
    message = f"the longer text loses its end, token by token, until all fits in {limit}"
    for name, tensor in right.items():
        same = found[name].shape == tensor.shape and torch.equal(found[name].long(), tensor)
        expect(same, f"{name} should be {tensor.tolist()} ({message}); yours is {found[name].tolist()}.")


@checker
def check_epochs(fn: Callable[..., Iterator[list]]) -> None:
    """Check fn(examples, size, seed) -> lists of `size` examples without end, each epoch in another order."""
    examples = [f"e{number}" for number in range(10)]
    given = list(examples)
    drawn = [_epochs(fn, given, seed) for seed in (0, 0, 1)]
    expect(given == examples, "your function changed the list it was given: shuffle a copy.")
    expect(drawn[0] == drawn[1], "the same seed gave two orders: draw from random.Random(seed) alone.")
    first, second, _ = drawn[0]
    expect(first != examples, "the first epoch has the examples in their old order: shuffle before it too.")
    expect(first != second, "every epoch has the same order: shuffle anew for each.")
    expect(drawn[0] != drawn[2], "two seeds gave one order: random.Random(seed) begins with the seed.")
    whole = next(iter(run(fn, given, 64, 0)), None)
    expect(whole is not None and sorted(whole) == examples, "10 examples with size=64: one batch of all ten.")
    print("Right: every example once in an epoch, each epoch in another order, without end.")


def _epochs(fn: Callable, examples: list, seed: int) -> list[list]:
    """Three epochs of ten examples, from batches of at most four."""
    found = [list(batch) for batch in islice(run(fn, examples, 4, seed), 9)]
    expect(len(found) == 9, f"the batches end after {len(found)}: begin another epoch, without end (while True).")
    expect(all(batch for batch in found), "an empty batch: 10 examples in fours are 4, 4 and 2.")
    longest = max(map(len, found))
    expect(longest <= 4, f"a batch has {longest} examples where size is 4.")
    lost = all(len(batch) == 4 for batch in found) and len(set(found[0] + found[1] + found[2])) > 8
    stream = [example for batch in found for example in batch]
    epochs = [stream[start : start + 10] for start in (0, 10, 20)]
    if sorted(epochs[0]) == sorted(examples):
        expect(all(sorted(epoch) == sorted(examples) for epoch in epochs[:2]), "the second epoch lacks examples.")
        return epochs
    once = len(set(stream[:8])) == 8
    expect(not (lost and once), "the last examples of an epoch are lost: 10 in fours are 4, 4 and a batch of 2.")
    expect(once, "an example comes twice before others had their turn: shuffle, do not draw with replacement.")
    raise Mistake(f"the first ten examples should be all ten; yours are {stream[:10]}.")


@checker
def check_classifier(cls: type[nn.Module]) -> None:
    """Check cls(config, num_labels): bert, dropout, classifier; forward(three inputs (B, S)) -> logits (B, N), and
    loss(batch) -> the mean cross-entropy."""
    config = BertConfig(**SIZES, hidden_dropout_prob=0.5)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        fresh = run(cls, config, 3)
    expect(isinstance(getattr(fresh, "classifier", None), nn.Linear), "self.classifier should be an nn.Linear.")
    expect(getattr(fresh, "config", None) is config, "keep the config: self.config = config. `save` needs it.")
    _check_first_weights(fresh.classifier)
    mine: Any
    library, mine = same_weights(_LibraryHead, cls, config, 3, spread=0.3)
    rows = dict(zip(INPUTS, small_batch(), strict=True))
    with torch.no_grad():
        logits = run(mine, *rows.values())
        expect(isinstance(logits, Tensor), "return one tensor, the logits.")
        none_of(logits, _known_logits(library, rows))
        expect(close(logits, library(**rows).logits), "the logits are not the library's.")
    _check_loss(mine, rows)
    for module in mine.bert.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    check_dropout(mine, "before the classifier (hidden_dropout_prob)", *rows.values())
    print("Right: dropout and one linear layer on the pooled [CLS], and a mean loss.")


class _LibraryHead(BertForSequenceClassification):
    """The library's classifier, made as the reader's is."""

    def __init__(self, config: BertConfig, labels: int):
        super().__init__(config.changed(num_labels=labels))


def _check_first_weights(layer: nn.Linear) -> None:
    spread = float(layer.weight.detach().std())
    expect(
        0.012 < spread < 0.03,
        f"the new layer starts with a standard deviation of {spread:.2f}: draw its weight with that of BERT, "
        "config.initializer_range (0.02), by nn.init.normal_.",
    )
    expect(not layer.bias.detach().any(), "the new layer's bias starts at 0: nn.init.zeros_.")


def _known_logits(library: Any, rows: dict[str, Tensor]) -> list[tuple[Tensor, str]]:
    """What the usual slips give with the library's weights."""
    states = library.bert(**rows).last_hidden_state
    head = library.classifier
    right = library(**rows).logits
    real = rows["attention_mask"][..., None]
    bare = {name: rows[name] for name in ("input_ids", "token_type_ids")}
    return [
        (
            head(states[:, 0]),
            "this is the state of [CLS] itself: take the pooler's output.",
        ),
        (head(states), "there are logits for every token: take the pooler's output, one vector for each text."),
        (head((states * real).sum(1) / real.sum(1)), "this is the mean of the tokens: take the pooler's output."),
        (right.softmax(-1), "return logits, without softmax: the loss has it inside."),
        (right.log_softmax(-1), "return logits, without log_softmax: the loss has it inside."),
        (library(**bare).logits, "attention_mask is not passed to self.bert."),
        (library(rows["input_ids"], rows["attention_mask"]).logits, "token_type_ids is not passed to self.bert."),
        (right.relu(), "there is no activation after the last layer: logits may be negative."),
    ]


def _check_loss(mine: Any, rows: dict[str, Tensor]) -> None:
    for labels in (torch.tensor([0, 2]), torch.tensor([0, IGNORED])):
        batch = rows | {"labels": labels}
        with torch.no_grad():
            loss = run(mine.loss, batch)
            logits = mine(**rows)
        expect(batch.keys() == {*INPUTS, "labels"}, "loss changed the batch it was given: leave it as it is.")
        expect(isinstance(loss, Tensor) and loss.ndim == 0, "loss should be one number, a tensor without dimensions.")
        kept = labels[labels != IGNORED]
        own = logits[labels != IGNORED]
        known = [
            (F.cross_entropy(own, kept, reduction="sum"), "the loss is the sum over the texts: take their mean."),
            (
                F.cross_entropy(own.softmax(-1), kept),
                "cross_entropy takes logits: they went through softmax first.",
            ),
            (F.cross_entropy(own, kept, ignore_index=0), "label 0 is a class like the others: ignore only -100."),
        ]
        right = F.cross_entropy(own, kept)
        none_of(loss, [(wrong, message) for wrong, message in known if not close(wrong, right)])
        expect(close(loss, right), "the loss is not the mean cross-entropy of logits and labels.")
