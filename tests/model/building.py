"""What several tests of models share: classes, variants, small models in float64, gradients by name."""

import pytest
import torch

from bertlab import (
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)

MODELS = [
    BertModel,
    BertForPreTraining,
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertForQuestionAnswering,
    BertForMultipleChoice,
]
HEADS = [BertForPreTraining, BertForMaskedLM, BertForQuestionAnswering]
VARIANTS = {  # what later papers changed, each alone
    "rotary": {"position_embedding_type": "rotary"},
    "pre-norm": {"pre_norm": True},
    "gated": {"gated_feed_forward": True},
    "shared": {"shared_layers": True},
}
ALL = {name: value for one in VARIANTS.values() for name, value in one.items()}
each_variant = pytest.mark.parametrize("fields", [*VARIANTS.values(), ALL], ids=[*VARIANTS, "all"])


def build(kind, config):
    torch.manual_seed(0)
    return kind(config).double().eval()


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def masked_labels(batch):
    masked = (batch["input_ids"] % 3 == 0) & batch["attention_mask"].bool()
    return torch.where(masked, batch["input_ids"], -100)
