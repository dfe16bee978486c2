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
from tests.model.building import build


@pytest.mark.parametrize("far", [3.0, 0.0])
def test_numbers_are_learned_exactly_under_autocast(far):
    """bfloat16 has no number between 1984 and 1992."""
    config = BertConfig(num_labels=1, problem_type="regression")
    with torch.autocast("cpu", torch.bfloat16):
        loss = sequence_loss(config, torch.full((2, 1), 1984.0, dtype=torch.bfloat16), torch.full((2,), 1984.0 + far))
    assert float(loss) == far**2


def test_labels_that_are_ignored_do_not_count(config, batch):
    model = build(BertForTokenClassification, config)
    labels = torch.full((3, 9), -100)
    labels[0, 2], labels[2, 5] = 1, 0
    out = model(**batch, labels=labels)
    scores = out.logits.log_softmax(-1)
    torch.testing.assert_close(out.loss, -(scores[0, 2, 1] + scores[2, 5, 0]) / 2)
    assert model(**batch, labels=torch.full((3, 9), -100)).loss.item() == 0.0


def test_a_choice_is_scored_alone(config, batch):
    model = build(BertForMultipleChoice, config)
    together = model(**{name: tensor[None] for name, tensor in batch.items()}).logits  # (1, 3)
    for number in range(3):
        row = {name: tensor[None, number : number + 1] for name, tensor in batch.items()}
        torch.testing.assert_close(model(**row).logits[0, 0], together[0, number])


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
