"""Pooling, in-batch negatives, the sentence encoder, choices as rows, multiple choice."""

from typing import Any

import torch

from bertlab.course.chapter_09.exercises.classifier import letter_tokenizer, on_the_encoder, with_new_head
from bertlab.course.exercise import Exercise
from bertlab.course.observe import module, random_tensor, small_batch, value
from bertlab.course.solutions import two_sentences
from bertlab.course.solutions.config import Config

NAMES = ("input_ids", "attention_mask", "token_type_ids")


def _states() -> list[tuple]:
    mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2, [1, 0, 0, 0, 0, 0]])
    return [(random_tensor(3, 6, 4), mask), (random_tensor(1, 3, 5, seed=1), torch.tensor([[1, 0, 1]]))]


MEAN = "(states * real).sum(1) / real.sum(1)"

check_mean_pool = Exercise(
    two_sentences.mean_pool,
    _states,
    right="Right: the mean of the tokens, whatever stands behind them.",
    kept=("mean_pool",),
    slips=[
        ("padding is in your mean: a text would get another vector in another batch.", f"{MEAN} => states.mean(1)"),
        (
            "this is the sum; a long text would get a longer vector: divide by the number of tokens.",
            " / real.sum(1) => ",
        ),
        (
            "you divide by the length of the row, padding included: divide by the number of tokens.",
            "/ real.sum(1) => / states.size(1)",
        ),
        ("this is the state of [CLS] alone: take the mean over all tokens.", f"{MEAN} => states[:, 0]"),
        ("this is the maximum of each feature, not the mean.", f"{MEAN} => states.amax(1)"),
        ("you divide by the tokens of the whole batch: each row has its own number.", "/ real.sum(1) => / real.sum()"),
        ("return the mean as it is: the loss normalises it.", f"{MEAN} => F.normalize({MEAN}, dim=-1)"),
        (
            "the mean runs over the tokens, dim 1, so that one vector (B, H) is left for each text.",
            f"{MEAN} => (states * real).mean(2)",
        ),
        (
            "the states learn nothing: no gradient passes the mean; no detach and no no_grad.",
            f"return {MEAN} => return ({MEAN}).detach()",
        ),
    ],
)


def _vectors() -> list[tuple]:
    first, second = random_tensor(5, 8), random_tensor(5, 8, seed=1) * 3
    return [(first, second, 7.0), (first[:3, :5], second[1:4, :5], 2.0), (first, second)]


LOGITS = "scale * F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).T"
LOSS = "F.cross_entropy(logits, torch.arange(len(logits)))"
NO_NEGATIVES = "the other texts of the batch are missing: without negatives, one vector for all texts would be best."

check_in_batch_loss = Exercise(
    two_sentences.in_batch_loss,
    _vectors,
    right="Right: every other text of the batch is a negative.",
    kept=("in_batch_loss",),
    slips=[
        ("vectors must have length 1: F.normalize both sides first.", f"{LOGITS} => scale * first @ second.T"),
        (
            "vectors must have length 1: F.normalize both sides, over the features (dim=-1).",
            "F.normalize(second, dim=-1) => F.normalize(second, dim=0)",
        ),
        ("scale is missing: cosines end at 1, so the softmax would stay flat.", "scale * F => F"),
        ("use the scale that is given; 20 is what it is without one.", "scale * F => 20.0 * F"),
        ("multiply by scale; you divide by it.", "scale * F => 1 / scale * F"),
        (
            "each row should be a first text; yours are the second texts.",
            f"{LOSS} => F.cross_entropy(logits.T, torch.arange(len(logits)))",
        ),
        (
            "you compare with the first texts; the partner is a second one.",
            "F.normalize(second, dim=-1) => F.normalize(first, dim=-1)",
        ),
        (
            "that is the sum; return the mean over the batch.",
            f"{LOSS} => F.cross_entropy(logits, torch.arange(len(logits)), reduction='sum')",
        ),
        ("minus the probability; the loss is minus its logarithm.", f"{LOSS} => -logits.softmax(-1).diag().mean()"),
        (NO_NEGATIVES, f"{LOSS} => -logits.diag().mean()"),
        (NO_NEGATIVES, f"{LOSS} => 1 - logits.diag().mean() / scale"),
        (
            "the loss teaches nothing: no detach, item or no_grad on its way.",
            f"return {LOSS} => return {LOSS}.detach()",
        ),
        (
            "the second texts learn too: both sides go through the same encoder, no detach on either.",
            "F.normalize(second, dim=-1) => F.normalize(second, dim=-1).detach()",
        ),
        (
            "each first text looks for its partner, and that is all: no mean with the loss of the other direction.",
            f"{LOSS} => ({LOSS} + {LOSS.replace('(logits,', '(logits.T,')}) / 2",
        ),
        (
            "vectors must have length 1: F.normalize both sides, over the features (dim=-1).",
            "F.normalize(first, dim=-1) => F.normalize(first, dim=0)",
            "F.normalize(second, dim=-1) => F.normalize(second, dim=0)",
        ),
        (
            "the first texts learn too: both sides go through the same encoder, no detach on either.",
            "F.normalize(first, dim=-1) => F.normalize(first, dim=-1).detach()",
        ),
    ],
)


def _encoders() -> list[tuple]:
    first = dict(zip(NAMES, small_batch(), strict=True))
    second = {name: tensor.flip(0) for name, tensor in first.items()}
    second["input_ids"] = second["input_ids"] * 3 % 29  # other words, and padding stays 0
    options: dict[str, Any] = {"max_position_embeddings": 9, "hidden_dropout_prob": 0.4, "layer_norm_eps": 0.1}
    runs = {"forward": tuple(first.values()), "loss": ({"first": first, "second": second},)}
    return [((Config(30, H, L, A, 10, **options),), runs) for H, A, L in ((12, 3, 2), (6, 1, 1))]


