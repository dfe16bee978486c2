"""The weights of a model and the published names that they have in a checkpoint.

A bertlab checkpoint is a Hugging Face BERT folder: config.json, the weights under the published parameter names, and
the tokenizer's files. TABLE is the one place with both our names and theirs.
"""

import os
import re
from collections.abc import Collection
from itertools import chain
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.model.weights import DECODER, WORDS, Weights, check_values, same

# Our module -> the published module(s); * is a layer's number. Parameters are called weight and bias in
# both. Several published modules are stacked, in this order, as the rows of one of ours. The last four are
# bertlab's own, under names that no other BERT uses.
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
    "classifier": ["classifier"],
    "encoder.norm": ["encoder.final_norm"],
    "mix": ["layer_mix"],
    "convolution": ["word_convolution"],
    "crf": ["crf"],
}
PARTS = {  # what our modules are called in words
    "embeddings": "embeddings",
    "encoder": "final LayerNorm",
    "pooler": "pooler",
    "mlm": "masked-word head",
    "nsp": "next-sentence head",
    "span": "span head",
    "classifier": "classifier",
    "mix": "layer mix",
    "convolution": "word convolution",
    "crf": "CRF",
}
TIED = "mlm.decoder.weight"
ENCODER = ("embeddings.", "encoder.")  # what a checkpoint cannot lack


def check_layers(config: BertConfig, stored: Weights) -> None:
    """Raise an InputError, before anything is built, where config.json asks for layers that are not stored."""
    layers = (f"encoder.layer.{number}.attention.self.query.weight" for number in range(config.stored_layers))
    for name in chain(["embeddings.word_embeddings.weight"], layers):
        if name not in stored:
            asked = f"config.json asks for {config.stored_layers:,} layers"
            raise InputError(f"{stored.path}: tensor {name} is missing, {asked}")


def published_names(name: str) -> list[str]:
    """Return the published name(s) of our parameter, without the prefix "bert."; none if it is tied."""
    name = name.removeprefix("bert.")
    if name == TIED:
        return []
    module, leaf = name.rsplit(".", 1)
    number = re.search(r"\.(\d+)\.", module)
    key = module if number is None else module.replace(number[0], ".*.")
    layer = "" if number is None else number[1]
    if key not in TABLE:
        raise InputError(f"{module}: a module of this name has no published name; add it to TABLE in {__name__}")
    return [f"{theirs.replace('*', layer)}.{leaf}" for theirs in TABLE[key]]


def published_tensors(
    model: nn.Module, dtype: torch.dtype | None = None, leave_out: Collection[str] = ()
) -> dict[str, Tensor]:
    """Return the model's weights under the published names, on the CPU; those that modules share, once.

    `leave_out` names parts outside the layers and embeddings, such as "pooler".
    """
    tensors = {}
    for name, parameter in model.named_parameters():
        if name.removeprefix("bert.").split(".")[0] in leave_out:
            continue
        tensor = parameter.detach()
        prefix = "bert." if name.startswith("bert.") else ""
        if names := published_names(name):
            for theirs, rows in zip(names, tensor.chunk(len(names)), strict=True):
                tensors[prefix + theirs] = rows.to("cpu", dtype or tensor.dtype).contiguous()
    return tensors


def write_weights(tensors: dict[str, Tensor], path: Path) -> None:
    """Write one safetensors file with the permissions of other new files. OSError where the file system refuses."""
    try:
        save_file(tensors, path, metadata={"format": "pt"})
    except SafetensorError as error:
        raise OSError(str(error)) from error
    os.umask(hidden := os.umask(0))  # it can only be read by setting it
    path.chmod(0o666 & ~hidden)  # save_file keeps all others out


def check_shapes(model: nn.Module, stored: Weights) -> None:
    """Raise an InputError, before anything is read, for a tensor that is missing or has another shape than the model's.

    Also for tensors that are larger together than their files.
    """
    for name, parameter in model.named_parameters():
        names = published_names(name)
        for theirs, rows in zip(names, parameter.chunk(len(names)) if names else (), strict=True):
            if theirs in stored:
                _check_shape(theirs, tuple(rows.shape), stored)
            elif theirs.startswith(ENCODER):
                raise InputError(f"{stored.path}: tensor {theirs} is missing")
    _check_tied(model, stored)
    wanted = chain.from_iterable(published_names(name) for name, _ in model.named_parameters())
    if stored.bytes_of(wanted) > stored.size:
        raise InputError(f"{stored.path}: tensors share their numbers; save each of them in full")


def _check_tied(model: nn.Module, stored: Weights) -> None:
    """Raise an InputError for a masked-word head whose stored output matrix is not the word embeddings."""
    has_head = any(module.endswith("mlm.decoder") for module, _ in model.named_modules())
    if has_head and DECODER in stored and not same(stored[DECODER], stored[WORDS]):
        where, name = stored.files[DECODER]
        advice = "bertlab's head has tied weights alone; BertModel and the classifiers open without it"
        raise InputError(f"{where}: tensor {name} is not the word embeddings (untied weights): {advice}")


def _check_shape(name: str, wanted: tuple[int, ...], stored: Weights) -> None:
    if (found := tuple(stored[name].shape)) != wanted:
        raise InputError(f"{stored.files[name][0]}: tensor {name} is {found}, config.json asks for {wanted}")


@torch.no_grad()
def load_weights(model: nn.Module, stored: Weights) -> list[str]:
    """Replace every parameter of `model`, which may be on the "meta" device, by the stored one.

    Where one stored tensor is one parameter in its precision, the parameter is the memory-mapped file itself:
    no copy, and a change of it stays in memory. (Whoever overwrites that file in place changes a loaded model;
    save_pretrained puts a new file there.) Returns our names of those of the pooler or head that the checkpoint
    lacks; their values are still to be set. InputError for shapes that do not fit and values that are not finite.
    """
    check_shapes(model, stored)
    missing: list[str] = []
    loaded: dict[nn.Parameter, nn.Parameter] = {}  # a tied parameter is named once, so it stays one
    for name, parameter in model.named_parameters():
        names = published_names(name)
        if any(theirs not in stored for theirs in names):
            missing.append(name)
            tensor = torch.empty_like(parameter, device="cpu")
        else:
            tensor = _stacked(parameter, names, stored)
        loaded[parameter] = nn.Parameter(tensor)
    for module in model.modules():
        for leaf, parameter in module.named_parameters(recurse=False):
            setattr(module, leaf, loaded[parameter])
    return missing


def _stacked(parameter: Tensor, names: list[str], stored: Weights) -> Tensor:
    """Return the stored tensors of one parameter, stacked, in its precision; the values of each are checked."""
    tensors = [stored[name].to(parameter.dtype) for name in names]
    for name, tensor in zip(names, tensors, strict=True):
        check_values(*stored.files[name], tensor)
    return torch.cat(tensors) if len(tensors) > 1 else tensors[0]
