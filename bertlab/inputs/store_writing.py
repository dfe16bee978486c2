"""Making a token store: from a stream of documents, with several processes, going on where a killed one stopped.

The files grow in a hidden folder beside the store-to-be, in which every few seconds the header tells how much of
them counts; at the end that folder takes the store's name. The same text gives the same bytes, whatever the number
of processes and however often the work was cut off.
"""

import json
import multiprocessing
import os
import shutil
import signal
import threading
import time
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from filelock import FileLock, Timeout
from tqdm import tqdm

from bertlab.corpora.sentences import split_text
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
from bertlab.io.atomic import atomic_write, plain_errors
from bertlab.tokenizer import Tokenizer

CHUNK_BYTES = 250_000  # of text, tokenized at a time
SAVE_SECONDS = 5.0  # of work are lost at most when the process is killed


def write_store(
    folder: str | Path,
    documents: Iterable[Sequence[str] | str],
    tokenizer: Tokenizer,
    *,
    processes: int = 1,
    progress: bool = True,
) -> TokenStore:
    """Tokenize `documents` into a new store, with only a few of them in memory at a time.

    A document is its sentences, or one text that is yet to be cut into sentences. Those without a token are left
    out and counted. With `processes` above 1, so many tokenize while this one reads and writes (a script then needs
    `if __name__ == "__main__":`). Called again after a kill, with the same documents, it goes on where it stopped.

    InputError: `folder` exists, another process writes to it, its unfinished store is of another text or vocabulary,
    a document is no text (it is named by its number), or none holds a token.
    """
    if processes < 1:
        raise InputError(f"processes={processes}: must be at least 1")
    folder = Path(folder).expanduser().absolute()
    documents = iter(documents)
    with _workplace(folder) as work, closing(_Writer(work, tokenizer)) as writer:
        writer.skip(documents)
        chunks = _chunks(documents, writer.header)
        with (
            closing(_encoded(chunks, tokenizer, processes)) as encoded,
            _bar(writer.header.tokens, progress) as bar,
        ):
            for chunk, part in encoded:
                writer.add(chunk, part)
                bar.update(len(part.tokens))
        writer.finish(tokenizer)
    return TokenStore.open(folder, tokenizer)


def _bar(done: int, progress: bool) -> tqdm:
    return tqdm(initial=done, unit=" tokens", unit_scale=True, disable=not progress, leave=False, delay=0.5)


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


class _Chunk(NamedTuple):
    documents: list[Sequence[str] | str]
    checksum: int  # of all text up to its end


def _chunks(documents: Iterator, header: Header) -> Iterator[_Chunk]:
    """The documents that follow those of `header`, some at a time."""
    chunk, size, checksum = [], 0, header.text_checksum
    for number, document in enumerate(documents, start=header.documents + header.empty_documents + 1):
        document, data = _checked(document, number)
        chunk.append(document)
        size += len(data)
        checksum = zlib.crc32(data, checksum)
        if size >= CHUNK_BYTES:
            yield _Chunk(chunk, checksum)
            chunk, size = [], 0
    if chunk:
        yield _Chunk(chunk, checksum)


def _checked(document: Iterable[str] | str, number: int) -> tuple[list[str] | str, bytes]:
    """A document, and its text as bytes; InputError names one that is no text."""
    try:
        document = document if isinstance(document, str) else list(document)
        whole = document if isinstance(document, str) else "\n".join(document)
        return document, whole.encode() + b"\0"
    except (TypeError, UnicodeEncodeError) as error:
        raise InputError(f"document {number} is no text: {error}") from error


class _Encoded(NamedTuple):
    """Documents as numbers, those without a token left out."""

    tokens: np.ndarray  # ids, (number of tokens,)
    lengths: np.ndarray  # tokens of each sentence
    counts: np.ndarray  # sentences of each document


def _encode(tokenizer: Tokenizer, documents: Sequence[Sequence[str] | str]) -> _Encoded:
    documents = [split_text(document) if isinstance(document, str) else document for document in documents]
    ids = tokenizer.encode_batch([sentence for document in documents for sentence in document])
    left = iter(ids)
    lengths = [[len(sentence) for sentence in islice(left, len(document)) if sentence] for document in documents]
    lengths = [document for document in lengths if document]
    tokens = np.fromiter(chain.from_iterable(ids), np.uint32, sum(map(len, ids)))
    each = np.fromiter(chain.from_iterable(lengths), np.int64)
    return _Encoded(tokens, each, np.array([len(document) for document in lengths], np.int64))


