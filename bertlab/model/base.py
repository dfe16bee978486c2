"""What every model shares: a config, initial weights, a checkpoint folder to load and save, inputs that are checked."""

import json
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from bertlab.config import IGNORED, BertConfig
from bertlab.errors import InputError, brief
from bertlab.io.atomic import atomic_folder
from bertlab.io.files import expanded
from bertlab.io.locate import is_adapter, locate
from bertlab.model.parameter_names import PARTS, published_names
from bertlab.model.weights import WEIGHTS, Weights, check_layers, load_weights, published_tensors, write_weights
from bertlab.tokenizer import Tokenizer

OTHER_MODEL = "Choose a model that reads both sides, such as english"
DRAWS = ("normal_", "uniform_", "kaiming_uniform_")  # functions that fill a new model with random numbers


class NoDraws(TorchFunctionMode):
    """Skip the drawing of initial weights: on the "meta" device, where tensors have no values, it costs time all the
    same."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        return None if function.__name__ in DRAWS else function(*args, **(kwargs or {}))


class PretrainedModel(nn.Module):
    """A model with a config, initial weights, and a checkpoint folder to load from and save to.

    `untrained` names parts that no training has reached, such as "pooler". `adapted_from`: the base of a model that
    learns low-rank changes of it (see bertlab.model.lora), which alone it saves.
    """

    untrained: tuple[str, ...] = ()
    adapted_from: str = ""

    def __init__(self, config: BertConfig):
        super().__init__()
        if not isinstance(config, BertConfig):
            name = type(self).__name__
            raise InputError(f"config must be a BertConfig, not {brief(config)}; {name}.from_pretrained opens a name")
        self.config = config

    @torch.no_grad()
    def initialise(self, names: Collection[str] | None = None) -> None:
        """Set all parameters, or those of `names`, to the initial values of the published code.

        Matrices and embeddings are normal with std initializer_range, biases 0, LayerNorm 1 and 0, [PAD] 0, scales 1.
        """
        for module_name, module in self.named_modules():
            for leaf, parameter in module.named_parameters(recurse=False):
                if names is None or f"{module_name}.{leaf}".lstrip(".") in names:
                    self._initialise_one(module, leaf, parameter)
        for module in self.modules():  # last: a tied decoder has just filled the row of [PAD] again
            if names is None and isinstance(module, nn.Embedding) and module.padding_idx is not None:
                module.weight[module.padding_idx].zero_()

    def _initialise_one(self, module: nn.Module, leaf: str, parameter: Tensor) -> None:
        if leaf == "bias":
            parameter.zero_()
        elif isinstance(module, nn.LayerNorm) or leaf == "gamma":
            parameter.fill_(1.0)
        else:
            parameter.normal_(std=self.config.initializer_range)

    @classmethod
    def without_values(cls, config: BertConfig) -> Self:
        """Return a model on the "meta" device: even the largest takes no memory and no time."""
        with torch.device("meta"), NoDraws():
            return cls(config)

    @classmethod
    def from_pretrained(cls, name: str | Path, device: str | torch.device = "cpu", **changes: Any) -> Self:
        """Return the model of a folder, a bundled name or a hub id ("org/name", "org/name@revision").

        It is in float32 and eval mode. `changes` are fields of the config to change, such as num_labels=3. A head or
        pooler that the checkpoint lacks is newly initialised, with a warning. Raises InputError, naming the folder and
        the tensor, for a folder that is no checkpoint or a damaged one.
        """
        folder = locate(name, weights=True)
        model, missing = cls._loaded(folder, changes, name)
        if missing:
            model.initialise(missing)
            names = ", ".join(theirs for ours in missing for theirs in published_names(ours))
            warnings.warn(f"{folder}: newly initialised, to be trained: {names}", stacklevel=2)
        return model.to(device).eval()

    @classmethod
    def trained(
        cls, name: str | Path, device: str | torch.device = "cpu", optional: Collection[str] = (), advice: str = ""
    ) -> Self:
        """Return the same model to predict with: InputError, which ends in `advice`, where the checkpoint lacks a part
        of the head, so that the predictions would be random. Parts in `optional` ("pooler", "nsp") may be missing:
        they are then in `untrained`."""
        model, missing = cls._loaded(locate(name, weights=True), {}, name)
        parts = [ours.removeprefix("bert.").split(".")[0] for ours in missing]
        for part, ours in zip(parts, missing, strict=True):
            if part not in optional:
                lacks = f"{name} has no trained {PARTS[part]} ({published_names(ours)[0]} is missing)"
                raise InputError(f"{lacks}, so its predictions would be random: {advice}")
        model.initialise(missing)
        model.untrained = tuple(dict.fromkeys(parts))
        return model.to(device).eval()

    @classmethod
    def _loaded(cls, folder: Path, changes: Mapping[str, Any], name: str | Path) -> tuple[Self, list[str]]:
        """Return the model with the weights of a folder, and the names of the parameters that these lack."""
        config = BertConfig.from_file(folder / "config.json").changed(**changes)
        check_first_token(cls, config, name, OTHER_MODEL)
        stored = open_weights(folder)
        check_layers(config, stored)
        model = cls.without_values(config)
        return model, load_weights(model, stored)

    def save_pretrained(
        self, folder: str | Path, tokenizer: Tokenizer | None = None, dtype: torch.dtype | None = None
    ) -> None:
        """Write config.json, model.safetensors and, if given, the tokenizer's files into `folder`; of an adapted model
        the files of its adapter instead of model.safetensors.

        dtype stores the weights in another precision (torch.float16 halves the file). Parts in `untrained` are not
        written: whoever opens the checkpoint should know that it has none. All or nothing:
        on a full disk the folder keeps what it had. Warns of a head that transformers does not have. Raises InputError
        naming the folder, also where it holds an adapter and the model is none.
        """
        if note := only_here(self.config, type(self).__name__):
            warnings.warn(f"{folder}: {note}", stacklevel=2)
        config = self.config.to_dict(type(self).__name__)
        config["dtype"] = str(dtype or next(self.parameters()).dtype).removeprefix("torch.")
        if not self.adapted_from and is_adapter(expanded(folder)):
            raise InputError(
                f"{folder}: holds an adapter, which would be opened in place of this model; choose another"
            )
        with atomic_folder(folder) as work:
            if self.adapted_from:
                from bertlab.model.lora import write_adapter

                write_adapter(self, work, expanded(folder), dtype)
            else:
                write_weights(published_tensors(self, dtype, self.untrained), work / WEIGHTS)
            (work / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
            self.write_more(work)
            if tokenizer is not None:
                tokenizer.save_pretrained(work, self.config.max_position_embeddings)

    def write_more(self, folder: Path) -> None:
        """Write further files of a checkpoint into a new folder."""

    @staticmethod
    def reads_first_token(config: BertConfig) -> bool:
        """Return whether the head reads of a whole text the state of its first token alone."""
        return False


def check_first_token(head: type[PretrainedModel], config: BertConfig, name: str | Path, advice: str) -> None:
    """Raise InputError, which ends in `advice`, for a head that reads the first token of the left-to-right model
    `name`: a token sees itself and those before it, so the first one is the same in every text."""
    if head.reads_first_token(config):
        refuse_first_token(config, name, advice)


def refuse_first_token(config: BertConfig, name: str | Path, advice: str) -> None:
    """Raise InputError, which ends in `advice`, for a left-to-right model: its [CLS] stands for no text."""
    if config.is_decoder:
        raise InputError(
            f"{name} reads from left to right: its [CLS] sees no word and is the same in all texts. {advice}"
        )


def open_weights(folder: Path) -> Weights:
    """Return the tensors of a folder; those of an adapter are its base's with its changes."""
    if not is_adapter(folder):
        return Weights(folder)
    from bertlab.model.lora import AdaptedWeights

    return AdaptedWeights(folder)


