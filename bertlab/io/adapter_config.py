"""Adapter folders as the library peft writes them: a small change of a model, its base, that lies elsewhere.

adapter_config.json names the base and says how the tensors of adapter_model.safetensors change it. bertlab has LoRA (Hu
et al. 2021) and refuses by name whatever else the file asks for.
"""

import json
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from bertlab.errors import InputError, brief
from bertlab.io import hub
from bertlab.io.atomic import atomic_write
from bertlab.io.files import check_file, present
from bertlab.io.json_files import check_fields, read_json
from bertlab.io.locate import ADAPTER, ADAPTER_WEIGHTS, is_adapter, locate

PREFIX = "base_model.model."  # of every tensor's name

# The class that peft's name of a task stands for.
TASKS = {
    "SEQ_CLS": "BertForSequenceClassification",
    "TOKEN_CLS": "BertForTokenClassification",
    "QUESTION_ANS": "BertForQuestionAnswering",
    "FEATURE_EXTRACTION": "BertModel",
}
READ = {
    "base_model_name_or_path": str,
    "revision": str | None,
    "r": int,
    "lora_alpha": float,
    "use_rslora": bool,
    "target_modules": list[str] | str | None,
    "layers_to_transform": list[int] | int | None,
    "exclude_modules": list[str] | str | None,
    "task_type": str | None,
    "auto_mapping": dict[str, str] | None,
    "modules_to_save": list[str] | None,
}
NEEDED = ("base_model_name_or_path", "r", "lora_alpha")
# Ways to begin that leave the base as it is. Others, such as PiSSA, take from the base what they put into the adapter.
BEGINNINGS = (True, False, "gaussian", "orthogonal", "eva")
FIXED = {"peft_type": ("LORA",), "bias": ("none",), "init_lora_weights": BEGINNINGS}
# What cannot change the computation: the tensors show which modules they belong to, and no dropout is left.
UNUSED = frozenset(
    "peft_version inference_mode lora_dropout layers_pattern loftq_config eva_config megatron_core "
    "qalora_group_size".split()
)


def read_adapter(folder: Path) -> dict[str, Any]:
    """Return the fields of adapter_config.json. InputError names a field that is missing or damaged, or that asks for
    another computation than LoRA's."""
    path = folder / ADAPTER
    values = read_json(path)
    for name, known in FIXED.items():
        if name in values and values[name] not in known:
            raise InputError(f"{path}: {name} is {brief(values[name])}; bertlab opens adapters with {known[0]!r} only")
    for name, value in values.items():
        if value and name not in READ.keys() | FIXED.keys() | UNUSED:
            raise InputError(f"{path}: {brief(name)} is {brief(value)}, which bertlab's LoRA does not have")
    for name in NEEDED:
        if name not in values:
            raise InputError(f"{path}: {name} is missing")
    check_fields(values, READ, str(path))
    if values["r"] < 1:
        raise InputError(f"{path}: r is {values['r']}, the rank must be at least 1")
    return values


def scale_of(values: dict[str, Any]) -> float:
    """Return what B A is multiplied by: alpha / r, or alpha / sqrt(r) where that is asked for (Kalajdzievski 2023)."""
    return values["lora_alpha"] / (values["r"] ** 0.5 if values.get("use_rslora") else values["r"])


def base_of(folder: Path, weights: bool = False) -> Path:
    """Return the folder of an adapter's base, of a hub model with its `weights` if asked for.

    A path in adapter_config.json counts from the adapter's folder, or from the folder around it; any other name is one
    for `locate`. InputError: there is no such base, or it is an adapter too.
    """
    values, path = read_adapter(folder), folder / ADAPTER
    name = values["base_model_name_or_path"]
    if revision := values.get("revision"):
        name = f"{name}@{revision}" if hub.is_id(name) and "@" not in name else name
    try:
        beside = (place for place in (folder / name, folder.parent / name) if name and present(place))
        base = locate(next(beside, name), weights)
    except InputError as error:
        raise InputError(f"{path}: the base is missing: {error}") from error
    if is_adapter(base):
        raise InputError(f"{path}: the base {base} is an adapter itself; bertlab export merges it into one model")
    return base


def base_name(folder: Path) -> str:
    """Return a name of an adapter's base that counts from everywhere: the one in adapter_config.json where it does."""
    base, name = base_of(folder), read_adapter(folder)["base_model_name_or_path"]
    try:
        return name if locate(name).samefile(base) else str(base)
    except InputError:
        return str(base)


def keep_bases(folder: Path, copy: Path) -> None:
    """Let the adapters in `copy`, a copy of `folder`, name the same bases, also where the names are relative paths."""
    for path in folder.rglob(ADAPTER):
        fields, home = read_json(path), copy / path.parent.relative_to(folder)
        name = fields["base_model_name_or_path"]
        if not Path(name).is_absolute() and (base := path.parent / name).is_dir():
            fields["base_model_name_or_path"] = os.path.relpath(base.resolve(), home.resolve())
            atomic_write(home / ADAPTER, json.dumps(fields, indent=2, sort_keys=True) + "\n")


def adapted_config(folder: Path) -> dict[str, Any]:
    """Return the fields of a config.json for an adapter that has none beside it, as from peft: those of its base, with
    the class and the number of labels of the adapter's head."""
    values, adapter = read_json(base_of(folder) / "config.json"), read_adapter(folder)
    named = (adapter.get("auto_mapping") or {}).get("base_model_class")
    if kind := TASKS.get(adapter.get("task_type") or "", named):
        values["architectures"] = [kind]
    labels = _rows(folder / ADAPTER_WEIGHTS, f"{PREFIX}classifier.weight")
    if labels and kind != "BertForMultipleChoice":  # that has one row, whatever the number of labels
        values["num_labels"] = labels
    return values


def _rows(path: Path, name: str) -> int | None:
    """Return the number of rows of a tensor in a safetensors file, by its header; None where it has no such tensor, or
    where there is no such file."""
    if not present(path):
        return None
    check_file(path)
    try:
        with safe_open(path, framework="np") as file:
            shape = file.get_slice(name).get_shape() if name in file.keys() else []  # noqa: SIM118 (no Mapping)
    except SafetensorError as error:
        raise InputError(f"{path}: damaged or cut short; copy or download it again") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    return shape[0] if shape else None
