"""A model as an ONNX file, and a copy of the model that has ONNX Runtime compute it.

Shapes: B texts, S tokens, C choices.
"""

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from bertlab.inputs.features import Batch
from bertlab.model.base import PretrainedModel

AXES = {2: ("batch", "tokens"), 3: ("batch", "choices", "tokens")}  # of an input, by its dimensions


class Graph(nn.Module):
    """A model whose inputs are known by position and whose outputs are a tuple, as the exporter wants it."""

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


def write_onnx(model: PretrainedModel, inputs: Batch, path: Path, int8: bool = False) -> None:
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


def computed_by_onnx(path: Path, model: PretrainedModel, inputs: Batch) -> PretrainedModel:
    """Return a copy of the model that has ONNX Runtime compute: tasks predict with it as with any other."""
    from onnxruntime import InferenceSession

    session = InferenceSession(path, providers=["CPUExecutionProvider"])
    with torch.no_grad():
        sample = model(**inputs)
    names = list(named_outputs(sample))

    def forward(**batch: Tensor) -> object:
        pairs = batch["input_ids"].dim() > inputs["input_ids"].dim()  # of texts that are each encoded alone
        given = {name: batch[name].flatten(0, 1) if pairs else batch[name] for name in inputs}  # (B, 2, S) -> (2B, S)
        found = session.run(None, {name: tensor.numpy() for name, tensor in given.items()})
        if pairs:
            found = [x.reshape(-1, 2, *x.shape[1:]) for x in found]  # (2B, H) -> (B, 2, H)
        return type(sample)(**{name: torch.from_numpy(np.asarray(x)) for name, x in zip(names, found, strict=True)})

    twin = copy.copy(model)
    twin.forward = forward  # type: ignore[method-assign]
    return twin


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the exporter's notes to its own developers from the terminal."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(before)
