"""Vocabularies: the special tokens, the pipeline around a vocabulary, and learning one from text."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from bertlab.errors import InputError, brief

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORD_CHARACTERS = 100  # a longer word becomes [UNK]
MOST_WORD_CHARACTERS = 500  # the time for a word grows with the cube of its length
MAX_ALPHABET = 1000  # rarer characters become [UNK], or those of a few foreign names would fill the vocabulary;
COVERED = (
    0.9995  # unless they are more than a trifle of the text, as in Chinese (Kudo and Richardson 2018 take as many)
)


def make_backend(
    vocab: dict[str, int],
    lowercase: bool,
    strip_accents: bool | None = None,
    tokenize_chinese_chars: bool = True,
    clean_text: bool = True,
    most_characters: int = WORD_CHARACTERS,
) -> tokenizers.Tokenizer:
    """Build the published BERT pipeline around a vocabulary: clean, split, WordPiece, [CLS] and [SEP]."""
    backend = tokenizers.Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=most_characters))
    backend.normalizer = normalizers.BertNormalizer(
        clean_text, lowercase=lowercase, strip_accents=strip_accents, handle_chinese_chars=tokenize_chinese_chars
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


def check_backend(backend: tokenizers.Tokenizer) -> None:
    """InputError for a tokenizer that cuts text in another way than BERT's."""
    if not isinstance(backend.model, models.WordPiece):
        kind = type(backend.model).__name__
        raise InputError(f"the tokenizer is of kind {kind}, not WordPiece: choose a BERT checkpoint")
    if not isinstance(backend.normalizer, normalizers.BertNormalizer):
        raise InputError("the tokenizer does not clean text as BERT does (no BertNormalizer)")
    if backend.pre_tokenizer is None:
        raise InputError("the tokenizer does not split text into words (no pre_tokenizer)")
    if not isinstance(backend.pre_tokenizer, pre_tokenizers.BertPreTokenizer):
        kind = type(backend.pre_tokenizer).__name__
        raise InputError(f"the tokenizer splits text by {kind}, BERT's by BertPreTokenizer")
    if (prefix := backend.model.continuing_subword_prefix) != "##":
        raise InputError(f"pieces inside a word begin with {brief(prefix)}, BERT's with '##'")
    if (unknown := backend.model.unk_token) != "[UNK]":
        raise InputError(f"unk_token is {brief(unknown)}, BERT's is '[UNK]'")
    if not 1 <= (most := backend.model.max_input_chars_per_word) <= MOST_WORD_CHARACTERS:
        raise InputError(f"max_input_chars_per_word must be 1 to {MOST_WORD_CHARACTERS:,}, not {most} (BERT has 100)")


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
