"""What parity cannot show of the classifiers: labels that do not count, dropout, choices, bad labels."""

import pytest
import torch

from bertlab import (
    BertConfig,
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForSequenceClassification,
    BertForTokenClassification,
    InputError,
)
from bertlab.model.classifiers import sequence_loss


@pytest.mark.parametrize("far", [3.0, 0.0])
def test_numbers_are_learned_exactly_under_autocast(far):
    """bfloat16 has no number between 1984 and 1992."""
    config = BertConfig(num_labels=1, problem_type="regression")
    with torch.autocast("cpu", torch.bfloat16):
        loss = sequence_loss(config, torch.full((2, 1), 1984.0, dtype=torch.bfloat16), torch.full((2,), 1984.0 + far))
    assert float(loss) == far**2


def test_classifier_dropout(config):
    assert BertForTokenClassification(config).dropout.p == 0.1
    assert BertForTokenClassification(config.changed(classifier_dropout=0.0)).dropout.p == 0.0


@pytest.mark.parametrize(
    ("kind", "labels", "words"),
    [
        (BertForSequenceClassification, torch.tensor([0, 1, 2]), "labels holds 2.*num_labels"),
        (BertForSequenceClassification, torch.tensor([0, 1]), r"labels must be \(3,\)"),
        (BertForSequenceClassification, torch.full((3, 2), 2.0), "must be 0 or 1"),
        (BertForSequenceClassification, torch.full((3, 2), float("nan")), "must be 0 or 1"),
        (BertForSequenceClassification, [0, 1, 0], "labels must be a tensor"),
        (BertForSequenceClassification, torch.zeros(3, 3), r"labels for multi_label.* must be \(3, 2\)"),
        (BertForTokenClassification, torch.zeros(3, dtype=torch.long), r"labels must be \(3, 9\)"),
        (BertForTokenClassification, torch.zeros(3, 9), "whole numbers"),
        (BertForNextSentencePrediction, torch.tensor([0, 1, 2]), "labels holds 2.*IsNext"),
        (BertForMultipleChoice, None, r"must be \(batch, choices, tokens\)"),
    ],
    ids=str,
)
def test_bad_labels_are_told_in_one_line(kind, labels, words, config, batch):
    with pytest.raises(InputError, match=words) as caught:
        kind(config)(**batch, labels=labels)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["attention_mask", "token_type_ids"])
def test_choices_of_another_order_are_refused(name, config, batch):
    """(C, B, S) has as many rows as (B, C, S): flattened, it would pair each text with the mask of another."""
    choices = {key: torch.stack([tensor, tensor]) for key, tensor in batch.items()}  # (2, 3, S)
    with pytest.raises(InputError, match=rf"{name} is \(3, 2, 9\), input_ids \(2, 3, 9\)"):
        BertForMultipleChoice(config)(**choices | {name: choices[name].transpose(0, 1)})
