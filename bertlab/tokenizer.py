"""WordPiece tokenizer: train it, load it, and turn texts or pairs of texts into BERT's tensors.

The engine is the `tokenizers` library; BERT's choices stand here (Devlin et al. 2019, section 3, and the published
`vocab.txt`): clean the text, split at spaces and punctuation, cut each word greedily into the longest known pieces.

A `Tokenizer` is never changed by a call, so threads may share one.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, overload

import tokenizers
import torch

from bertlab.errors import InputError, brief
from bertlab.io.atomic import atomic_write
from bertlab.tokenizer_files import AS_IT_STANDS, NAMES, SEGMENTS, Reading, check_vocab_size, read
from bertlab.vocabulary import SPECIAL_TOKENS, WORD_CHARACTERS, check_backend, learn, make_backend


class Row(NamedTuple):
    """One model input before padding: three lists of one length."""

    ids: list[int]
    types: list[int]  # 0 first text, 1 second; `Tokenizer.batch` makes them 0 for a tokenizer without segments
    offsets: list[tuple[int, int]]  # characters in the token's own text, or all (0, 0)


class Tokenizer:
    """BERT's WordPiece around a `tokenizers.Tokenizer` (kept as `.backend`).

    >>> tok = Tokenizer.from_pretrained("storyworld-tiny")
    >>> batch = tok(["my dog is hairy"], ["he likes walks"])  # input_ids, token_type_ids, attention_mask
    """

    pad_token, unk_token, cls_token, sep_token, mask_token = SPECIAL_TOKENS

    def __init__(self, backend: tokenizers.Tokenizer, reading: Reading | None = None):
        """Wrap a BERT WordPiece backend. InputError if it is of another kind or lacks a special token."""
        check_backend(backend)
        backend.no_truncation()
        backend.no_padding()
        self.backend, self.reading = backend, reading or Reading()
        self.vocab: dict[str, int] = backend.get_vocab()
        for token in SPECIAL_TOKENS:
            if token not in self.vocab:
                raise InputError(f"the vocabulary has no {token}: BERT needs {' '.join(SPECIAL_TOKENS)}")
        if backend.model.token_to_id(self.unk_token) is None:
            raise InputError("[UNK] is an added token alone; the model's own vocabulary needs it")
        _check_numbers(self.vocab)
        self.all_special_ids = [self.vocab[token] for token in SPECIAL_TOKENS]
        self.pad_token_id, self.unk_token_id, self.cls_token_id = self.all_special_ids[:3]
        self.sep_token_id, self.mask_token_id = self.all_special_ids[3:]
        self.lowercase: bool = backend.normalizer.lowercase
        self.vocab_size = len(self.vocab)

    def __repr__(self) -> str:
        return f"Tokenizer(vocab_size={self.vocab_size}, lowercase={self.lowercase})"

    # Make, load, save

    @classmethod
    def from_vocab(cls, tokens: Sequence[str], lowercase: bool = True, **normalizer_options: Any) -> "Tokenizer":
        """Make a tokenizer whose token number i is `tokens[i]`; options are `strip_accents` (None: as
        `lowercase`) and `tokenize_chinese_chars`, named as in tokenizer_config.json."""
        vocab = {token: index for index, token in enumerate(tokens)}
        return cls(make_backend(vocab, lowercase, **normalizer_options))

    @classmethod
    def train(
        cls, texts: Iterable[str], vocab_size: int = 4000, lowercase: bool = True, min_frequency: int = 2
    ) -> "Tokenizer":
        """Learn a vocabulary of at most `vocab_size` pieces; the same texts always give the same one.

        Starts from single characters and joins the most frequent pair of neighbours until the vocabulary
        is full or no pair occurs `min_frequency` times. InputError: no text, or no room for the letters.
        """
        return cls(learn(texts, vocab_size, lowercase, min_frequency))

    @classmethod
    def from_pretrained(cls, name_or_path: str | Path, lowercase: bool = True) -> "Tokenizer":
        """Load from a folder, a bundled name or a hub id: tokenizer.json or else vocab.txt; or from such a file.

        As in transformers, tokenizer_config.json beside it counts: the options and added tokens, whether pairs have
        segments, and which end of a long text is cut. Without that file it is tokenizer.json as it stands, or vocab.txt
        with `lowercase`. InputError names what is missing or wrong.
        """
        path, backend, reading, config = read(name_or_path, lowercase)
        try:
            tokenizer = cls(backend, reading)
            check_vocab_size(tokenizer.vocab_size, config)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        return tokenizer

    def save_pretrained(self, folder: str | Path, positions: int | None = None) -> None:
        """Write vocab.txt, tokenizer.json and tokenizer_config.json, which `transformers` opens too.

        The latter's model_max_length is the tokenizer's own, but at most the `positions` of a model.
        """
        folder = Path(folder)
        normalizer, model = self.backend.normalizer, self.backend.model
        options = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": self.lowercase,
            "strip_accents": normalizer.strip_accents,
            "tokenize_chinese_chars": normalizer.handle_chinese_chars,
        }
        if not normalizer.clean_text or model.max_input_chars_per_word != WORD_CHARACTERS:
            options |= {"tokenizer_class": AS_IT_STANDS[0], **NAMES}  # BertTokenizer has no option for these
        if not self.reading.segments or options["tokenizer_class"] in AS_IT_STANDS:  # not what transformers assumes
            options["model_input_names"] = ["input_ids", *[SEGMENTS] * self.reading.segments, "attention_mask"]
        if self.reading.cut_left:
            options["truncation_side"] = "left"
        if lengths := [length for length in (self.reading.max_length, positions) if length]:
            options["model_max_length"] = min(lengths)
        tokens = self.convert_ids_to_tokens(range(self.vocab_size))
        atomic_write(folder / "vocab.txt", "".join(f"{token}\n" for token in tokens))
        atomic_write(folder / "tokenizer.json", self.backend.to_str())
        atomic_write(folder / "tokenizer_config.json", json.dumps(options, indent=2) + "\n")

    # Text to tensors

    def __call__(
        self,
        texts: str | Sequence[str],
        pairs: str | Sequence[str] | None = None,
        *,
        max_length: int | None = None,
        padding: bool = True,
        offsets: bool = False,
        special_tokens_mask: bool = False,
    ) -> dict[str, torch.Tensor]:
        """Return `[CLS] text [SEP]` or `[CLS] text [SEP] pair [SEP]` for each text, as tensors (B, S).

        Rows are padded to the longest; `padding=False` asks that they are equally long already.
        `max_length` cuts the longer of a pair until both fit. `token_type_ids` is 1 on the pair and its
        [SEP], or 0 where the tokenizer's files give pairs no segments; `attention_mask` is 0 on padding.
        On request: `offset_mapping` (B, S, 2), where each token starts and ends in its own text, in
        characters, (0, 0) for added tokens; `special_tokens_mask` (B, S) bool, True on every special token,
        whether added, typed by hand or [UNK].
        """
        if pairs is not None and isinstance(texts, str) != isinstance(pairs, str):
            raise InputError("give texts and pairs alike: two strings, or two lists of strings")
        if max_length is not None and not isinstance(max_length, Integral):
            raise InputError(f"max_length must be a whole number, not {brief(max_length)}")
        segments = [self.encodings(texts, offsets)]
        if pairs is not None:
            segments.append(self.encodings(pairs, offsets))
            if len(segments[0]) != len(segments[1]):
                raise InputError(f"{len(segments[0])} texts but {len(segments[1])} pairs: give one for each")
        if not segments[0]:
            raise InputError("no text given: pass at least one (it may be empty)")
        rows = [self.fitted(row, max_length)[0] for row in zip(*segments, strict=True)]
        sizes = {len(row.ids) for row in rows}
        if not padding and len(sizes) > 1:
            raise InputError(f"rows of {min(sizes)} to {max(sizes)} tokens do not stack: set padding=True")
        batch = self.batch(rows)
        if offsets:
            batch["offset_mapping"] = stack([row.offsets for row in rows], (0, 0))  # (B, S, 2)
        if special_tokens_mask:
            batch["special_tokens_mask"] = self.special_mask(batch["input_ids"])
        return batch

    def fitted(self, segments: Sequence[tokenizers.Encoding], max_length: int | None) -> tuple[Row, int]:
        """Return the row of one or two segments, the longer cut until both fit in `max_length`, and the number cut."""
        lengths = [len(segment.ids) for segment in segments]
        kept = lengths if max_length is None else cut_longest(lengths, max_length - 1 - len(lengths))
        return self.assemble(segments, kept), sum(lengths) - sum(kept)

    def assemble(self, segments: Sequence[tokenizers.Encoding], lengths: Sequence[int]) -> Row:
        """Return `[CLS] segment [SEP] segment [SEP]` from the first `lengths[i]` tokens of each segment, or the last
        ones if its files say so."""
        row = Row([self.cls_token_id], [0], [(0, 0)])
        for kind, (segment, length) in enumerate(zip(segments, lengths, strict=True)):
            start = len(segment.ids) - length if self.reading.cut_left else 0
            row.ids.extend([*segment.ids[start : start + length], self.sep_token_id])
            row.types.extend([kind] * (length + 1))
            row.offsets.extend([*segment.offsets[start : start + length], (0, 0)])
        return row

    def batch(self, rows: Sequence[Row], length: int | None = None) -> dict[str, torch.Tensor]:
        """Return rows padded to the longest, or to `length`: input_ids, token_type_ids, attention_mask."""
        types = stack([row.types for row in rows], 0, length)
        return {
            "input_ids": stack([row.ids for row in rows], self.pad_token_id, length),
            SEGMENTS: types if self.reading.segments else torch.zeros_like(types),
            "attention_mask": stack([[1] * len(row.ids) for row in rows], 0, length),
        }

    def special_mask(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return where an id is one of the special tokens, [UNK] too: bool of the same shape."""
        return torch.isin(input_ids, torch.tensor(self.all_special_ids, device=input_ids.device))

    def continues_word(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return where a piece continues a word ("##ing"): bool of the same shape."""
        return self._continuing.to(input_ids.device)[input_ids]

    @cached_property
    def _continuing(self) -> torch.Tensor:  # (V,)
        tokens = self.convert_ids_to_tokens(range(self.vocab_size))
        return torch.tensor([token.startswith("##") for token in tokens])

    def is_mark(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return where a token has neither a letter nor a digit (","): bool of the same shape."""
        return self._marks.to(input_ids.device)[input_ids]

    @cached_property
    def _marks(self) -> torch.Tensor:  # (V,)
        tokens = self.convert_ids_to_tokens(range(self.vocab_size))
        return torch.tensor([not any(map(str.isalnum, token)) for token in tokens])

    # Pieces and numbers

    def encodings(self, texts: str | Sequence[str], offsets: bool = True) -> list[tokenizers.Encoding]:
        """Return each text, whole and without special tokens, as the engine gives it (`.ids`, `.tokens`, `.offsets`).

        Without `offsets` this is faster, but only `.ids` is filled in: tokens are "" and offsets (0, 0).
        """
        texts = _strings(texts, "text")
        encode = self.backend.encode_batch if offsets else self.backend.encode_batch_fast
        try:
            return encode(texts, add_special_tokens=False)
        except TypeError:
            broken = "a text holds half of a surrogate pair (broken Unicode): decode its file as UTF-8"
            raise InputError(broken) from None

    def tokenize(self, text: str) -> list[str]:
        """Return the pieces of one text, without special tokens: "unaffable" -> ["una", "##ffa", "##ble"]."""
        if not isinstance(text, str):
            raise InputError(f"tokenize takes one text, not a {type(text).__name__}")
        return self.encodings(text)[0].tokens

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text without special tokens; the fast way for a corpus."""
        return [encoding.ids for encoding in self.encodings(texts, offsets=False)]

    def decode(self, ids: Sequence[int] | torch.Tensor, skip_special_tokens: bool = False) -> str:
        """Return readable text: pieces joined, spaces before punctuation taken out."""
        return self.backend.decode(self._checked(ids), skip_special_tokens=skip_special_tokens)

    @overload
    def convert_ids_to_tokens(self, ids: int) -> str: ...
    @overload
    def convert_ids_to_tokens(self, ids: Sequence[int] | torch.Tensor) -> list[str]: ...
    def convert_ids_to_tokens(self, ids: int | Sequence[int] | torch.Tensor) -> str | list[str]:
        """Return the token of an id, or the tokens of several. InputError names an id outside the vocabulary."""
        if isinstance(ids, int):
            return self.convert_ids_to_tokens([ids])[0]
        return [str(self.backend.id_to_token(index)) for index in self._checked(ids)]

    @overload
    def convert_tokens_to_ids(self, tokens: str) -> int: ...  # type: ignore[overload-overlap]  # a str is a Sequence too
    @overload
    def convert_tokens_to_ids(self, tokens: Sequence[str]) -> list[int]: ...
    def convert_tokens_to_ids(self, tokens: str | Sequence[str]) -> int | list[int]:
        """Return the id of a token, or the ids of several; [UNK]'s for a token outside the vocabulary."""
        if isinstance(tokens, str):
            return self.vocab.get(tokens, self.unk_token_id)
        return [self.vocab.get(token, self.unk_token_id) for token in _strings(tokens, "token")]

    def id_of(self, token: str) -> int:
        """Return the id of a token that must be there: InputError for one outside the vocabulary."""
        if token not in self.vocab:
            raise InputError(f"“{token}” is no token of this model: choose a word that its vocabulary holds whole")
        return self.vocab[token]

    def _checked(self, ids: Sequence[int] | torch.Tensor) -> list[int]:
        ids = ids.tolist() if isinstance(ids, torch.Tensor) else ids
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise InputError(f"give a list of token ids, not {brief(ids)}")
        ids = list(ids)
        for index in ids:
            if not isinstance(index, Integral) or isinstance(index, bool):
                raise InputError(f"token ids are whole numbers in one row, not {brief(index)}")
            if not 0 <= index < self.vocab_size:
                raise InputError(f"token id {index} is outside the vocabulary (0 to {self.vocab_size - 1})")
        return ids


def _check_numbers(vocab: dict[str, int]) -> None:
    """InputError unless the tokens are numbered 0, 1, 2, ..., each once."""
    if len(set(vocab.values())) < len(vocab):
        number, _ = Counter(vocab.values()).most_common(1)[0]
        first, second = [token for token, index in vocab.items() if index == number][:2]
        raise InputError(f"the tokens {brief(first)} and {brief(second)} both have the number {number}")
    if max(vocab.values()) >= len(vocab):
        raise InputError(f"the vocabulary skips numbers: {len(vocab)} tokens do not fill them all")


def cut_longest(lengths: Sequence[int], room: int) -> list[int]:
    """Return the lengths of one or two segments after cutting the longer until their sum fits in `room` tokens."""
    if room < len(lengths):
        raise InputError(f"max_length={room + 1 + len(lengths)} leaves no room beside [CLS] and [SEP]")
    if sum(lengths) <= room:
        return list(lengths)
    if len(lengths) == 1:
        return [room]
    short = min(*lengths, room // 2)
    return [short, room - short] if lengths[0] <= lengths[1] else [room - short, short]


def stack(rows: Sequence[Sequence], filler: Any, length: int | None = None) -> torch.Tensor:
    """Return rows of unequal length as a LongTensor (B, S), or (B, S, 2) for pairs, filled up at the right to the
    longest, or to `length`."""
    length = length or max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (length - len(row))] for row in rows], dtype=torch.long)


def _strings(given: str | Iterable[str], name: str) -> list[str]:
    """Return one string or several in their order as a list. InputError: it is something else."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, bytes | Mapping | Set) or not isinstance(given, Iterable):
        raise InputError(f"give a {name} or a list of them, not a {type(given).__name__}")
    strings = list(given)
    for number, string in enumerate(strings, start=1):
        if not isinstance(string, str):
            raise InputError(f"{name} {number} is a {type(string).__name__}, not a string")
    return strings
