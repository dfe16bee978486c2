"""What the last bits of a training depend on beside its recipe: kept in its state, and restored where it can be."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import torch

from bertlab.errors import InputError
from bertlab.training.engine.devices import choice_of, set_choice
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
    """Where a training runs, and how it computes."""

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

    def differences(self, begun: dict) -> list[str]:
        """In words, what is not as in the record `begun`."""
        now = asdict(self)
        names = EXPLAINED.keys() - (() if self.device == "cpu" else ON_PROCESSORS)
        return [words for name, words in EXPLAINED.items() if name in names and now[name] != begun.get(name)]


@contextmanager
def settled(fabric, state: dict | None, asked: Precision = "auto") -> Iterator[Conditions]:
    """Fix the precision, alike in all processes, and the number of threads, until the block ends.

    Those of the `state` that a run goes on from, else the present ones. Says on stderr if something else is not as it
    was when the run began, for its end may then differ. InputError if another precision is asked for.
    """
    begun = (state or {}).get("conditions")
    choice = fabric.broadcast(_goes_on(begun, asked) if begun else choice_of(fabric))
    set_choice(fabric, choice)
    with _threads(_threads_begun(fabric, begun)):
        conditions = _now(fabric, choice)
        if state and fabric.is_global_zero:
            _say_differences(conditions, begun)
        yield conditions


def _goes_on(begun: dict, asked: Precision) -> Choice:
    if asked not in ("auto", begun["precision"]):
        raise InputError(f"precision={asked}: the run was begun in {begun['precision']}; resume it with that")
    return Choice(begun["precision"], "as the run was begun")


def _threads_begun(fabric, begun: dict | None) -> int:
    """Those of a run on one processor. On other devices, or shared out to more processes, they mean something else."""
    alike = begun and begun["device"] == "cpu" == fabric.device.type and begun["processes"] == fabric.world_size
    return begun["threads"] if alike else torch.get_num_threads()


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)  # even if it is as before: only then MKL uses no fewer
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _now(fabric, choice: Choice) -> Conditions:
    device = fabric.device
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    how = choice.format, choice.reason, str(torch.__version__)
    return Conditions(name, fabric.world_size, torch.get_num_threads(), *how, instructions())


def _say_differences(now: Conditions, begun: dict | None) -> None:
    found = now.differences(begun) if begun else ["its state does not say on how many threads, or in which precision"]
    if found:
        print(f"bertlab: resumed under other conditions ({'; '.join(found)}): the end may differ", file=sys.stderr)


def instructions() -> str:
    """What the processor offers for vectors and matrices, and the settings that limit its use."""
    offered = [name for name, there in torch.cpu.get_capabilities().items() if there is True]
    limits = [f"{name}={os.environ[name]}" for name in LIMITS if name in os.environ]
    return " ".join([torch.backends.cpu.get_cpu_capability(), *sorted(offered), *limits])
