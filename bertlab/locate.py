"""From a name to a folder: a path, a bundled model, or a model of the Hugging Face hub."""

import re
from pathlib import Path

from bertlab.errors import InputError

HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")
HUB_FILES = ["config.json", "model.safetensors", "vocab.txt", "tokenizer.json", "tokenizer_config.json"]


def data_folder() -> Path:
    """The folder of shipped data: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).parent
    installed = package / "data"
    return installed if installed.is_dir() else package.parent / "data"


def bundled_models() -> list[str]:
    """Names of the checkpoints that come with bertlab; snapshots lie below them as NAME/step-00100."""
    return _checkpoints_in(data_folder() / "models")


def locate(name_or_path: str | Path) -> Path:
    """The folder that a user means.

    In this order: an existing folder; a bundled model ("storyworld-tiny", "storyworld-tiny/step-00100");
    a hub id "org/name", which is downloaded once and then found in the hub's cache.

    Raises InputError when it is none of these; the message lists the bundled names.
    """
    name = str(name_or_path)
    if not name.strip():
        raise InputError(f"an empty name is no model; {_known()}")
    try:
        path = Path(name).expanduser()
        if path.is_dir():
            return path
        if path.is_file():
            raise InputError(f"{path} is a file; give its folder, with config.json and model.safetensors")
    except (OSError, RuntimeError):  # too long for the file system; ~user without a home
        pass
    return _bundled(name) or _from_hub(name)


def _bundled(name: str) -> Path | None:
    first, *rest = Path(name).parts
    if first not in bundled_models():  # also keeps out absolute paths and ".."
        return None
    model = data_folder() / "models" / first
    if not rest:
        return model
    snapshots = _checkpoints_in(model)
    if len(rest) == 1 and rest[0] in snapshots:
        return model / rest[0]
    raise InputError(f"{_quoted(name)}: {first} has no such snapshot; it has: {', '.join(snapshots) or 'none'}")


def _from_hub(name: str) -> Path:
    if not HUB_ID.fullmatch(name):
        raise InputError(f"{_quoted(name)} is no folder, bundled model or hub id (org/name); {_known()}")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=HUB_FILES))
    except Exception as error:  # the client's errors (network, HTTP, cache, offline) share no base class
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{_quoted(name)} is no folder and cannot be had from the hub ({reason}); {_known()}"
        ) from error


def _checkpoints_in(folder: Path) -> list[str]:
    return sorted(config.parent.name for config in folder.glob("*/config.json"))


def _known() -> str:
    return f"bundled: {', '.join(bundled_models()) or 'none'}"


def _quoted(name: str) -> str:
    """The name on one line and of bearable length, whatever was typed."""
    return repr(name if len(name) <= 80 else name[:77] + "...")
