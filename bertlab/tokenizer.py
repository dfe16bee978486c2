"""WordPiece tokenizer: train it, load it, and turn texts or pairs of texts into BERT's tensors.

The engine is the `tokenizers` library; what stands here are BERT's choices (Devlin et al. 2019,
section 3, and the published `vocab.txt` format): clean and maybe lower-case the text, split at spaces
and punctuation, then cut each word greedily into the longest pieces that the vocabulary knows.

A `Tokenizer` is never changed by a call, so threads may share one.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import tokenizers
import torch
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from bertlab.errors import InputError
from bertlab.files_io import atomic_write
from bertlab.locate import locate

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MAX_ALPHABET = 1000  # rarer characters become [UNK], or a Chinese text would fill the vocabulary
NORMALIZER_OPTIONS = ("strip_accents", "tokenize_chinese_chars")  # names in tokenizer_config.json


class Tokenizer:
    """BERT's WordPiece over a `tokenizers.Tokenizer` (kept as `.backend`).

    >>> tok = Tokenizer.from_pretrained("storyworld-tiny")
    >>> batch = tok(["my dog is hairy"], ["he likes walks"])  # input_ids, token_type_ids, attention_mask
    """

    pad_token, unk_token, cls_token, sep_token, mask_token = SPECIAL_TOKENS

    def __init__(self, backend: tokenizers.Tokenizer):
        """Wrap a BERT WordPiece backend. InputError if it is of another kind or lacks a special token."""
        if not isinstance(backend.model, models.WordPiece):
            kind = type(backend.model).__name__
            raise InputError(f"the tokenizer is of kind {kind}, not WordPiece: choose a BERT checkpoint")
        if not isinstance(backend.normalizer, normalizers.BertNormalizer):
            raise InputError("the tokenizer does not clean text as BERT does (no BertNormalizer)")
        backend.no_truncation()
        backend.no_padding()
        self.backend = backend
        self.vocab: dict[str, int] = backend.get_vocab()
        for token in SPECIAL_TOKENS:
            if token not in self.vocab:
                raise InputError(
                    f"the vocabulary has no {token} token: BERT needs {' '.join(SPECIAL_TOKENS)}"
                )
        if max(self.vocab.values()) >= len(self.vocab):
            raise InputError(
                f"the vocabulary skips numbers: its {len(self.vocab)} tokens do not fill them all"
            )
        self.all_special_ids = [self.vocab[token] for token in SPECIAL_TOKENS]
        self.pad_token_id, self.unk_token_id, self.cls_token_id = self.all_special_ids[:3]
        self.sep_token_id, self.mask_token_id = self.all_special_ids[3:]
        self.lowercase: bool = backend.normalizer.lowercase
        self.vocab_size = len(self.vocab)

    def __repr__(self) -> str:
        return f"Tokenizer(vocab_size={self.vocab_size}, lowercase={self.lowercase})"

    # Make, load, save

    @classmethod
    def from_vocab(cls, tokens: Sequence[str], lowercase: bool = True, **normalizer_options) -> "Tokenizer":
        """A tokenizer whose token number i is `tokens[i]`; options are `strip_accents` (None: as
        `lowercase`) and `tokenize_chinese_chars`, named as in tokenizer_config.json."""
        vocab = {token: index for index, token in enumerate(tokens)}
        return cls(_backend(vocab, lowercase, **normalizer_options))

    @classmethod
    def train(
        cls, texts: Iterable[str], vocab_size: int = 4000, lowercase: bool = True, min_frequency: int = 2
    ) -> "Tokenizer":
        """Learn a vocabulary of at most `vocab_size` pieces; the same texts always give the same one.

        Starts from single characters and joins the most frequent pair of neighbours until the vocabulary
        is full or no pair occurs `min_frequency` times. InputError: no text, or no room for the letters.
        """
        texts = [text for text in texts if text.strip()]
        if not texts:
            raise InputError("no text to train a tokenizer on: give at least one line that is not blank")
        backend = _backend({token: i for i, token in enumerate(SPECIAL_TOKENS)}, lowercase)
        # The trainer numbers letters in the order of a hash table, which differs from run to run and
        # decides ties. Handing it all letters as ready-made tokens makes the result reproducible.
        letters = _letters(backend, texts)
        start = [*SPECIAL_TOKENS, *letters]
        if vocab_size < len(start):
            raise InputError(
                f"vocab_size={vocab_size} is too small: {len(SPECIAL_TOKENS)} special tokens and "
                f"{len(letters)} letters alone need {len(start)}"
            )
        trainer = trainers.WordPieceTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=start,
            limit_alphabet=0,
            show_progress=False,
        )
        backend.train_from_iterator(texts, trainer)
        vocab = backend.get_vocab()
        return cls.from_vocab(sorted(vocab, key=vocab.get), lowercase)

    @classmethod
    def from_pretrained(cls, name_or_path: str | Path) -> "Tokenizer":
        """Load from a folder, a bundled name or a hub id: tokenizer.json, else vocab.txt with the options
        of tokenizer_config.json. InputError names the file (and line) that is missing or wrong."""
        folder = locate(name_or_path)
        whole, words = folder / "tokenizer.json", folder / "vocab.txt"
        path = whole if whole.exists() else words
        if not path.exists():
            raise InputError(f"{folder} holds no tokenizer: neither tokenizer.json nor vocab.txt is there")
        if path == whole:
            backend = _read_backend(path)
        else:
            vocab = {token: index for index, token in enumerate(_read_vocab(path))}
            backend = _backend(vocab, **_read_options(folder / "tokenizer_config.json"))
        try:
            return cls(backend)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def save_pretrained(self, folder: str | Path) -> None:
        """Write vocab.txt, tokenizer.json and tokenizer_config.json, which `transformers` opens too."""
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {folder}: {error.strerror}") from error
        normalizer = self.backend.normalizer
        options = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": self.lowercase,
            "strip_accents": normalizer.strip_accents,
            "tokenize_chinese_chars": normalizer.handle_chinese_chars,
        }
        tokens = self.convert_ids_to_tokens(range(self.vocab_size))
        atomic_write(folder / "vocab.txt", "".join(f"{token}\n" for token in tokens))
        atomic_write(folder / "tokenizer.json", self.backend.to_str(pretty=True))
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
        """`[CLS] text [SEP]` or `[CLS] text [SEP] pair [SEP]` for each text, as tensors (B, S).

        Rows are padded to the longest; `padding=False` asks that they are equally long already.
        `max_length` cuts the longer of a pair until both fit. `token_type_ids` is 1 on the pair and its
        [SEP]; `attention_mask` is 0 on padding. On request: `offset_mapping` (B, S, 2), where each token
        starts and ends in its own text, in characters, (0, 0) for added tokens; `special_tokens_mask`
        (B, S) bool, True on every special token, whether added, typed by hand or [UNK].
        """
        segments = [self.encodings(texts)]
        if pairs is not None:
            segments.append(self.encodings(pairs))
            if len(segments[0]) != len(segments[1]):
                raise InputError(f"{len(segments[0])} texts but {len(segments[1])} pairs: give one for each")
        if not segments[0]:
            raise InputError("no text given: pass at least one (it may be empty)")
        rows = [self._assemble(row, max_length) for row in zip(*segments, strict=True)]
        lengths = {len(ids) for ids, _, _ in rows}
        if not padding and len(lengths) > 1:
            raise InputError(
                f"rows of {min(lengths)} to {max(lengths)} tokens do not stack: set padding=True"
            )
        ids, types, spans = zip(*rows, strict=True)
        batch = {
            "input_ids": stack(ids, self.pad_token_id),
            "token_type_ids": stack(types, 0),
            "attention_mask": stack([[1] * len(row) for row in ids], 0),
        }
        if offsets:
            batch["offset_mapping"] = stack(spans, (0, 0))  # (B, S, 2)
        if special_tokens_mask:
            batch["special_tokens_mask"] = self.special_mask(batch["input_ids"])
        return batch

    def special_mask(self, input_ids: torch.Tensor) -> torch.Tensor:
        """True where an id is one of the special tokens, [UNK] too: bool of the same shape."""
        return torch.isin(input_ids, torch.tensor(self.all_special_ids, device=input_ids.device))

    def _assemble(self, segments: Sequence[tokenizers.Encoding], max_length: int | None):
        """One row: ids, token types and offsets with the special tokens in place."""
        lengths = [len(segment.ids) for segment in segments]
        if max_length is not None:
            lengths = _cut_longest(lengths, max_length - 1 - len(segments))
        ids, types, spans = [self.cls_token_id], [0], [(0, 0)]
        for kind, (segment, length) in enumerate(zip(segments, lengths, strict=True)):
            ids += [*segment.ids[:length], self.sep_token_id]
            types += [kind] * (length + 1)
            spans += [*segment.offsets[:length], (0, 0)]
        return ids, types, spans

    # Pieces and numbers

    def encodings(self, texts: str | Sequence[str], offsets: bool = True) -> list[tokenizers.Encoding]:
        """The engine's view of each text (`.ids`, `.tokens`, `.offsets`): whole, without special tokens."""
        texts = [texts] if isinstance(texts, str) else list(texts)
        encode = self.backend.encode_batch if offsets else self.backend.encode_batch_fast
        try:
            return encode(texts, add_special_tokens=False)
        except TypeError:
            raise InputError(_why_no_text(texts)) from None

    def tokenize(self, text: str) -> list[str]:
        """The pieces of one text, without special tokens: "unaffable" -> ["una", "##ffa", "##ble"]."""
        return self.encodings(text)[0].tokens

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text without special tokens; the fast way for a corpus."""
        return [encoding.ids for encoding in self.encodings(texts, offsets=False)]

    def decode(self, ids: Sequence[int] | torch.Tensor, skip_special_tokens: bool = False) -> str:
        """Ids back to readable text: pieces joined, spaces before punctuation taken out."""
        return self.backend.decode(self._checked(ids), skip_special_tokens=skip_special_tokens)

    def convert_ids_to_tokens(self, ids: int | Sequence[int] | torch.Tensor) -> str | list[str]:
        """Token of an id, or tokens of several. InputError names an id outside the vocabulary."""
        if isinstance(ids, int):
            return self.backend.id_to_token(self._checked([ids])[0])
        return [self.backend.id_to_token(index) for index in self._checked(ids)]

    def convert_tokens_to_ids(self, tokens: str | Sequence[str]) -> int | list[int]:
        """Id of a token, or ids of several; [UNK]'s for a token outside the vocabulary."""
        if isinstance(tokens, str):
            return self.vocab.get(tokens, self.unk_token_id)
        return [self.vocab.get(token, self.unk_token_id) for token in tokens]

    def _checked(self, ids: Sequence[int] | torch.Tensor) -> list[int]:
        ids = ids.tolist() if isinstance(ids, torch.Tensor) else list(ids)
        for index in ids:
            if not 0 <= index < self.vocab_size:
                raise InputError(f"token id {index} is outside the vocabulary (0 to {self.vocab_size - 1})")
        return ids


