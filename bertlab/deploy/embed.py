"""The texts of a file as vectors in a file, in the same order."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from tqdm.auto import tqdm

from bertlab.corpora.labelled.columns import TEXTS, Columns, found_columns
from bertlab.corpora.labelled.records import read_records
from bertlab.corpora.reading import check_text
from bertlab.errors import InputError, require
from bertlab.io.atomic import atomic_file, check_out, keep_apart
from bertlab.search.vectors import TextEncoder

CHUNK = 4096  # texts that are sorted by length together
Write = Callable[[list[str], np.ndarray], None]  # texts and their vectors (n, H)


def embed_file(path: Path, out: Path, encoder: TextEncoder, column: str | None = None, encoding: str = "utf-8") -> int:
    """Write the vector of each text of a file to `out`, .npy (N, H) or .parquet (columns text, vector); return N.

    The file holds a text a line (.txt) or rows with named columns. It appears when it is complete. InputError names
    the file and line of an empty text.
    """
    keep_apart(out, [path])
    if out.suffix not in WRITERS:
        raise InputError(f"--out {out}: vectors are written as {' or '.join(WRITERS)}")
    if out.suffix == ".parquet":
        require("pyarrow", "data")
    check_out(out)
    texts = list(read_texts(path, column, encoding))
    if not texts:
        raise InputError(f"{path}: holds no text")
    bar = tqdm(total=len(texts), desc="vectors", unit=" texts", delay=1)
    with atomic_file(out) as file, WRITERS[out.suffix](file, (len(texts), encoder.model.config.hidden_size)) as write:
        for start in range(0, len(texts), CHUNK):
            some = texts[start : start + CHUNK]
            write(some, encoder.encode(some).numpy())
            bar.update(len(some))
    bar.close()
    return len(texts)


def read_texts(path: Path, column: str | None, encoding: str) -> Iterator[str]:
    """Yield the texts of a file, so that the n-th vector is that of the n-th line or row."""
    wanted, names = Columns(text=column), None
    for record in read_records(path, encoding, columns=wanted, every_line=True):
        if names is None:
            names = record.values
            column = found_columns(wanted, TEXTS, names, str(path), labelled=False).text
        assert column is not None  # found_columns names it
        yield check_text(record.value(column), record.cell(column))


@contextmanager
def npy(file: BinaryIO, shape: tuple[int, int]) -> Iterator[Write]:
    """Give what writes float32 vectors to a .npy file of this shape."""
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)

    def write(texts: list[str], vectors: np.ndarray) -> None:
        file.write(vectors.astype("<f4").tobytes())

    yield write


@contextmanager
def parquet(file: BinaryIO, shape: tuple[int, int]) -> Iterator[Write]:
    """Give what writes texts and float32 vectors to the columns `text` and `vector` of a Parquet file."""
    import pyarrow as arrow
    from pyarrow.parquet import ParquetWriter

    schema = arrow.schema([("text", arrow.string()), ("vector", arrow.list_(arrow.float32(), shape[1]))])
    with ParquetWriter(file, schema) as writer:

        def write(texts: list[str], vectors: np.ndarray) -> None:
            column = arrow.FixedSizeListArray.from_arrays(arrow.array(vectors.ravel()), shape[1])
            writer.write_table(arrow.table([arrow.array(texts), column], schema=schema))

        yield write


WRITERS = {".npy": npy, ".parquet": parquet}
