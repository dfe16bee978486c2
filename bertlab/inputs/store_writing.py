"""Making a token store from a stream of documents; called again after a kill, it goes on where it stopped.

The files grow in a hidden folder beside the future store. Every few seconds the header there records how much of them
counts; at the end that folder takes the store's name. The same text gives the same bytes, whatever the number of
processes and however often the work was cut off.
"""

import json
import os
import shutil
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

import numpy as np
from filelock import FileLock, Timeout
from tqdm import tqdm

from bertlab.errors import InputError
from bertlab.inputs.store import (
    DOCUMENTS,
    HEADER,
    OFFSET,
    SENTENCES,
    TOKENS,
    Header,
    TokenStore,
    read_header,
    vocabulary_hash,
)
from bertlab.inputs.tokenizing import Chunk, Document, TokenizedDocuments, checked, chunks, encoded
from bertlab.io.atomic import atomic_write, plain_errors
from bertlab.io.files import expanded
from bertlab.tokenizer import Tokenizer

SAVE_SECONDS = 5.0  # of work are lost at most when the process is killed


def write_store(
    folder: str | Path,
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    *,
    processes: int = 1,
    progress: bool = True,
) -> TokenStore:
    """Tokenize `documents` into a new store, with only a few of them in memory at a time.

    A document is its sentences, or one text that is yet to be cut into sentences. Those without a token are left
    out and counted. With `processes` above 1, so many tokenize while this one reads and writes (a script then needs
    `if __name__ == "__main__":`). Called again after a kill, with the same documents, it goes on where it stopped.

    Raises InputError if `folder` exists or another process writes to it, if its unfinished store is of another text or
    vocabulary, if a document is no text (it is named by its number), or if none holds a token.
    """
    if processes < 1:
        raise InputError(f"processes={processes}: must be at least 1")
    folder = expanded(folder).absolute()
    documents = iter(documents)
    with _workplace(folder) as work, closing(_Writer(work, tokenizer)) as writer:
        writer.skip(documents)
        left = chunks(documents, writer.done, writer.header.text_checksum)
        how = {"unit": " tokens", "unit_scale": True, "disable": not progress, "leave": False, "delay": 0.5}
        bar = tqdm(initial=writer.header.tokens, **how)
        with closing(encoded(left, tokenizer, processes)) as parts, bar:
            for chunk, part in parts:
                writer.add(chunk, part)
                bar.update(len(part.tokens))
        writer.finish(tokenizer)
    return TokenStore.open(folder, tokenizer)


@contextmanager
def _workplace(folder: Path) -> Iterator[Path]:
    """Give the folder to make the store in; afterwards it becomes `folder`.

    After an error it stays, to go on in, if it holds a saved part of a store.
    """
    if folder.exists():
        raise InputError(f"{folder} exists already: choose another name for the store, or remove it")
    around = folder.with_name(f".{folder.name}.part")
    work = around / "store"
    with plain_errors(folder):
        work.mkdir(parents=True, exist_ok=True)
    lock = FileLock(around / "lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise InputError(f"{folder}: another process is writing it; wait for that, or choose another name") from None
    try:
        yield work
        with plain_errors(folder):
            work.rename(folder)
    finally:
        lock.release()
        if not (work / HEADER).exists():
            shutil.rmtree(around, ignore_errors=True)


class _Writer:
    """Appends to the files of an unfinished store; `header` is up to date with them."""

    def __init__(self, folder: Path, tokenizer: Tokenizer):
        """Begin a store in `folder`, or go on with that which is there."""
        self.folder = folder
        self.header = self._old(tokenizer) if (folder / HEADER).exists() else self._new(tokenizer)
        self.files: dict[str, BinaryIO] = {}
        with plain_errors(folder):
            for name, size in self.header.sizes().items():  # cut off what was written after the last save
                (folder / name).touch()
                self.files[name] = (folder / name).open("r+b")
                self.files[name].truncate(size)
                self.files[name].seek(size)
        self.saved = time.monotonic()

    def _new(self, tokenizer: Tokenizer) -> Header:
        _remove(self.folder.iterdir())
        header = Header("uint16" if tokenizer.vocab_size <= 1 << 16 else "uint32", vocabulary_hash(tokenizer))
        header.checksums = {name: zlib.crc32(bytes(size)) for name, size in header.sizes().items()}  # each first is 0
        return header

    def _old(self, tokenizer: Tokenizer) -> Header:
        _remove(self.folder.glob(".*"))  # cut off while saving
        header = read_header(self.folder)
        if header.vocabulary != vocabulary_hash(tokenizer):
            raise InputError(self._other("vocabulary"))
        for name, size in header.sizes().items():
            if not (self.folder / name).is_file() or (self.folder / name).stat().st_size < size:
                raise InputError(f"{self.folder / name}: shorter than it was; remove that folder to start anew")
        return header

    def _other(self, what: str) -> str:
        return f"{self.folder} holds an unfinished store of another {what}: go on with that, or remove this folder"

    @property
    def done(self) -> int:
        """How many documents of the text are stored or were left out."""
        return self.header.documents + self.header.empty_documents

    def skip(self, documents: Iterator[Document]) -> None:
        """Take from `documents` those that are stored; InputError where they are others."""
        checksum = 0
        for number in range(1, self.done + 1):
            checksum = zlib.crc32(checked(next(documents, ""), number)[1], checksum)
        if checksum != self.header.text_checksum:
            raise InputError(self._other("text"))

    def add(self, chunk: Chunk, part: TokenizedDocuments) -> None:
        header = self.header
        numbers = {
            TOKENS: part.tokens.astype(np.dtype(header.dtype).newbyteorder("<")),
            SENTENCES: (header.tokens + part.lengths.cumsum()).astype(OFFSET),
            DOCUMENTS: (header.sentences + part.counts.cumsum()).astype(OFFSET),
        }
        with plain_errors(self.folder):
            for name, values in numbers.items():
                self.files[name].write(values.data)
                header.checksums[name] = zlib.crc32(values.data, header.checksums[name])
        header.tokens += len(part.tokens)
        header.sentences += len(part.lengths)
        header.documents += len(part.counts)
        header.empty_documents += len(chunk.documents) - len(part.counts)
        header.text_checksum = chunk.checksum
        if header.documents and time.monotonic() - self.saved >= SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """Make everything added so far count, come what may."""
        with plain_errors(self.folder):
            for file in self.files.values():
                file.flush()
                os.fsync(file.fileno())
        atomic_write(self.folder / HEADER, json.dumps(asdict(self.header), indent=2) + "\n")
        self.saved = time.monotonic()

    def finish(self, tokenizer: Tokenizer) -> None:
        """Complete the store. InputError where it is empty, or where the disk does not hold what was written."""
        if not self.header.documents:
            raise InputError(f"no document holds a token ({self.header.empty_documents} were empty): give some text")
        tokenizer.save_pretrained(self.folder)
        self.save()
        self.header.verify(self.folder)

    def close(self) -> None:
        for file in self.files.values():
            file.close()


def _remove(left: Iterable[Path]) -> None:
    for entry in left:
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
