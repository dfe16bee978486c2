"""What a fine-tuned classifier predicts for a text, or for each of its words, with the row of input it read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch

from bertlab.corpora.examples import TextExample, TokenExample
from bertlab.corpora.labelled.schemes import OUTSIDE
from bertlab.errors import InputError
from bertlab.explain.text import Encoded, clean, encode, longest
from bertlab.inputs.features import Batch
from bertlab.model import BertForSequenceClassification, BertForTokenClassification
from bertlab.tasks.sequence import SequenceTask, TextPrediction, text_prediction
from bertlab.tasks.token import TokenPrediction, TokenTask, in_usual_spelling, words_of
from bertlab.tokenizer import Tokenizer

ENDS = frozenset('.!?:;"“”')  # a word behind one of these may begin a sentence


@dataclass(frozen=True)
class LabelledText:
    """`label` is the number of the likeliest class, 0 for a model that gives one number. `whole` is the prediction for
    the whole text, in windows, where not all of it could be read at once."""

    prediction: TextPrediction
    label: int
    encoded: Encoded
    whole: TextPrediction | None = None

    @property
    def said(self) -> TextPrediction:
        """The prediction for all of the text."""
        return self.whole or self.prediction


@dataclass(frozen=True)
class Name:
    """Characters `start` to before `stop` of a text are a name of that kind."""

    start: int
    stop: int
    kind: str


@dataclass(frozen=True)
class LabelledWords:
    """The words of `text`: first and last+1 character of each in `spans`, its first token in `positions`.

    `batch` is the row (1, S) that the model read, with a word_mask, and `tokens` are its S tokens. Words that did not
    fit are left out; `dropped` counts their tokens, `unknown` the tokens that became [UNK]. `kinds` are all kinds of
    name that the model tells apart; see name_kinds.
    """

    text: str
    spans: list[tuple[int, int]]
    prediction: TokenPrediction
    positions: tuple[int, ...]
    batch: Batch
    tokens: list[str]
    dropped: int
    unknown: int
    kinds: list[str]

    @property
    def names(self) -> list[Name]:
        """The names that B- and I- labels mark; with labels of another kind (NOUN), each word with its own."""
        labels = self.prediction.labels
        if any(label in self.kinds for label in labels):
            return [Name(*span, label) for span, label in zip(self.spans, labels, strict=True) if label != OUTSIDE]
        found = self.prediction.entities
        return [Name(self.spans[entity.first][0], self.spans[entity.last][1], entity.kind) for entity in found]


def name_kinds(labels: Iterable[str]) -> list[str]:
    """Return the kinds of labels such as B-person and I-person; if one is of another kind (NOUN), the labels."""
    named = sorted(set(labels) - {OUTSIDE})
    return sorted({label[2:] for label in named}) if all(label[1:2] == "-" for label in named) else named


def capital_inside(text: str, spans: Sequence[tuple[int, int]]) -> list[bool]:
    """Return of each word of a text whether a capital letter begins it inside a sentence, as English writes names.

    *I* does not count, nor does any word of a text in capitals alone.
    """
    words = [text[start:stop] for start, stop in spans]
    before = [".", *words]
    return [
        word[:1].isupper() and word != "I" and mark not in ENDS and not text.isupper()
        for mark, word in zip(before, words, strict=False)
    ]


def label_text(
    model: BertForSequenceClassification,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None = None,
    limit: int | None = None,
) -> LabelledText:
    """Classify a text or pair: label_row, and a text that does not fit also whole, in windows.

    Raises InputError when the text is empty.
    """
    labelled = label_row(model, tokenizer, text, pair, limit)
    if not labelled.encoded.dropped or pair is not None:
        return labelled
    (whole,) = SequenceTask(tokenizer, longest(model, limit)).predict(model, [TextExample("", clean(text))])
    return replace(labelled, whole=whole)


def label_row(
    model: BertForSequenceClassification,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None = None,
    limit: int | None = None,
) -> LabelledText:
    """Classify as much of a text or pair as fits `limit` tokens or the model's length.

    Raises InputError when the text is empty.
    """
    encoded = encode(tokenizer, text, pair, longest(model, limit))
    with torch.inference_mode():  # not around the encoding: its tensors may be wanted for gradients
        logits = model(**encoded.batch).logits[0].float()  # (1, N) -> (N,)
    prediction = text_prediction(model.config, logits)
    return LabelledText(prediction, int(logits.argmax()) if prediction.probabilities else 0, encoded)


def label_words(
    model: BertForTokenClassification, tokenizer: Tokenizer, text: str, limit: int | None = None
) -> LabelledWords:
    """Label the words of a text, as many as fit `limit` tokens or the model's length.

    Raises InputError when the text is empty.
    """
    text = clean(text)
    spans = words_of(text, tokenizer)
    if not spans:
        raise InputError("the text is empty: write at least one word")
    task = TokenTask(tokenizer, longest(model, limit))
    words = tuple(text[start:stop] for start, stop in spans)
    row = task.features([TokenExample("", words)], model.config, learn=False)[0]
    fitting = len(row.positions)
    prediction = next(task.predict(model, [TokenExample("", words[:fitting])]))
    batch = task.inputs([row], model)
    ids = batch["input_ids"][0]  # (1, S) -> (S,)
    dropped = row.cut + sum(max(1, len(pieces)) for pieces in tokenizer.encode_batch(words[fitting:]))
    unknown = int((ids == tokenizer.unk_token_id).sum())
    tokens = tokenizer.convert_ids_to_tokens(ids)
    kinds = name_kinds(in_usual_spelling(model.config).label2id)
    return LabelledWords(text, spans[:fitting], prediction, row.positions, batch, tokens, dropped, unknown, kinds)
