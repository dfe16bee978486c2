"""What a pretraining teaches, apart from where and how long it runs."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents
from bertlab.training.engine.loop import LossFunction
from bertlab.training.engine.micro_batches import Batch
from bertlab.training.recipes import PretrainRecipe


@dataclass(frozen=True)
class Objective:
    """What a model other than a BERT learns from the same text: the model itself, its loss, what its batches need."""

    new_model: Callable[[PretrainRecipe, Tokenizer, Documents], nn.Module]
    loss: LossFunction
    operations: Callable[[nn.Module, Batch], float]  # of a step, forward and backward
    batch: Callable[[Batch, Tokenizer], Batch] | None = None  # what a batch of the recipe becomes
    saved: bool = False  # the model is a BertForPreTraining, so a run folder can hold it