def _backend(
    vocab: dict[str, int],
    lowercase: bool,
    strip_accents: bool | None = None,
    tokenize_chinese_chars: bool = True,
) -> tokenizers.Tokenizer:
    """The published BERT pipeline around a vocabulary: clean, split, WordPiece, [CLS] and [SEP]."""
    backend = tokenizers.Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(
        lowercase=lowercase, strip_accents=strip_accents, handle_chinese_chars=tokenize_chinese_chars
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    known = [token for token in SPECIAL_TOKENS if token in vocab]  # __init__ names what is missing
    backend.add_special_tokens(known)
    if {"[CLS]", "[SEP]"} <= vocab.keys():
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0",
            pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=[(token, vocab[token]) for token in ("[CLS]", "[SEP]")],
        )
    return backend


def _letters(backend: tokenizers.Tokenizer, texts: Sequence[str]) -> list[str]:
    """The most frequent characters, sorted, then `##` forms of those that can stand inside a word."""
    counts = Counter(chain.from_iterable(map(backend.normalizer.normalize_str, texts)))
    by_frequency = sorted(counts, key=lambda letter: (-counts[letter], letter))
    letters = sorted([letter for letter in by_frequency if not letter.isspace()][:MAX_ALPHABET])
    split = backend.pre_tokenizer.pre_tokenize_str
    inner = [f"##{letter}" for letter in letters if len(split(f"x{letter}x")) == 1]
    return letters + inner


