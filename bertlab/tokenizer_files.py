"""The files of a tokenizer: vocab.txt or tokenizer.json, and beside them the options and the added tokens.

What they mean together is what transformers 5 makes of them.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers
from tokenizers import AddedToken

from bertlab.errors import InputError, brief
from bertlab.io.files import expanded, present, read_text
from bertlab.io.json_files import read_json
from bertlab.io.locate import is_adapter, locate
from bertlab.vocabulary import SPECIAL_TOKENS, check_backend, make_backend

CONFIG = "tokenizer_config.json"
# Name in tokenizer_config.json -> argument of make_backend; null stands for the published default.
OPTIONS = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "tokenize_chinese_chars",
}
DEFAULTS = {"lowercase": True, "strip_accents": None, "tokenize_chinese_chars": True}
AS_IT_STANDS = ("PreTrainedTokenizerFast", "TokenizersBackend")  # classes that take tokenizer.json without options
# Classes that cut text as BERT's does and follow the options; each may have "Fast" behind it.
BERTS = ("Bert", "DistilBert", "Electra", "MobileBert", "SqueezeBert", "LayoutLM", "Lxmert")
# Parts of the names of classes that cut text otherwise, whatever tokenizer.json says.
OTHERS = "Japanese Roberta tweet MPNet Funnel RoFormer Albert Deberta GPT XLM T5 Splinter".split()
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")  # of tokenizer.json, beside the vocabulary
NAMES = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL_TOKENS, strict=True))
STANDARD = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
FLAGS = ("single_word", "lstrip", "rstrip", "normalized")  # of an added token
SEGMENTS = "token_type_ids"
LONGEST = 10**9  # a model_max_length from here on stands for none: transformers writes 10**30
Numbered = tuple[int | None, AddedToken]  # its number, where a file gives one


class Reading(NamedTuple):
    """What the files say of a model's input, beside the tokens of a text."""

    segments: bool = True  # whether token_type_ids are 1 on the second text of a pair
    cut_left: bool = False  # whether a text that is too long loses its beginning, not its end
    max_length: int | None = None  # model_max_length


def read(name: str | Path, lowercase: bool = True) -> tuple[Path, tokenizers.Tokenizer, Reading, Path]:
    """Return the file of a tokenizer, the tokenizer, how texts are read with it, and where the config.json of its model
    would be.

    `name` is such a file (tokenizer.json or vocab.txt), a folder, a bundled name or a hub id; an adapter without a
    tokenizer has that of its base. InputError names the file
    (and line) that is missing or wrong.
    """
    if (file := expanded(name)).suffix in (".txt", ".json") and present(file):
        return file, *_read_file(file, lowercase), file.with_name("config.json")
    folder = locate(name)
    found = next((folder / name for name in ("tokenizer.json", "vocab.txt") if present(folder / name)), None)
    if found is None and is_adapter(folder):
        from bertlab.io.adapter_config import base_of

        return read(base_of(folder), lowercase)
    if found is None:
        raise InputError(f"{folder} holds no tokenizer: neither tokenizer.json nor vocab.txt is there")
    return found, *_read_file(found, lowercase), folder / "config.json"


def _read_file(path: Path, lowercase: bool) -> tuple[tokenizers.Tokenizer, Reading]:
    """Return the tokenizer of a file, and how texts are read with it; `lowercase` counts for a vocab.txt without
    tokenizer_config.json."""
    config_file = path.with_name(CONFIG)
    config = read_json(config_file) if present(config_file) else None
    bert = _follows_options(config or {}, path)
    follows = bert and config is not None
    options = _options(config, config_file)
    added: list[Numbered] = []
    blank = False
    if path.suffix == ".json":
        read = _read_backend(path)
        options = options if follows else _settings(read)
        if config is not None and not follows:
            _check_frame(read, path)
        vocab, added = read.get_vocab(with_added_tokens=False), list(read.get_added_tokens_decoder().items())
    else:
        vocab, blank = _read_vocab(path)
        options = {"lowercase": lowercase} | options
    backend = make_backend(vocab, **options)
    further = added if config and not follows else []
    _add(backend, chain(_added_tokens(path, config or {}, added), further), path)
    if blank and backend.get_vocab_size() > len(vocab):  # transformers gives the blank line a number too
        raise InputError(f"{path}: ends in a blank line, which shifts the numbers of the added tokens; take it out")
    return backend, _reading(config or {}, bert, path)


def _read_backend(path: Path) -> tokenizers.Tokenizer:
    """Return the tokenizer that tokenizer.json describes, if it is BERT's."""
    values = read_json(path)
    if any(_has_pattern(values.get(part)) for part in PARTS):
        raise InputError(f"{path}: cuts text by a regular expression, which no tokenizer of BERT does")
    try:
        backend = tokenizers.Tokenizer.from_str(read_text(path))
    except BaseException as error:  # the engine raises nothing narrower, and its panics are no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise InputError(f"{path} is no tokenizer file: {error}") from None
    try:
        check_backend(backend)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return backend


