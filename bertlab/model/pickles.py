"""pytorch_model.bin: a pickle, which is a program, of which only the making of plain tensors is let through."""

import pickletools
import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import torch
from torch import Tensor

from bertlab.errors import InputError

# What torch.save calls for a state_dict. PyTorch's own list is longer: some of it makes a tensor without a storage or
# fills memory out of a few bytes.
CALLED = re.compile(
    r"collections OrderedDict|torch\._utils _rebuild_(tensor_v2|parameter)|torch\.nn\.parameter Parameter"
    r"|torch (?!Untyped|Typed)\w+Storage"
)
OLD_PARTS = 5  # pickles in a file from before PyTorch 1.6: a number, a version, sizes of integers, the table, its keys
MOST_PROGRAM_BYTES = 8_000_000


def read_pickle(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file of torch.save, memory-mapped where its form allows; code in it is never run.

    InputError names the file that is damaged, asks for code, or holds something other than a table of dense tensors.
    """
    mapped = zipfile.is_zipfile(path)  # files from before PyTorch 1.6 are no zip archives and cannot be mapped
    try:
        check_calls(path, mapped)
        with warnings.catch_warnings(action="ignore"):  # about damage that is reported here in one line
            stored = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except InputError:
        raise
    except Exception as error:  # pickle promises no narrower one for damaged files
        raise damaged(path, error) from error
    if not isinstance(stored, dict) or not all(isinstance(tensor, Tensor) for tensor in stored.values()):
        raise InputError(f"{path}: holds no plain table of tensors by name (a state_dict)")
    for name, tensor in stored.items():
        check_plain(path, name, tensor)
    return stored


def check_calls(path: Path, zipped: bool) -> None:
    """InputError, before anything is unpickled, for a call that no state_dict needs."""
    for called in _calls_of_zip(path) if zipped else _calls_of_old(path):
        if not CALLED.fullmatch(called):
            asked = called.replace(" ", ".")
            raise InputError(f"{path}: refused, it wants to run code ({asked}); plain tensors alone are read")


def _calls_of_zip(path: Path) -> Iterator[str]:
    with zipfile.ZipFile(path) as packed:
        for info in packed.infolist():
            if info.compress_type != zipfile.ZIP_STORED:
                raise InputError(f"{path}: {info.filename} in it is compressed, which torch.save never does")
            if info.filename.endswith("data.pkl"):
                if info.file_size > MOST_PROGRAM_BYTES:
                    raise InputError(f"{path}: {info.file_size:,} bytes of pickle; a state_dict has under a million")
                with packed.open(info) as file:
                    yield from _calls(file)


def _calls_of_old(path: Path) -> Iterator[str]:
    with open(path, "rb") as file:
        for _ in range(OLD_PARTS):
            yield from _calls(file)


def _calls(file: BinaryIO) -> Iterator[str]:
    """The functions and classes that the next pickle of a file asks for, "module name"."""
    for opcode, argument, position in pickletools.genops(file):
        if opcode.name in ("GLOBAL", "INST"):
            yield argument
        elif opcode.name in ("STACK_GLOBAL", "EXT1", "EXT2", "EXT4"):
            raise ValueError(f"{opcode.name} is no part of the pickles that torch.save writes")
        if position > MOST_PROGRAM_BYTES:
            raise ValueError("an endless pickle")


def check_plain(path: Path, name: object, tensor: Tensor) -> None:
    """InputError for a tensor whose numbers do not all stand in the file: sparse, meta, or a few numbers spread out."""
    if not isinstance(name, str):
        raise InputError(f"{path}: a tensor has the name {name!r:.80}, which is no text")
    plain = tensor.layout == torch.strided and tensor.device.type == "cpu" and not tensor.is_nested
    if not plain or tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise InputError(f"{path}: tensor {name:.80} is not stored in full (sparse, meta or expanded); save it dense")


def damaged(path: Path, error: Exception) -> InputError:
    # PyTorch wraps its reason in the advice to allow the file everything, which is no advice to pass on.
    text = str(error).rpartition("WeightsUnpickler error: ")[2].strip()
    reason = (text.splitlines() or [type(error).__name__])[0].rstrip(".")
    return InputError(f"{path}: damaged or cut short ({reason:.200}); copy or download it again")
