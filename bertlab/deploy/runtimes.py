"""A model as a file that another runtime computes: ONNX Runtime, OpenVINO, or TorchScript without Python.

Shapes: B texts, S tokens, C choices.
"""

import copy
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from bertlab.errors import require
from bertlab.inputs.features import Batch
from bertlab.model.base import PretrainedModel

Name = Literal["onnx", "torchscript", "openvino"]
Run = Callable[[Mapping[str, np.ndarray]], list[np.ndarray]]  # inputs by name -> outputs in their order
AXES = {2: ("batch", "tokens"), 3: ("batch", "choices", "tokens")}  # of an input, by its dimensions


class Graph(nn.Module):
    """A model whose inputs are known by position and whose outputs are a tuple, as exporters want it."""

    def __init__(self, model: PretrainedModel):
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, word_mask: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        words = {} if word_mask is None else {"word_mask": word_mask}
        out = self.model(input_ids, attention_mask, token_type_ids, **words)
        return tuple(named_outputs(out).values())


def named_outputs(out: object) -> dict[str, Tensor]:
    """Return what a model has computed, by the names of its output's fields."""
    return {name: found for name, found in vars(out).items() if found is not None}


def write_onnx(model: PretrainedModel, inputs: Batch, path: Path, int8: bool) -> None:
    """Write one .onnx file; with `int8` the weights of its products as 8-bit integers, and activations when it runs."""
    with torch.no_grad():
        names = list(named_outputs(model(**inputs)))
    torch.onnx.export(
        Graph(model).eval(),
        tuple(inputs.values()),
        path,
        input_names=list(inputs),
        output_names=names,
        dynamic_shapes=tuple(dict(enumerate(AXES[tensor.dim()])) for tensor in inputs.values()),
        dynamo=True,
        external_data=False,
        verbose=False,
    )
    if int8:
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(path, path, weight_type=QuantType.QInt8)


def write_openvino(model: PretrainedModel, inputs: Batch, path: Path, int8: bool) -> None:
    """Write .xml and .bin, by way of ONNX."""
    onnx = path.with_suffix(".onnx")
    write_onnx(model, inputs, onnx, int8=False)
    openvino = import_openvino()
    openvino.save_model(openvino.Core().read_model(onnx), path, compress_to_fp16=False)
    onnx.unlink()


def write_torchscript(model: PretrainedModel, inputs: Batch, path: Path, int8: bool) -> None:
    """Write one .pt file, which torch.jit.load and libtorch open."""
    if int8:
        from torch.ao.quantization import quantize_dynamic

        model = quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    with torch.no_grad():
        torch.jit.trace(Graph(model).eval(), tuple(inputs.values()), check_trace=False).save(str(path))


def open_onnx(path: Path) -> Run:
    from onnxruntime import InferenceSession

    session = InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, dict(inputs))


def open_openvino(path: Path) -> Run:
    compiled = import_openvino().Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return lambda inputs: list(compiled(dict(inputs)).values())


def open_torchscript(path: Path) -> Run:
    graph = torch.jit.load(str(path), map_location="cpu")

    def run(inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        with torch.inference_mode():
            return [found.numpy() for found in graph(*(torch.from_numpy(x) for x in inputs.values()))]

    return run


def import_openvino():  # type: ignore[no-untyped-def]  # a module
    """Return OpenVINO, which would otherwise report its use over the network."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # cannot be imported: it goes without
    import openvino

    return openvino


@dataclass(frozen=True)
class Runtime:
    """How a model becomes a file of this kind, and how the file is run. `modules` are what that needs."""

    file: str
    modules: tuple[str, ...]
    write: Callable[[PretrainedModel, Batch, Path, bool], None]
    open: Callable[[Path], Run]

    def check(self) -> None:
        """Raise InputError, saying how to install it, for a module that is missing."""
        for module in self.modules:
            require(module, "export")


RUNTIMES: dict[Name, Runtime] = {
    "onnx": Runtime("model.onnx", ("onnx", "onnxscript", "onnxruntime"), write_onnx, open_onnx),
    "torchscript": Runtime("model.pt", (), write_torchscript, open_torchscript),
    "openvino": Runtime("model.xml", ("onnx", "onnxscript", "openvino"), write_openvino, open_openvino),
}


def computed_by(run: Run, model: PretrainedModel, inputs: Batch) -> PretrainedModel:
    """Return a copy of the model that has the runtime compute: tasks predict with it as with any other."""
    with torch.no_grad():
        sample = model(**inputs)
    names = list(named_outputs(sample))

    def forward(**batch: Tensor) -> object:
        found = run({name: batch[name].numpy() for name in inputs})
        return type(sample)(**{name: torch.from_numpy(np.asarray(x)) for name, x in zip(names, found, strict=True)})

    twin = copy.copy(model)
    twin.forward = forward  # type: ignore[method-assign]
    return twin


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the exporters' notes to their own developers from the terminal."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(before)
