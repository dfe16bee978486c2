"""Broken BERT: short trainings of which six have a bug that occurs in real code, and the charts to find it by.

None of these bugs stops a program. Each is one line of `Training`, and leaves a mark on one of the curves.
"""

import random
from dataclasses import dataclass, field, replace
from itertools import islice

import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.evaluation.baselines import masked_batches
from bertlab.inputs.masking import Masking
from bertlab.model import BertForPreTraining
from bertlab.model.heads import PreTrainingOutput
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents, batches
from bertlab.training.engine.micro_batches import Batch
from bertlab.training.engine.optim import Optimization, make_optimizers, rate_factor
from bertlab.training.initial_weights import new_model
from bertlab.training.recipes import PretrainRecipe

BUGS = {
    "healthy": "nothing is wrong",
    "all positions": "the masked-word loss is divided by all positions of the batch, padding too",
    "every token": "every token is to be predicted, also those that are not hidden",
    "label 0 lost": "the next-sentence loss skips the label 0 (ignore_index=0)",
    "no mask": "attention_mask is never passed to the model",
    "schedule overwritten": "the learning rate of the schedule is replaced by the top rate",
    "no eval": "eval() is never called: dropout goes on while the model is measured",
}
RECIPE = PretrainRecipe(
    name="broken",
    num_hidden_layers=2,
    hidden_size=64,
    num_attention_heads=2,
    hidden_dropout_prob=0.1,
    masking=Masking(),
    max_tokens=32,
    batch_size=16,
    single_share=0.0,
    steps=40,
    optim=Optimization("adamw", learning_rate=3e-3, warmup=0.2),
)
LOOK_EVERY = 10  # steps between two measurements on new text
BATCH = 40  # pairs of new text
PADDING = 24  # positions


@dataclass
class Chart:
    """The record of one training: a figure for each step, or for each step in `evaluated`."""

    loss: list[float] = field(default_factory=list)  # of masked words, as the program reports it
    nsp_loss: list[float] = field(default_factory=list)
    nsp_accuracy: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)  # the learning rate that the optimizer used
    evaluated: list[int] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)  # loss of masked words in new text, rightly averaged
    again: list[float] = field(default_factory=list)  # the same, measured a second time
    padded: list[float] = field(default_factory=list)  # the same, with more padding in each row


def broken_trainings(documents: Documents, new: Documents, tokenizer: Tokenizer, seed: int = 0) -> dict[str, Chart]:
    """The chart of each training by its letter. `documents` are learned from, `new` is measured on."""
    return {letter: Training(bug, tokenizer, seed).chart(documents, new) for letter, bug in letters(seed).items()}


def letters(seed: int) -> dict[str, str]:
    """Which letter has which bug: a secret, and another one for each seed."""
    bugs = list(BUGS)
    random.Random(f"broken {seed}").shuffle(bugs)
    return dict(zip("ABCDEFG", bugs, strict=True))


class Training:
    """A short training with one of BUGS."""

    def __init__(self, bug: str, tokenizer: Tokenizer, seed: int):
        self.bug, self.tokenizer = bug, tokenizer
        self.recipe = replace(RECIPE, seed=seed)
        self.model = new_model(self.recipe, tokenizer)

    def chart(self, documents: Documents, new: Documents) -> Chart:
        """Train, and write down what happens."""
        chart, steps = Chart(), self.recipe.steps
        made = islice(batches(documents, self.tokenizer, self.recipe), steps)
        (test,) = masked_batches(new, self.tokenizer, Masking(), max_tokens=self.recipe.max_tokens, pairs=BATCH, seed=0)
        (optimizer,) = make_optimizers(self.model, self.recipe.optim)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.recipe.seed)
            for step, batch in enumerate(made, start=1):
                self.learn(batch, optimizer, (step - 0.5) / steps, chart)
                if step == 1 or step % LOOK_EVERY == 0:
                    self.evaluate(test, step, chart)
        return chart

    def learn(self, batch: Batch, optimizer: torch.optim.Optimizer, progress: float, chart: Chart) -> None:
        """One step."""
        out = self.forward(self.model.train(), batch)
        loss, nsp_loss = self.masked_loss(out, batch), self.nsp_loss(out, batch)
        (loss + nsp_loss).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.optim.clip)
        for group in optimizer.param_groups:
            group["lr"] = self.rate(progress)
        optimizer.step()
        optimizer.zero_grad()
        right = out.seq_relationship_logits.argmax(-1) == batch["next_sentence_label"]  # (B,)
        chart.loss.append(float(loss.detach()))
        chart.nsp_loss.append(float(nsp_loss.detach()))
        chart.nsp_accuracy.append(float(right.float().mean()))
        chart.rate.append(optimizer.param_groups[0]["lr"])

    def forward(self, model: BertForPreTraining, batch: Batch) -> PreTrainingOutput:
        labels = batch["labels"]  # (B, S)
        if self.bug == "every token" and model.training:
            unhidden = (labels == IGNORED) & batch["attention_mask"].bool()
            labels = torch.where(unhidden, batch["input_ids"], labels)
        mask = None if self.bug == "no mask" else batch["attention_mask"]
        return model(batch["input_ids"], mask, batch["token_type_ids"], labels=labels, masked_only=True)

    def masked_loss(self, out: PreTrainingOutput, batch: Batch) -> Tensor:
        assert out.mlm_loss is not None and out.masked_labels is not None
        if self.bug == "all positions":
            return out.mlm_loss * len(out.masked_labels) / batch["labels"].numel()
        return out.mlm_loss

    def nsp_loss(self, out: PreTrainingOutput, batch: Batch) -> Tensor:
        ignored = 0 if self.bug == "label 0 lost" else IGNORED
        return F.cross_entropy(out.seq_relationship_logits, batch["next_sentence_label"], ignore_index=ignored)

    def rate(self, progress: float) -> float:
        optim = self.recipe.optim
        factor = 1.0 if self.bug == "schedule overwritten" else rate_factor(progress, optim.warmup)
        return optim.learning_rate * factor

    @torch.no_grad()
    def evaluate(self, test: Batch, step: int, chart: Chart) -> None:
        """Measure on new text, measure again, and measure once more with PADDING further positions in each row."""
        model = self.model if self.bug == "no eval" else self.model.eval()
        fill = {"labels": IGNORED}
        rows = {name: test[name] for name in ("input_ids", "attention_mask", "token_type_ids", "labels")}
        longer = {name: F.pad(tensor, (0, PADDING), value=fill.get(name, 0)) for name, tensor in rows.items()}
        chart.evaluated.append(step)
        for readings, batch in ((chart.held_out, test), (chart.again, test), (chart.padded, longer)):
            loss = self.forward(model, batch).mlm_loss
            assert loss is not None
            readings.append(float(loss))
