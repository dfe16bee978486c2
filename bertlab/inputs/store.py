"""Documents as token ids, in memory or on disk: a token store holds more pretraining text than fits into memory.

A store is a folder with three files of little-endian numbers, mapped into memory and read where they are used:

- `tokens.bin`: the ids of all documents one after the other, uint16 or, for a vocabulary beyond 65,536 tokens, uint32;
- `sentences.bin`: where in `tokens.bin` each sentence starts, int64, at the end the total;
- `documents.bin`: with which sentence each document starts, int64, at the end the total.

Beside them are `store.json`, the `Header`, and the files of the tokenizer. Stores are made in
`bertlab.inputs.store_writing`.
"""

import json
import random
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path
from typing import overload

import numpy as np

from bertlab.errors import InputError
from bertlab.io.files import expanded, open_file, present
from bertlab.io.json_files import read_json
from bertlab.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class FlatText:
    """Documents of sentences of token ids, one after the other, as in a token store on disk. No sentence is empty."""

    tokens: np.ndarray  # (T,) ids, of any whole-number type
    sentences: np.ndarray  # (sentences + 1,) where in `tokens` each starts, at the end T
    documents: np.ndarray  # (documents + 1,) with which sentence each starts, at the end the number of sentences

    @classmethod
    def of(cls, documents: "Sequence[Sequence[Sequence[int]]] | FlatText") -> "FlatText":
        """From lists; empty sentences are left out."""
        if isinstance(documents, FlatText):
            return documents
        kept = [[sentence for sentence in document if sentence] for document in documents]
        sentences = list(chain.from_iterable(kept))
        tokens = np.fromiter(chain.from_iterable(sentences), np.int32)
        return cls(tokens, starts(map(len, sentences)), starts(map(len, kept)))


def starts(lengths: Iterable[int]) -> np.ndarray:
    """Return where each part of a long row starts, and at the end its length: [3, 2] -> [0, 3, 5]."""
    return np.cumsum([0, *lengths])


VERSION = 1
HEADER, TOKENS, SENTENCES, DOCUMENTS = "store.json", "tokens.bin", "sentences.bin", "documents.bin"
TOKEN_BYTES = {"uint16": 2, "uint32": 4}
OFFSET = np.dtype("<i8")
BLOCK = 1 << 20  # bytes read at a time for a checksum
WINDOW_TOKENS, WINDOW_DOCUMENTS = 4_000_000, 100  # about so many tokens at a time become pairs, and not fewer documents


@dataclass
class Header:
    """The content of `store.json`; in an unfinished store it counts what is safely on disk. Checksums are CRC-32."""

    dtype: str  # of the token ids
    vocabulary: str  # `vocabulary_hash` of the tokenizer
    documents: int = 0
    sentences: int = 0
    tokens: int = 0
    empty_documents: int = 0  # were left out
    text_checksum: int = 0  # of the text that was tokenized, by which an unfinished store knows it again
    checksums: dict[str, int] = field(default_factory=dict)  # of each file
    version: int = VERSION

    def sizes(self) -> dict[str, int]:
        """Bytes of each file."""
        offsets = {SENTENCES: self.sentences + 1, DOCUMENTS: self.documents + 1}
        bytes_of = {name: count * OFFSET.itemsize for name, count in offsets.items()}
        return {TOKENS: self.tokens * TOKEN_BYTES[self.dtype]} | bytes_of

    def verify(self, folder: Path) -> None:
        """Read all files of the store in `folder`; InputError names one whose checksum is wrong."""
        for name in self.sizes():
            if _checksum(folder / name) != self.checksums[name]:
                raise InputError(
                    f"{folder / name}: damaged, its checksum is wrong; remove its folder and build the store again"
                )


def _checksum(path: Path) -> int:
    checksum = 0
    with open_file(path) as file:
        while block := file.read(BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum


def read_header(folder: Path) -> Header:
    """Return the header of the store in `folder`; InputError where there is none that this version reads."""
    path = folder / HEADER
    if not present(path):
        raise InputError(f"{folder} is no token store, it holds no {HEADER}: make one with bertlab data tokenize")
    content = read_json(path)
    try:
        if content["version"] != VERSION:
            raise InputError(f"{path}: version {content['version']!r}, not {VERSION}; build the store again")
        header = Header(**content)
        if header.documents < 1 or header.checksums.keys() != header.sizes().keys():
            raise ValueError("no documents or no checksums")
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: damaged, it is no header of a token store; build the store again") from error
    return header


def vocabulary_hash(tokenizer: Tokenizer) -> str:
    """Return the SHA-256 of all that decides which ids a text gets: the tokens in order, and how text is cleaned."""
    cleaning = tokenizer.backend.normalizer
    strip_accents = tokenizer.lowercase if cleaning.strip_accents is None else cleaning.strip_accents
    options = [tokenizer.lowercase, strip_accents, cleaning.handle_chinese_chars, cleaning.clean_text]
    tokens = tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size))
    return sha256(json.dumps([tokens, options]).encode()).hexdigest()


