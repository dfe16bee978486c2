"""What a step needs is counted right, and compared with what the device can do."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bertlab import BertForPreTraining
from bertlab.training.engine.throughput import encoder_operations, pretraining_operations
from bertlab.training.objective import pretraining_loss


def labelled(batch):
    labels = torch.where(batch["attention_mask"].bool(), batch["input_ids"], -100)
    labels[:, ::2] = -100
    return batch | {"labels": labels, "next_sentence_label": torch.tensor([0, 1, 0])}


def test_operations_by_hand(config, batch):
    batch = labelled(batch)  # rows of 9, 4 and 7 tokens; every second one is a label
    weights = 3 * (4 * 24 * 24 + 2 * 24 * 40)  # three layers: queries, keys, values, outputs; up, down
    attention = 3 * 12 * 24 * (81 + 16 + 49)
    masked = 4 + 2 + 3
    assert encoder_operations(config, batch) == 6 * weights * 20 + attention
    assert pretraining_operations(config, batch) == 6 * weights * 20 + attention + 6 * masked * (24 * 24 + 24 * 61)


def test_operations_are_those_that_a_step_makes(config, batch):
    """PyTorch counts the products that are really made; without padding they are the ones needed."""
    batch = labelled(batch | {"attention_mask": torch.ones_like(batch["attention_mask"])})
    model = BertForPreTraining(config)
    with FlopCounterMode(display=False) as counter:
        pretraining_loss(model, batch)[0].backward()
    left_out = 6 * 3 * (24 * 24 + 24 * 2)  # of three rows: pooler, next sentences
    assert counter.get_total_flops() == pytest.approx(pretraining_operations(config, batch) + left_out, rel=0.05)
