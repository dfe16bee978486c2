"""Where training runs: on one device, or in several processes with a device each. The engine is lightning-fabric."""

import atexit
import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch

from bertlab.errors import InputError


def make_fabric(device: str = "auto", devices: int = 1):
    """Fabric on the best device that is there; products in bfloat16 where that is fast, all else in float32.

    With `devices` above 1 as many processes train together, once `launch` has started them; torchrun has its own say
    about how many. InputError for a device that this machine does not have.
    """
    from lightning_fabric import Fabric
    from lightning_fabric.plugins.environments import TorchElasticEnvironment
    from lightning_fabric.utilities.exceptions import MisconfigurationException

    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it reports its precision at every start
    if devices < 1:
        raise InputError(f"devices={devices}: must be at least 1")
    nodes = 1
    if TorchElasticEnvironment.detect():
        devices = int(os.environ["LOCAL_WORLD_SIZE"])
        nodes = int(os.environ["WORLD_SIZE"]) // devices
    precision = "bf16-mixed" if bfloat16_is_fast(device) else None
    try:
        return Fabric(accelerator=device, devices=devices, num_nodes=nodes, precision=precision)
    except MisconfigurationException as error:
        raise InputError(f"devices={devices}: this machine has fewer of that kind") from error
    except (RuntimeError, ValueError) as error:
        raise InputError(f"device={device!r} cannot be used on this machine: choose auto, cpu, cuda or mps") from error


def bfloat16_is_fast(device: str) -> bool:
    """On a GPU, and on a processor with instructions for it: training then takes half the time."""
    if device in ("auto", "cuda") and torch.cuda.is_available():
        return True
    on_cpu = device == "cpu" or (device == "auto" and not torch.backends.mps.is_available())
    return on_cpu and torch.cpu.get_capabilities().get("avx512_bf16", False)


def product_type(fabric) -> torch.dtype:
    """In which matrix products are made."""
    with fabric.autocast():
        kind = fabric.device.type
        return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.get_default_dtype()


def launch(fabric) -> None:
    """Start the other processes, each with the command line of this one; they end with it, whatever ends it.

    Ctrl-C is kept from them until they train, where `between_steps` heeds it in all of them alike.
    """
    with ignored_ctrl_c() if fabric.world_size > 1 else nullcontext():  # what is ignored here is ignored there
        fabric.launch()
    for process in getattr(fabric.strategy.launcher, "procs", ()):
        atexit.register(process.kill)


@contextmanager
def ignored_ctrl_c() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only there it can be set
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def is_first() -> bool:
    """Whether this is the process that writes and prints; the others only compute."""
    return int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", 0))) == 0  # of torchrun, of Fabric
