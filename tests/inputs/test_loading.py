"""Batches made ahead are the same batches, and nothing is left running, however the training ends."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from itertools import islice
from multiprocessing import active_children
from pathlib import Path

import pytest
import torch

from bertlab import InputError
from bertlab.training.batches import PREFETCHED, can_prefetch, prefetch
from tests.forked import forks


def numbered(count=10**6):
    for step in range(count):
        yield {"input_ids": torch.full((2, 3), step), "process": torch.tensor(os.getpid())}


@forks
def test_the_same_batches_from_another_process():
    state = torch.get_rng_state()
    for worker in (False, True):
        with closing(prefetch(numbered(40), worker)) as batches:
            made = list(batches)
        assert [batch["input_ids"].tolist() for batch in made] == [[[step] * 3] * 2 for step in range(40)]
        assert all((int(batch["process"]) != os.getpid()) == worker for batch in made)
    assert torch.equal(state, torch.get_rng_state())  # dropout draws what it would without
    assert PREFETCHED < 40 and not active_children()


@forks
def test_it_ends_with_its_user():
    with closing(prefetch(numbered(), worker=True)) as batches:
        assert len(list(islice(batches, 3))) == 3 and active_children()
    assert not active_children()
    with pytest.raises(ZeroDivisionError), closing(prefetch(numbered(), worker=True)) as batches:
        next(batches)
        1 / 0  # noqa: B018
    assert not active_children()


@forks
def test_a_mistake_in_the_text_stays_one_line():
    def broken():
        yield from numbered(2)
        raise InputError("the documents are too alike")

    with closing(prefetch(broken(), worker=True)) as batches, pytest.raises(InputError) as caught:
        list(batches)
    assert str(caught.value) == "the documents are too alike" and not active_children()


TRAINING = """
import time
from contextlib import closing
from bertlab.training.batches import prefetch
from tests.inputs.test_loading import numbered

with closing(prefetch(numbered(), worker=True)) as batches:
    try:
        print(int(next(batches)["input_ids"][0, 0]), flush=True)
        time.sleep(600)
    except KeyboardInterrupt:
        print(int(next(batches)["input_ids"][0, 0]), flush=True)
        raise
"""


@forks
@pytest.mark.parametrize("end", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.nightly)])
def test_ctrl_c_and_kill_leave_no_process(end):
    command = [sys.executable, "-c", TRAINING]
    options = dict(cwd=Path(__file__).parents[2], text=True, start_new_session=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options) as process:
        assert process.stdout.readline() == "0\n"
        # Ctrl-C goes to both processes; the worker keeps on until the one that trains has ended
        os.killpg(process.pid, end) if end == signal.SIGINT else process.kill()
        assert process.stdout.read() == ("1\n" if end == signal.SIGINT else "")  # comes when no process holds the pipe


def test_no_worker_on_the_processor():
    assert not can_prefetch("cpu") and not can_prefetch("mps")
