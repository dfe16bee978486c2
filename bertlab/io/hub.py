"""Checkpoints from and to the Hugging Face hub, or any server that speaks as it does (HF_ENDPOINT).

`huggingface_hub` does the work, with its cache (HF_HOME), its token (HF_TOKEN or `hf auth login`), its progress
bar (on stderr) and HF_HUB_OFFLINE. This module chooses the files and turns its many errors into one line each.
"""

import errno
import os
import re
from pathlib import Path

from bertlab.errors import InputError

ID = re.compile(r"(\w[\w.-]*/\w[\w.-]*)(?:@(\w[\w./-]*))?")
# The first published models are known by a bare name; on the hub they belong to this organisation.
FIRST_MODELS = re.compile(r"bert-(?:base|large)-[\w-]+(?:@\w[\w./-]*)?")
THEIR_HOME = "google-bert"

# What says how texts are read: the lengths of a run of bertlab, and the pooling of sentence-transformers.
READING = [
    "recipe.json",
    "modules.json",
    "sentence_*_config.json",
    "config_sentence_transformers.json",
    "?_*/config.json",
]
SMALL_FILES = [
    *READING,
    "config.json",
    "adapter_config.json",
    "adapter_model.safetensors",  # small beside any model
    "vocab.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "added_tokens.json",
    "special_tokens_map.json",
]
SAFETENSORS = [
    "adapter_model.safetensors",
    "model.safetensors",
    "model.safetensors.index.json",
    "model-*-of-*.safetensors",
]
PICKLES = ["pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin"]
LOG_IN = "log in with `hf auth login` or set HF_TOKEN"
FULL = (errno.ENOSPC, errno.EDQUOT)
INNER = "0_*/"  # the BERT of an early sentence-transformers model


def is_id(name: str) -> bool:
    """Return True for "org/name" and "org/name@revision"."""
    return bool(ID.fullmatch(name) or FIRST_MODELS.fullmatch(name))


def download(name: str, weights: bool) -> Path:
    """Return the folder in the hub's cache that holds config and tokenizer of a model and, if asked for, its weights.

    Only these files are fetched; of the weights either the safetensors or, where there are none, the pickles. Raises
    InputError with one line that says what to do.
    """
    name = f"{THEIR_HOME}/{name}" if FIRST_MODELS.fullmatch(name) else name
    named = ID.fullmatch(name)
    assert named is not None, "a name that is_id allows"
    repository, revision = named.groups()
    folder = _fetch(repository, revision, SMALL_FILES + (SAFETENSORS if weights else []))
    found = (file for pattern in SAFETENSORS for place in ("", INNER) for file in folder.glob(place + pattern))
    if weights and not any(found):
        folder = _fetch(repository, revision, SMALL_FILES + PICKLES)
    return folder


def _fetch(repository: str, revision: str | None, files: list[str]) -> Path:
    from huggingface_hub import snapshot_download

    files = [place + file for place in ("", INNER) for file in files]
    try:
        return Path(snapshot_download(repository, revision=revision, allow_patterns=files))
    except Exception as error:  # the client's errors (network, HTTP, cache, offline) share no base class
        reason = _reason(error, repository, revision)
        raise InputError(f"{repository!r} is no folder here, and cannot be fetched from the hub: {reason}") from error


def _reason(error: Exception, repository: str, revision: str | None) -> str:
    """Return what went wrong and what to do."""
    from huggingface_hub import constants, errors

    hub, log_in = constants.ENDPOINT, LOG_IN
    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, errors.HfHubHTTPError):
        error = error.__cause__  # why the cache was looked at
    match error:
        case errors.GatedRepoError():
            return f"it is open only to those who asked; ask at {hub}/{repository}, then {log_in}"
        case errors.RepositoryNotFoundError():
            return f"there is no such model at {hub}; check the name or, if it is private, {log_in}"
        case errors.RevisionNotFoundError():
            return f"it has no branch, tag or commit {revision!r}"
        case errors.HFValidationError():
            return "this is no name of a model (org/name)"
        case errors.LocalEntryNotFoundError() if constants.HF_HUB_OFFLINE:
            return "HF_HUB_OFFLINE is set and it is not, or not wholly, in the cache; unset that once to download it"
        case _ if getattr(error, "errno", 0) in FULL or os.strerror(errno.ENOSPC) in str(error):
            return f"no space is left in {constants.HF_HUB_CACHE}; free some or set HF_HOME to another disk"
        case errors.HfHubHTTPError() if error.response.status_code == 401:
            return f"your token is not accepted; {log_in}"
        case errors.HfHubHTTPError():
            return f"{hub} answers {error.response.status_code}; try again later"
        case errors.LocalEntryNotFoundError():
            return f"{hub} cannot be reached; check the network (and HF_ENDPOINT)"
        case OSError(filename=str()):
            return f"{error.filename} cannot be used ({error.strerror}); set HF_HOME to a folder of yours"
        case _:
            first_line = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            return f"the download broke off ({first_line}); try again"
