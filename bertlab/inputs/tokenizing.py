"""A stream of documents as token ids, a chunk of text at a time, by one process or several."""

import multiprocessing
import os
import signal
import threading
import zlib
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from bertlab.corpora.sentences import split_text
from bertlab.errors import InputError
from bertlab.tokenizer import Tokenizer

CHUNK_BYTES = 250_000  # of text, tokenized at a time
Document = Sequence[str] | str  # sentences, or a text that is yet to be cut into sentences


class Chunk(NamedTuple):
    """Documents that are tokenized together, and the checksum of all text up to their end."""

    documents: list[Document]
    checksum: int


class TokenizedDocuments(NamedTuple):
    """Documents as numbers; sentences and documents without a token are left out."""

    tokens: np.ndarray  # ids, (number of tokens,)
    lengths: np.ndarray  # tokens of each sentence
    counts: np.ndarray  # sentences of each document


def chunks(documents: Iterable[Document], done: int, checksum: int) -> Iterator[Chunk]:
    """Yield the documents that follow the first `done`, whose text has this checksum (CRC-32)."""
    chunk: list[Document] = []
    size = 0
    for number, given in enumerate(documents, start=done + 1):
        document, data = checked(given, number)
        chunk.append(document)
        size += len(data)
        checksum = zlib.crc32(data, checksum)
        if size >= CHUNK_BYTES:
            yield Chunk(chunk, checksum)
            chunk, size = [], 0
    if chunk:
        yield Chunk(chunk, checksum)


def checked(document: Iterable[str] | str, number: int) -> tuple[Document, bytes]:
    """Return a document and its text as bytes; InputError names one that is no text."""
    try:
        document = document if isinstance(document, str) else list(document)
        whole = document if isinstance(document, str) else "\n".join(document)
        return document, whole.encode() + b"\0"
    except (TypeError, UnicodeEncodeError) as error:
        raise InputError(f"document {number} is no text: {error}") from error


def encoded(
    parts: Iterable[Chunk], tokenizer: Tokenizer, processes: int
) -> Generator[tuple[Chunk, TokenizedDocuments], None, None]:
    """Yield each chunk and its tokens, in order. InputError where a process of several dies."""
    if processes == 1:
        yield from ((chunk, _encode(tokenizer, chunk.documents)) for chunk in parts)
        return
    # Forking a process that runs threads, as PyTorch and the tokenizer's engine do, may lock up: start afresh.
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _start_worker, (tokenizer,))
    try:
        waiting: deque[tuple[Chunk, Future[TokenizedDocuments]]] = deque()
        for chunk in parts:
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


def _next(waiting: deque[tuple[Chunk, Future[TokenizedDocuments]]]) -> tuple[Chunk, TokenizedDocuments]:
    chunk, future = waiting.popleft()
    return chunk, future.result()


def _encode(tokenizer: Tokenizer, documents: Sequence[Document]) -> TokenizedDocuments:
    split = [split_text(document) if isinstance(document, str) else document for document in documents]
    ids = tokenizer.encode_batch([sentence for document in split for sentence in document])
    left = iter(ids)
    lengths = [[len(sentence) for sentence in islice(left, len(document)) if sentence] for document in split]
    lengths = [document for document in lengths if document]
    tokens = np.fromiter(chain.from_iterable(ids), np.uint32, sum(map(len, ids)))
    each = np.fromiter(chain.from_iterable(lengths), np.int64)
    return TokenizedDocuments(tokens, each, np.array([len(document) for document in lengths], np.int64))


# A process of the pool

_tokenizer: Tokenizer  # set once, when the process starts: it is too large to come with every chunk


def _start_worker(tokenizer: Tokenizer) -> None:
    """Prepare a process of the pool: it leaves Ctrl-C to its parent, and ends if that is killed."""
    global _tokenizer
    _tokenizer = tokenizer
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # there are as many processes as wanted already
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _encode_in_worker(documents: Sequence[Document]) -> TokenizedDocuments:
    return _encode(_tokenizer, documents)
