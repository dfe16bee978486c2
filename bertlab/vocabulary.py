"""The WordPiece pipeline around a vocabulary, and how a vocabulary is learnt from text."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from bertlab.errors import InputError

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MAX_ALPHABET = 1000  # rarer characters become [UNK], or a Chinese text would fill the vocabulary


def make_backend(
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
    """A backend with a vocabulary learnt from `texts`; see `Tokenizer.train`."""
    texts = [texts] if isinstance(texts, str) else texts
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise InputError("no text to train a tokenizer on: give at least one line that is not blank")
    backend = make_backend({token: i for i, token in enumerate(SPECIAL_TOKENS)}, lowercase)
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
    by_number = sorted(vocab, key=vocab.get)
    return make_backend({token: index for index, token in enumerate(by_number)}, lowercase)


def _letters(backend: tokenizers.Tokenizer, texts: Sequence[str]) -> list[str]:
    """The most frequent characters, sorted, then `##` forms of those that can stand inside a word."""
    counts = Counter(chain.from_iterable(map(backend.normalizer.normalize_str, texts)))
    by_frequency = sorted(counts, key=lambda letter: (-counts[letter], letter))
    letters = sorted([letter for letter in by_frequency if not letter.isspace()][:MAX_ALPHABET])
    return letters + [f"##{letter}" for letter in letters if _joins(backend, letter)]


def _joins(backend: tokenizers.Tokenizer, letter: str) -> bool:
    """False for punctuation and Chinese characters, which are always words of their own."""
    text = backend.normalizer.normalize_str(f"x{letter}x")
    return len(backend.pre_tokenizer.pre_tokenize_str(text)) == 1
