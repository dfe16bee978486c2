"""Several processes learn what one learns; they stop together, and none outlives the others."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from bertlab import BertForPreTraining, InputError
from bertlab.cli.main import main
from bertlab.training.engine.devices import Devices
from bertlab.training.engine.loop import SyncedStatus, dropout_seed
from tests.training.engine import two_processes

FIGURES = ["mlm_loss", "masked_accuracy", "nsp_loss", "nsp_accuracy"]


@pytest.fixture(scope="module")
def of_two(tmp_path_factory):
    """The results of two processes, by optimizer."""
    path = tmp_path_factory.mktemp("two") / "results.pt"
    command = [sys.executable, two_processes.__file__, path]
    subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, check=True)
    return torch.load(path)


@pytest.fixture(scope="module")
def of_one():
    return {name: two_processes.result(1, **case) for name, case in two_processes.CASES.items()}


def distance(one, other):
    """The largest between two weights, but of keys' biases: they move all scores of a query alike, which softmax does
    not see, so that their gradient is rounding alone, and AdamW makes whole steps of it.
    """
    apart = {name: (one[name] - other[name]).abs() for name in one}
    seen = [value.view(3, -1)[::2] if name.endswith("qkv.bias") else value for name, value in apart.items()]
    return max(float(value.max()) for value in seen)


@pytest.mark.parametrize("optimizer", two_processes.CASES)
def test_two_processes_learn_what_one_learns(optimizer, of_one, of_two):
    one, two = of_one[optimizer], of_two[optimizer]
    assert distance(one["weights"], two["weights"]) < 1e-6
    assert [row["step"] for row in two["rows"]] == [8, 16, 20]
    for row, other in zip(one["rows"], two["rows"], strict=True):
        assert [row[name] for name in FIGURES] == pytest.approx([other[name] for name in FIGURES], abs=1e-5)


@pytest.mark.parametrize("optimizer", two_processes.CASES)
def test_rows_at_a_time_change_nothing(optimizer, of_one):
    cut = two_processes.result(1, **two_processes.CASES[optimizer], micro_batch=2)
    assert distance(of_one[optimizer]["weights"], cut["weights"]) < 1e-6


@pytest.mark.parametrize("optimizer", two_processes.CASES)
def test_what_two_began_one_ends(optimizer, of_one, of_two):
    state = of_two[optimizer]["state"]
    resumed = two_processes.result(1, **two_processes.CASES[optimizer], resume=state)
    assert state["step"] == 10 and distance(of_one[optimizer]["weights"], resumed["weights"]) < 1e-6
    assert [row["step"] for row in resumed["rows"]] == [8, 16, 20]


def test_every_step_and_every_process_has_its_own_dropout():
    seeds = [dropout_seed(seed, step, rank) for seed in (-1, 0, 1) for step in range(30) for rank in range(4)]
    assert len(set(seeds)) == len({seed % 2**32 for seed in seeds}) == len(seeds)  # the CPU sees 32 bits
    assert dropout_seed(0, 1, 2) == dropout_seed(0, 1, 2)


def test_devices_that_are_not_there():
    with pytest.raises(InputError, match="devices=0"):
        Devices("cpu", 0)


# Through the command line

STORY = "Ann has a dog. The dog is old. It sleeps a lot. Ann feeds it. Bob has a cat. The cat is young. It runs."
OPTIONS = "--text story.txt --steps 100 --batch-size 4 --save-every 20 --device cpu --out run".split()


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    Path("story.txt").write_text("\n\n".join(f"CHAPTER {n}\n\n{STORY}" for n in "I II III IV V VI VII".split()))
    return tmp_path


def begin(*command):
    return subprocess.Popen([sys.executable, "-m", *command], stderr=subprocess.PIPE, text=True, start_new_session=True)


def wait_for_step(process, step):
    """Until a checkpoint of at least that step is there."""
    while not any(int(path.name.split("-")[1]) >= step for path in Path("run/resume").glob("state-*.pt")):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


def workers_of(launcher):
    """The processes that it has started."""
    command = ["ps", "--ppid", str(launcher.pid), "-o", "pid="]
    return [int(pid) for pid in subprocess.run(command, capture_output=True, text=True).stdout.split()]


def alive(workers):
    return [pid for pid in workers if Path(f"/proc/{pid}").exists()]


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="asks ps and /proc about processes")
def test_two_processes_from_start_to_end(place):
    """One of two is killed and the other ends; two go on and are stopped by SIGTERM, then torchrun's two by Ctrl-C,
    and one ends the run."""
    pair = begin("bertlab", "pretrain", *OPTIONS, "--devices", "2")
    wait_for_step(pair, 20)
    workers = workers_of(pair)
    os.kill(workers[1], signal.SIGKILL)
    assert pair.wait() == 128 + signal.SIGKILL and len(workers) == 2 and not alive(workers)
    pair.stderr.close()

    pair = begin("bertlab", "pretrain", *OPTIONS, "--devices", "2", "--resume")
    wait_for_step(pair, 40)
    workers = workers_of(pair)
    pair.terminate()
    told = pair.communicate()[1]
    assert pair.returncode == 128 + signal.SIGTERM and told.count("stopped at step") == 1 and not alive(workers)

    pair = begin("torch.distributed.run", "--nproc-per-node", "2", "-m", "bertlab", "pretrain", *OPTIONS, "--resume")
    wait_for_step(pair, 60)
    workers = workers_of(pair)
    os.killpg(pair.pid, signal.SIGINT)
    told = pair.communicate()[1]
    assert told.count("stopped at step") == 1 and not alive(workers)

    assert main(["pretrain", *OPTIONS, "--resume"]) in (None, 0)
    assert BertForPreTraining.from_pretrained("run").config.vocab_size > 0
    steps = [line.split(",")[0] for line in Path("run/metrics.csv").read_text().splitlines()]
    assert len(steps) == len(set(steps)) and steps[-1] == "100" and not Path("run/resume").exists()


def test_between_two_exchanges_time_goes_on():
    """Synchronised after every tenth step, it estimates the elapsed share of the minutes in between."""
    pair = SimpleNamespace(device=torch.device("cpu"), world_size=2, all_reduce=lambda answers, maximum: answers)
    clock = iter([0.0, 12.0, 18.0])  # seconds after steps 0, 10, 20
    training = SimpleNamespace(gather=lambda: None, seconds=lambda: next(clock), diverged=False)
    synced = SyncedStatus(pair, training, lambda: False, minutes=0.5)
    for step in range(1, 26):
        if step in (5, 21, 25):
            assert synced.elapsed(step) == pytest.approx({5: 0.0, 21: 0.6, 25: 0.68}[step])
        synced.after(step)
