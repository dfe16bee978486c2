"""Examples of the task families as rows of model input, each with its targets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.corpora.examples import ChoiceExample, TextExample, TokenExample
from bertlab.errors import InputError
from bertlab.tokenizer import Row, Tokenizer, stack

Batch = dict[str, Tensor]
Target = int | float | list[int] | list[float]
Item = TypeVar("Item")
LEARNED_WINDOWS = 4  # of a text, so that a few long ones do not take all the steps


@dataclass(frozen=True)
class Feature:
    """One row of model input, or of a choice one row each, and its targets under the names that the heads give them.

    A target is a number, a list of one number per token, or (several classes) a list of one number per class.
    `example` is the number of its example among those that were converted together; `cut` counts the tokens that did
    not fit.
    """

    rows: tuple[Row, ...]
    targets: dict[str, Target] = field(default_factory=dict)
    example: int = 0
    cut: int = 0

    @property
    def length(self) -> int:
        return max(len(row.ids) for row in self.rows)


@dataclass(frozen=True)
class WordsFeature(Feature):
    """A row of words: `positions` are those of the first pieces of words `first_word`, `first_word` + 1, ..."""

    positions: tuple[int, ...] = ()
    first_word: int = 0


def cut_words(cut: int, count: int, length: int) -> str:
    """Return in words that so many of `count` inputs were cut at `length` tokens; "" if none was."""
    if not cut:
        return ""
    which = "the input is" if count == 1 else f"{cut:,} of {count:,} inputs are"
    return f"{which} cut at {length} tokens: the model reads no more of it"


def collate(features: Sequence[Feature], tokenizer: Tokenizer, length: int | None = None) -> Batch:
    """Return input_ids, token_type_ids, attention_mask (B, S), or (B, C, S), and the targets (B,), (B, S) or (B, N).

    Rows are padded to the longest one, or to `length`; where a target is a list of one number per token, with -100.
    """
    batch = tokenizer.batch([row for feature in features for row in feature.rows], length)
    more = 0 if length is None else length - max(feature.length for feature in features)
    if (choices := len(features[0].rows)) > 1:
        batch = {name: tensor.unflatten(0, (-1, choices)) for name, tensor in batch.items()}  # (B*C, S) -> (B, C, S)
    for name in features[0].targets:
        batch[name] = _stacked([feature.targets[name] for feature in features], more)
    return batch


def _stacked(values: Sequence[Target], more: int) -> Tensor:
    rows = [value for value in values if isinstance(value, list)]
    if rows and isinstance(rows[0][0], int):
        return stack(rows, IGNORED, max(map(len, rows)) + more)  # (B, S)
    return torch.tensor(values)  # (B,), or (B, N) of a number for each class


def text_features(
    examples: Sequence[TextExample], tokenizer: Tokenizer, max_length: int, label2id: Mapping[str, int] | None = None
) -> list[Feature]:
    """`[CLS] text [SEP]`, or `[CLS] text [SEP] pair [SEP]` with the longer one cut until both fit (section 4.1).

    A text that does not fit is read in windows, a row each (see text_windows); a pair is not.

    labels: the number of the class, a number as it is, or for several classes 1.0 or 0.0 each; none where the example
    has no label. With `label2id` the rows are to learn from: they have labels, and of a text there are at most
    LEARNED_WINDOWS.
    """
    texts = tokenizer.encodings([example.text for example in examples], offsets=False)
    pairs = iter(tokenizer.encodings([e.pair for e in examples if e.pair is not None], offsets=False))
    features = []
    for number, (example, text) in enumerate(zip(examples, texts, strict=True)):
        fitted, cut = tokenizer.fitted((text,) if example.pair is None else (text, next(pairs)), max_length)
        rows, targets = [fitted], dict[str, Target]()
        if cut and example.pair is None:
            rows, cut = (
                [_row(text.ids[w.start : w.stop], tokenizer) for w in text_windows(len(text.ids), max_length)],
                0,
            )
        if label2id is not None:
            rows = spread(rows, LEARNED_WINDOWS)
            if example.label is not None:
                targets["labels"] = label_target(example.label, label2id)
        features += [Feature((row,), targets, number, cut) for row in rows]
    return features


def text_windows(tokens: int, max_length: int) -> list[range]:
    """Return the tokens of each window of a text: as few windows as hold it all, equally far apart."""
    room = max_length - 2  # beside [CLS] and [SEP]
    return [range(start, start + room) for start in spread(range(tokens - room + 1), -(-tokens // room))]


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """Return `most` of the items, equally far apart, the first and the last among them; all where there are no more."""
    if len(items) <= most:
        return list(items)
    return [items[number * (len(items) - 1) // max(1, most - 1)] for number in range(most)]


def _row(ids: Sequence[int], tokenizer: Tokenizer) -> Row:
    """The row of one text's tokens."""
    size = len(ids) + 2
    return Row([tokenizer.cls_token_id, *ids, tokenizer.sep_token_id], [0] * size, [(0, 0)] * size)


