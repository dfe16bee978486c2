"""LoRA: a model learns a task by small changes of frozen matrices (Hu et al. 2021).

Each matrix W (out, in) of the layers stays as it was pretrained and gets a change of low rank R beside it: x W^T +
scale * x A^T B^T, with A (R, in) and B (out, R). All of attention and of the feed-forward part have one (Dettmers et
al. 2023, section 4, find that a model then learns as well as with all its weights). A begins random and B at zero, so
that training begins with the pretrained model. A, B and the head are all that is trained and saved, in the folder
that the library peft writes and reads. A folder is opened as one plain model, with scale * B A added to W.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.errors import InputError, brief
from bertlab.io.adapter_config import PREFIX, TASKS, base_name, base_of, read_adapter, scale_of
from bertlab.io.files import check_file, expanded, present
from bertlab.io.locate import ADAPTER, ADAPTER_WEIGHTS, is_adapter, locate
from bertlab.model.parameter_names import DECODER, ENCODER, TABLE, WORDS, modern_name, published_names
from bertlab.model.weights import Weights, check_floating, check_values, published_tensors, read_tensors, write_weights

SCALE = 2  # alpha is so many times the rank: the same change for every rank at the same learning rate
# Our modules with low-rank changes, and what an adapter calls the published ones, whose rows they stack.
TARGETS = {
    "attention.qkv": ("query", "key", "value"),
    "attention.out": ("attention.output.dense",),
    "feed_forward.up": ("intermediate.dense",),
    "feed_forward.down": ("output.dense",),
}
MERGE = "merge it first: bertlab export --to transformers"
DECODER_BIAS = "cls.predictions.bias"  # stays as it is: peft could save it only with the whole tied matrix
PAIR = re.compile(r"(.+)\.lora_([AB])\.weight")
ADAPTED = re.compile(r"(.+\.)?(query|key|value|dense)")  # what an adapter from elsewhere may change
HEADS = {theirs.split(".")[0] for names in TABLE.values() for theirs in names} - {"embeddings", "encoder"}


class LoRALinear(nn.Linear):
    """A frozen nn.Linear whose rows are `parts` matrices, each with a change of rank R that is trained."""

    def __init__(self, linear: nn.Linear, rank: int, parts: int, generator: torch.Generator | None = None):
        super().__init__(linear.in_features, linear.out_features, device="meta")
        linear.requires_grad_(False)
        self.weight, self.bias = linear.weight, linear.bias
        self.rank, self.parts, self.scale = rank, parts, float(SCALE)
        self.lora_A = nn.Parameter(self.weight.new_empty(parts * rank, self.in_features))
        self.lora_B = nn.Parameter(self.weight.new_zeros(self.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5), generator=generator)  # as in the paper's code and peft

    def forward(self, x: Tensor) -> Tensor:
        low = F.linear(x, self.lora_A).chunk(self.parts, dim=-1)  # (..., H) -> parts x (..., R)
        changes = [F.linear(one, B) for one, B in zip(low, self.lora_B.chunk(self.parts), strict=True)]
        return super().forward(x) + self.scale * torch.cat(changes, dim=-1)

    def merged(self) -> nn.Linear:
        """Return one plain layer that computes the same."""
        linear = nn.Linear(self.in_features, self.out_features, device="meta")
        # (parts, out / parts, R) @ (parts, R, in) -> (parts, out / parts, in) -> (out, in)
        change = self.lora_B.unflatten(0, (self.parts, -1)) @ self.lora_A.unflatten(0, (self.parts, -1))
        linear.weight = nn.Parameter((self.weight + self.scale * change.flatten(0, 1)).detach())
        linear.bias = self.bias
        return linear


def adapt(model: Any, base: str | Path, rank: int, generator: torch.Generator | None = None) -> None:
    """Freeze the encoder of a model with the weights of `base` and give low-rank changes to the matrices of its layers;
    layers that are frozen already get none. From then on the model saves an adapter.

    Where `base` is an adapter that bertlab wrote with this rank, its changes go on learning. InputError: the rank is
    out of range, all layers are frozen, or the base is no plain BERT or another kind of adapter.
    """
    if model.config.variants:
        raise InputError(f"lora={rank}: {model.config.variants[0]} is no part of a plain BERT, and adapters need one")
    if not 1 <= rank <= model.config.hidden_size:
        raise InputError(f"lora={rank}: the rank must be between 1 and hidden_size, {model.config.hidden_size}")
    found = {name: target_of(name) for name, module in model.named_modules() if target_of(name) and learns(module)}
    if not found:
        raise InputError(f"lora={rank}: all layers are frozen, so there is nothing to adapt: freeze fewer")
    learned = AdaptedWeights(folder).matrices(found, rank) if is_adapter(folder := locate(base)) else {}
    for name, parameter in model.named_parameters():
        if name.removeprefix("bert.").startswith(ENCODER) or name == "mlm.decoder.bias":
            parameter.requires_grad_(False)
    for name, target in found.items():
        module = LoRALinear(model.get_submodule(name), rank, len(TARGETS[target]), generator)
        if learned:
            module.weight.data, module.lora_A.data, module.lora_B.data = learned[name]
        model.set_submodule(name, module)
    model.adapted_from = base_name(folder) if learned else str(base)


def target_of(name: str) -> str:
    """Return the kind of a module that gets low-rank changes, "" for any other."""
    return next((target for target in TARGETS if name.endswith(f".{target}")), "")


def learns(module: nn.Module) -> bool:
    return any(parameter.requires_grad for parameter in module.parameters())


def merge(model: Any) -> None:
    """Make one plain model of a model and its low-rank changes, in place."""
    for name, module in adapted_layers(model).items():
        model.set_submodule(name, module.merged())
    model.adapted_from = ""


def adapted_layers(model: nn.Module) -> dict[str, LoRALinear]:
    """Return the modules with low-rank changes by name."""
    return {name: module for name, module in model.named_modules() if isinstance(module, LoRALinear)}


def write_adapter(model: Any, folder: Path, home: Path, dtype: torch.dtype | None) -> None:
    """Write the two files of an adapter into `folder`, which becomes the folder `home`."""
    headless = class_there(model) == "BertModel"  # whose parameters have no prefix there
    found = published_tensors(model, dtype, (*model.untrained, "embeddings"))
    tensors = {name.removeprefix("bert." if headless else ""): x for name, x in found.items() if is_trained(name)}
    named = {PREFIX + name + (".weight" if ".lora_" in name else ""): tensor for name, tensor in tensors.items()}
    heads = sorted({name.rpartition(".")[0] for name in tensors if ".lora_" not in name})
    write_weights(named, folder / ADAPTER_WEIGHTS)
    fields = adapter_fields(model, base_from(home, model.adapted_from), heads)
    (folder / ADAPTER).write_text(json.dumps(fields, indent=2, sort_keys=True) + "\n")


def class_there(model: nn.Module) -> str:
    """Return the name of the class of transformers that an adapter of this model is for."""
    return type(model).__name__.replace("BertForSentenceEmbedding", "BertModel")


def is_trained(name: str) -> bool:
    """Return whether a published name is that of a low-rank change or of a part outside the encoder."""
    return ".lora_" in name or not (name.removeprefix("bert.").startswith(ENCODER) or name == DECODER_BIAS)


def adapter_fields(model: Any, base: str, heads: list[str]) -> dict[str, Any]:
    """Return the fields of adapter_config.json; peft has defaults for the rest. `heads` are the modules saved whole."""
    layers, kind = adapted_layers(model), class_there(model)
    numbers = sorted({int(name.split("layers.")[1].split(".")[0]) for name in layers})
    rank = next(iter(layers.values())).rank
    task = next((task for task, name in TASKS.items() if name == kind), None)
    mapping = {"base_model_class": kind, "parent_library": "transformers.models.bert.modeling_bert"}
    return {
        "peft_type": "LORA",
        "task_type": task,
        "auto_mapping": None if task else mapping,
        "base_model_name_or_path": base,
        "r": rank,
        "lora_alpha": SCALE * rank,
        "lora_dropout": 0.0,
        "bias": "none",
        "inference_mode": True,
        "target_modules": [name for names in TARGETS.values() for name in names],
        "layers_to_transform": None if len(numbers) == model.config.num_hidden_layers else numbers,
        "modules_to_save": heads or None,
    }


def base_from(home: Path, base: str) -> str:
    """Return how an adapter in the folder `home` names its base: a relative path counts from there, so that both can be
    moved together; an absolute one, a bundled name and a hub id stay."""
    path = expanded(base)
    return os.path.relpath(path.resolve(), home.resolve()) if path.is_dir() and not path.is_absolute() else base


def is_named(name: str, saved: Iterable[str]) -> bool:
    """Return whether modules_to_save names a module around this tensor."""
    return any(f".{module}." in f".{name}" for module in saved)


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
        self.folder = folder
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
        saved = fields.get("modules_to_save") or []
        self._check_saved(path, saved, whole)
        self.changes = {f"{module}.weight": self._change(path, module, pair) for module, pair in pairs.items()}
        if WORDS in whole and is_named(WORDS, saved):  # in peft the decoder stays tied to the base's
            self.files[DECODER], self.tensors[DECODER] = (path, DECODER), self.tensors[WORDS]
        self._replace(path, whole)
        self.whole = list(whole)
        self.size += check_file(path)

    def __getitem__(self, name: str) -> Tensor:
        weight = super().__getitem__(name)
        if name not in self.changes:
            return weight
        A, B = self.changes[name]
        return weight.to(A.dtype) + self.scale * B @ A  # (out, in) + (out, R) @ (R, in)

    def matrices(self, modules: Iterable[str], rank: int) -> dict[str, list[Tensor]]:
        """Return the base's matrix, A and B of each of our modules, as LoRALinear holds them.

        InputError: the adapter has another rank, changes other matrices or by another scale, or brings parts of the
        encoder whole, which a new adapter would not keep.
        """
        stored = {module: published_names(f"{module}.weight") for module in modules}
        alike = self.scale == SCALE and sorted(chain(*stored.values())) == sorted(self.changes)
        if not alike or any(name.startswith(ENCODER) for name in self.whole):
            raise InputError(f"lora={rank}: {self.folder} is an adapter of another kind; {MERGE}")
        if self.rank != rank:
            raise InputError(f"lora={rank}: {self.folder} has rank {self.rank}: go on with that, or {MERGE}")
        return {
            module: [torch.cat(some) for some in zip(*(self._parts(name) for name in names), strict=True)]
            for module, names in stored.items()
        }

    def _parts(self, name: str) -> tuple[Tensor, Tensor, Tensor]:
        """Return the base's matrix of this name, A and B."""
        return Weights.__getitem__(self, name).float(), *self.changes[name]

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

    def _check_saved(self, path: Path, saved: list[str], whole: Mapping[str, tuple[str, Tensor]]) -> None:
        """Raise an InputError for a tensor of the base that modules_to_save names and the adapter does not bring, and
        for one of the encoder that it brings unnamed, which peft would not read."""
        for name in self.files:
            is_asked = name.startswith(ENCODER) or name.split(".")[0] in saved  # "LayerNorm" means none of other heads
            if is_asked and name not in whole and is_named(name, saved):
                raise InputError(f"{path}: {name} is missing, which {ADAPTER} promises in modules_to_save")
        for name, (stored, _) in whole.items():
            if name.startswith(ENCODER) and name != WORDS and not is_named(name, saved):
                raise InputError(f"{path}: {brief(stored)} is in none of the modules_to_save of {ADAPTER}")

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
