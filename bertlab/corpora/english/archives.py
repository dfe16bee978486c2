"""Files of a corpus, from its .tar.xz as it was downloaded or from the folder that it was unpacked to."""

import csv
import io
import lzma
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from tqdm import tqdm

from bertlab.corpora.english.sources import Source
from bertlab.errors import InputError
from bertlab.io.files import open_file


class Member(NamedTuple):
    """A file of a corpus, open for reading until the next one is asked for."""

    path: str  # below the corpus folder: "stokerbram/Dracula_s_Guest.txt"
    file: BinaryIO
    home: Path  # the archive or the folder that it is from

    def lines(self) -> Iterator[str]:
        """Yield the lines of the file, which is UTF-8; InputError names what it is from if it cannot be read."""
        with _readable(self.home):
            yield from io.TextIOWrapper(self.file, encoding="utf-8", newline="")

    def texts(self) -> Iterator[str]:
        """Yield the column "text" of the file, which is CSV; InputError names the line of a row without one."""
        with _readable(self.home):
            rows = csv.DictReader(self.lines())
            for row in rows:
                if row.get("text") is None:
                    where = f"{self.home}: {self.path}, line {rows.line_num}"
                    raise InputError(f"{where}: no column 'text'; download or unpack it again")
                yield row["text"]


def read_members(folder: Path, source: Source, progress: bool = False) -> Iterator[Member]:
    """Yield the files of `source` below `folder`, one at a time: of the archive in its order, unpacked ones sorted.

    InputError: there is neither an archive nor an unpacked file, or one cannot be read.
    """
    home = folder / source.folder
    archive = home / f"{source.folder}.tar.xz"
    packed = archive.is_file()
    with _readable(archive if packed else home):
        yield from _packed(archive, progress) if packed else _unpacked(home, source, progress)


@contextmanager
def _readable(home: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{home}: cannot be read ({error})") from error


def _packed(archive: Path, progress: bool) -> Iterator[Member]:
    bar = {"desc": archive.name, "total": archive.stat().st_size, "disable": not progress, "leave": False}
    with open_file(archive) as raw, tqdm.wrapattr(raw, "read", **bar) as counted:
        # not "r|xz", whose files cannot be read as text
        with lzma.open(counted) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            for member in tar:
                file = tar.extractfile(member)
                if file is not None:
                    yield Member(member.name.partition("/")[2], cast(BinaryIO, file), archive)


def _unpacked(home: Path, source: Source, progress: bool) -> Iterator[Member]:
    """Unpacking makes a folder of the corpus's name, beside the archive or instead of it."""
    top = home / source.folder if (home / source.folder).is_dir() else home
    files = sorted(path for path in top.rglob("*") if path.suffix in (".txt", ".csv") and path.stem != "SOURCE")
    if not files:
        raise InputError(f"{home}: {source.wanted}")
    for path in tqdm(files, source.folder, unit=" files", disable=not progress, leave=False):
        with open_file(path) as file:
            yield Member(path.relative_to(top).as_posix(), file, home)
