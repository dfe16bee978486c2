"""What a pretraining teaches, apart from where and how long it runs: the model, its loss, what its batches need."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from torch import Tensor, nn

from bertlab.config import IGNORED
from bertlab.model import BertForPreTraining
from bertlab.model.attend import Packing
from bertlab.model.heads import labelled_positions
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents
from bertlab.training.engine.loop import LossFunction
from bertlab.training.engine.micro_batches import WHOLE, Batch, Shares
from bertlab.training.engine.throughput import pretraining_operations
from bertlab.training.recipes import PretrainRecipe


@dataclass(frozen=True)
class Objective:
    """What a model other than a BERT learns from the same text: the model itself, its loss, what its batches need."""

    new_model: Callable[[PretrainRecipe, Tokenizer, Documents], nn.Module]
    loss: LossFunction
    operations: Callable[[nn.Module, Batch], float]  # of a step, forward and backward
    batch: Callable[[Batch, Tokenizer], Batch] | None = None  # what a batch of the recipe becomes
    saved: bool = False  # the model is a BertForPreTraining, so a run folder can hold it


def with_positions(batch: Batch, unpadded: bool) -> Batch:
    """Add the positions of the labels, and with `unpadded` of the tokens; a GPU would have to stop to look for them."""
    added = {"labelled": labelled_positions(batch["labels"])}
    if unpadded:
        added["packed"] = Packing(batch["attention_mask"])  # type: ignore[assignment]  # goes to a device like a tensor
    return batch | added


def pretraining_loss(model: nn.Module, batch: Batch, shares: Shares = WHOLE) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the sum of the losses of both tasks, or that of masked words alone, and what to watch.

    The encoder runs on tokens alone, not on padding, and the decoder on the masked positions alone.
    """
    out = model(**batch)
    masked = shares["labels"]
    watched = {"mlm_loss": masked * out.mlm_loss, "masked_accuracy": masked * out.masked_accuracy}
    if out.nsp_loss is None:
        return watched["mlm_loss"], watched
    label = batch["next_sentence_label"]
    next_right = (out.seq_relationship_logits.argmax(-1) == label).float().sum() / (label != IGNORED).sum().clamp(min=1)
    labelled = shares["next_sentence_label"]
    watched |= {"nsp_loss": labelled * out.nsp_loss, "nsp_accuracy": labelled * next_right}
    return watched["mlm_loss"] + watched["nsp_loss"], watched


def next_token_loss(model: nn.Module, batch: Batch, shares: Shares = WHOLE) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss of the next tokens, and what to watch."""
    out = model(**batch)
    loss = shares["labels"] * out.mlm_loss
    return loss, {"next_token_loss": loss, "next_token_accuracy": shares["labels"] * out.masked_accuracy}


LOSSES: dict[str, LossFunction] = {"masked": pretraining_loss, "left-to-right": next_token_loss}


def bert_operations(model: nn.Module, batch: Batch) -> float:
    """Count the floating-point operations of a step of BertForPreTraining."""
    return pretraining_operations(cast(BertForPreTraining, model).config, batch)
