"""What a checkpoint is, without loading its weights: shapes, parameters by part, memory, tokenizer."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import torch

from bertlab import model as models
from bertlab.config import BertConfig, classes_of
from bertlab.io import hub
from bertlab.io.gate import present
from bertlab.io.locate import locate
from bertlab.model.checkpoint import NoDraws, PretrainedModel, check_layers, check_shapes
from bertlab.model.weights import Weights, weights_file
from bertlab.tokenizer import SPECIAL_TOKENS, Tokenizer

PARTS = {
    "embeddings": "embeddings",
    "pooler": "pooler",
    "mlm": "masked-word head",
    "nsp": "next-sentence head",
    "span": "span head",
    "classifier": "classifier",
}
CLASSES = {name: kind for name, kind in vars(models).items() if name.startswith("BertFor")}
BYTES = {"float32": 4, "float16": 2}


@dataclass(frozen=True)
class ModuleFacts:
    """One layer of weights, or `times` alike ones (* in the name is the number of the encoder layer)."""

    name: str
    times: int
    shapes: dict[str, tuple[int, ...]]  # weight and bias
    tied: bool = False  # its weight is that of a module above


@dataclass(frozen=True)
class TokenizerFacts:
    """What a text becomes before the model sees it."""

    vocab_size: int
    lowercase: bool
    special_tokens: dict[str, int]  # token -> id


@dataclass(frozen=True)
class ModelFacts:
    """All that `bertlab info` shows."""

    name: str
    architecture: str  # the class, as in config.json
    config: dict
    modules: list[ModuleFacts]
    parameters: dict[str, int]  # part -> how many, in the order of the computation; tied ones are counted once
    total: int
    memory: dict[str, int]  # precision -> bytes of the weights
    tokenizer: TokenizerFacts | None


def model_facts(name: str | Path) -> ModelFacts:
    """The facts of a folder, a bundled model or a hub id (of which only the small files are fetched).

    They are those of the class that config.json names, BertModel where it names none that bertlab knows. Of the
    weights, names and shapes are looked at, if they are there; their values are not read.
    InputError names the file that is missing or wrong.
    """
    folder = locate(name)
    config = BertConfig.from_file(folder / "config.json")
    kind = model_class(folder)
    stored = None if from_hub(name) and weights_file(folder) is None else Weights(folder)
    if stored is not None:
        check_layers(config, stored)
    model = shapes_of(kind, config)
    if stored is not None:
        check_shapes(model, stored)
    total = sum(parameter.numel() for parameter in model.parameters())
    return ModelFacts(
        name=str(name),
        architecture=kind.__name__,
        config=config.to_dict(),
        modules=modules_of(model),
        parameters=parameters_by_part(model),
        total=total,
        memory={precision: total * size for precision, size in BYTES.items()},
        tokenizer=tokenizer_facts(folder),
    )


def from_hub(name: str | Path) -> bool:
    """Whether a name is that of a model of the hub, and of no folder here."""
    return hub.is_id(str(name)) and not Path(name).is_dir()


def shapes_of(kind: type[PretrainedModel], config: BertConfig) -> PretrainedModel:
    """A model without values: even the largest takes no memory."""
    with torch.device("meta"), NoDraws():
        return kind(config)


def model_class(folder: Path) -> type[PretrainedModel]:
    """The first class of config.json's architectures that bertlab has."""
    return next((CLASSES[name] for name in classes_of(folder) if name in CLASSES), models.BertModel)


def modules_of(model: PretrainedModel) -> list[ModuleFacts]:
    """Layers of weights in the order of the computation, those of all encoder layers as one."""
    found: dict[str, ModuleFacts] = {}
    times, seen = Counter(), set()
    for name, module in model.named_modules():
        own = dict(module.named_parameters(recurse=False))
        if own:
            name = re.sub(r"\.\d+\.", ".*.", name.removeprefix("bert."))
            times[name] += 1
            shapes = {leaf: tuple(parameter.shape) for leaf, parameter in own.items()}
            found[name] = ModuleFacts(name, times[name], shapes, tied=own["weight"] in seen)
            seen.update(own.values())
    return list(found.values())


def parameters_by_part(model: PretrainedModel) -> dict[str, int]:
    """Part -> parameters; layers are counted from 1, as in the figures."""
    counts = Counter()
    for name, parameter in model.named_parameters():
        first, *rest = name.removeprefix("bert.").split(".")
        part = f"layer {int(rest[1]) + 1}" if first == "encoder" else PARTS[first]
        counts[part] += parameter.numel()
    return dict(counts)


def tokenizer_facts(folder: Path) -> TokenizerFacts | None:
    if not any(present(folder / file) for file in ("tokenizer.json", "vocab.txt")):
        return None
    tokenizer = Tokenizer.from_pretrained(folder)
    special = {token: tokenizer.vocab[token] for token in SPECIAL_TOKENS}
    return TokenizerFacts(tokenizer.vocab_size, tokenizer.lowercase, special)