def only_here(config: BertConfig, architecture: str) -> str:
    """Return one line on a head that transformers does not have, and on what opens it; "" for a published head."""
    named = ", ".join(f"{name}={getattr(config, name)}" for name in config.head_variants(architecture))
    if not named:
        return ""
    opens = "bertlab opens it, bertlab export writes it for ONNX Runtime"
    if config.pooling == "mean":
        opens += ", and BertForSentenceEmbedding saves its encoder for sentence-transformers"
    return f"transformers has no head with {named} and refuses this model; {opens}"


def best_device() -> str:
    """Return the kind of the GPU that PyTorch can use, or "cpu"."""
    return str(torch.accelerator.current_accelerator(check_available=True) or "cpu")


def beside(model: nn.Module, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the batch on the model's device."""
    device = next(model.parameters()).device
    return {name: tensor.to(device) for name, tensor in batch.items()}


def check_inputs(
    config: BertConfig,
    input_ids: Tensor,
    attention_mask: Tensor | None,
    token_type_ids: Tensor | None,
    head_mask: Tensor | None,
) -> None:
    """Raise an InputError that says in one line what does not fit, before an index error deep in an embedding does."""
    check_alike(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
    if input_ids.dim() != 2 or input_ids.size(1) == 0:
        raise InputError(f"input_ids must be (batch, tokens) with at least one token, not {tuple(input_ids.shape)}")
    tokens, most = input_ids.size(1), config.max_position_embeddings
    if tokens > most:
        raise InputError(
            f"the input has {tokens} tokens, this model takes {most} at most: "
            "shorten the text or tokenize with max_length"
        )
    for name, tensor in {"input_ids": input_ids, "token_type_ids": token_type_ids}.items():
        if tensor is not None and tensor.dtype not in (torch.int64, torch.int32):
            raise InputError(f"{name} must be whole numbers, int64 or int32, not {tensor.dtype}")
    if attention_mask is not None and attention_mask.dtype != torch.bool and may_be_read(attention_mask):
        if not ((attention_mask == 0) | (attention_mask == 1)).all():
            raise InputError("attention_mask must be 1 at tokens and 0 at padding; it holds other numbers")
    wanted = (config.num_hidden_layers, config.num_attention_heads)
    check_tensors(head_mask=head_mask)
    if head_mask is not None and head_mask.shape != wanted:
        raise InputError(f"head_mask must be (layers, heads) = {wanted}, not {tuple(head_mask.shape)}")
    check_range("input_ids", input_ids, config.vocab_size, "vocab_size; are they another tokenizer's?")
    if token_type_ids is not None:
        only = "; the model reads no pairs: leave token_type_ids out" if config.type_vocab_size == 1 else ""
        check_range("token_type_ids", token_type_ids, config.type_vocab_size, f"type_vocab_size{only}")


def check_tensors(**named: Tensor | None) -> None:
    """Raise an InputError that names the first argument that is there and no tensor."""
    for name, tensor in named.items():
        if tensor is not None and not isinstance(tensor, Tensor):
            raise InputError(f"{name} must be a tensor, not a {type(tensor).__name__}")


def check_alike(input_ids: Tensor, **named: Tensor | None) -> None:
    """Raise an InputError unless all are tensors, and those that are there have the shape of input_ids."""
    if input_ids is None:
        raise InputError("input_ids are missing; bertlab's models take no other form of the text")
    check_tensors(input_ids=input_ids, **named)
    for name, tensor in named.items():
        if tensor is not None and tensor.shape != input_ids.shape:
            raise InputError(f"{name} is {tuple(tensor.shape)}, input_ids {tuple(input_ids.shape)}")


def check_labels(name: str, labels: Tensor, shape: torch.Size, classes: int, reason: str) -> None:
    """Raise an InputError unless labels have this shape and, on a CPU, each is ignored or a class below `classes`."""
    check_tensors(**{name: labels})
    if labels.shape != shape:
        raise InputError(f"{name} must be {tuple(shape)}, not {tuple(labels.shape)}")
    if labels.is_floating_point() or labels.dtype == torch.bool:
        raise InputError(f"{name} must be whole numbers, not {labels.dtype}")
    if may_be_read(labels):
        check_range(name, labels[labels != IGNORED], classes, reason)


def check_range(name: str, ids: Tensor, limit: int, reason: str) -> None:
    """Raise an InputError, on a CPU, for ids outside 0..limit-1."""
    if not may_be_read(ids) or ids.numel() == 0:
        return
    low, high = (int(bound) for bound in ids.aminmax())
    if low < 0 or high >= limit:
        wrong = low if low < 0 else high
        raise InputError(f"{name} holds {wrong}, outside 0..{limit - 1} ({reason})")


def without_autocast(device: torch.device) -> AbstractContextManager[Any]:
    """Return a context in which products keep their type; "meta", which has no values to round, knows no autocast."""
    kind = device.type
    return torch.autocast(kind, enabled=False) if torch.amp.is_autocast_available(kind) else nullcontext()


def may_be_read(tensor: Tensor) -> bool:
    """Return whether a program may ask for the values of a tensor: on a CPU, where that waits for no device, and in no
    graph that is recorded."""
    return tensor.device.type == "cpu" and not is_recorded()


def is_recorded() -> bool:
    """Return whether this call becomes a graph (torch.compile, torch.export, torch.jit.trace). What it does must then
    not depend on the values in a tensor, only on shapes."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing()
