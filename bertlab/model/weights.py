"""The weights of a model: read from the files of a checkpoint folder, checked, put into a model, and written.

There are four forms, and the first that is present counts: model.safetensors, the same in several files ("shards")
with an index, and PyTorch's older pytorch_model.bin, in one file or several. Those are pickles, which could run code:
PyTorch reads them with weights_only=True, and only plain tensors are accepted.
"""

import os
import pickle
import re
import warnings
import zipfile
from collections.abc import Collection, Iterator, Mapping
from errno import EINVAL
from itertools import chain
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.errors import InputError, brief
from bertlab.io.files import check_file, file_below, present
from bertlab.io.json_files import read_json
from bertlab.io.locate import ADAPTER_WEIGHTS
from bertlab.model.parameter_names import DECODER, ENCODER, TIED, WORDS, is_published, modern_name, published_names

ASKED = re.compile(r"GLOBAL (\S+)")  # what PyTorch says of a function that a pickle wants to call
BYTEARRAY = b"\nbytearray\n"  # how a pickle names it; PyTorch allows it, and it takes any size
BLOCK = 2**24  # bytes that are searched at a time
OTHER_PICKLE = "Unsupported operand"  # of one with a protocol that weights_only=True does not read


def read_pickle(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file of torch.save, memory-mapped where its form allows; code in it is never run.

    InputError names the file that is damaged, asks for code, or holds something other than a table of dense tensors.
    """
    mapped = zipfile.is_zipfile(path)  # files from before PyTorch 1.6 are no zip archives and cannot be mapped
    try:
        if mapped:
            check_stored(path)
        check_calls(path)
        with warnings.catch_warnings(action="ignore"):  # about damage that is reported here in one line
            stored = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except InputError:
        raise
    except Exception as error:  # pickle promises no narrower one for damaged files
        if asked := ASKED.search(str(error)):
            raise InputError(
                f"{path}: refused, it wants to run code ({asked[1]}); plain tensors alone are read"
            ) from error
        if OTHER_PICKLE in str(error):
            if not is_pickle(path):
                raise InputError(f"{path}: no file of torch.save; copy or download it again") from error
            advice = "save it with torch.save(state_dict, path), which writes protocol 2"
            reason = "a pickle of a protocol that PyTorch does not read as plain tensors"
            raise InputError(f"{path}: {reason}; {advice}") from error
        raise damaged(path, error) from error
    if not isinstance(stored, dict) or not all(isinstance(tensor, Tensor) for tensor in stored.values()):
        raise InputError(f"{path}: holds no plain table of tensors by name (a state_dict)")
    for name, tensor in stored.items():
        check_plain(path, name, tensor)
    return stored


def is_pickle(path: Path) -> bool:
    """Return whether a file begins as a pickle does of protocol 2 or later."""
    with open(path, "rb") as file:
        return file.read(2) in [bytes([0x80, protocol]) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]


def check_calls(path: Path) -> None:
    """Raise an InputError for a pickle that makes a bytearray: a few bytes could ask for gigabytes of memory."""
    with open(path, "rb") as file:
        end = b""
        while block := file.read(BLOCK):
            if BYTEARRAY in end + block:
                raise InputError(f"{path}: refused, it asks for memory (bytearray); plain tensors alone are read")
            end = block[-len(BYTEARRAY) :]


def check_stored(path: Path) -> None:
    """Raise an InputError for a zip file with something compressed in it: kilobytes could unfold into gigabytes."""
    with zipfile.ZipFile(path) as packed:
        for info in packed.infolist():
            if info.compress_type != zipfile.ZIP_STORED:
                raise InputError(f"{path}: {info.filename} in it is compressed, which torch.save never does")


def check_plain(path: Path, name: object, tensor: Tensor) -> None:
    """Raise an InputError for a tensor that is not stored in full: sparse, meta, or expanded from a few numbers."""
    if not isinstance(name, str):
        raise InputError(f"{path}: a tensor has the name {name!r:.80}, which is no text")
    plain = tensor.layout == torch.strided and tensor.device.type == "cpu" and not tensor.is_nested
    if not plain or tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise InputError(f"{path}: tensor {name:.80} is not stored in full (sparse, meta or expanded); save it dense")


def damaged(path: Path, error: Exception) -> InputError:
    """Return the error for a file that could not be read: what the system says of it, or that it is damaged."""
    if isinstance(error, OSError) and error.strerror and error.errno != EINVAL:  # seeking before a cut file's start
        return InputError(f"{path}: {error.strerror}")
    # PyTorch wraps its reason in the advice to allow the file everything, which is no advice to pass on.
    text = str(error).rpartition("WeightsUnpickler error: ")[2].strip()
    reason = (text.splitlines() or [type(error).__name__])[0].rstrip(".")
    return InputError(f"{path}: damaged or cut short ({reason:.200}); copy or download it again")


WEIGHTS = "model.safetensors"
PICKLE = "pytorch_model.bin"
INDEX = ".index.json"
FORMS = (WEIGHTS, WEIGHTS + INDEX, PICKLE, PICKLE + INDEX, ADAPTER_WEIGHTS)
# The largest published BERTs have under a thousand tensors, in a header of a hundred kilobytes.
MOST_TENSORS, MOST_HEADER_BYTES, MOST_SHARDS = 20_000, 8_000_000, 1_000
POINTER = b"version https://git-lfs"
LARGEST = 1e9  # size (2-norm) of a tensor; a broken bit makes one of 1e38, from which no forward pass comes back


class Weights(Mapping[str, Tensor]):
    """The tensors of a folder by their modern published name, without the prefix "bert.".

    Tensors are memory-mapped where the form allows it: read when they are used, copied when they are changed. Raises
    InputError, naming the file and the tensor, for whatever is missing, damaged or inconsistent.
    """

    def __init__(self, folder: Path):
        path = weights_file(folder)
        if path is None:
            raise InputError(f"{folder}: no checkpoint, {WEIGHTS} is missing (and {PICKLE} too)")
        self.path = path
        self.size = 0  # bytes of all files
        self.files: dict[str, tuple[Path, str]] = {}  # modern name -> its file, and its name there
        self.tensors: dict[str, Tensor] = {}
        for path, tensors in self._by_file():
            self.size += check_file(path)
            for name, tensor in tensors.items():
                self._add(path, name, tensor)
        if WORDS not in self.files and DECODER in self.files:  # the tied matrix, under its other name
            self.files[WORDS], self.tensors[WORDS] = self.files[DECODER], self.tensors[DECODER]

    def __getitem__(self, name: str) -> Tensor:
        check_floating(*self.files[name], self.tensors[name])
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def _add(self, path: Path, name: str, tensor: Tensor) -> None:
        modern = modern_name(name)
        if modern in self.files and not same(tensor, self.tensors[modern]):
            before, stored = self.files[modern]
            where = "" if before == path else f" of {before.name}"
            raise InputError(f"{path}: {brief(name)} and {brief(stored)}{where} are one parameter with two values")
        self.files[modern], self.tensors[modern] = (path, name), tensor

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
    """Return the file with the weights of a folder or its adapter, or the index of several; None without any."""
    return next((folder / form for form in FORMS if present(folder / form)), None)


def same(one: Tensor, other: Tensor) -> bool:
    """Return whether shape and values are equal, in the less precise of their types. Published files hold the
    decoder's bias twice."""
    coarse = min(one.dtype, other.dtype, key=lambda kind: kind.itemsize)
    return torch.equal(one.to(coarse), other.to(coarse))


def check_floating(path: Path, name: str, tensor: Tensor) -> None:
    if not tensor.is_floating_point():
        raise InputError(f"{path}: tensor {name} is {tensor.dtype}, not floating point: a quantised model?")


def check_values(path: Path, name: str, tensor: Tensor) -> None:
    """Raise an InputError for a tensor with a value that is not finite or absurdly large. Reads it once."""
    if not torch.linalg.vector_norm(tensor) <= LARGEST:
        values = "nan or infinite" if not tensor.isfinite().all() else f"beyond {LARGEST:g}"
        raise InputError(f"{path}: tensor {name} has values that are {values}: damaged, or its training diverged")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return all tensors of one file by their names there."""
    size = check_file(path)
    check_pointer(path)
    if path.suffix == ".bin":
        tensors = read_pickle(path)
        check_count(path, len(tensors))
        return tensors
    try:
        check_header(path, size)
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            check_count(path, len(names))
            return {name: file.get_tensor(name) for name in names}
    except InputError:
        raise
    except Exception as error:  # damage and strange types come as SafetensorError, OSError, KeyError and more
        raise damaged(path, error) from error


def check_pointer(path: Path) -> None:
    """Raise an InputError for the few lines that a clone without Git LFS has in place of a large file."""
    try:
        with open(path, "rb") as file:
            start = file.read(len(POINTER))
    except OSError as error:
        raise damaged(path, error) from error
    if start == POINTER:
        raise InputError(f"{path}: a pointer of Git LFS, not the weights themselves; fetch them with: git lfs pull")


def check_header(path: Path, size: int) -> None:
    """Raise an InputError for a safetensors file whose table of tensors is larger than a BERT's can be."""
    with open(path, "rb") as file:
        header = int.from_bytes(file.read(8), "little")
    if size < 8 or header > size - 8:
        raise InputError(f"{path}: damaged or cut short ({size:,} bytes); copy or download it again")
    if header > MOST_HEADER_BYTES:
        raise InputError(f"{path}: a header of {header:,} bytes; a BERT's has at most {MOST_HEADER_BYTES:,}")


def check_count(path: Path, count: int) -> None:
    if count > MOST_TENSORS:
        raise InputError(f"{path}: {count:,} tensors; a BERT has at most {MOST_TENSORS:,}")


def read_index(path: Path) -> dict[Path, list[str]]:
    """Return the shards beside an index file and the tensors that each should hold."""
    files = read_json(path).get("weight_map")
    if not isinstance(files, dict) or not all(isinstance(file, str) for file in files.values()):
        raise InputError(f'{path}: no index of weights: "weight_map", a file for each tensor, is expected')
    check_count(path, len(files))
    shards: dict[Path, list[str]] = {}
    for name, file in files.items():
        if not file or Path(file).name != file:
            raise InputError(f"{path}: {brief(file)} is no file of this folder")
        shards.setdefault(file_below(path.parent, file, path), []).append(name)
    if len(shards) > MOST_SHARDS:
        raise InputError(f"{path}: {len(shards):,} files of weights; there may be {MOST_SHARDS:,}")
    for shard in shards:
        if not present(shard):
            raise InputError(f"{shard}: missing, {path.name} names it; copy or download it again")
    return shards


def check_layers(config: BertConfig, stored: Weights) -> None:
    """Raise an InputError, before anything is built, where config.json asks for layers that are not stored."""
    layers = (f"encoder.layer.{number}.attention.self.query.weight" for number in range(config.stored_layers))
    for name in chain([WORDS], layers):
        if name not in stored:
            longer = next((f" (it holds {brief(other)})" for other in stored if other.endswith(f".{name}")), "")
            asked = f"config.json asks for {config.stored_layers:,} layers"
            raise InputError(f"{stored.path}: tensor {name} is missing{longer}, {asked}")


def published_tensors(
    model: nn.Module, dtype: torch.dtype | None = None, leave_out: Collection[str] = ()
) -> dict[str, Tensor]:
    """Return the model's weights under the published names, on the CPU; those that modules share, once.

    `leave_out` names parts outside the layers and embeddings, such as "pooler".
    """
    tensors = {}
    for name, parameter in model.named_parameters():
        if name == TIED:  # named only where it is no longer the matrix of the embeddings
            raise InputError(f"{name} is no longer tied to the word embeddings: a checkpoint cannot hold it")
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
                if (found := tuple(stored[theirs].shape)) != (asked := tuple(rows.shape)):
                    path = stored.files[theirs][0]
                    raise InputError(f"{path}: tensor {theirs} is {found}, config.json asks for {asked}")
            elif theirs.startswith(ENCODER):
                raise InputError(f"{stored.path}: tensor {theirs} is missing")
    _check_tied(model, stored)
    _check_foreign(stored)
    wanted = chain.from_iterable(published_names(name) for name, _ in model.named_parameters())
    if sum(stored.tensors[name].nbytes for name in wanted if name in stored.tensors) > stored.size:
        raise InputError(f"{stored.path}: tensors share their numbers; save each of them in full")


def _check_tied(model: nn.Module, stored: Weights) -> None:
    """Raise an InputError for a masked-word head whose stored output matrix is not the word embeddings."""
    has_head = any(module.endswith("mlm.decoder") for module, _ in model.named_modules())
    if has_head and DECODER in stored and not same(stored[DECODER], stored[WORDS]):
        where, name = stored.files[DECODER]
        advice = "bertlab's head has tied weights alone; BertModel and the classifiers open without it"
        raise InputError(f"{where}: tensor {name} is not the word embeddings (untied weights): {advice}")


def _check_foreign(stored: Weights) -> None:
    """Raise an InputError for a tensor within the encoder that a BERT does not have, such as an adapter of its layers:
    without it the encoder would compute something else. Layers behind those that config.json asks for are none."""
    for name in stored:
        if name.startswith(ENCODER) and not is_published(name):
            path, theirs = stored.files[name]
            raise InputError(f"{path}: tensor {brief(theirs)} is no part of a BERT, and its encoder would lack it")


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
