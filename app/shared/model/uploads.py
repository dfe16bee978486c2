"""A model from the visitor's browser: read only as data, limited in size, in a folder of this session."""

import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, BinaryIO

import streamlit as st

from bertlab.errors import InputError

MOST_MEGABYTES = 1_500  # bert-large in 32 bits is 1.3 GB
TEXT_MEGABYTES = 32  # config and tokenizer: the largest published vocabularies stay below ten
MODULE = re.compile(r"\d_\w+/config\.json")  # of a sentence encoder, beside its modules.json
FILES = {"config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json", "modules.json"}
MORE = {  # which change tokens or vectors
    "added_tokens.json",
    "special_tokens_map.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
}
WEIGHTS = {"model.safetensors", "pytorch_model.bin"}
CHUNK = 1 << 20


def unpack(uploads: Sequence[BinaryIO], folder: Path) -> None:
    """Write an uploaded model, one zip or single files, into an empty `folder`.

    Only the files of a checkpoint are taken, by their bare names, so no path inside a zip is followed. Raises
    InputError, with `folder` empty again, for any other file and for more than MOST_MEGABYTES, whatever sizes the zip
    claims.
    """
    try:
        zips = [upload for upload in uploads if upload.name.lower().endswith(".zip")]
        if zips and len(uploads) > 1:
            raise InputError(f"{zips[0].name} is not the only file: give one zip, or the files of one model")
        if zips:
            _unzip(zips[0], folder)
        else:
            for upload in uploads:
                _keep(Path(upload.name).name, upload, folder)
        _complete(folder)
    except (InputError, OSError) as error:
        shutil.rmtree(folder)
        folder.mkdir()
        if isinstance(error, OSError):
            raise InputError(f"the upload cannot be kept on this server: {error.strerror}") from error
        raise


def _unzip(upload: BinaryIO, folder: Path) -> None:
    try:
        with zipfile.ZipFile(upload) as packed:
            for name, info in _one_folder(packed, upload.name):
                with packed.open(info) as file:
                    _keep(name, file, folder)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise InputError(f"{upload.name}: not a readable zip ({error})") from error


def _one_folder(packed: zipfile.ZipFile, name: str) -> list[tuple[str, zipfile.ZipInfo]]:
    """Return the files beside the topmost config.json by name; snapshots and the like below it are left out."""
    configs = [Path(info.filename) for info in packed.infolist() if Path(info.filename).name == "config.json"]
    if not configs:
        raise InputError(f"{name} has no config.json: zip the folder that save_pretrained wrote")
    home = min(configs, key=lambda path: len(path.parts)).parent
    files = [info for info in packed.infolist() if not info.is_dir() and Path(info.filename).is_relative_to(home)]
    named = [(Path(info.filename).relative_to(home).as_posix(), info) for info in files]
    return [(name, info) for name, info in named if _is_taken(name)]


def _is_taken(name: str) -> bool:
    return name in FILES | MORE | WEIGHTS or bool(MODULE.fullmatch(name))


def _keep(name: str, source: IO[bytes], folder: Path) -> None:
    if not _is_taken(name):
        raise InputError(f"{name}: not a file of a model. Give {', '.join(sorted(FILES | WEIGHTS))}, or one zip")
    if (folder / name).exists():
        raise InputError(f"{name} was given twice: give each file once")
    (folder / name).parent.mkdir(exist_ok=True)
    most = MOST_MEGABYTES if name in WEIGHTS else TEXT_MEGABYTES
    room = most * 1_000_000
    with open(folder / name, "wb") as file:
        while chunk := source.read(CHUNK):
            room -= len(chunk)
            if room < 0:
                raise InputError(f"{name} is larger than {most:,} MB, the limit for uploads: open it as a folder")
            file.write(chunk)


def _complete(folder: Path) -> None:
    for wanted in ({"config.json"}, WEIGHTS, {"vocab.txt", "tokenizer.json"}):
        if not any((folder / name).exists() for name in wanted):
            raise InputError(f"{' or '.join(sorted(wanted))} is missing: add it to the upload")


def uploaded() -> str | None:
    """Return the folder of the uploaded model, None if there is none. It is removed when the session ends.

    Raises InputError, at every rerun, for an upload that cannot be used; the one before it stays usable.
    """
    uploads = st.session_state.get("upload") or []
    key = tuple(upload.file_id for upload in uploads)
    if key and key == st.session_state.get("upload_aside"):
        return None
    if st.session_state.get("upload_key", ()) != key:
        st.session_state.upload_key = key
        if not uploads:
            forget()
        st.session_state.upload_problem = _take(uploads) if uploads else None
    if problem := st.session_state.get("upload_problem"):
        raise InputError(problem)
    return current()


def current() -> str | None:
    """Return the folder of the last upload that could be used."""
    return next(iter(st.session_state.get("upload_names", {})), None)


def name() -> str | None:
    """Return the name of the uploaded file that is shown; None if another model is shown."""
    aside = st.session_state.get("upload_aside") == st.session_state.get("upload_key", ())
    return None if aside else next(iter(st.session_state.get("upload_names", {}).values()), None)


def set_aside() -> None:
    """Show another model although the upload field has one; a new upload is shown again."""
    st.session_state.upload_aside = st.session_state.get("upload_key", ())


def follow(name: str | None) -> None:
    """Show the upload of that name again, or set it aside without one: Back or Forward has led there."""
    if name and name == next(iter(st.session_state.get("upload_names", {}).values()), None):
        st.session_state.pop("upload_aside", None)
    else:
        set_aside()


def _take(uploads: Sequence[BinaryIO]) -> str | None:
    """Unpack them for this session, replacing those before. Returns what is wrong with them; None if nothing."""
    home = tempfile.TemporaryDirectory(prefix="bertlab-")
    try:
        unpack(uploads, Path(home.name))
    except InputError as error:
        home.cleanup()
        return str(error)
    forget()
    st.session_state.upload_home = home
    st.session_state.upload_names = {home.name: uploads[0].name if len(uploads) == 1 else "my upload"}
    return None


def forget() -> None:
    """Remove this session's upload, if it has one."""
    if "upload_home" in st.session_state:
        st.session_state.pop("upload_home").cleanup()
    st.session_state.upload_names = {}
