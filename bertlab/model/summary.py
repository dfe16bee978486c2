"""What a checkpoint holds, without loading its weights: shapes, parameters by part, memory, tokenizer."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

import bertlab.model as models
from bertlab.config import BertConfig, classes_of
from bertlab.io import hub
from bertlab.io.adapter_config import base_of
from bertlab.io.files import present
from bertlab.io.locate import is_adapter, locate
from bertlab.model.base import PretrainedModel, open_weights
from bertlab.model.parameter_names import PARTS, published_names
from bertlab.model.weights import Weights, check_layers, check_shapes, weights_file
from bertlab.tokenizer import SPECIAL_TOKENS, Tokenizer

CLASSES = {name: kind for name, kind in vars(models).items() if name.startswith("BertFor")}
BYTES = {"float32": 4, "float16": 2}


@dataclass(frozen=True)
class ModuleFacts:
    """A layer of weights, or `times` layers of the same shapes (* in the name is the number of the encoder layer)."""

    name: str
    times: int
    shapes: dict[str, tuple[int, ...]]  # of weight and bias; a mix and a CRF have others
    tied: bool = False  # its weight is that of a module above


@dataclass(frozen=True)
class TokenizerFacts:
    """How a checkpoint's tokenizer cuts text."""

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
    """Return the facts of a folder, a bundled model or a hub id (of which only the small files are fetched).

    They are those of the class that config.json names, or of BertModel where bertlab has no such class. Names and
    shapes of the weights are checked, if they are there; their values are not read.
    InputError names the file that is missing or wrong.
    """
    folder = locate(name)
    config = BertConfig.from_file(folder / "config.json")
    kind = model_class(folder)
    from_hub = hub.is_id(str(name)) and not Path(name).is_dir()
    small = from_hub and (weights_file(folder) is None or is_adapter(folder))
    stored = None if small else open_weights(folder)
    if stored is not None:
        check_layers(config, stored)
    model = kind.without_values(config)
    if stored is not None:
        check_shapes(model, stored)
        leave_out_missing(model, stored)
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


def leave_out_missing(model: PretrainedModel, stored: Weights) -> None:
    """Take out the parameters that a checkpoint lacks, such as an untrained pooler."""
    for name, _ in [*model.named_parameters()]:
        if any(theirs not in stored for theirs in published_names(name)):
            module, _, leaf = name.rpartition(".")
            model.get_submodule(module).register_parameter(leaf, None)


def model_class(folder: Path) -> type[PretrainedModel]:
    """Return the first class of config.json's architectures that bertlab has."""
    return next((CLASSES[name] for name in classes_of(folder) if name in CLASSES), models.BertModel)


def modules_of(model: PretrainedModel) -> list[ModuleFacts]:
    """Return the layers of weights in the order of the computation, those of all encoder layers as one."""
    found: dict[str, ModuleFacts] = {}
    times: Counter[str] = Counter()
    seen: set[Tensor] = set()
    for name, module in model.named_modules():
        own = dict(module.named_parameters(recurse=False))
        if own:
            name = re.sub(r"\.\d+\.", ".*.", name.removeprefix("bert."))
            times[name] += 1
            shapes = {leaf: tuple(parameter.shape) for leaf, parameter in own.items()}
            found[name] = ModuleFacts(name, times[name], shapes, tied=not seen.isdisjoint(own.values()))
            seen.update(own.values())
    return list(found.values())


def parameters_by_part(model: PretrainedModel) -> dict[str, int]:
    """Return part -> number of parameters; layers are counted from 1, as in the figures."""
    counts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        first, *rest = name.removeprefix("bert.").split(".")
        part = f"layer {int(rest[1]) + 1}" if rest[0] == "layers" else PARTS[first]
        counts[part] += parameter.numel()
    return dict(counts)


def vocabulary_facts(name: str | Path) -> TokenizerFacts | None:
    """Return the tokenizer of a folder that holds no model beside it; None for others."""
    folder = locate(name)
    alone = not present(folder / "config.json") and weights_file(folder) is None and not is_adapter(folder)
    return tokenizer_facts(folder) if alone else None


def tokenizer_facts(folder: Path) -> TokenizerFacts | None:
    if not any(present(folder / file) for file in ("tokenizer.json", "vocab.txt")):
        return tokenizer_facts(base_of(folder)) if is_adapter(folder) else None
    tokenizer = Tokenizer.from_pretrained(folder)
    special = {token: tokenizer.vocab[token] for token in SPECIAL_TOKENS}
    return TokenizerFacts(tokenizer.vocab_size, tokenizer.lowercase, special)
