"""The code one reads is the code that runs: attention of bertlab.model.encoder, once a layer, in every model."""

import pytest
import torch

from bertlab import BertForNextSentencePrediction, BertForTokenClassification
from bertlab.config import IGNORED
from bertlab.model import BertForSentenceEmbedding
from bertlab.model.encoder import MultiHeadAttention
from bertlab.relatives.electra import Electra
from bertlab.relatives.gpt import Gpt
from bertlab.relatives.transformer import Transformer
from tests.model.building import MODELS, masked_labels

CLASSES = torch.tensor([0, 1, IGNORED])
LABELS = {
    "BertForPreTraining": {"next_sentence_label": CLASSES},
    "BertForMaskedLM": {},
    "BertForSequenceClassification": {"labels": CLASSES},
    "BertForNextSentencePrediction": {"labels": CLASSES},
    "BertForMultipleChoice": {"labels": torch.tensor([0, 1, 1])},
    "BertForSentenceEmbedding": {"labels": CLASSES},
    "BertForQuestionAnswering": {"start_positions": CLASSES.abs() % 9, "end_positions": torch.tensor([0, 1, 2])},
}
SIDE_BY_SIDE = ("BertForMultipleChoice", "BertForSentenceEmbedding")  # two texts in a row: (B, 2, S)


@pytest.fixture
def calls(monkeypatch):
    """The modules whose attention was called, in order; and whether what entered was packed."""
    found, forward = [], MultiHeadAttention.forward

    def counted(self, x, *how):
        found.append((self, x.dim() == 2))
        return forward(self, x, *how)

    monkeypatch.setattr(MultiHeadAttention, "forward", counted)
    return found


def inputs_of(kind, batch):
    name = kind.__name__
    labels = LABELS.get(name)
    if name in ("BertForPreTraining", "BertForMaskedLM", "BertForTokenClassification"):
        labels = {**(labels or {}), "labels": masked_labels(batch)}
    if kind is BertForTokenClassification:
        labels = {"labels": torch.where(batch["attention_mask"] > 0, 1, IGNORED)}
    if name in SIDE_BY_SIDE:
        batch = {key: tensor[:, None].repeat(1, 2, 1) for key, tensor in batch.items()}
    return batch, labels or {}


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", [*MODELS, BertForSentenceEmbedding], ids=lambda kind: kind.__name__)
def test_a_call_attends_once_in_each_layer(kind, packed, training, config, batch, calls):
    model = kind(config).train(training)
    batch, labels = inputs_of(kind, batch)
    out = model(**batch, **labels, packed=packed)
    layers = getattr(model, "bert", model).encoder.layers
    assert calls == [(layer.attention, packed) for layer in layers]
    if labels:
        assert out.loss.isfinite()


@pytest.mark.parametrize("how", ["attentions", "checkpointed", "head_mask"])
def test_so_it_does_whatever_is_asked(how, config, batch, calls):
    model = BertForNextSentencePrediction(config).train()
    model.bert.encoder.gradient_checkpointing = how == "checkpointed"
    asked = {"attentions": {"output_attentions": True}, "head_mask": {"head_mask": torch.ones(3, 4)}}.get(how, {})
    out = model(**batch, labels=CLASSES, **asked)
    attentions = [layer.attention for layer in model.bert.encoder.layers]
    assert [module for module, _ in calls] == attentions
    out.loss.backward()  # a checkpointed layer is computed again for its gradient, the last one first
    assert [module for module, _ in calls[3:]] == (attentions[::-1] if how == "checkpointed" else [])


def test_and_in_the_relatives(config, batch, calls):
    ids, mask = batch["input_ids"], batch["attention_mask"]
    gpt = Gpt(config)
    gpt(ids, mask, predict=True)
    transformer = Transformer(config)
    transformer(ids, mask, ids)
    electra = Electra(config)
    electra(**batch, labels=masked_labels(batch), judged=mask.bool())
    halves = (gpt.encoder, transformer.encoder, transformer, electra.generator.bert.encoder, electra.encoder.encoder)
    assert [module for module, _ in calls] == [layer.attention for half in halves for layer in half.layers]
