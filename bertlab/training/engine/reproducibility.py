"""Record what the last bits of a training depend on beside its recipe, and restore it on resuming where possible."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_type_hints

import torch

from bertlab.errors import InputError
from bertlab.io.json_files import fits
from bertlab.model.cpu import allowed_threads
from bertlab.training.engine.checkpoints import ANOTHER
from bertlab.training.engine.devices import Devices
from bertlab.training.engine.precision import Choice, Precision

EXPLAINED = {  # what may differ from one machine to the next, in the words of a message
    "device": "another device",
    "processes": "another number of processes",
    "threads": "another number of threads",
    "torch": "another version of PyTorch",
    "instructions": "another instruction set",
}
ON_PROCESSORS = {"threads", "instructions"}  # a GPU does not round by them
LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS")


@dataclass(frozen=True)
class Conditions:
    """Where a training runs and how it computes."""

    device: str  # cpu, or the name of the GPU
    processes: int
    threads: int  # of the first process, in which PyTorch computes on a processor
    precision: str  # of matrix products
    chosen: str  # why that one
    torch: str  # its version
    instructions: str  # of the processor

    def __str__(self) -> str:
        processes = f"{self.processes} processes, " if self.processes > 1 else ""
        threads = f"{self.threads} {'thread' if self.threads == 1 else 'threads'}, "
        return f"on {self.device}, {processes}{threads}{self.precision} ({self.chosen})"

    def differences(self, begun: dict[str, Any]) -> list[str]:
        """Return in words what differs from the record `begun`."""
        now = asdict(self)
        names = EXPLAINED.keys() - (() if self.device == "cpu" else ON_PROCESSORS)
        return [words for name, words in EXPLAINED.items() if name in names and now[name] != begun.get(name)]


@contextmanager
def fixed_conditions(devices: Devices, state: dict[str, Any] | None, asked: Precision = "auto") -> Iterator[Conditions]:
    """Fix the precision, the same in all processes, and the number of threads until the block ends.

    A resumed run takes those of its `state`, a new one those at hand. If anything else differs from when the run
    began, stderr says so, for the result may differ too. InputError if another precision is asked for.
    """
    begun = (state or {}).get("conditions")
    if begun is not None:
        _check(begun)
    devices.choice = devices.broadcast(_resumed_choice(begun, asked) if begun else devices.choice)
    with _threads(_threads_begun(devices, begun)):
        conditions = _now(devices)
        if begun and devices.is_first and (found := conditions.differences(begun)):
            message = f"resumed under other conditions ({'; '.join(found)}): the end may differ"
            print(f"bertlab: {message}", file=sys.stderr)
        yield conditions


def _check(begun: Any) -> None:
    """Raise an InputError unless this is the record of conditions that a run began under."""
    kinds = get_type_hints(Conditions) | {"precision": Literal["float32", "bfloat16"]}
    whole = isinstance(begun, dict) and begun.keys() >= kinds.keys()
    if not whole or not all(fits(begun[name], kind) for name, kind in kinds.items()) or begun["threads"] < 1:
        raise InputError(f"the saved state does not say under which conditions the run began; {ANOTHER}")


def _resumed_choice(begun: dict[str, Any], asked: Precision) -> Choice:
    if asked not in ("auto", begun["precision"]):
        raise InputError(f"precision={asked}: the run was begun in {begun['precision']}; resume it with that")
    return Choice(begun["precision"], "as the run was begun")


def _threads_begun(devices: Devices, begun: dict[str, Any] | None) -> int:
    """Return the threads to use: those the run began with, if it was and is on processors and in as many processes."""
    alike = begun and begun["device"] == "cpu" == devices.device.type and begun["processes"] == devices.world_size
    return begun["threads"] if begun and alike else torch.get_num_threads()


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(allowed_threads(count))  # even if it is as before: only then MKL uses no fewer
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _now(devices: Devices) -> Conditions:
    device, choice = devices.device, devices.choice
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    version, threads = str(torch.__version__), torch.get_num_threads()
    return Conditions(name, devices.world_size, threads, choice.format, choice.reason, version, instructions())


def instructions() -> str:
    """Name the processor's instruction sets for vectors and matrices, and the settings that limit their use."""
    offered = [name for name, there in torch.cpu.get_capabilities().items() if there is True]
    limits = [f"{name}={os.environ[name]}" for name in LIMITS if name in os.environ]
    return " ".join([torch.backends.cpu.get_cpu_capability(), *sorted(offered), *limits])