class TokenStore(Sequence[list[list[int]]]):
    """The documents of a store, or some of them: `store[i]` is a list of sentences, each a list of token ids.

    Nothing is in memory until it is asked for. A slice, and `part`, is a store over the same files.
    """

    def __init__(self, folder: Path, header: Header, tokenizer: Tokenizer):
        """Map the files of an intact store; `open` is the way to one."""
        self.folder, self.header, self.tokenizer = folder, header, tokenizer
        self.numbers: Sequence[int] = range(header.documents)  # which documents of the files these are
        self._tokens = _mapped(folder / TOKENS, np.dtype(header.dtype).newbyteorder("<"))
        self._sentences = _mapped(folder / SENTENCES, OFFSET)
        self._documents = _mapped(folder / DOCUMENTS, OFFSET)

    @classmethod
    def open(cls, folder: str | Path, tokenizer: Tokenizer | None = None) -> "TokenStore":
        """Return the store in `folder`, which must have been made with `tokenizer` (None: take the store's own).

        InputError names a file that is missing, of the wrong size or no part of a store, and another vocabulary.
        What the files hold is not read: `Header.verify` does that.
        """
        folder = expanded(folder)
        header = read_header(folder)
        for name, size in header.sizes().items():
            found = (folder / name).stat().st_size if (folder / name).is_file() else None
            if found is None:
                raise InputError(f"{folder / name}: missing; build the store again")
            if found != size:
                raise InputError(f"{folder / name}: has {found:,} bytes, not {size:,}; build the store again")
        tokenizer = tokenizer or Tokenizer.from_pretrained(folder)
        if vocabulary_hash(tokenizer) != header.vocabulary:
            raise InputError(f"{folder}: made with another vocabulary; take its own tokenizer, or build the store anew")
        return cls(folder, header, tokenizer)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> list[list[int]]: ...
    @overload
    def __getitem__(self, index: slice) -> "TokenStore": ...
    def __getitem__(self, index: int | slice) -> "list[list[int]] | TokenStore":
        if isinstance(index, slice):
            return self.part(self.numbers[index])
        number = self.numbers[index]
        first, last = self._documents[number], self._documents[number + 1]
        bounds = self._sentences[first : last + 1]
        ids = self._tokens[bounds[0] : bounds[-1]].tolist()
        return [ids[start:end] for start, end in pairwise((bounds - bounds[0]).tolist())]

    def flat_text(self) -> FlatText:
        """Return all these documents in memory."""
        numbers = np.array(self.numbers, int)
        spans = list(zip(self._documents[numbers].tolist(), self._documents[numbers + 1].tolist(), strict=True))
        bounds = [self._sentences[first : last + 1] for first, last in spans]
        tokens = np.concatenate([self._tokens[:0], *(self._tokens[span[0] : span[-1]] for span in bounds)])
        sentences = starts(np.concatenate([self._sentences[:0], *map(np.diff, bounds)]))
        return FlatText(tokens, sentences, starts(last - first for first, last in spans))

    def part(self, numbers: Sequence[int]) -> "TokenStore":
        """Return the documents of these numbers (of the whole store), in this order."""
        part = object.__new__(type(self))
        part.__dict__ |= self.__dict__ | {"numbers": numbers if isinstance(numbers, range) else np.array(numbers, int)}
        return part

    def sample(self, most: int) -> "TokenStore":
        """Return at most so many of the documents, evenly spread."""
        return self[:: max(1, -(-len(self) // most))]

    def windows(self, rng: random.Random) -> Iterator["TokenStore"]:
        """Yield all documents once, in parts small enough to make sentence pairs of in memory.

        A small store comes whole; the parts of a larger one are random draws, so that they are alike.
        """
        tokens = self.header.tokens * len(self) / self.header.documents
        count = min(round(tokens / WINDOW_TOKENS), len(self) // WINDOW_DOCUMENTS)
        if count < 2:
            yield self
            return
        shuffled = np.random.default_rng(rng.getrandbits(64)).permutation(self.numbers)
        for numbers in np.array_split(shuffled, count):
            yield self.part(numbers.tolist())


def _mapped(path: Path, dtype: np.dtype) -> np.ndarray:
    return np.memmap(path, dtype, mode="r").view(np.ndarray)  # slices of a plain array are quicker