def _cut_longest(lengths: Sequence[int], room: int) -> list[int]:
    """Lengths of one or two segments after cutting the longer until their sum fits in `room` tokens."""
    if room < len(lengths):
        raise InputError(f"max_length={room + 1 + len(lengths)} leaves no room beside [CLS] and [SEP]")
    if sum(lengths) <= room:
        return list(lengths)
    if len(lengths) == 1:
        return [room]
    short = min(*lengths, room // 2)
    return [short, room - short] if lengths[0] <= lengths[1] else [room - short, short]


def stack(rows: Sequence[Sequence], filler, length: int | None = None) -> torch.Tensor:
    """Rows of unequal length -> LongTensor (B, S) (or (B, S, 2) for pairs), filled up at the right to
    the longest, or to `length`."""
    length = length or max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (length - len(row))] for row in rows], dtype=torch.long)


def _why_no_text(texts: Sequence) -> str:
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            return f"text {number} is a {type(text).__name__}, not a string"
    return "a text holds half of a surrogate pair (broken Unicode): decode its file as UTF-8"


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def _read_backend(path: Path) -> tokenizers.Tokenizer:
    text = _read(path)
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the engine raises nothing narrower
        raise InputError(f"{path} is no tokenizer file: {error}") from None


def _read_vocab(path: Path) -> list[str]:
    """One token a line; a token may be any character but a line feed, so `splitlines` would be wrong."""
    tokens = _read(path).removesuffix("\n").replace("\r\n", "\n").split("\n")
    first_line: dict[str, int] = {}
    for line, token in enumerate(tokens, start=1):
        if token in first_line:
            raise InputError(f"{path}, line {line}: repeats the token {token!r} of line {first_line[token]}")
        first_line[token] = line
    if tokens == [""]:
        raise InputError(f"{path} is empty: one token a line is expected")
    return tokens


def _read_options(path: Path) -> dict:
    """Arguments for `Tokenizer.from_vocab`; lower-casing is the published default."""
    try:
        options = json.loads(_read(path)) if path.exists() else {}
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is no JSON: {error}") from None
    chosen = {name: options[name] for name in NORMALIZER_OPTIONS if name in options}
    return {"lowercase": options.get("do_lower_case", True), **chosen}
