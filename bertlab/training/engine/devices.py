"""The devices that train one model, a process on each, and what these processes exchange: torch.distributed."""

import atexit
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from bertlab.errors import InputError
from bertlab.model.base import best_device
from bertlab.training.engine.precision import TYPICAL, Choice, Precision, Products, choose
from bertlab.training.engine.signals import handled

if TYPE_CHECKING:
    from torch.distributed.launcher.api import LaunchConfig

    from bertlab.model.encoder import Encoder

T = TypeVar("T")
TORCHRUN = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
SRUN = ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS")
SIGNALS = "SIGTERM,SIGUSR1,SIGHUP,SIGQUIT"  # that the launcher hands on to the processes
PATIENCE = timedelta(minutes=30)  # the others wait while the first one evaluates; the default for GPUs is 10 minutes
SHUTDOWN = 600  # seconds that a signalled process has to finish ten steps and to save; the launcher's default is 30
GRACE = 5  # seconds in which a launcher ends all processes after one has failed


class Member(NamedTuple):
    """The place of a process among those that train together."""

    rank: int = 0
    local_rank: int = 0  # on its machine
    world_size: int = 1


def member() -> Member | None:
    """Return the place that torchrun or srun gave this process; None if neither started it."""
    under_srun = "SLURM_STEP_ID" in os.environ and int(os.environ.get("SLURM_NTASKS", 1)) > 1  # as one of several
    names = TORCHRUN if {"RANK", "WORLD_SIZE"} <= os.environ.keys() else SRUN if under_srun else ()
    return Member(*(int(os.environ.get(name, 0)) for name in names)) if names else None


def is_first() -> bool:
    """Return whether this is the process that writes and prints; the others only compute."""
    return (member() or Member()).rank == 0


def has_company(devices: int) -> bool:
    """Return whether other processes train with this one, or will."""
    return devices > 1 or (member() or Member()).world_size > 1


class Devices:
    """The devices that train together, seen from the process on one of them, and the precision of its products."""

    def __init__(self, device: str = "auto", devices: int = 1):
        """Take the best `device` there is ("auto"), or that kind, and so many; under torchrun or srun their own number
        counts. InputError for a device that this machine does not have."""
        if devices < 1:
            raise InputError(f"devices={devices}: must be at least 1")
        self._started = member()
        self.rank, local, self.world_size = self._started or Member(world_size=devices)
        kind = check_device(device, local + 1 if self._started else devices)
        self.device = torch.device(kind, local) if kind == "cuda" else torch.device(kind)
        self.choice = Choice("float32", "the default")

    def settle(self, precision: Precision = "auto", products: Products = TYPICAL) -> Self:
        """Compute matrix products in this precision, all else in float32. "auto" takes the faster one for `products`:
        on a CPU measured, on a GPU bfloat16 where it computes in it."""
        self.choice = choose(precision, self.device.type, products)
        return self

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def in_bfloat16(self) -> bool:
        return self.choice.format == "bfloat16"

    @property
    def product_type(self) -> torch.dtype:
        """The type that matrix products are computed in."""
        return torch.bfloat16 if self.in_bfloat16 else torch.get_default_dtype()

    def launch(self) -> None:
        """Run this command line in a process for each device and exit with their code, unless one process is enough
        or this is one of them. Signals go to all of them, and where one fails, all end."""
        if not self._started and self.world_size > 1:
            raise SystemExit(run_again(self.world_size))

    def connect(self) -> None:
        """Meet the other processes; all of them call this, once."""
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        if self.world_size == 1 or distributed.is_initialized():
            return
        os.environ.setdefault("MASTER_ADDR", first_node(os.environ.get("SLURM_NODELIST", "localhost")))
        os.environ.setdefault("MASTER_PORT", str(15000 + int(os.environ.get("SLURM_JOB_ID", "0")[-4:])))
        on_gpu = self.device.type == "cuda"
        how = {"backend": "nccl", "device_id": self.device} if on_gpu else {"backend": "gloo"}
        distributed.init_process_group(rank=self.rank, world_size=self.world_size, timeout=PATIENCE, **how)
        if on_gpu:
            atexit.register(distributed.destroy_process_group)
        sys.excepthook = partial(said_later, sys.excepthook)

    def wrap(self, model: nn.Module) -> "Wrapped":
        """Move the model to the device; return it with a forward pass in the precision, and gradients exchanged."""
        model.to(self.device)
        return Wrapped(model if self.world_size == 1 else DistributedDataParallel(model), self)

    def autocast(self) -> AbstractContextManager[Any]:
        """Compute matrix products in the precision chosen until the block ends."""
        return torch.autocast(self.device.type, torch.bfloat16) if self.in_bfloat16 else nullcontext()

    def all_reduce(self, tensor: Tensor, maximum: bool = False) -> Tensor:
        """Return the sum, or the maximum, of the tensors of all processes."""
        if self.world_size == 1:
            return tensor
        reduced = tensor.to(self.device, copy=True)
        distributed.all_reduce(reduced, distributed.ReduceOp.MAX if maximum else distributed.ReduceOp.SUM)
        return reduced

    def broadcast(self, value: T) -> T:
        """Return in all processes the `value` of the first one: anything that can be pickled."""
        if self.world_size == 1:
            return value
        held = [value]
        distributed.broadcast_object_list(held)
        return held[0]

    def barrier(self) -> None:
        """Wait until all processes are here."""
        if self.world_size > 1:
            distributed.barrier()


