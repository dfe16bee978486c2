"""Ways to damage a checkpoint folder, each a function of the folder, and one way to open it."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from bertlab.model.summary import model_facts
from bertlab.predict import fill_in, predict_one

SAFE, PICKLE = "model.safetensors", "pytorch_model.bin"
QUERY = "bert.encoder.layer.0.attention.self.query.weight"
NESTED = "[" * 200_000
Damage = Callable[[Path], None]

# How each kind of checkpoint is asked.
ASKED = {
    "pretraining": lambda folder: fill_in("my [MASK] is hairy", folder, 3),
    "sentence": lambda folder: predict_one(folder, {"text": "my dog is hairy"}, 3),
    "token": lambda folder: predict_one(folder, {"text": "my dog is hairy"}, 3),
    "qa": lambda folder: predict_one(folder, {"question": "who is hairy ?", "passage": "my dog is hairy"}, 3),
}
INFO, PREDICT = "info", "predict"


def opened(face: str, kind: str, folder: Path) -> object:
    """What `bertlab info` or `bertlab predict` computes."""
    return model_facts(str(folder)) if face == INFO else ASKED[kind](str(folder))


# Files


def write(name: str, content: str | bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def fields(name: str, **changes) -> Damage:
    """Fields of a JSON file set to other values."""

    def damage(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | changes))

    return damage


def config(**changes) -> Damage:
    return fields("config.json", **changes)


def gone(*names: str) -> Damage:
    return lambda folder: [(folder / name).unlink(missing_ok=True) for name in names]


def cut(name: str, most: int) -> Damage:
    return lambda folder: os.truncate(folder / name, most)


def link(name: str, target: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return damage


def in_its_place(name: str, make: Callable[[Path], None]) -> Damage:
    """A folder, a pipe, ... of the name of a file."""

    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        make(folder / name)

    return damage


def both(*damages: Damage) -> Damage:
    return lambda folder: [damage(folder) for damage in damages]


# Tokenizers


def words_alone(damage: Damage) -> Damage:
    """vocab.txt counts, tokenizer.json is gone."""
    return both(gone("tokenizer.json"), damage)


def vocabulary(change: Callable[[list[str]], list[str]]) -> Damage:
    def damage(folder: Path) -> None:
        tokens = (folder / "vocab.txt").read_text().splitlines()
        (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in change(tokens)))

    return words_alone(damage)


def engine(change: Callable[[dict], None]) -> Damage:
    """Something in tokenizer.json changed in place."""

    def damage(folder: Path) -> None:
        values = json.loads((folder / "tokenizer.json").read_text())
        change(values)
        (folder / "tokenizer.json").write_text(json.dumps(values))

    return damage


# Weights


def tensors(change: Callable[[dict], object]) -> Damage:
    """Tensors changed in place, in a safetensors file."""

    def damage(folder: Path) -> None:
        held = load_file(folder / SAFE)
        change(held)
        save_file(held, folder / SAFE)

    return damage


def one(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[dict], object]:
    return lambda held: held.update({name: change(held[name])})


def first_is(value: float) -> Callable[[torch.Tensor], torch.Tensor]:
    def change(tensor: torch.Tensor) -> torch.Tensor:
        tensor.view(-1)[0] = value
        return tensor

    return change


def pickled(change: Callable[[dict], object], old: bool = False) -> Damage:
    """The same as pytorch_model.bin, in the new form or in the old."""

    def damage(folder: Path) -> None:
        held = load_file(folder / SAFE)
        (folder / SAFE).unlink()
        changed = change(held)
        content = held if changed is None else changed
        torch.save(content, folder / PICKLE, _use_new_zipfile_serialization=not old)

    return damage


def sharded(damage: Damage) -> Damage:
    """Weights in one shard with an index, then damaged."""

    def shard(folder: Path) -> None:
        names = list(load_file(folder / SAFE))
        shutil.move(folder / SAFE, folder / "model-00001-of-00001.safetensors")
        table = {"weight_map": dict.fromkeys(names, "model-00001-of-00001.safetensors")}
        (folder / f"{SAFE}.index.json").write_text(json.dumps(table))
        damage(folder)

    return shard


def header(change: Callable[[dict], object]) -> Damage:
    """The table of tensors at the beginning of a safetensors file, changed in place."""

    def damage(folder: Path) -> None:
        content = (folder / SAFE).read_bytes()
        size = int.from_bytes(content[:8], "little")
        table = json.loads(content[8 : 8 + size])
        change(table)
        written = json.dumps(table).encode()
        (folder / SAFE).write_bytes(len(written).to_bytes(8, "little") + written + content[8 + size :])

    return damage
