"""How a sentence encoder of sentence-transformers makes its vector, by the files beside the model.

Whatever in them asks for another computation is refused: a vector without one of its steps looks like any other.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers.normalizers import Lowercase

from bertlab.errors import InputError
from bertlab.io.gate import brief, file_below, parse_json, present, read_json, read_text
from bertlab.model.mixing import Pooling

KINDS: tuple[Pooling, ...] = ("cls", "mean", "max")
ENCODERS = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])  # the modules, in their order
TRANSFORMER = "sentence_bert_config.json"
# What may stand in that file beside max_seq_length and do_lower_case: the last states of a text's tokens.
LAST_STATES = {
    "transformer_task": "feature-extraction",
    "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
    "module_output_name": "token_embeddings",
}
WHOLE_TEXT = {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}  # of a Normalize
LENGTHS = range(3, 1_000_000)  # tokens; a text between [CLS] and [SEP] takes three, and 1e30 stands for no limit


class OwnPooling(NamedTuple):
    """How a sentence encoder makes its vector (H,) of the last states of all tokens, [CLS] and [SEP] included.

    `unit`: the vector is then scaled to length 1. `lower`: the text is lower-cased first, also where the tokenizer
    keeps capitals. `max_length`: tokens of a text that are read; None: as many as the model has positions.
    """

    kind: Pooling
    unit: bool
    lower: bool = False
    max_length: int | None = None


def lowered(text: str) -> str:
    """Return the text in small letters, as sentence-transformers makes them."""
    return Lowercase().normalize_str(text)


def own_pooling(folder: Path) -> OwnPooling | None:
    """Return what the files of sentence-transformers beside a model say; None where there are none.

    Raises InputError for damaged files, and for a step that OwnPooling has not, such as a further layer.
    """
    home = folder if present(folder / "modules.json") else folder.parent  # early releases keep the BERT in 0_BERT
    path = home / "modules.json"
    if not present(path):
        return None
    modules = _modules(path)
    folders = [file_below(home, module.get("path"), path) for module in modules]
    if folder not in folders[:1]:
        if home != folder:  # the list of other models
            return None
        raise InputError(f"{path}: the first module, the Transformer, does not lie in this folder")
    if (kinds := [_kind(module) for module in modules]) not in ENCODERS:
        known = "Transformer, Pooling and, if at all, Normalize"
        raise InputError(f"{path}: modules {brief(', '.join(kinds))}; vectors are made by {known}, in this order")
    _check_prompt(home / "config_sentence_transformers.json")
    if len(folders) > 2:
        _check_fields(
            folders[2] / "config.json", dict.fromkeys(("module_input_name", "module_output_name"), "sentence_embedding")
        )
    lower, length = _reading(folder)
    return OwnPooling(_pooling(folders[1] / "config.json"), len(folders) > 2, lower, length)


def _modules(path: Path) -> list[dict[str, Any]]:
    modules = parse_json(read_text(path), path)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise InputError(f"{path}: no list of modules")
    return modules


def _kind(module: dict[str, Any]) -> str:
    """Return the class of a module; of the library's own, without the packages that it lies in."""
    kind = str(module.get("type"))
    name = kind.rpartition(".")[2] if kind.startswith("sentence_transformers.") else kind
    return "Transformer" if name == "BERT" else name  # as the first releases called it


def _pooling(path: Path) -> Pooling:
    """Return the pooling of a config: "pooling_mode" of release 6, before it a flag for each kind."""
    config = read_json(path)
    flags = {name: on for name, on in config.items() if name.startswith("pooling_mode_")}
    for name, on in flags.items():
        if not isinstance(on, bool):
            raise InputError(f"{path}: {name} must be true or false, not {brief(on)}")
    # "cls_token", "mean_tokens"; the mean where none is on
    named = [re.sub("_tokens?$", "", name.removeprefix("pooling_mode_")) for name, on in flags.items() if on]
    chosen = config.get("pooling_mode", named or ["mean"])
    chosen = chosen if isinstance(chosen, list) else [chosen]
    if len(chosen) != 1 or chosen[0] not in KINDS:
        shown = brief(", ".join(map(str, chosen)))
        raise InputError(f"{path}: pooling {shown}; known are {', '.join(KINDS)}, one at a time")
    return chosen[0]


def _reading(folder: Path) -> tuple[bool, int | None]:
    """Return whether texts are lower-cased, and how many tokens of them are read."""
    path, tokenizer = folder / TRANSFORMER, folder / "tokenizer_config.json"
    config = read_json(path) if present(path) else {}
    lower, length = config.pop("do_lower_case", None) or False, config.pop("max_seq_length", None)
    if not isinstance(lower, bool):
        raise InputError(f"{path}: do_lower_case must be true or false, not {brief(lower)}")
    config.pop("unpad_inputs", None)  # how fast it is
    _check_fields(path, LAST_STATES, config)
    if length is None and present(tokenizer):  # where release 6 keeps it
        path, length = tokenizer, read_json(tokenizer).get("model_max_length")
    if length is None:
        return lower, None
    if isinstance(length, bool) or not isinstance(length, int | float) or not length >= LENGTHS.start:
        raise InputError(f"{path}: the most tokens of a text must be {LENGTHS.start} or more, not {brief(length)}")
    return lower, int(length) if length < LENGTHS.stop else None


def _check_fields(path: Path, known: dict[str, Any], config: dict[str, Any] | None = None) -> None:
    """Raise an InputError for a field of a module's config that has a value, unless it is the known one."""
    if config is None:
        config = read_json(path) if present(path) else {}
    for name, value in config.items():
        if value not in (None, {}) and value != known.get(name):
            raise InputError(f"{path}: {brief(name)} is {brief(value)}, which might change the vectors")


def _check_prompt(path: Path) -> None:
    """Raise an InputError for a text that sentence-transformers puts before each text unasked."""
    config = read_json(path) if present(path) else {}
    prompts, name = config.get("prompts"), config.get("default_prompt_name")
    if name is not None and (not isinstance(prompts, dict) or prompts.get(str(name)) != ""):
        raise InputError(f"{path}: default_prompt_name is {brief(name)}; bertlab puts no prompt before a text")
