"""The weight files of a checkpoint folder: which there are and what they hold.

Four forms, the first that is there counts: model.safetensors, the same in several files ("shards") with an
index, and their older likes of PyTorch, pytorch_model.bin. Those are pickles, which could run code: only plain
tensors are let in.
"""

import json
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from bertlab.errors import InputError

WEIGHTS = "model.safetensors"
PICKLE = "pytorch_model.bin"
INDEX = ".index.json"
FORMS = (WEIGHTS, WEIGHTS + INDEX, PICKLE, PICKLE + INDEX)


class Weights(Mapping[str, Tensor]):
    """The tensors of a folder by their modern published name, without the prefix "bert.".

    Tensors are memory-mapped where the form allows it: parts of the file that are read when they are used, and
    copied when they are changed. Raises InputError naming the file, and the tensor, for whatever is missing,
    damaged or not what it says.
    """

    def __init__(self, folder: Path):
        path = weights_file(folder)
        if path is None:
            raise InputError(f"{folder}: no checkpoint, {WEIGHTS} is missing (and {PICKLE} too)")
        self.path = path
        self.files: dict[str, tuple[Path, str]] = {}  # modern name -> its file, and its name there
        self.tensors: dict[str, Tensor] = {}
        for path, tensors in self._by_file():
            for name, tensor in tensors.items():
                self.files[modern_name(name)] = path, name
                self.tensors[modern_name(name)] = tensor

    def __getitem__(self, name: str) -> Tensor:
        tensor, (path, stored) = self.tensors[name], self.files[name]
        if not tensor.is_floating_point():
            raise InputError(f"{path}: tensor {stored} is {tensor.dtype}, not floating point: a quantised model?")
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def _by_file(self) -> Iterator[tuple[Path, dict[str, Tensor]]]:
        if not self.path.name.endswith(INDEX):
            yield self.path, read_tensors(self.path)
            return
        for path, names in read_index(self.path).items():
            tensors = read_tensors(path)
            if absent := [name for name in names if name not in tensors]:
                raise InputError(f"{path}: tensor {absent[0]} is missing, which {self.path.name} promises")
            yield path, tensors


def weights_file(folder: Path) -> Path | None:
    """The file that the weights of a folder are read from, or the index of several; None where there are none."""
    return next((folder / form for form in FORMS if (folder / form).is_file()), None)


def modern_name(name: str) -> str:
    """The name that transformers writes today, without the prefix "bert.".

    Files converted from the original release call LayerNorm's parameters gamma and beta; some releases store
    the decoder's bias under the decoder.
    """
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name.removeprefix("bert."))
    name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
    return "cls.predictions.bias" if name == "cls.predictions.decoder.bias" else name


def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of one file, by the names that stand there."""
    if path.suffix == ".bin":
        return read_pickle(path)
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError) as error:
        raise damaged(path, error) from error


def read_index(path: Path) -> dict[Path, list[str]]:
    """The shards beside an index file and the tensors that each should hold."""
    try:
        names = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        files = {name: str(file) for name, file in names.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f'{path}: no index of weights, a JSON object with "weight_map" is expected') from error
    shards: dict[Path, list[str]] = {}
    for name, file in files.items():
        if Path(file).name != file:
            raise InputError(f"{path}: {file!r} is no file of this folder")
        shards.setdefault(path.parent / file, []).append(name)
    for shard in shards:
        if not shard.is_file():
            raise InputError(f"{shard}: missing, {path.name} names it; copy or download it again")
    return shards


def read_pickle(path: Path) -> dict[str, Tensor]:
    """The tensors of a file of torch.save, memory-mapped where its form allows; code in it is never run."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about damage that is told here in one line
            # Files from before PyTorch 1.6 are no zip archives and cannot be mapped.
            stored = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except Exception as error:  # pickle promises no narrower one for damaged files
        if asked := re.search(r"GLOBAL (\S+)", str(error)):
            raise InputError(f"{path}: refused, it wants to run code ({asked[1]}); tensors alone are read") from error
        raise damaged(path, error) from error
    if not isinstance(stored, dict) or not all(isinstance(tensor, Tensor) for tensor in stored.values()):
        raise InputError(f"{path}: holds no plain table of tensors by name (a state_dict)")
    return stored


def damaged(path: Path, error: Exception) -> InputError:
    # PyTorch wraps its reason in the advice to allow the file everything, which is no advice to pass on.
    text = str(error).rpartition("WeightsUnpickler error: ")[2].strip()
    reason = (text.splitlines() or [type(error).__name__])[0].rstrip(".")
    return InputError(f"{path}: damaged or cut short ({reason}); copy or download it again")