CALL = "self.bert(input_ids, attention_mask, token_type_ids)"

check_sentence_encoder = Exercise(
    two_sentences.SentenceEncoder,
    _encoders,
    right="Right: one encoder, both texts.",
    observe=module,
    kept=("SentenceEncoder",),
    slips=[
        *on_the_encoder(CALL, "mean_pool(states"),
        (
            "forward should give the mean of the tokens (B, H), not the pooler's output.",
            f"states, _ = {CALL}\n        return mean_pool(states, attention_mask) => return {CALL}[1]",
        ),
        ("forward should give the mean of the tokens, not [CLS].", "mean_pool(states, attention_mask) => states[:, 0]"),
        (
            "padding is in your mean: hand attention_mask on to mean_pool.",
            "mean_pool(states, attention_mask) => mean_pool(states, torch.ones_like(attention_mask))",
        ),
        (
            "loss compares the first texts with the second ones: yours are compared with themselves.",
            'self(**batch["second"]) => self(**batch["first"])',
        ),
        (
            "loss finds for each first text its second one: yours looks for the first ones.",
            'self(**batch["first"]), self(**batch["second"]) => self(**batch["second"]), self(**batch["first"])',
        ),
        (
            "the second texts learn too: one encoder for both, no detach.",
            'self(**batch["second"]) => self(**batch["second"]).detach()',
        ),
    ],
)


def _choices() -> list[tuple]:
    texts, long = ["a b c", "d", "e f"], ["a b c d e f g h", "k"]
    choices = [("e", "f g h"), ("k l", "n o p q"), ("i", "m")]  # as the examples of the storyworld have them
    three = [("e", "f", "a"), ("g h i j", "l", "b c")]
    return [(letter_tokenizer(), texts, choices), (letter_tokenizer(), long, three, 8)]


FIRST = "first = [text for text, options in zip(texts, choices, strict=True) for _ in options]"

check_choice_rows = Exercise(
    two_sentences.choice_rows,
    _choices,
    right="Right: a question is a block of rows, one for each choice.",
    observe=value,
    kept=("choice_rows",),
    slips=[
        (
            "a choice is a row, a question a block: view them as (B, C, S).",
            "row.view(len(texts), -1, row.size(1)) => row",
        ),
        (
            "the questions should come first and their choices second: (B, C, S).",
            "row.view(len(texts), -1, row.size(1)) => row.view(len(texts), -1, row.size(1)).transpose(0, 1)",
        ),
        (
            "choices stand behind the wrong text: `texts * C` repeats A B A B ..., the choices go A A A B B B.",
            f"{FIRST} => first = texts * len(choices[0])",
        ),
        (
            "the text comes first, then its choice.",
            "inputs(tokenizer, first, second, => inputs(tokenizer, second, first,",
        ),
        (
            "the text is missing: each row is a text and one choice.",
            "inputs(tokenizer, first, second, max_tokens) => inputs(tokenizer, second, None, max_tokens)",
        ),
        ("max_tokens has no effect: pass it on to inputs.", "second, max_tokens) => second)"),
    ],
)


def _questions() -> list[tuple]:
    ids = (torch.arange(2 * 3 * 7).view(2, 3, 7) % 24) + 5
    mask = torch.ones_like(ids)
    mask[1, 2, 4:] = mask[0, 1, 5:] = 0
    kinds = (torch.arange(7) > 3).long().expand_as(ids)
    rows = dict(zip(NAMES, (ids, mask, kinds), strict=True))
    options: dict[str, Any] = {"max_position_embeddings": 9, "hidden_dropout_prob": 0.4, "layer_norm_eps": 0.1}
    runs = {"forward": tuple(rows.values()), "loss": (rows | {"labels": torch.tensor([2, 0])},)}
    two = {name: tensor[:, :2].contiguous() for name, tensor in rows.items()}
    fewer = {"forward": tuple(two.values()), "loss": (two | {"labels": torch.tensor([1, 0])},)}
    sizes = ((12, 3, 2, runs), (6, 1, 1, fewer))
    return [((Config(30, H, L, A, 10, **options),), each) for H, A, L, each in sizes]


ONE = "self.classifier(self.dropout(pooled))"
FLAT = "(x.flatten(0, 1) for x in (input_ids, attention_mask, token_type_ids))"

check_multiple_choice = Exercise(
    two_sentences.BertForMultipleChoice,
    _questions,
    right="Right: the choices compete in one softmax.",
    observe=with_new_head,
    kept=("BertForMultipleChoice",),
    slips=[
        *on_the_encoder(FLAT, "self.dropout(pooled"),
        ("logits should be (B, C): one for each choice.", f"{ONE}.view(input_ids.shape[:2]) => {ONE}"),
        (
            "return logits; cross_entropy takes the softmax itself.",
            f"{ONE}.view(input_ids.shape[:2]) => {ONE}.view(input_ids.shape[:2]).softmax(-1)",
        ),
        (
            "in training nothing is dropped: nn.Dropout belongs before the classifier.",
            f"{ONE} => self.classifier(pooled)",
        ),
        (
            "the loss is a cross-entropy over the choices of each question, not over the questions.",
            'self(**rows), batch["labels"] => self(**rows).T[:2, :2], batch["labels"].clamp(max=1)',
        ),
    ],
)