def label_target(label: str | float | tuple[str, ...], label2id: Mapping[str, int]) -> Target:
    """Return what BertForSequenceClassification learns from."""
    if isinstance(label, tuple):
        return [float(name in label) for name in label2id]
    return label2id[label] if isinstance(label, str) else label


def choice_features(examples: Sequence[ChoiceExample], tokenizer: Tokenizer, max_length: int) -> list[Feature]:
    """`[CLS] text [SEP] choice [SEP]` for each choice (section 4.4); labels: the number of the right one."""
    features = []
    for number, example in enumerate(examples):
        text, *choices = tokenizer.encodings([example.text, *example.choices], offsets=False)
        rows, cuts = zip(*(tokenizer.fitted((text, choice), max_length) for choice in choices), strict=True)
        targets: dict[str, Target] = {} if example.label is None else {"labels": example.label}
        features.append(Feature(rows, targets, number, max(cuts)))
    return features


def word_features(
    examples: Sequence[TokenExample],
    tokenizer: Tokenizer,
    max_length: int,
    label2id: Mapping[str, int] | None = None,
    overlap: bool = False,
) -> list[WordsFeature]:
    """`[CLS] words [SEP]`; labels: at the first piece of each word its label, elsewhere -100 (section 5.3).

    A sentence that does not fit becomes several rows, each of as many words as fit; where labels are known, a row ends
    between two names, if it can. Without `label2id` no labels are made. With `overlap` a row begins in the middle of
    the one before, so that each word has context on both sides in one of them. InputError where a row has no room for
    a word.
    """
    if max_length < 3:
        raise InputError(f"max_length={max_length} leaves no room beside [CLS] and [SEP]")
    known = _pieces({word: None for example in examples for word in example.words}, tokenizer)
    features = []
    for number, example in enumerate(examples):
        first, words = 0, [known[word] for word in example.words]
        labels = None if label2id is None or example.labels is None else example.labels
        while first < len(words):
            feature = _words_that_fit(words, first, len(words), tokenizer, max_length, number)
            if labels is not None and label2id is not None:
                end = first + len(feature.positions)
                if (last := _between_names(labels, first, end)) < end:
                    feature = _words_that_fit(words, first, last, tokenizer, max_length, number)
                ids = [label2id[label] for label in labels[first : first + len(feature.positions)]]
                feature.targets["labels"] = _at(feature.positions, ids, feature.length)
            features.append(feature)
            end = first + len(feature.positions)
            first = (first + end + 1) // 2 if overlap and end < len(words) else end
    return features


def _at(positions: Sequence[int], labels: Sequence[int], length: int) -> list[int]:
    """Labels at these positions of a row, -100 elsewhere."""
    row = [IGNORED] * length
    for position, label in zip(positions, labels, strict=True):
        row[position] = label
    return row


def _pieces(words: Iterable[str], tokenizer: Tokenizer) -> dict[str, list[int]]:
    """The ids of each word; [UNK] for one without pieces (nothing but control characters)."""
    words = list(words)
    return {
        word: ids or [tokenizer.unk_token_id] for word, ids in zip(words, tokenizer.encode_batch(words), strict=True)
    }


def _between_names(labels: Sequence[str], first: int, last: int) -> int:
    """Return the last word after `first` and not after `last` that does not continue a name."""
    for word in range(last, first, -1):
        if word == len(labels) or labels[word][:2] not in ("I-", "E-"):
            return word
    return last


def _words_that_fit(
    words: Sequence[list[int]], first: int, last: int, tokenizer: Tokenizer, max_length: int, number: int
) -> WordsFeature:
    """A row of the words from `first` to before `last`, each given by its pieces; one longer than the row is cut."""
    ids: list[int] = []
    positions: list[int] = []
    cut = 0
    for pieces in words[first:last]:
        room = max_length - 2 - len(ids)
        if len(pieces) > room and positions:
            break
        positions.append(len(ids) + 1)  # behind [CLS]
        cut = max(0, len(pieces) - room)
        ids.extend(pieces[:room])
    return WordsFeature((_row(ids, tokenizer),), {}, number, cut, tuple(positions), first)