def _has_pattern(part: Any) -> bool:
    """Return whether a part of the pipeline holds a regular expression; some take forever or all memory."""
    if isinstance(part, dict):
        return "Regex" in part or any(map(_has_pattern, part.values()))
    return isinstance(part, list) and any(map(_has_pattern, part))


def _read_vocab(path: Path) -> tuple[dict[str, int], bool]:
    """Read one token a line, and whether blank lines follow; a token may be any character but those of a line end, so
    `splitlines` would be wrong."""
    text = re.sub("\r\n?", "\n", read_text(path))
    tokens = text.rstrip("\n").split("\n")
    tokens = [token.rstrip(" \t") or token for token in tokens]  # no token can end in these: text is split there
    first_line: dict[str, int] = {}
    if tokens == [""]:
        raise InputError(f"{path} is empty: one token a line is expected")
    for line, token in enumerate(tokens, start=1):
        if not token:
            raise InputError(f"{path}, line {line}: blank; one token a line is expected")
        if token in first_line:
            raise InputError(f"{path}, line {line}: repeats the token {brief(token)} of line {first_line[token]}")
        first_line[token] = line
    return {token: line - 1 for token, line in first_line.items()}, text.endswith("\n\n")


# Options


def _options(config: dict[str, Any] | None, path: Path) -> dict[str, Any]:
    """Return the arguments for `make_backend`, by default the published ones; none without tokenizer_config.json."""
    if config is None:
        return {}
    chosen = dict(DEFAULTS)
    for name, argument in OPTIONS.items():
        if (value := config.get(name)) is not None:
            if not isinstance(value, bool):
                raise InputError(f"{path}: {name} must be true or false, not {brief(value)}")
            chosen[argument] = value
    return chosen


def _reading(config: dict[str, Any], bert: bool, path: Path) -> Reading:
    """Return how texts are read; `bert`: transformers opens the tokenizer with a class of BERT's, whose pairs have
    segments if the file does not say otherwise."""
    source, length = path.with_name(CONFIG), config.get("model_max_length")
    names, side = config.get("model_input_names"), config.get("truncation_side")
    if side not in (None, "left", "right"):
        raise InputError(f"{source}: truncation_side must be left or right, not {brief(side)}")
    if names is None:
        named = str(_class(config, path)[0]).removesuffix("Fast")
        segments = (bert and named != "DistilBertTokenizer") or named == "ConvBertTokenizer"
    elif isinstance(names, list):
        segments = SEGMENTS in names
    else:
        raise InputError(f"{source}: model_input_names must be a list, not {brief(names)}")
    whole = isinstance(length, int) and not isinstance(length, bool) and 0 < length < LONGEST
    return Reading(segments, side == "left", length if whole else None)


def _class(config: dict[str, Any], path: Path) -> tuple[Any, Path]:
    """Return the class of a tokenizer, None where no file names it, and the file that does."""
    model = path.with_name("config.json")
    if not (named := config.get("tokenizer_class")) and present(model):
        return read_json(model).get("tokenizer_class"), model
    return named, path.with_name(CONFIG)


def _follows_options(config: dict[str, Any], path: Path) -> bool:
    """Return whether transformers opens the tokenizer with the class that follows the options, and not with one that
    takes tokenizer.json as it stands. InputError for a class that cuts text in another way than BERT's."""
    if config.get("split_special_tokens"):
        raise InputError(f"{path.with_name(CONFIG)}: split_special_tokens is set; BERT's special tokens stay whole")
    named, source = _class(config, path)
    if named is None or str(named).removesuffix("Fast").removesuffix("Tokenizer") in BERTS:
        return True
    if named in AS_IT_STANDS:
        return path.suffix != ".json"
    if path.suffix != ".json" or any(other in str(named) for other in OTHERS):
        raise InputError(f"{source}: tokenizer_class is {brief(named)}, which cuts text in another way than BERT's")
    return False


def _check_frame(backend: tokenizers.Tokenizer, path: Path) -> None:
    """Raise an InputError for a tokenizer that puts other tokens around a text or pair than [CLS] and [SEP], or other
    segments."""
    backend.no_truncation()
    backend.no_padding()
    for texts in (("a",), ("a", "b")):
        wanted = [("[CLS]", 0)]
        for segment, text in enumerate(texts):
            pieces = backend.encode(text, add_special_tokens=False).tokens
            wanted += [(token, segment) for token in (*pieces, "[SEP]")]
        found = backend.encode(*texts)
        if [*zip(found.tokens, found.type_ids, strict=True)] != wanted:
            shown = brief(" ".join(found.tokens))
            raise InputError(
                f"{path}: post_processor makes {shown} of {' and '.join(texts)}, BERT's adds [CLS] and [SEP]"
            )


def _settings(backend: tokenizers.Tokenizer) -> dict[str, Any]:
    """Return the arguments for `make_backend` that give the pipeline of a tokenizer.json."""
    normalizer = backend.normalizer
    return {
        "lowercase": normalizer.lowercase,
        "strip_accents": normalizer.strip_accents,
        "tokenize_chinese_chars": normalizer.handle_chinese_chars,
        "clean_text": normalizer.clean_text,
        "most_characters": backend.model.max_input_chars_per_word,
    }


