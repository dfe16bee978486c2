"""Vocabularies: the special tokens, learning from text, and the files vocab.txt and tokenizer.json."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from bertlab.errors import InputError
from bertlab.io.gate import brief, present, read_json, read_text
from bertlab.io.locate import locate

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MAX_ALPHABET = 1000  # rarer characters become [UNK], or those of a few foreign names would fill the vocabulary;
COVERED = (
    0.9995  # unless they are more than a trifle of the text, as in Chinese (Kudo and Richardson 2018 take as many)
)


def make_backend(
    vocab: dict[str, int],
    lowercase: bool,
    strip_accents: bool | None = None,
    tokenize_chinese_chars: bool = True,
) -> tokenizers.Tokenizer:
    """Build the published BERT pipeline around a vocabulary: clean, split, WordPiece, [CLS] and [SEP]."""
    backend = tokenizers.Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(
        lowercase=lowercase, strip_accents=strip_accents, handle_chinese_chars=tokenize_chinese_chars
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    known = [token for token in SPECIAL_TOKENS if token in vocab]  # `Tokenizer` names what is missing
    backend.add_special_tokens(known)
    if {"[CLS]", "[SEP]"} <= vocab.keys():
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0",
            pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=[(token, vocab[token]) for token in ("[CLS]", "[SEP]")],
        )
    return backend


def learn(texts: Iterable[str], vocab_size: int, lowercase: bool, min_frequency: int) -> tokenizers.Tokenizer:
    """Return a backend with a vocabulary learnt from `texts`; see `Tokenizer.train`."""
    texts = [texts] if isinstance(texts, str) else texts
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise InputError("no text to train a tokenizer on: give at least one line that is not blank")
    backend = make_backend({token: i for i, token in enumerate(SPECIAL_TOKENS)}, lowercase)
    # The trainer numbers letters in the order of a hash table, which differs from run to run and
    # decides ties. Handing it all letters as ready-made tokens makes the result reproducible.
    letters = _letters(backend, texts, vocab_size)
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
    by_number = sorted(vocab, key=vocab.__getitem__)
    return make_backend({token: index for index, token in enumerate(by_number)}, lowercase)


def _letters(backend: tokenizers.Tokenizer, texts: Sequence[str], vocab_size: int) -> list[str]:
    """Return the most frequent characters, sorted, then `##` forms of those that can stand inside a word.

    The rarer ones are left out beyond the first 1,000 characters, as soon as 99.95% of the text is covered or half of
    the vocabulary is filled.
    """
    counts = Counter(chain.from_iterable(map(backend.normalizer.normalize_str, texts)))
    counts = Counter({letter: count for letter, count in counts.items() if not letter.isspace()})
    by_frequency = sorted(counts, key=lambda letter: (-counts[letter], letter))
    letters, rest = by_frequency[:MAX_ALPHABET], by_frequency[MAX_ALPHABET:]
    covered, total = sum(counts[letter] for letter in letters), counts.total()
    inside = [letter for letter in letters if _joins(backend, letter)]
    for letter in rest:
        if covered >= COVERED * total or len(letters) + len(inside) >= vocab_size // 2:
            break
        letters.append(letter)
        inside += [letter] if _joins(backend, letter) else []
        covered += counts[letter]
    return sorted(letters) + [f"##{letter}" for letter in sorted(inside)]


def _joins(backend: tokenizers.Tokenizer, letter: str) -> bool:
    """Return False for punctuation and Chinese characters, which are always words of their own."""
    text = backend.normalizer.normalize_str(f"x{letter}x")
    return len(backend.pre_tokenizer.pre_tokenize_str(text)) == 1


# Name in tokenizer_config.json -> argument of make_backend; null stands for the published default.
OPTIONS = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "tokenize_chinese_chars",
}
DEFAULTS = {"lowercase": True, "strip_accents": None, "tokenize_chinese_chars": True}
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")  # of tokenizer.json, beside the vocabulary


def read(name: str | Path, lowercase: bool = True) -> tuple[Path, tokenizers.Tokenizer, Path]:
    """Return the file of a tokenizer, the tokenizer, and where the config.json of its model would be.

    `name` is such a file (tokenizer.json or vocab.txt), a folder, a bundled name or a hub id. InputError names the file
    (and line) that is missing or wrong.
    """
    if (file := Path(name).expanduser()).suffix in (".txt", ".json") and present(file):
        return file, _read_file(file, lowercase), file.with_name("config.json")
    folder = locate(name)
    found = next((folder / name for name in ("tokenizer.json", "vocab.txt") if present(folder / name)), None)
    if found is None:
        raise InputError(f"{folder} holds no tokenizer: neither tokenizer.json nor vocab.txt is there")
    return found, _read_file(found, lowercase), folder / "config.json"


def _read_file(path: Path, lowercase: bool) -> tokenizers.Tokenizer:
    """Return the tokenizer of a file; `lowercase` counts for a vocab.txt without tokenizer_config.json."""
    if path.suffix == ".json":
        return _read_backend(path)
    vocab = {token: index for index, token in enumerate(_read_vocab(path))}
    return make_backend(vocab, **{"lowercase": lowercase} | _read_options(path.with_name("tokenizer_config.json")))


def _read_backend(path: Path) -> tokenizers.Tokenizer:
    values = read_json(path)
    if any(_has_pattern(values.get(part)) for part in PARTS):
        raise InputError(f"{path}: cuts text by a regular expression, which no tokenizer of BERT does")
    try:
        return tokenizers.Tokenizer.from_str(read_text(path))
    except BaseException as error:  # the engine raises nothing narrower, and its panics are no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise InputError(f"{path} is no tokenizer file: {error}") from None


def _has_pattern(part: Any) -> bool:
    """Return whether a part of the pipeline holds a regular expression; some take forever or all memory."""
    if isinstance(part, dict):
        return "Regex" in part or any(map(_has_pattern, part.values()))
    return isinstance(part, list) and any(map(_has_pattern, part))


def _read_vocab(path: Path) -> list[str]:
    """Read one token a line; a token may be any character but those of a line end, so `splitlines` would be wrong."""
    tokens = re.sub("\r\n?", "\n", read_text(path)).removesuffix("\n").split("\n")
    first_line: dict[str, int] = {}
    if tokens == [""]:
        raise InputError(f"{path} is empty: one token a line is expected")
    for line, token in enumerate(tokens, start=1):
        if not token:
            raise InputError(f"{path}, line {line}: blank; one token a line is expected")
        if token in first_line:
            raise InputError(f"{path}, line {line}: repeats the token {brief(token)} of line {first_line[token]}")
        first_line[token] = line
    return tokens


def _read_options(path: Path) -> dict[str, Any]:
    """Return the arguments for `make_backend`; lower-casing is the published default. None without such a file."""
    if not present(path):
        return {}
    options, chosen = read_json(path), dict(DEFAULTS)
    for name, argument in OPTIONS.items():
        if (value := options.get(name)) is not None:
            if not isinstance(value, bool):
                raise InputError(f"{path}: {name} must be true or false, not {brief(value)}")
            chosen[argument] = value
    return chosen


def check_vocab_size(tokens: int, config: Path) -> None:
    """Raise an InputError for more tokens than the model has embeddings; published vocabularies may have fewer."""
    embeddings = read_json(config).get("vocab_size") if present(config) else None
    if isinstance(embeddings, int) and tokens > embeddings:
        raise InputError(
            f"{tokens:,} tokens, but config.json has a vocab_size of {embeddings:,}: another model's file?"
        )
