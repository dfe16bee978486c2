"""Checkpoints of the Hugging Face hub, or of any server that speaks as it does (HF_ENDPOINT).

The work is done by `huggingface_hub`: its cache (HF_HOME), its token (HF_TOKEN or `hf auth login`), its
progress bar (on stderr) and HF_HUB_OFFLINE. What stands here is which files are wanted, and its many errors
as one line each.
"""

import errno
import re
from pathlib import Path

from bertlab.errors import InputError

ID = re.compile(r"(\w[\w.-]*/\w[\w.-]*)(?:@(\w[\w./-]*))?")
# The first published models have names without an organisation on the hub, which leads on to this one.
FIRST_NAMES = re.compile(r"bert-(?:base|large)-[\w-]+")

TEXT_FILES = ["config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json"]
MODULES = ["modules.json", "0_*/config.json", "0_*/vocab.txt", "0_*/tokenizer*.json"]  # sentence-transformers
SAFETENSORS = ["model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors"]
PICKLES = ["pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin"]


def is_id(name: str) -> bool:
    """True for "org/name" and "org/name@revision" (a branch, a tag or a commit)."""
    return bool(ID.fullmatch(name) or FIRST_NAMES.fullmatch(name))


def download(name: str, weights: bool) -> Path:
    """The folder in the hub's cache with the files of a BERT: config, tokenizer and, if asked for, weights.

    Of the weights the safetensors files, or the pickles where there are no others: never both. Raises
    InputError with one line that says what to do.
    """
    if FIRST_NAMES.fullmatch(name):
        name = f"google-bert/{name}"
    repository, revision = ID.fullmatch(name).groups()
    folder = _fetch(repository, revision, TEXT_FILES + (SAFETENSORS if weights else []))
    if weights and not any(path for pattern in SAFETENSORS for path in folder.glob(pattern)):
        folder = _fetch(repository, revision, TEXT_FILES + PICKLES)
    return folder


def _fetch(repository: str, revision: str | None, patterns: list[str]) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(repository, revision=revision, allow_patterns=patterns))
    except Exception as error:  # the client's errors (network, HTTP, cache, offline) share no base class
        raise InputError(f"{_reason(error, repository, revision)}") from error


def _reason(error: Exception, repository: str, revision: str | None) -> str:
    """One line: what went wrong and what to do."""
    from huggingface_hub import constants, errors

    log_in = "log in with `hf auth login` or set HF_TOKEN"
    match error:
        case errors.GatedRepoError():
            page = f"{constants.ENDPOINT}/{repository}"
            return f"{repository} is open only to those who asked: ask for access at {page}, then {log_in}"
        case errors.RepositoryNotFoundError():
            return f"{repository} is not on the hub ({constants.ENDPOINT}): check the name; if it is private, {log_in}"
        case errors.RevisionNotFoundError():
            return f"{repository} has no branch, tag or commit {revision!r}: see {constants.ENDPOINT}/{repository}"
        case errors.LocalEntryNotFoundError() if constants.HF_HUB_OFFLINE:
            return f"{repository} is not (or not wholly) in the hub's cache and HF_HUB_OFFLINE is set: unset it once"
        case errors.HfHubHTTPError() if error.response.status_code == 401:
            return f"the hub does not accept your token for {repository}: {log_in}"
        case errors.HfHubHTTPError():
            return f"the hub answers {error.response.status_code} for {repository}: try again later"
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return f"{repository}: no space left for it in {constants.HF_HUB_CACHE}: free some, or set HF_HOME"
        case errors.LocalEntryNotFoundError():
            return f"{repository}: the hub ({constants.ENDPOINT}) cannot be reached: check network and HF_ENDPOINT"
        case _:
            return f"{repository}: the download was cut off ({_first_line(error)}): try again"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
