"""Two machines train one model, started by torchrun or by SLURM's srun; here both are this one."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bertlab.cli.main import main
from bertlab.training.engine.devices import Devices, first_node, has_company, is_first

SLURM = {"SLURM_JOB_ID": "12345", "SLURM_NTASKS": "2", "SLURM_NTASKS_PER_NODE": "1", "SLURM_NNODES": "2"}
SLURM |= {"SLURM_NODELIST": "localhost", "SLURM_STEP_ID": "0", "SLURM_LOCALID": "0"}


def task_of_slurm(rank: int, port: int) -> dict[str, str]:
    """The environment that srun gives a task, one on each node."""
    return SLURM | {"SLURM_PROCID": str(rank), "SLURM_NODEID": str(rank), "MASTER_PORT": str(port)}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return one.getsockname()[1]


def test_srun_says_who_takes_part(monkeypatch):
    for name, value in task_of_slurm(1, 29500).items():
        monkeypatch.setenv(name, value)
    devices = Devices("cpu")
    assert (devices.world_size, devices.rank, is_first(), has_company(1)) == (2, 1, False, True)


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("gpu07", "gpu07"), ("gpu[07-09,12],login", "gpu07"), ("a-1,a-2", "a-1"), ("rack[2]n4,rack3n1", "rack2n4")],
)
def test_the_first_machine_of_a_list_of_slurm(nodes, first):
    assert first_node(nodes) == first


def test_a_batch_script_without_srun_trains_alone(monkeypatch):
    for name, value in task_of_slurm(0, 29500).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SLURM_STEP_ID")
    devices = Devices("cpu")
    assert (devices.world_size, is_first(), has_company(1)) == (1, True, False)


# Through the command line

# SGD, for Muon and Adam make much of the last bit
OPTIONS = """finetune sentence --model tiny --train colours.csv --batch-size 4 --steps 30 --save-every 10 --device cpu
    --precision float32 --learning-rate 0.1 --set optim.optimizer=sgd evaluate_every=10"""
RUN = [*OPTIONS.split(), "--out"]


@pytest.fixture
def place(pretrained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    Path("tiny").symlink_to(pretrained)
    colours = [("red", "blue")[number % 2] for number in range(36)]  # 33 to learn from: an epoch ends with a batch of 1
    rows = [f"a {colour} dog of {number} years,{colour}" for number, colour in enumerate(colours)]
    Path("colours.csv").write_text("\n".join(["text,label", *rows, ""]))
    return tmp_path


def both(commands, environments):
    """Start a process for each node, and wait for both; returns exit codes and what the first one printed."""
    started = [
        subprocess.Popen([sys.executable, *command], env=os.environ | extra, stderr=subprocess.PIPE, text=True)
        for command, extra in zip(commands, environments, strict=True)
    ]
    told = [process.communicate()[1] for process in started]
    return [process.returncode for process in started], told


STOPPED = """
import os, signal, sys
from bertlab.training.engine import loop

step, seen = loop.train_step, []

def train_step(*arguments):
    seen.append(1)
    if len(seen) == 15 and os.environ.get("SLURM_PROCID") == "1":
        signal.raise_signal(signal.SIGUSR1)
    return step(*arguments)

loop.train_step = train_step
from bertlab.cli.main import main
main()
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="gloo finds no host")
def test_two_nodes_learn_what_one_process_learns(place):
    """First under torchrun; then under srun, where the second node is warned, both stop, and torchrun's two go on."""
    main([*RUN, "alone"])
    endpoint = f"localhost:{free_port()}"
    torchrun = "-m torch.distributed.run --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint".split()
    command = [*torchrun, endpoint, "-m", "bertlab", *RUN]
    codes, told = both([[*command, "pair"]] * 2, [{}, {}])
    assert codes == [0, 0], told
    tiny, alone, pair = (load_file(f"{name}/model.safetensors") for name in ("tiny", "alone", "pair"))
    name = "bert.encoder.layer.0.output.dense.weight"
    assert float((alone[name] - tiny[name]).abs().max()) > 1e-3
    assert max(float((alone[name] - pair[name]).abs().max()) for name in alone) < 1e-5

    port = free_port()
    codes, told = both([["-c", STOPPED, *RUN, "warned"]] * 2, [task_of_slurm(rank, port) for rank in (0, 1)])
    assert codes[0] == 128 + signal.SIGUSR1, told
    assert sum(text.count("stopped at step 20") for text in told) == 1
    assert max(Path("warned/resume").glob("state-*.pt")).name.startswith("state-0000020")
    command[len(torchrun)] = f"localhost:{free_port()}"
    codes, told = both([[*command, "warned", "--resume"]] * 2, [{}, {}])
    assert codes == [0, 0], told
    warned = load_file("warned/model.safetensors")
    assert all(torch.equal(pair[name], warned[name]) for name in pair)
