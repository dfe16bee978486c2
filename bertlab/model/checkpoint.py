"""Folder in, folder out: a bertlab checkpoint is a Hugging Face BERT folder.

config.json, model.safetensors under the published parameter names, and the tokenizer's files. TABLE is
the one place that knows both our names and theirs.
"""

import json
import re
import warnings
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.files_io import atomic_folder
from bertlab.locate import locate

WEIGHTS = "model.safetensors"

# Our module -> the published module(s); * is a layer's number. Parameters are called weight and bias in
# both. Several published modules are stacked, in this order, as the rows of one of ours.
TABLE = {
    "embeddings.word": ["embeddings.word_embeddings"],
    "embeddings.position": ["embeddings.position_embeddings"],
    "embeddings.segment": ["embeddings.token_type_embeddings"],
    "embeddings.norm": ["embeddings.LayerNorm"],
    "encoder.layers.*.attention.qkv": [
        "encoder.layer.*.attention.self.query",
        "encoder.layer.*.attention.self.key",
        "encoder.layer.*.attention.self.value",
    ],
    "encoder.layers.*.attention.out": ["encoder.layer.*.attention.output.dense"],
    "encoder.layers.*.attention_norm": ["encoder.layer.*.attention.output.LayerNorm"],
    "encoder.layers.*.feed_forward.up": ["encoder.layer.*.intermediate.dense"],
    "encoder.layers.*.feed_forward.down": ["encoder.layer.*.output.dense"],
    "encoder.layers.*.feed_forward_norm": ["encoder.layer.*.output.LayerNorm"],
    "pooler.dense": ["pooler.dense"],
    "mlm.dense": ["cls.predictions.transform.dense"],
    "mlm.norm": ["cls.predictions.transform.LayerNorm"],
    "mlm.decoder": ["cls.predictions"],  # the bias alone: its weight is embeddings.word
    "nsp": ["cls.seq_relationship"],
    "span": ["qa_outputs"],
}
TIED = "mlm.decoder.weight"
ENCODER = ("embeddings.", "encoder.")  # what a checkpoint cannot lack


class PretrainedModel(nn.Module):
    """What every model has: a config, initial weights, and the way to and from a checkpoint folder."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config

    @torch.no_grad()
    def initialise(self) -> None:
        """Matrices and embeddings normal with std initializer_range, biases 0, LayerNorm 1 and 0, [PAD] 0."""
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                module.weight.normal_(std=self.config.initializer_range)
            if isinstance(module, nn.Linear):
                module.bias.zero_()
        for module in self.modules():  # last: a tied decoder has just filled the row of [PAD] again
            if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                module.weight[module.padding_idx].zero_()

    @classmethod
    def from_pretrained(cls, name: str | Path, device: str | torch.device = "cpu") -> Self:
        """The model of a folder, a bundled name or a hub id, in float32 and eval mode.

        A head that the checkpoint lacks is newly initialised, told by a warning. Raises InputError, naming
        the folder and the tensor, for a folder that is no checkpoint or a damaged one.
        """
        folder = locate(name)
        model = cls(BertConfig.from_file(folder / "config.json"))
        missing = load_weights(model, folder)
        if missing:
            names = ", ".join(missing)
            warnings.warn(f"{folder}: newly initialised, to be trained: {names}", stacklevel=2)
        return model.to(device).eval()

    def save_pretrained(self, folder: str | Path, tokenizer: Any = None, dtype: torch.dtype | None = None) -> None:
        """Write config.json, model.safetensors and, if given, the tokenizer's files into `folder`.

        dtype stores the weights in another precision (torch.float16 halves the file). All or nothing:
        on a full disk the folder keeps what it had. Raises InputError naming the folder.
        """
        tensors = published_tensors(self, dtype)
        config = self.config.to_dict() | {"architectures": [type(self).__name__]}
        config["dtype"] = str(next(iter(tensors.values())).dtype).removeprefix("torch.")
        with atomic_folder(folder) as work:
            write_weights(tensors, work / WEIGHTS)
            (work / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
            if tokenizer is not None:
                tokenizer.save_pretrained(work)


def published_names(name: str) -> list[str]:
    """The published name(s), without the prefix "bert.", of our parameter (or of none, if tied)."""
    name = name.removeprefix("bert.")
    if name == TIED:
        return []
    module, leaf = name.rsplit(".", 1)
    number = re.search(r"\.(\d+)\.", module)
    key = module if number is None else module.replace(number[0], ".*.")
    layer = "" if number is None else number[1]
    return [f"{theirs.replace('*', layer)}.{leaf}" for theirs in TABLE[key]]


def published_tensors(model: PretrainedModel, dtype: torch.dtype | None = None) -> dict[str, Tensor]:
    """The model's weights under the published names, on the CPU."""
    tensors = {}
    for name, tensor in model.state_dict().items():
        prefix = "bert." if name.startswith("bert.") else ""
        if names := published_names(name):
            for theirs, rows in zip(names, tensor.chunk(len(names)), strict=True):
                tensors[prefix + theirs] = rows.to("cpu", dtype or tensor.dtype).contiguous()
    return tensors


def write_weights(tensors: dict[str, Tensor], path: Path) -> None:
    """Write one safetensors file; a refusal of the file system is an OSError."""
    try:
        save_file(tensors, path, metadata={"format": "pt"})
    except SafetensorError as error:
        raise OSError(str(error)) from error


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of the folder's file by published name, without the prefix "bert.".

    Files converted from the original release call LayerNorm's parameters gamma and beta.
    """
    path = folder / WEIGHTS
    if not path.is_file():
        raise InputError(f"{folder}: no checkpoint, {WEIGHTS} is missing{_other_weights(folder)}")
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: damaged or cut short ({error}); copy or download it again") from error
    return {_modern_name(name): tensor for name, tensor in tensors.items()}


def _modern_name(name: str) -> str:
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name.removeprefix("bert."))
    return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)


def load_weights(model: PretrainedModel, folder: Path) -> list[str]:
    """Fill `model` from the folder; returns the published names of head tensors that it lacks."""
    stored = read_weights(folder)
    missing: list[str] = []
    with torch.no_grad():
        for name, parameter in model.state_dict().items():
            names = published_names(name)
            absent = [theirs for theirs in names if theirs not in stored]
            if absent and absent[0].startswith(ENCODER):
                raise InputError(f"{folder / WEIGHTS}: tensor {absent[0]} is missing")
            missing += absent
            if names and not absent:
                _fill(parameter, names, stored, folder / WEIGHTS)
    return missing


def _fill(parameter: Tensor, names: list[str], stored: dict[str, Tensor], path: Path) -> None:
    for name, rows in zip(names, parameter.chunk(len(names)), strict=True):
        if stored[name].shape != rows.shape:
            found, wanted = tuple(stored[name].shape), tuple(rows.shape)
            raise InputError(f"{path}: tensor {name} is {found}, config.json asks for {wanted}")
        rows.copy_(stored[name])


def _other_weights(folder: Path) -> str:
    """A hint for folders that hold the weights in another form."""
    if (folder / f"{WEIGHTS}.index.json").exists():
        return ": the weights are in several files, which bertlab does not read; save them as one"
    if (folder / "pytorch_model.bin").exists():
        return ": pytorch_model.bin is a pickle, which bertlab does not read; save it again with transformers"
    return ""
