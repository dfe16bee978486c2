"""From what somebody typed to one row of model inputs, with what had to be left out counted."""

import re
import unicodedata
from dataclasses import dataclass

import torch

from bertlab.errors import InputError
from bertlab.model import BertModel
from bertlab.model.base import PretrainedModel
from bertlab.tokenizer import Tokenizer

_MASK = re.compile(r"\[mask\]", re.IGNORECASE)


@dataclass(frozen=True)
class Encoded:
    """One text or pair as the model reads it.

    `batch` holds input_ids, token_type_ids and attention_mask, each (1, S). `special` (S,) is true at [CLS]
    and [SEP]; `offsets` (S, 2) are first and last+1 character in the cleaned text. `dropped` counts the
    tokens cut off at the end to fit the model, `unknown` those that became [UNK].
    """

    batch: dict[str, torch.Tensor]
    tokens: list[str]
    special: torch.Tensor
    offsets: torch.Tensor
    dropped: int
    unknown: int

    @property
    def input_ids(self) -> torch.Tensor:
        return self.batch["input_ids"][0]  # (1, S) -> (S,)

    @property
    def texts(self) -> torch.Tensor:
        """0 on the first text and its [SEP], 1 on the second (S,), also for a tokenizer without segments."""
        added = (self.offsets == 0).all(-1).long()  # (S, 2) -> (S,): [CLS] and the [SEP] of each text
        return (added.cumsum(0) - added > 1).long()

    @property
    def token_type_ids(self) -> torch.Tensor:
        return self.batch["token_type_ids"][0]  # (1, S) -> (S,)


def clean(text: str) -> str:
    """`text` without control characters and broken surrogates; [mask] in any case becomes [MASK]."""
    kept = "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") else " " for c in text)
    return _MASK.sub("[MASK]", kept).strip()


def rare_words(tokenizer: Tokenizer, text: str) -> tuple[int, int]:
    """Return how many words of a text are not in the vocabulary, and become several tokens or [UNK], and how many words
    it has. Marks are no words."""
    text = clean(text)
    (encoding,) = tokenizer.encodings([text])
    pieces: dict[int, list[int]] = {}
    for token, word, (start, _) in zip(encoding.ids, encoding.word_ids, encoding.offsets, strict=True):
        if word is not None and text[start].isalnum():
            pieces.setdefault(word, []).append(token)
    return sum(len(ids) > 1 or ids == [tokenizer.unk_token_id] for ids in pieces.values()), len(pieces)


def frame_mask(tokenizer: Tokenizer, input_ids: torch.Tensor) -> torch.Tensor:
    """True at [CLS] and [SEP], which stand around every text: bool of the same shape."""
    return torch.isin(input_ids, input_ids.new_tensor([tokenizer.cls_token_id, tokenizer.sep_token_id]))


def longest(model: PretrainedModel, limit: int | None = None) -> int:
    """How many tokens of a text the model reads: `limit`, but never more than it has positions."""
    positions = model.config.max_position_embeddings
    return min(limit or positions, positions)


def bert_of(model: PretrainedModel) -> BertModel:
    """Return the encoder below the head of a model; the model itself if it has no head."""
    bert: BertModel = getattr(model, "bert", model)  # type: ignore[arg-type]  # without a head it is a BertModel
    return bert


def plain_bert_of(model: PretrainedModel) -> BertModel:
    """As bert_of, for what retraces the steps of a layer. InputError: the layers are not those of a plain BERT."""
    if model.config.variants:
        raise InputError(f"this needs the layers of a plain BERT; the model has {', '.join(model.config.variants)}")
    return bert_of(model)


def encode(tokenizer: Tokenizer, text: str, pair: str | None = None, limit: int = 512) -> Encoded:
    """Encode one text or pair, cut to `limit` tokens ([CLS] and [SEP] included).

    Raises InputError when nothing but spaces or control characters is left of `text`.
    """
    text, pair = clean(text), clean(pair or "") or None
    if not text:
        raise InputError("the text is empty: write at least one word")
    pairs = None if pair is None else [pair]
    whole = tokenizer([text], pairs, offsets=True)
    cut = whole
    if whole["input_ids"].shape[1] > limit:
        cut = tokenizer([text], pairs, max_length=limit, offsets=True)
    cut = dict(cut)
    offsets = cut.pop("offset_mapping")[0]  # (1, S, 2) -> (S, 2)
    ids = cut["input_ids"][0]  # (1, S) -> (S,)
    if ids.numel() <= 2 + (pair is not None):
        raise InputError("no token is left of this text: write at least one word")
    return Encoded(
        batch=cut,
        tokens=tokenizer.convert_ids_to_tokens(ids.tolist()),
        offsets=offsets,
        special=frame_mask(tokenizer, ids),
        dropped=whole["input_ids"].shape[1] - ids.numel(),
        unknown=int((ids == tokenizer.unk_token_id).sum()),
    )
