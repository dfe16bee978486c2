"""A step of training off the CPU, without a GPU: on the "meta" device, whose tensors have a shape and no values.

There the code may not look at a number, which a GPU would have to stop for, nor use a tensor that lies elsewhere.
Where there is a GPU, its gradients are compared with those of the CPU too.
"""

from functools import partial

import pytest
import torch
from torch.fx.experimental import _config
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import bertlab
from bertlab.config import IGNORED
from bertlab.model.attend import Packing
from bertlab.model.sentences import BertForSentenceEmbedding
from bertlab.training.distill import distillation_loss, with_tokens
from bertlab.training.engine.devices import Devices
from bertlab.training.engine.loop import train_step
from bertlab.training.engine.micro_batches import own_micro_batches
from bertlab.training.engine.optim import Optimization, make_optimizers
from bertlab.training.objective import pretraining_loss, with_positions
from bertlab.training.recipes import Distillation
from bertlab.training.task_loss import task_loss
from tests.conftest import SMALL

SHALLOW = SMALL | {"num_hidden_layers": 1}
META = torch.device("meta")


class OneDevice(TorchDispatchMode):
    """Refuse an operation that reads or makes a tensor elsewhere, for not every kernel of "meta" does.

    Single numbers may lie on the CPU: a GPU takes them as arguments and does not wait.
    """

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for leaf in tree_leaves((args, kwargs, out)):
            if isinstance(leaf, torch.Tensor) and leaf.device != META and leaf.dim() > 0:
                raise RuntimeError(f"{function}: a tensor {tuple(leaf.shape)} on {leaf.device}, the model is on {META}")
        return out


@pytest.fixture
def config():
    return bertlab.BertConfig(**SHALLOW)


@pytest.fixture(autouse=True)
def nothing_is_zero():
    """Without values nobody knows how many are not zero; torch then takes all."""
    with _config.patch(meta_nonzero_assume_all_nonzero=True):
        yield


def head_loss(model, batch, shares):
    out = model(**batch)
    return out.loss, {"loss": out.loss}


def choices(batch):
    """Two texts in place of one: (B, S) -> (B, 2, S)."""
    return {name: tensor[:, None].repeat(1, 2, 1) for name, tensor in batch.items()}


def packed(batch):
    """Add where the tokens stand, counted on the CPU; the rows of (B, C, S) are B*C texts."""
    return batch | {"packed": Packing(batch["attention_mask"].flatten(0, -2))}


def same(batch):
    return batch


CLASSES, NUMBERS = torch.tensor([0, 1, IGNORED]), torch.tensor([0.5, 1.0, 2.0])
WORDS = torch.tensor([[IGNORED, 0, 1, IGNORED, 1] + 4 * [IGNORED]] * 3)  # (3, 9)
NAMES = {"num_labels": 3, "id2label": {0: "B-PER", 1: "I-PER", 2: "O"}}
SEVERAL = {"problem_type": "multi_label_classification"}
ENDS = {"start_positions": torch.tensor([0, 2, 3]), "end_positions": torch.tensor([0, 3, 9])}
PAIRS = {"labels": WORDS, "next_sentence_label": CLASSES}
HEADS = {  # class, changes of the config, labels, what becomes of the inputs
    "pretraining": (bertlab.BertForPreTraining, {}, PAIRS, same),
    "masked words": (bertlab.BertForMaskedLM, {}, {"labels": WORDS}, same),
    "next sentence": (bertlab.BertForNextSentencePrediction, {}, {"labels": CLASSES}, same),
    "sequence": (bertlab.BertForSequenceClassification, {}, {"labels": CLASSES}, same),
    "mean": (bertlab.BertForSequenceClassification, {"pooling": "mean"}, {"labels": CLASSES}, same),
    "scalar mix": (bertlab.BertForSequenceClassification, {"layer_mix": "scalar-mix"}, {"labels": CLASSES}, same),
    "number": (bertlab.BertForSequenceClassification, {"num_labels": 1}, {"labels": NUMBERS}, same),
    "several": (bertlab.BertForSequenceClassification, SEVERAL, {"labels": torch.ones(3, 2)}, same),
    "token": (bertlab.BertForTokenClassification, {}, {"labels": WORDS}, same),
    "cnn": (bertlab.BertForTokenClassification, {"token_decoder": "cnn"}, {"labels": WORDS}, same),
    "crf": (bertlab.BertForTokenClassification, NAMES | {"token_decoder": "crf"}, {"labels": WORDS}, same),
    "question": (bertlab.BertForQuestionAnswering, {}, ENDS, same),
    "choice": (bertlab.BertForMultipleChoice, {}, {"labels": torch.tensor([0, 1, 1])}, choices),
    "match": (BertForSentenceEmbedding, {}, {"labels": CLASSES}, choices),
}
HERE = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU that PyTorch can use")
LATER = {"position_embedding_type": "rotary", "pre_norm": True, "gated_feed_forward": True, "shared_layers": True}


