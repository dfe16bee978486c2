"""The tensors of an adapter folder, ours or one of the library peft: those of its base, changed (Hu et al. 2021)."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bertlab.errors import InputError
from bertlab.io.adapter import PREFIX, base_of, read_adapter, scale_of
from bertlab.io.gate import brief, check_file, present
from bertlab.io.locate import ADAPTER, ADAPTER_WEIGHTS
from bertlab.model.checkpoint import TABLE
from bertlab.model.weights import Weights, check_floating, check_values, modern_name, read_tensors

PAIR = re.compile(r"(.+)\.lora_([AB])\.weight")
ADAPTED = re.compile(r"(.+\.)?(query|key|value|dense)")  # what an adapter from elsewhere may change
HEADS = {theirs.split(".")[0] for names in TABLE.values() for theirs in names} - {"embeddings", "encoder"}


class AdaptedWeights(Weights):
    """The tensors of an adapter's base, changed as they are asked for, and those that the adapter brings whole.

    A head of the adapter takes the place of all heads of the base. Raises InputError as Weights does, and for a tensor
    that is missing, that fits nothing in the base, or that changes what bertlab's LoRA does not change.
    """

    def __init__(self, folder: Path):
        fields, path = read_adapter(folder), folder / ADAPTER_WEIGHTS
        if not present(path):
            raise InputError(f"{path}: missing; save the adapter anew with peft, which writes this file today")
        super().__init__(base_of(folder, weights=True))
        self.scale, self.rank = scale_of(fields), fields["r"]
        pairs: dict[str, dict[str, tuple[str, Tensor]]] = {}  # module -> A and B, each with its name in the file
        whole: dict[str, tuple[str, Tensor]] = {}
        for stored, tensor in read_tensors(path).items():
            check_floating(path, stored, tensor)
            check_values(path, stored, tensor.float())
            name = modern_name(stored.removeprefix(PREFIX))
            if found := PAIR.fullmatch(name):
                pairs.setdefault(found[1], {})[found[2]] = stored, tensor
            else:
                whole[name] = stored, tensor
        self._check_targets(path, fields, pairs)
        self.changes = {f"{module}.weight": self._change(path, module, pair) for module, pair in pairs.items()}
        self._replace(path, whole)
        self.size += check_file(path)

    def __getitem__(self, name: str) -> Tensor:
        weight = super().__getitem__(name)
        if name not in self.changes:
            return weight
        A, B = self.changes[name]
        return weight.to(A.dtype) + self.scale * B @ A  # (out, in) + (out, R) @ (R, in)

    def _change(self, path: Path, module: str, pair: Mapping[str, tuple[str, Tensor]]) -> tuple[Tensor, Tensor]:
        """Return A and B of one module, in float32 at least."""
        stored, _ = next(iter(pair.values()))
        weight = self.tensors.get(f"{module}.weight")
        if weight is None or not ADAPTED.fullmatch(module):
            raise InputError(f"{path}: {brief(stored)} changes no query, key, value or dense of this BERT's")
        wanted = {"A": (self.rank, weight.size(-1)), "B": (weight.size(0), self.rank)}
        for letter, shape in wanted.items():
            if letter not in pair:
                raise InputError(f"{path}: {brief(stored)} has no lora_{letter} beside it: cut short?")
            stored, tensor = pair[letter]
            if tuple(tensor.shape) != shape:
                raise InputError(f"{path}: {brief(stored)} is {tuple(tensor.shape)}, r and the base ask for {shape}")
        precise = torch.promote_types(weight.dtype, torch.float32)
        return pair["A"][1].to(precise), pair["B"][1].to(precise)

    def _check_targets(self, path: Path, fields: Mapping[str, Any], pairs: Mapping[str, Any]) -> None:
        """Raise an InputError where no pair is stored for a projection that target_modules names."""
        targets, layers = fields.get("target_modules"), fields.get("layers_to_transform")
        if not isinstance(targets, list) or fields.get("exclude_modules"):
            return
        for module in self._projections([layers] if isinstance(layers, int) else layers):
            if module not in pairs and any(f".bert.{module}".endswith(f".{target}") for target in targets):
                raise InputError(f"{path}: {module}.lora_A.weight is missing, which {ADAPTER} promises")
        if not pairs:
            raise InputError(f"{path}: there is no change of LoRA in it; target_modules is {brief(targets)}")

    def _projections(self, layers: list[int] | None) -> Iterator[str]:
        """Yield the names of the base's layers that an adapter may change, of these or all encoder layers."""
        for name in self.files:
            module, _, leaf = name.rpartition(".")
            found = re.match(r"encoder\.layer\.(\d+)\.", name)
            if found and leaf == "weight" and ADAPTED.fullmatch(module) and (layers is None or int(found[1]) in layers):
                yield module

    def _replace(self, path: Path, whole: Mapping[str, tuple[str, Tensor]]) -> None:
        """Take the tensors that the adapter brings whole in place of the base's."""
        parts = {name.split(".")[0] for name in whole}
        if brought := parts & HEADS - {"pooler"}:
            kept = {"embeddings", "encoder", "pooler"} | brought
            self.files = {name: file for name, file in self.files.items() if name.split(".")[0] in kept}
        for name, (stored, tensor) in whole.items():
            if name not in self.files and name.split(".")[0] not in HEADS:
                raise InputError(f"{path}: {brief(stored)} is no tensor of LoRA, nor of a part that a BERT has")
            self.files[name], self.tensors[name] = (path, stored), tensor
