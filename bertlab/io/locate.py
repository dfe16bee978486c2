"""From a name to a folder: a path, a bundled model, or a model of the Hugging Face hub."""

from pathlib import Path

from bertlab.errors import InputError, brief
from bertlab.io.files import file_below, present, read_text
from bertlab.io.json_files import parse_json

ADAPTER, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"  # of a folder with changes of a model


def data_folder() -> Path:
    """Return the folder of shipped data: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "data"
    return installed if installed.is_dir() else package.parent / "data"


def bundled_models() -> list[str]:
    """Return the names of the checkpoints that come with bertlab; their snapshots are NAME/step-00100."""
    return sorted(config.parent.name for config in (data_folder() / "models").glob("*/config.json"))


def locate(name_or_path: str | Path, weights: bool = False) -> Path:
    """Return the folder that a user means.

    It is, in this order: an existing folder; a bundled model ("storyworld-tiny", "storyworld-tiny/step-00100");
    a hub id "org/name" or "org/name@revision" (a branch, a tag or a commit), which is downloaded once and
    then found in the hub's cache: its small files and, if asked for, its weights.

    Raises InputError when it is none of these; the message lists the bundled names.
    """
    name = str(name_or_path)
    if not name.strip():
        raise InputError(f"an empty name is no model; {_known()}")
    try:
        path = Path(name).expanduser()
        if path.is_dir():
            return _transformer_in(path)
        if path.is_file():
            raise InputError(f"{path} is a file; give its folder, with config.json and model.safetensors")
    except (OSError, RuntimeError):  # too long for the file system; ~user without a home
        pass
    return _bundled(name) or _from_hub(name, weights)


def is_adapter(folder: Path) -> bool:
    """Return whether a folder holds an adapter, not a whole model."""
    return present(folder / ADAPTER)


def snapshots(folder: Path) -> dict[int, Path]:
    """Return the snapshots that a training left in its folder, step-00100/ and the like, by their step."""
    found = {path.parent.name.removeprefix("step-"): path.parent for path in folder.glob("step-*/config.json")}
    return {int(number): found[number] for number in sorted(filter(str.isdecimal, found), key=int)}


def _bundled(name: str) -> Path | None:
    first, *rest = Path(name).parts
    if first not in bundled_models():  # also keeps out absolute paths and ".."
        return None
    model = data_folder() / "models" / first
    if not rest:
        return model
    names = [path.name for path in snapshots(model).values()]
    if len(rest) == 1 and rest[0] in names:
        return model / rest[0]
    raise InputError(f"{brief(name)}: {first} has no such snapshot; it has: {', '.join(names) or 'none'}")


def _from_hub(name: str, weights: bool) -> Path:
    from bertlab.io import hub

    if not hub.is_id(name):
        raise InputError(f"{brief(name)} is no folder, bundled model or hub id (org/name); {_known()}")
    try:
        return _transformer_in(hub.download(name, weights))
    except InputError as error:
        raise InputError(f"{error}; {_known()}") from error


def _transformer_in(folder: Path) -> Path:
    """Early sentence-transformers folders keep the BERT in a folder of its own, the first of modules.json."""
    modules = folder / "modules.json"
    if present(folder / "config.json") or not present(modules):
        return folder
    values = parse_json(read_text(modules), modules)
    try:
        name = values[0]["path"]
    except (LookupError, TypeError) as error:
        raise InputError(f"{modules}: no list of modules, each with its path") from error
    inner = file_below(folder, name, modules)
    return inner if present(inner / "config.json") else folder


def _known() -> str:
    return f"bundled: {', '.join(bundled_models()) or 'none'}"