def a_step(model, batch, loss_function=head_loss, prepare=same, optimizer="muon"):
    """Train `model` for a step on two micro-batches, made on the CPU as in a run; nothing else may be there."""
    devices = Devices("cpu")
    devices.device = META
    wrapped = devices.wrap(model.train())
    optimizers = make_optimizers(model, Optimization(optimizer))
    parts = [(prepare(part), shares) for part, shares in own_micro_batches(batch, 0, 1, 2)]
    parts = [({name: x.to(META) for name, x in part.items()}, shares) for part, shares in parts]
    with OneDevice():
        finite, watched = train_step(wrapped, optimizers, parts, loss_function, 1e-3, 1.0)
    assert all(figure.device == META for figure in (finite, *watched.values()))


@pytest.mark.parametrize("prepare", [same, packed], ids=["padded", "packed"])
@pytest.mark.parametrize("head", HEADS)
def test_each_head_learns_a_step(head, prepare, batch):
    kind, changes, labels, shape = HEADS[head]
    a_step(kind(bertlab.BertConfig(**SHALLOW | changes)), shape(batch) | labels, prepare=prepare)


@pytest.mark.parametrize("unpadded", [True, False])
@pytest.mark.parametrize("changes", [{}, LATER, {"is_decoder": True}], ids=["BERT", "later variants", "causal"])
def test_pretraining_learns_a_step_as_on_a_gpu(changes, unpadded, batch):
    if unpadded and torch.cuda.is_available():
        pytest.skip("gradient checkpointing reads the random state of the GPU that is here, on the CPU")
    model = bertlab.BertForPreTraining(bertlab.BertConfig(**SHALLOW | changes))
    model.bert.encoder.gradient_checkpointing = unpadded
    a_step(model, batch | PAIRS, pretraining_loss, partial(with_positions, unpadded=unpadded), "adamw")


def gradients(model, batch, device):
    """Those of the sum of the losses by each weight, and the loss."""
    model = model.to(device).train()
    model.zero_grad()
    loss = model(**{name: x.to(device) for name, x in batch.items()}).loss
    loss.backward()
    found = {name: weight.grad.cpu() for name, weight in model.named_parameters() if weight.grad is not None}
    return found | {"loss": loss.detach().cpu()}


@HERE
@pytest.mark.parametrize("prepare", [same, packed], ids=["padded", "packed"])
@pytest.mark.parametrize("head", HEADS)
def test_on_a_gpu_each_head_has_the_gradients_of_the_cpu(head, prepare, batch):
    kind, changes, labels, shape = HEADS[head]
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    model = kind(bertlab.BertConfig(**SHALLOW | dropout | changes))
    inputs = prepare(shape(batch) | labels)
    torch.testing.assert_close(
        gradients(model, inputs, "cuda"), gradients(model, inputs, "cpu"), rtol=1e-3, atol=1e-5, check_device=False
    )


def test_a_student_learns_a_step(config, batch):
    loss = partial(distillation_loss, teacher=bertlab.BertForPreTraining(config).to(META).eval(), how=Distillation())
    a_step(bertlab.BertForPreTraining(config), with_tokens(batch | PAIRS, None), loss)


@pytest.mark.parametrize("how", [{}, {"smoothing": 0.1}, {"weights": torch.ones(2, device=META)}], ids=str)
def test_the_losses_of_fine_tuning_learn_a_step(how, config, batch):
    model = bertlab.BertForTokenClassification(config)
    a_step(model, batch | {"labels": WORDS}, partial(task_loss, **how))


class Asks(bertlab.BertForSequenceClassification):
    """A head with a number that is looked at, or a tensor that is made on the CPU."""

    def logits(self, states):
        return super().logits(self.mistake(states))


MISTAKES = {
    "number": (lambda states: states * states.max().item(), "item"),
    "condition": (lambda states: states if states.isfinite().all() else -states, "item|bool"),
    "new tensor": (lambda states: states + torch.ones(states.size(-1)), "cpu"),
    "index": (lambda states: states.index_select(0, torch.arange(len(states))), "on cpu, the model is on meta"),
    "copy": (lambda states: states.cpu().to(META), "copy out of meta"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_such_a_mistake_is_found(name, config, batch, monkeypatch):
    mistake, words = MISTAKES[name]
    monkeypatch.setattr(Asks, "mistake", staticmethod(mistake), raising=False)
    with pytest.raises((RuntimeError, NotImplementedError), match=words):
        a_step(Asks(config), batch | {"labels": CLASSES})
