"""The micro-batches of a batch are the batch, and each knows its share of every label."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab.config import IGNORED
from bertlab.training.engine.micro_batches import WHOLE, micro_batches, own_micro_batches


def make_batch(rows, seed=0):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(50, (rows, 6), generator=generator)
    labels[torch.rand(rows, 6, generator=generator) < 0.7] = IGNORED
    return {"input_ids": torch.arange(rows * 6).view(rows, 6), "labels": labels}


@given(rows=st.integers(1, 40), count=st.integers(1, 12), seed=st.integers(0, 9))
def test_a_mean_of_micro_batches_by_their_shares_is_the_mean_of_the_whole(rows, count, seed):
    batch = make_batch(rows, seed)
    found = list(micro_batches(batch, count))
    assert torch.equal(torch.cat([part["labels"] for part, _ in found]), batch["labels"])
    sizes = [len(part["labels"]) for part, _ in found]
    assert len(found) == count and max(sizes) - min(sizes) <= 1
    chosen = batch["labels"][batch["labels"] != IGNORED].double()
    means = [part["labels"][part["labels"] != IGNORED].double().mean().nan_to_num() for part, _ in found]
    mean = sum(float(mean) * shares["labels"] for mean, (_, shares) in zip(means, found, strict=True))
    assert mean == pytest.approx(float(chosen.mean()) if len(chosen) else 0.0)


@given(rows=st.integers(1, 40), processes=st.integers(1, 8), micro_batch=st.none() | st.integers(1, 50))
def test_each_row_counts_once_and_no_process_is_idle(rows, processes, micro_batch):
    batch = make_batch(rows)
    everyone = [own_micro_batches(batch, rank, processes, micro_batch) for rank in range(processes)]
    own = [parts for parts in everyone if parts[0].shares["input_ids"]]
    assert len(own) == min(rows, processes) and all(len(part["labels"]) for parts in everyone for part, _ in parts)
    seen = torch.cat([part["input_ids"] for parts in own for part, _ in parts])
    assert sorted(seen.flatten().tolist()) == batch["input_ids"].flatten().tolist()
    work = [sum(len(part["labels"]) for part, _ in parts) for parts in own]
    assert min(work) >= 1 and (micro_batch is not None or max(work) - min(work) <= 1)
    assert micro_batch is None or max(len(part["labels"]) for parts in own for part, _ in parts) <= micro_batch


def test_a_whole_batch_holds_all_labels():
    (part,) = own_micro_batches(make_batch(5), 0, 1, None)
    assert set(part.shares.values()) == {1.0} and WHOLE["labels"] == WHOLE["anything"] == 1.0


def test_any_number_is_a_label():
    """What is ignored among classes, -100, is a number like others where numbers are learned."""
    batch = {"input_ids": torch.ones(3, 2), "labels": torch.tensor([float(IGNORED), 1.0, 2.0])}
    assert [part.shares["labels"] for part in own_micro_batches(batch, 0, 1, 1)] == pytest.approx([1 / 3] * 3)