# Added tokens: each is one token wherever it stands in a text


def _added_tokens(path: Path, config: dict[str, Any], found: list[Numbered]) -> Iterator[Numbered]:
    """Yield the added tokens beside a vocabulary, of which tokenizer.json has `found`.

    They are those of tokenizer_config.json's added_tokens_decoder; where it has none, those of the older files
    special_tokens_map.json and added_tokens.json, and `found`. Then come the special tokens by their names.
    """
    source, older = path.with_name(CONFIG), path.with_name("added_tokens.json")
    config = config | {"extra_special_tokens": _further(config)}
    if (decoder := config.get("added_tokens_decoder")) is not None:
        yield from ((number, _token(given, source)) for number, given in _by_number(decoder, source))
    else:
        names, config = _older_names(path.with_name("special_tokens_map.json"), config)
        numbers = read_json(older) if present(older) else {}
        for number, content in _by_number({str(number): content for content, number in numbers.items()}, older):
            yield number, AddedToken(content, normalized=content not in names, special=content in names)
        yield from found
    yield from ((None, token) for token in _named_tokens(config, source))


def _older_names(path: Path, config: dict[str, Any]) -> tuple[set[str], dict[str, Any]]:
    """Return the names that make a token of added_tokens.json a special one, and the config with those of a map."""
    more = read_json(path) if present(path) else {}
    # transformers takes the map's list for later: a token of it is looked for in small letters too
    first = {name: value for name, value in more.items() if name != "additional_special_tokens"}
    own = {name: value for name, value in config.items() if name not in first}
    named = chain(_named_tokens(first, path), _named_tokens(own, path.with_name(CONFIG)))
    return {token.content for token in named}, config | more


def _further(config: dict[str, Any]) -> Any:
    """Return the special tokens without a name, under the name of today or of older files."""
    return config.get("extra_special_tokens") or config.get("additional_special_tokens") or []


def _by_number(tokens: Any, path: Path) -> list[tuple[int, Any]]:
    if not isinstance(tokens, dict) or not all(re.fullmatch(r"\d{1,9}", number) for number in tokens):
        raise InputError(f"{path}: added tokens need a number each, 0 or more, not {brief(tokens)}")
    return sorted((int(number), token) for number, token in tokens.items())


def _named_tokens(config: dict[str, Any], path: Path) -> Iterator[AddedToken]:
    """Yield the tokens that a config names: cls_token and the like, and lists of further ones."""
    for name in [*STANDARD, *(name for name in config if name not in STANDARD)]:  # the order gives them numbers
        if name.endswith("_token") and isinstance(value := config.get(name), str | dict):
            token = _token(value, path)
            if token.content != NAMES.get(name, token.content):
                raise InputError(f"{path}: {name} is {brief(token.content)}, BERT's is {NAMES[name]}")
            yield token
    further = _further(config)
    for value in further.values() if isinstance(further, dict) else _listed(further, path):
        yield _token(value, path)


def _listed(tokens: Any, path: Path) -> list:
    if not isinstance(tokens, list):
        raise InputError(f"{path}: special tokens must be a list, not {brief(tokens)}")
    return tokens


def _token(given: Any, path: Path) -> AddedToken:
    """Return the token of a text, which is then a special one, or of an object with its content and flags."""
    fields = {"content": given, "special": True} if isinstance(given, str) else given
    flags = {name: fields.get(name, False) for name in (*FLAGS, "special")} if isinstance(fields, dict) else {}
    content = fields.get("content") if isinstance(fields, dict) else None
    if not isinstance(content, str) or not content or not all(isinstance(flag, bool) for flag in flags.values()):
        raise InputError(f"{path}: {brief(given)} is no added token: a text, or an object with its content and flags")
    return AddedToken(content, **flags)


def _add(backend: tokenizers.Tokenizer, tokens: Iterable[Numbered], path: Path) -> None:
    """Add tokens in the order of their numbers, then those without one that are not there yet. InputError where a
    token has another number already."""
    there = set(SPECIAL_TOKENS)
    for number, token in sorted(tokens, key=lambda token: (token[0] is None, token[0] or 0)):
        if number is None and token.content in there:
            continue
        there.add(token.content)
        backend.add_tokens([token])
        if number is not None and (own := backend.token_to_id(token.content)) != number:
            shown = brief(token.content)
            raise InputError(
                f"{path}: the added token {shown} has the number {number} in a file beside it, but is {own}"
            )


def check_vocab_size(tokens: int, config: Path) -> None:
    """Raise an InputError for more tokens than the model has embeddings; published vocabularies may have fewer."""
    embeddings = read_json(config).get("vocab_size") if present(config) else None
    if isinstance(embeddings, int) and tokens > embeddings:
        raise InputError(
            f"{tokens:,} tokens, but config.json has a vocab_size of {embeddings:,}: another model's file?"
        )
