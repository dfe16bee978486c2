"""One step of training."""

from typing import Any

import torch
from torch import Tensor, nn

from bertlab.config import IGNORED
from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, filled, value
from bertlab.course.solutions import pretraining, training
from bertlab.course.solutions.config import Config


class GradientDescent:
    """An optimizer with the methods of the reader's AdamW."""

    def __init__(self, model: nn.Module):
        self.parameters = list(model.parameters())

    @torch.no_grad()
    def step(self, rate: float = 0.01) -> None:
        for weight in self.parameters:
            if weight.grad is not None:
                weight.sub_(rate * weight.grad)

    def zero_grad(self) -> None:
        for weight in self.parameters:
            weight.grad = None


def _batch(rows: slice = slice(None)) -> dict[str, Tensor]:
    """Pairs and a mask as pretraining has them: of unlike lengths, with segments, some words masked."""
    mask = torch.tensor([[1] * 8, [1] * 5 + [0] * 3, [1] * 6 + [0] * 2])
    types = torch.tensor([[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1, 0, 0]])
    ids = (5 + torch.arange(24).view(3, 8)) * mask
    ids[1, 6] = 9  # a padded position with the id of a word
    labels = ids.masked_fill((ids % 3 > 0) | (mask == 0), IGNORED)
    whole = {
        "input_ids": ids.masked_fill(labels > 0, 4),
        "attention_mask": mask,
        "token_type_ids": types,
        "labels": labels,
    }
    whole["next_sentence_label"] = torch.tensor([0, 1, 1])
    return {name: tensor[rows] for name, tensor in whole.items()}


def _two_steps(fn) -> dict[str, Any]:
    """What two steps of plain gradient descent do to a model in training, the first of them clipped."""
    options: dict[str, Any] = {"max_position_embeddings": 8, "hidden_dropout_prob": 0.3}
    model = filled(pretraining.BertForPreTraining(Config(30, 12, 1, 3, 16, **options))).train()
    optimizer = GradientDescent(model)
    found: dict[str, Any] = {}
    for step, (rate, clip, rows) in enumerate(
        ((0.5, 0.1, slice(None)), (0.25, 100.0, slice(1, 3)), (0.25, 100.0, slice(2)))
    ):
        seen = value(fn, model, optimizer, _batch(rows), rate, clip)
        expect(isinstance(seen["result"], float), "return the loss as a float: loss.item().")
        weights = torch.cat([weight.detach().flatten() for weight in model.parameters()])
        found |= {f"the weights after step {step + 1}": weights, f"the loss of step {step + 1}": seen["result"]}
        found |= {"changed": seen["changed"], f"the model trains on after step {step + 1}": model.training}
    return found


LOGITS = 'model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])'
LOSS = 'joint_loss(*logits, batch["labels"], batch["next_sentence_label"])'
CLIP = "torch.nn.utils.clip_grad_norm_(optimizer.parameters, clip)"
MASK, TYPES = 'batch["attention_mask"]', 'batch["token_type_ids"]'
STILL = "the weights have not moved: backward(), then step(rate), and zero_grad() only after it."
EVAL = "the model is in eval mode: dropout belongs to training, so model.eval() has no place in a step."

check_train_step = Exercise(
    training.train_step,
    lambda: [()],
    right="Right: forward, backward, clip, step, and no gradient left over from another step.",
    observe=_two_steps,
    kept=("train_step",),
    slips=[
        (
            "padding takes part: give the model the batch's attention_mask, not ones. The loss falls all the same, and "
            "the model reads [PAD].",
            f"{MASK} => torch.ones_like({MASK})",
        ),
        (
            "padding is what the batch's attention_mask says: a padded position can have any id.",
            f"{MASK} => (batch['input_ids'] != 0).long()",
        ),
        (
            "the segments are lost: give the model the batch's token_type_ids, which say where the second text begins, "
            "not zeros.",
            f"{TYPES} => 0 * {TYPES}",
        ),
        (
            "attention_mask and token_type_ids have changed places: the model takes input_ids, attention_mask, "
            "token_type_ids.",
            f"{MASK}, {TYPES} => {TYPES}, {MASK}",
        ),
        (EVAL, "    logits = model =>     model.eval(); logits = model"),
        (EVAL, "    logits = model =>     model.eval(); logits = model", "return loss => model.train(); return loss"),
        (
            "gradients of the first step are still there in the second: zero_grad() is missing.",
            "    optimizer.zero_grad()\n => ",
        ),
        (STILL, "    optimizer.step(rate)\n => "),
        (STILL, "optimizer.step(rate)\n    optimizer.zero_grad() => optimizer.zero_grad()\n    optimizer.step(rate)"),
        (STILL, "    loss.backward()\n => "),
        ("the rate of this step is `rate`: optimizer.step(rate).", "optimizer.step(rate) => optimizer.step()"),
        ("the gradient was not clipped, or only after step().", f"    {CLIP}\n => "),
        (
            "the gradient was not clipped, or only after step().",
            f"{CLIP}\n    optimizer.step(rate) => optimizer.step(rate)\n    {CLIP}",
        ),
        (
            "each weight's gradient was clipped by itself: clip the norm of all together.",
            f"{CLIP} => [torch.nn.utils.clip_grad_norm_(weight, clip) for weight in optimizer.parameters]",
        ),
        ("clip to `clip`, not to 1.0.", "optimizer.parameters, clip => optimizer.parameters, 1.0"),
        (
            "each number of the gradient was clipped; clip the norm of the whole: clip_grad_norm_.",
            "clip_grad_norm_ => clip_grad_value_",
        ),
        (
            "the loss of the next sentences is not learned from.",
            f"{LOSS} => {LOSS[:-1].replace('*logits', 'logits[0], logits[1].detach()')})",
        ),
        (
            "the loss of the masked words is not learned from.",
            f"{LOSS} => {LOSS[:-1].replace('*logits', 'logits[0].detach(), logits[1]')})",
        ),
        ("the loss is the mean of the two; BERT's is their sum.", f"{LOSS} => {LOSS} / 2"),
        (
            "the labels of the pairs are swapped: 0 is IsNext.",
            'batch["next_sentence_label"]) => 1 - batch["next_sentence_label"])',
        ),
        (
            "the weights are right, the loss that you return is not: the sum of both, before the step.",
            "return loss.item() => return loss.item() / 2",
        ),
        (
            "the weights are right, the loss that you return is not: the sum of both, before the step.",
            "return loss.item() => return joint_loss(*"
            + LOGITS
            + ', batch["labels"], batch["next_sentence_label"]).item()',
        ),
        ("return the loss as a float: loss.item().", "return loss.item() => return loss.detach()"),
    ],
)
