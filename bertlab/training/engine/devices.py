"""Where training runs: on one device, or in several processes with a device each. The engine is lightning-fabric."""

import atexit
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch

from bertlab.errors import InputError
from bertlab.training.engine.precision import TYPICAL, Choice, Precision, Products, choose


def make_fabric(device: str = "auto", devices: int = 1, precision: Precision = "auto", products: Products = TYPICAL):
    """Fabric on the best device that is there; matrix products in the `precision` asked for, all else in float32.

    precision="auto" measures which one is faster for such `products`, and takes bfloat16 where a GPU computes in it.
    With `devices` above 1 as many processes train together, once `launch` has started them; torchrun has its own say
    about how many. InputError for a device that this machine does not have.
    """
    from lightning_fabric import Fabric
    from lightning_fabric.plugins.environments import TorchElasticEnvironment
    from lightning_fabric.utilities.exceptions import MisconfigurationException

    if devices < 1:
        raise InputError(f"devices={devices}: must be at least 1")
    nodes = 1
    if TorchElasticEnvironment.detect():
        devices = int(os.environ["LOCAL_WORLD_SIZE"])
        nodes = int(os.environ["WORLD_SIZE"]) // devices
    try:
        fabric = Fabric(accelerator=device, devices=devices, num_nodes=nodes, plugins=_plugin())
    except MisconfigurationException as error:
        raise InputError(f"devices={devices}: this machine has fewer of that kind") from error
    except (RuntimeError, ValueError) as error:
        raise InputError(f"device={device!r} cannot be used on this machine: choose auto, cpu, cuda or mps") from error
    set_choice(fabric, choose(precision, fabric.device.type, products))
    return fabric


def _plugin():
    """Fabric's mixed precision, which can be switched off: processes settle the precision once they have met."""
    from lightning_fabric.plugins import MixedPrecision

    class Switched(MixedPrecision):
        choice = Choice("float32", "not settled")

        @property
        def is_on(self) -> bool:
            return self.choice.format == "bfloat16"

        def forward_context(self):
            return super().forward_context() if self.is_on else nullcontext()

        def convert_input(self, data):
            return super().convert_input(data) if self.is_on else data

        def convert_output(self, data):
            return super().convert_output(data) if self.is_on else data

    return Switched("bf16-mixed", "cpu")


def choice_of(fabric) -> Choice:
    return fabric.strategy.precision.choice


def set_choice(fabric, choice: Choice) -> None:
    """The precision of all that `fabric` computes from now on."""
    plugin = fabric.strategy.precision
    plugin.choice, plugin.device = choice, fabric.device.type


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
