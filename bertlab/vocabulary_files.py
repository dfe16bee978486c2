"""The published files of a tokenizer: tokenizer.json, or vocab.txt with the options of tokenizer_config.json."""

from pathlib import Path
from typing import Any

import tokenizers

from bertlab.errors import InputError
from bertlab.gate import brief, present, read_json, read_text
from bertlab.vocabulary import make_backend

# Name in tokenizer_config.json -> argument of make_backend; null stands for the published default.
OPTIONS = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "tokenize_chinese_chars",
}
DEFAULTS = {"lowercase": True, "strip_accents": None, "tokenize_chinese_chars": True}
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")  # of tokenizer.json, beside the vocabulary


def read(folder: Path) -> tuple[Path, tokenizers.Tokenizer]:
    """Return the file that counts in `folder` and the tokenizer it holds: tokenizer.json, else vocab.txt with the
    options of tokenizer_config.json. InputError names the file (and line) that is missing or wrong."""
    whole, words = folder / "tokenizer.json", folder / "vocab.txt"
    if present(whole):
        return whole, _read_backend(whole)
    if not present(words):
        raise InputError(f"{folder} holds no tokenizer: neither tokenizer.json nor vocab.txt is there")
    vocab = {token: index for index, token in enumerate(_read_vocab(words))}
    return words, make_backend(vocab, **_read_options(folder / "tokenizer_config.json"))


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
    """Whether a part of the pipeline holds a regular expression; some take forever or all memory."""
    if isinstance(part, dict):
        return "Regex" in part or any(map(_has_pattern, part.values()))
    return isinstance(part, list) and any(map(_has_pattern, part))


def _read_vocab(path: Path) -> list[str]:
    """One token a line; a token may be any character but a line feed, so `splitlines` would be wrong."""
    tokens = read_text(path).replace("\r\n", "\n").removesuffix("\n").split("\n")
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


def _read_options(path: Path) -> dict[str, bool | None]:
    """Arguments for `make_backend`; lower-casing is the published default."""
    options = read_json(path) if present(path) else {}
    chosen = dict(DEFAULTS)
    for name, argument in OPTIONS.items():
        if (value := options.get(name)) is not None:
            if not isinstance(value, bool):
                raise InputError(f"{path}: {name} must be true or false, not {brief(value)}")
            chosen[argument] = value
    return chosen


def check_vocab_size(tokens: int, config: Path) -> None:
    """InputError for more tokens than the model beside them has embeddings; published ones may have fewer."""
    embeddings = read_json(config).get("vocab_size") if present(config) else None
    if isinstance(embeddings, int) and tokens > embeddings:
        raise InputError(
            f"{tokens:,} tokens, but config.json has a vocab_size of {embeddings:,}: another model's file?"
        )