class Wrapped(nn.Module):
    """A model whose forward pass computes in the precision of `devices` and returns float32."""

    def __init__(self, module: nn.Module, devices: Devices):
        super().__init__()
        self.module, self.devices = module, devices

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with self.devices.autocast():
            out = self.module(*args, **kwargs)
        return in_float32(out) if self.devices.in_bfloat16 else out

    def no_sync(self) -> AbstractContextManager[Any]:
        """Keep the gradients of the block to this process."""
        return self.module.no_sync() if isinstance(self.module, DistributedDataParallel) else nullcontext()

    def __getattr__(self, name: str) -> Any:
        """Return what a loss asks of the model besides its forward pass."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.module, name)


def in_float32(out: Any) -> Any:
    """Return what a model computed, a tensor, tuple or dataclass of them, with bfloat16 turned into float32."""
    if isinstance(out, Tensor):
        return out.float() if out.dtype == torch.bfloat16 else out
    if isinstance(out, tuple):
        return tuple(map(in_float32, out))
    if is_dataclass(out) and not isinstance(out, type):
        return replace(out, **{field.name: in_float32(getattr(out, field.name)) for field in fields(out)})
    return out


def run_again(processes: int) -> int:
    """Run this command line in so many processes under PyTorch's launcher, and return the exit code to end with."""
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import elastic_launch

    interrupts: list[int] = []

    def interrupted(number: int, _: object) -> None:  # to SIGINT Python replies with a traceback while it starts
        interrupts.append(number)
        raise SignalException("Ctrl-C", signal.SIGTERM)

    logging.disable()  # what failed says so itself
    try:
        with handled([signal.SIGINT], interrupted):
            elastic_launch(launcher(processes), sys.executable)(*sys.orig_argv[1:])
    except ChildFailedError as error:
        code = error.get_first_failure()[1].exitcode
        return 128 - code if code < 0 else code  # -9: killed by signal 9
    except SignalException as error:
        return 128 + (interrupts or [error.sigval])[0]
    return 0


def launcher(processes: int) -> "LaunchConfig":
    """Return the settings of a launcher of so many processes on this machine, which share its cores."""
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    from torch.distributed.launcher.api import LaunchConfig

    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, torch.get_num_threads() // processes)))
    os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", str(SHUTDOWN))
    config = LaunchConfig(
        1,
        1,
        processes,
        logs_specs=DefaultLogsSpecs(os.devnull),  # else it makes a folder that nobody removes
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        run_id="bertlab",
        max_restarts=0,
    )
    config.signals_to_handle = SIGNALS  # no argument: older versions of PyTorch do not know it
    return config


def check_device(device: str, count: int) -> str:
    """Return the kind of device: "cpu", "cuda" or "mps". InputError: this machine has none, or fewer than `count`."""
    best = best_device()
    if device not in ("auto", "cpu", best):
        here = ", ".join(dict.fromkeys(["cpu", best]))
        raise InputError(f"device={device!r} cannot be used on this machine, which has {here}; auto chooses")
    kind = best if device == "auto" else device
    if kind != "cpu" and count > torch.accelerator.device_count():
        raise InputError(f"devices={count}: this machine has fewer of that kind")
    return kind


def check_processes(devices: Devices, batch_size: int, whole_batches: bool = False) -> None:
    """Raise an InputError if so many processes cannot share a batch; `whole_batches`: none can be shared."""
    if batch_size < devices.world_size:
        raise InputError(f"batch_size={batch_size}: fewer than the {devices.world_size} processes")
    if whole_batches and devices.world_size > 1:
        raise InputError(
            f"{devices.world_size} processes: this task compares all texts of a batch; train on one device"
        )


def first_node(nodes: str) -> str:
    """Return the first machine of a list as SLURM writes it: "gpu[07-09,12],login" -> "gpu07"."""
    return re.sub(r"\[(\w+)[^]]*]", r"\1", nodes).split(",")[0]


def said_later(usual: Callable[..., Any], *error: Any) -> None:
    """Report an error that ends this process, unless it only follows from one in the first process."""
    give_way()
    usual(*error)


def give_way() -> None:
    """Wait, in any process but the first: if that one fails too, it says why, and a launcher ends this one."""
    if not is_first():
        time.sleep(GRACE)


def compile_layers(encoder: "Encoder") -> None:
    """Have torch.compile fuse what each layer does; the first steps then take a minute or two."""
    for layer in encoder.layers:
        layer.compile(dynamic=True)  # batches are as long as their longest row