def _encoded(chunks: Iterable[_Chunk], tokenizer: Tokenizer, processes: int) -> Iterator[tuple[_Chunk, _Encoded]]:
    """Each chunk and its tokens, in order."""
    if processes == 1:
        yield from ((chunk, _encode(tokenizer, chunk.documents)) for chunk in chunks)
        return
    # Forking a process that runs threads, as PyTorch and the tokenizer's engine do, may lock up: start afresh.
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _start_worker, (tokenizer,))
    try:
        waiting: deque = deque()
        for chunk in chunks:
            waiting.append((chunk, pool.submit(_encode_in_worker, chunk.documents)))
            if len(waiting) > 2 * processes:  # enough to keep all busy, few enough to fit into memory
                yield _next(waiting)
        while waiting:
            yield _next(waiting)
    except BrokenProcessPool as error:
        raise InputError(
            "one of the processes died, perhaps for want of memory: take fewer; what is done is kept"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _next(waiting: deque) -> tuple[_Chunk, _Encoded]:
    chunk, future = waiting.popleft()
    return chunk, future.result()


def _start_worker(tokenizer: Tokenizer) -> None:
    """Prepare a process of the pool: it leaves Ctrl-C to its parent, and ends if that is killed."""
    global _tokenizer
    _tokenizer = tokenizer
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # there are as many processes as wanted already
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)


def _encode_in_worker(documents: Sequence[Sequence[str] | str]) -> _Encoded:
    return _encode(_tokenizer, documents)


class _Writer:
    """Appends to the files of an unfinished store; `header` is up to date with them."""

    def __init__(self, folder: Path, tokenizer: Tokenizer):
        """Begin a store in `folder`, or go on with that which is there."""
        self.folder = folder
        self.header = self._old(tokenizer) if (folder / HEADER).exists() else self._new(tokenizer)
        self.files = {}
        with plain_errors(folder):
            for name, size in self.header.sizes().items():  # cut off what was written after the last save
                (folder / name).touch()
                self.files[name] = (folder / name).open("r+b")
                self.files[name].truncate(size)
                self.files[name].seek(size)
        self.saved = time.monotonic()

    def _new(self, tokenizer: Tokenizer) -> Header:
        for file in self.folder.iterdir():
            file.unlink()
        header = Header("uint16" if tokenizer.vocab_size <= 1 << 16 else "uint32", vocabulary_hash(tokenizer))
        header.checksums = {name: zlib.crc32(bytes(size)) for name, size in header.sizes().items()}  # each first is 0
        return header

    def _old(self, tokenizer: Tokenizer) -> Header:
        for file in self.folder.glob(".*"):  # cut off while saving
            file.unlink()
        header = read_header(self.folder)
        if header.vocabulary != vocabulary_hash(tokenizer):
            raise InputError(self._other("vocabulary"))
        for name, size in header.sizes().items():
            if not (self.folder / name).is_file() or (self.folder / name).stat().st_size < size:
                raise InputError(f"{self.folder / name}: shorter than it was; remove that folder to start anew")
        return header

    def _other(self, what: str) -> str:
        return f"{self.folder} holds an unfinished store of another {what}: go on with that, or remove this folder"

    def skip(self, documents: Iterator[Sequence[str] | str]) -> None:
        """Take from `documents` those that are stored; InputError where they are others."""
        checksum = 0
        for number in range(1, self.header.documents + self.header.empty_documents + 1):
            checksum = zlib.crc32(_checked(next(documents, ""), number)[1], checksum)
        if checksum != self.header.text_checksum:
            raise InputError(self._other("text"))

    def add(self, chunk: _Chunk, part: _Encoded) -> None:
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
        """Let everything added so far count, come what may."""
        with plain_errors(self.folder):
            for file in self.files.values():
                file.flush()
                os.fsync(file.fileno())
        atomic_write(self.folder / HEADER, json.dumps(asdict(self.header), indent=2) + "\n")
        self.saved = time.monotonic()

    def finish(self, tokenizer: Tokenizer) -> None:
        """Make the store whole. InputError where it is empty, or where the disk does not hold what was written."""
        if not self.header.documents:
            raise InputError(f"{self.header.empty_documents} documents, and none holds a token: give some text")
        tokenizer.save_pretrained(self.folder)
        self.save()
        self.header.verify(self.folder)

    def close(self) -> None:
        for file in self.files.values():
            file.close()
