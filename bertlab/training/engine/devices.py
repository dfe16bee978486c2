"""Run a training on one device, or in several processes with a device each. The engine is lightning-fabric."""

import atexit
import os
import signal
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from bertlab.errors import InputError
from bertlab.model.base import best_device
from bertlab.training.engine.precision import TYPICAL, Choice, Precision, Products, choose
from bertlab.training.engine.signals import handled

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from lightning_fabric.plugins import MixedPrecision

    from bertlab.model.encoder import Encoder


def make_fabric(
    device: str = "auto", devices: int = 1, precision: Precision = "auto", products: Products = TYPICAL
) -> "Fabric":
    """Return Fabric on the best device there is; matrix products in the `precision` asked for, all else in float32.

    precision="auto" measures which one is faster for such `products`, and takes bfloat16 where a GPU computes in it.
    Devices and errors are those of `open_fabric`.
    """
    fabric = open_fabric(device, devices)
    set_choice(fabric, choose(precision, fabric.device.type, products))
    return fabric


def open_fabric(device: str = "auto", devices: int = 1) -> "Fabric":
    """Return Fabric on the best device there is, its precision not settled.

    With `devices` above 1 as many processes train together, once `launch` has started them; under torchrun or srun
    their own number counts. InputError for a device that this machine does not have.
    """
    from lightning_fabric import Fabric
    from lightning_fabric.plugins.environments import LightningEnvironment, TorchElasticEnvironment
    from lightning_fabric.utilities.exceptions import MisconfigurationException

    if devices < 1:
        raise InputError(f"devices={devices}: must be at least 1")
    nodes = 1
    plugins: list[Any] = [_plugin()]
    if TorchElasticEnvironment.detect():
        devices = int(os.environ["LOCAL_WORLD_SIZE"])
        nodes = int(os.environ["WORLD_SIZE"]) // devices
    elif under_srun():
        nodes = int(os.environ["SLURM_NNODES"])
        devices = int(os.environ["SLURM_NTASKS"]) // nodes
    elif "SLURM_NTASKS" in os.environ:  # a batch script that does not use srun: Fabric would wait for its other tasks
        plugins.append(LightningEnvironment())
    try:
        fabric = Fabric(accelerator=device, devices=devices, num_nodes=nodes, plugins=plugins)
    except MisconfigurationException as error:
        raise InputError(f"devices={devices}: this machine has fewer of that kind") from error
    except (RuntimeError, ValueError) as error:
        here = ", ".join(dict.fromkeys(["cpu", best_device()]))
        raise InputError(f"device={device!r} cannot be used on this machine, which has {here}; auto chooses") from error
    return fabric


def under_srun() -> bool:
    """Return whether SLURM's srun has started this process as one of several."""
    return "SLURM_STEP_ID" in os.environ and int(os.environ.get("SLURM_NTASKS", 1)) > 1


def check_processes(fabric: "Fabric", batch_size: int, whole_batches: bool = False) -> None:
    """Raise an InputError if so many processes cannot share a batch; `whole_batches`: none can be shared."""
    if batch_size < fabric.world_size:
        raise InputError(f"batch_size={batch_size}: fewer than the {fabric.world_size} processes")
    if whole_batches and fabric.world_size > 1:
        raise InputError(f"{fabric.world_size} processes: this task compares all texts of a batch; train on one device")


def _plugin() -> "MixedPrecision":
    """Return Fabric's mixed precision with a switch, for processes agree on the precision after they have started."""
    from lightning_fabric.plugins import MixedPrecision

    class Switched(MixedPrecision):
        choice = Choice("float32", "not settled")

        @property
        def is_on(self) -> bool:
            return self.choice.format == "bfloat16"

        def forward_context(self) -> Any:
            return super().forward_context() if self.is_on else nullcontext()

        def convert_input(self, data: Any) -> Any:
            return super().convert_input(data) if self.is_on else data

        def convert_output(self, data: Any) -> Any:
            return super().convert_output(data) if self.is_on else data

    return Switched("bf16-mixed", "cpu")


def choice_of(fabric: "Fabric") -> Choice:
    """Return the precision that `fabric` computes in, and why."""
    plugin: Any = fabric.strategy.precision  # that of _plugin
    return plugin.choice


def set_choice(fabric: "Fabric", choice: Choice) -> None:
    """Set the precision of all that `fabric` computes from now on."""
    plugin: Any = fabric.strategy.precision
    plugin.choice, plugin.device = choice, fabric.device.type


def product_type(fabric: "Fabric") -> torch.dtype:
    """Return the type that matrix products are computed in."""
    with fabric.autocast():
        kind = fabric.device.type
        return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.get_default_dtype()


def launch(fabric: "Fabric") -> None:
    """Start the other processes, each with the command line of this one; they end with it, whatever ends it.

    They ignore Ctrl-C until they train; from then on `deferred_signals` handles it in all of them.
    """
    alone = fabric.world_size == 1
    with nullcontext() if alone else handled([signal.SIGINT], signal.SIG_IGN):  # what is ignored here is ignored there
        fabric.launch()
    for process in getattr(fabric.strategy.launcher, "procs", ()):
        atexit.register(process.kill)


def compile_layers(encoder: "Encoder") -> None:
    """Have torch.compile fuse what each layer does; the first steps then take a minute or two."""
    for layer in encoder.layers:
        layer.compile(dynamic=True)  # batches are as long as their longest row


def is_first() -> bool:
    """Return whether this is the process that writes and prints; the others only compute."""
    names = ("RANK", "LOCAL_RANK", *(["SLURM_PROCID"] if under_srun() else []))  # of torchrun, of Fabric, of srun
    return int(next((os.environ[name] for name in names if name in os.environ), 0)) == 0


def has_company(devices: int) -> bool:
    """Return whether other processes train with this one, or will."""
    return devices > 1 or under_srun() or int(os.environ.get("WORLD_SIZE", 1)) > 1
