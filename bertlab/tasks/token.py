"""A label for each word, such as the kind of name it belongs to (Devlin et al. 2019, section 5.3)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from bertlab.config import BertConfig
from bertlab.corpora.examples import TokenExample
from bertlab.corpora.labelled.schemes import (
    OUTSIDE,
    are_entities,
    as_bio,
    as_names,
    entity_spans,
    goes_on,
    spelled,
    spelling_of,
)
from bertlab.errors import InputError, printable
from bertlab.inputs.features import Batch, Feature, WordsFeature, word_features
from bertlab.inputs.spans import after_marks
from bertlab.io.files import rereadable
from bertlab.model import BertForTokenClassification
from bertlab.model.base import PretrainedModel
from bertlab.model.crf import forbidden_steps
from bertlab.tasks.base import Compared, Given, Prediction, Task, TaskName, lazily, some
from bertlab.tasks.measures import score_entities, score_tags
from bertlab.tasks.sequence import MOST_CLASSES, check_label
from bertlab.tokenizer import Tokenizer

if TYPE_CHECKING:
    from bertlab.corpora.labelled.tabular import ReadOptions

LabelledRow = tuple[list[str], list[float]]  # the label of each word, and its probability


@dataclass(frozen=True)
class Entity:
    """One name of that kind: words `first` to `last`, both inclusive."""

    kind: str
    first: int
    last: int
    text: str


@dataclass(frozen=True)
class TokenPrediction(Prediction):
    """The label of each word; with a CRF, which judges a sentence as a whole, `probabilities` is None."""

    words: tuple[str, ...]
    labels: tuple[str, ...]
    probabilities: tuple[float, ...] | None

    @property
    def entities(self) -> list[Entity]:
        return entities(self.words, self.labels)

    def as_row(self) -> dict:
        return asdict(self) | {"entities": [asdict(entity) for entity in self.entities]}

    def as_conll(self) -> str:
        """Return words and labels as columns, with a blank line after them."""
        return "".join(f"{word}\t{label}\n" for word, label in zip(self.words, self.labels, strict=True)) + "\n"


class TokenTask(Task[TokenExample, TokenPrediction]):
    """Labels belong to the first piece of each word. A sentence that does not fit is read in several rows.

    Labels with prefixes (B-x) mark entities, which are measured whole. Of plain ones (DET) it is the share of right
    words, and entities are neighbours with the same label, if the model or the examples have the label O.
    """

    names = {
        "token": TaskName("a label for each word"),
        "entities": TaskName("names and what they name", lazily("storyworld", "entities")),
    }
    head = BertForTokenClassification
    best = "f1"
    options = frozenset({"layer_mix", "token_decoder", "label_smoothing", "class_weights"})
    line_formats = {".conll": TokenPrediction.as_conll}
    read_rows = staticmethod(lazily("labelled.hub_datasets", "word_rows"))

    @classmethod
    def read_file(cls, path: Path, options: "ReadOptions") -> Iterator[TokenExample]:
        """Yield the sentences of a CoNLL file, or of JSON lines that list words and labels."""
        from bertlab.corpora.labelled.conll import read_conll
        from bertlab.corpora.labelled.records import JSON

        if path.suffix.lower() in JSON:
            yield from super().read_file(path, options)
            return
        how: dict[str, Any] = {"labelled": options.labelled, "encoding": options.encoding, "skipped": options.skipped}
        if options.columns.text is not None:
            how["word_column"] = _number("--text-column", options.columns.text)
        if options.columns.label is not None:
            how["label_column"] = _number("--label-column", options.columns.label)
        yield from read_conll(path, **how)

    def read_new(self, path: Path, options: "ReadOptions") -> Iterator[TokenExample]:
        """Yield the sentences of a CoNLL file; of one whose lines or rows hold texts, the words of each text."""
        from bertlab.corpora.labelled.conll import has_words
        from bertlab.corpora.labelled.records import read_records
        from bertlab.corpora.labelled.tabular import text_examples

        path = rereadable(path)
        if has_words(path, options.columns, options.encoding):
            yield from self.read_examples(path, options)
            return
        records = read_records(path, options.encoding, options.skipped, options.columns, labelled=options.labelled)
        for text in some(text_examples(records, str(path), replace(options, pairs=False)), path, options.skipped):
            words = tuple(text.text[a:b] for a, b in words_of(text.text, self.tokenizer))
            yield TokenExample(text.id, words)

    def head_fields(self, examples: Sequence[TokenExample]) -> dict[str, Any]:
        seen = {label for example in examples for label in example.labels or ()}
        if not are_entities(seen) and (spelling := spelling_of(seen)):
            pairs = ", ".join(f"{spelled(label, spelling)} for {label}" for label in sorted(seen - {OUTSIDE})[:2])
            raise InputError(f"the labels mark names in a spelling that only files may have: write {pairs} ...")
        self.best = "f1" if are_entities(seen) or OUTSIDE in seen else "token_accuracy"
        if not are_entities(seen):
            return {"id2label": dict(enumerate(plain_names(seen)))}
        kinds = sorted({label[2:] for label in seen if label != OUTSIDE})
        prefixes = "BIES" if any(label[:2] in ("E-", "S-") for label in seen) else "BI"
        if not kinds:
            raise InputError(f"no word of the {len(examples)} sentences is labelled: there is nothing to learn")
        names = [OUTSIDE, *(f"{prefix}-{kind}" for kind in kinds for prefix in prefixes)]
        return {"id2label": dict(enumerate(names))}

    @staticmethod
    def counted_labels(example: TokenExample) -> Iterable[str]:
        return (entity.kind for entity in entities(example.words, example.labels or ()))

    def check(self, examples: Iterable[TokenExample], config: BertConfig) -> None:
        config = in_usual_spelling(config)
        for example in as_known(examples, config):
            check_label(example.id, example.labels, config)

    def features(self, examples: Sequence[TokenExample], config: BertConfig, learn: bool) -> list[WordsFeature]:
        """To learn from, rows share no word; to predict from, they overlap, so that each word has context in one."""
        if not learn:
            return word_features(examples, self.tokenizer, self.max_length, overlap=True)
        config = in_usual_spelling(config)
        label2id = config.label2id
        features = word_features([*as_known(examples, config)], self.tokenizer, self.max_length, label2id)
        if config.token_decoder == "crf":
            check_steps(examples, features, list(label2id))
        return features

    def decode(self, model: PretrainedModel, examples: Sequence[TokenExample]) -> list[TokenPrediction]:
        head, names = cast(BertForTokenClassification, model), list(in_usual_spelling(model.config).label2id)
        rows: list[dict[int, LabelledRow]] = [{} for _ in examples]  # of each example by their first word
        for chosen, out in self.outputs(model, self.features(examples, model.config, learn=False)):
            mask = word_mask(chosen, out.logits)
            shares = out.logits.float().softmax(-1).amax(-1)  # (B, S, N) -> (B, S)
            for feature, labels, row in zip(chosen, head.decode(out.logits, mask), shares.tolist(), strict=True):
                labelled = [names[label] for label in labels], [row[position] for position in feature.positions]
                rows[feature.example][feature.first_word] = labelled
        certain = model.config.token_decoder != "crf"
        return [_joined(example, found, certain) for example, found in zip(examples, rows, strict=True)]

    def inputs(self, features: Sequence[Feature], model: PretrainedModel) -> Batch:
        batch = super().inputs(features, model)
        words = cast(Sequence[WordsFeature], features)  # features() makes no others
        return batch | {"word_mask": word_mask(words, batch["input_ids"])}

    def predict_given(self, model: PretrainedModel, given: Given, top: int) -> list[dict]:
        """Return the names in a text: kind, text, and first and last + 1 character; if each word has a plain label,
        each word. All of them, whatever `top` is."""
        text = given["text"]
        spans = words_of(text, self.tokenizer)
        prediction = next(self.predict(model, [TokenExample("", tuple(text[a:b] for a, b in spans))]))
        labels = in_usual_spelling(model.config).label2id
        words = zip(prediction.labels, prediction.words, strict=True)
        each_word = [Entity(label, number, number, word) for number, (label, word) in enumerate(words)]
        found = prediction.entities if OUTSIDE in labels or are_entities(labels) else each_word
        found_at = [(printable(one.kind), spans[one.first][0], spans[one.last][1]) for one in found]
        return [{"kind": kind, "text": text[a:b], "start": a, "end": b} for kind, a, b in found_at]

    def measures(self, examples: Sequence[TokenExample], predictions: Sequence[TokenPrediction]) -> dict[str, float]:
        gold, predicted = [begun(e.labels or ()) for e in examples], [begun(p.labels) for p in predictions]
        whole = are_entities(label for labels in gold for label in labels)
        if whole and marks_ends(gold) != marks_ends(predicted):
            gold, predicted = list(map(in_bio, gold)), list(map(in_bio, predicted))
        scores = (score_entities if whole else score_tags)(gold, predicted)
        return scores if "f1" in scores or OUTSIDE not in self.labels else score_entities(gold, predicted) | scores

    def baselines(self, known: Sequence[TokenExample], examples: Sequence[TokenExample]) -> dict[str, dict[str, float]]:
        counts: dict[str, Counter[str]] = {}
        for example in known:
            for word, label in zip(example.words, example.labels or (), strict=True):
                counts.setdefault(word, Counter())[label] += 1
        usual = {word: seen.most_common(1)[0][0] for word, seen in counts.items()}
        rest = Counter(label for e in known for label in e.labels or ()).most_common(1)[0][0]
        guesses = [TokenPrediction(e.words, tuple(usual.get(w, rest) for w in e.words), None) for e in examples]
        return {"each word's most frequent label": self.measures(examples, guesses)}

    def compare(self, examples: Sequence[TokenExample], predictions: Sequence[TokenPrediction]) -> list[Compared]:
        """The error is the number of names that are missing, wrong or too many."""
        compared = []
        for example, prediction in zip(examples, predictions, strict=True):
            gold, predicted = set(entities(example.words, example.labels or ())), set(prediction.entities)
            text, error = " ".join(example.words), float(len(gold ^ predicted))
            compared.append(Compared(example.id, text, _listed(gold), _listed(predicted), error))
        return compared

    def confusions(
        self, examples: Sequence[TokenExample], predictions: Sequence[TokenPrediction]
    ) -> list[tuple[str, str]]:
        pairs = zip(examples, predictions, strict=True)
        return [(_kind(a), _kind(b)) for e, p in pairs for a, b in zip(e.labels or (), p.labels, strict=True)]


def _number(option: str, column: str) -> int:
    """Return the number of a column of a CoNLL file, whose columns have no names."""
    try:
        return int(column)
    except ValueError:
        raise InputError(f"{option} {column}: columns of CoNLL files are numbers, from 0") from None


def plain_names(seen: set[str]) -> list[str]:
    """Return plain labels in their order. InputError: there are too few or too many to learn."""
    if len(seen) < 2:
        raise InputError(f"all words have the label {min(seen)!r}: there is nothing to learn")
    if len(seen) > MOST_CLASSES:
        raise InputError(f"{len(seen):,} different labels of words are no classes; see --label-column")
    return sorted(seen, key=lambda label: (label != OUTSIDE, label))


def in_usual_spelling(config: BertConfig) -> BertConfig:
    """Return the config with the names that predictions have: PER-B, B_PER or B of a published model become B-PER or
    B-name, as the labels of files do. Plain labels stay."""
    names = list(config.label2id)
    spelling = spelling_of(names)
    usual = [spelled(name, spelling) for name in names] if spelling else names
    if usual == names or len({*usual}) < len(names):
        return config
    return config.changed(id2label=dict(enumerate(usual)))


def as_known(examples: Iterable[TokenExample], config: BertConfig) -> Iterator[TokenExample]:
    """Yield the examples with I-x for B-x where that is all that a model with this config knows of x (IO)."""
    known = config.label2id
    names = {f"B-{name[2:]}": name for name in known if name.startswith("I-") and f"B-{name[2:]}" not in known}
    for example in examples:
        yield replace(example, labels=example.labels and tuple(names.get(label, label) for label in example.labels))


def begun(labels: Sequence[str]) -> list[str]:
    """Return labels of names with B- where a name begins, as those of files have it; models may speak IOB1 or IO.
    Plain labels stay."""
    return list(as_bio(labels) if are_entities(labels) else labels)


def marks_ends(sentences: Sequence[Sequence[str]]) -> bool:
    """Return whether the labels mark where names end, as BIOES does."""
    return any(label[:2] in ("E-", "S-") for labels in sentences for label in labels)


def in_bio(labels: Sequence[str]) -> list[str]:
    """Return labels of names with B- and I- alone."""
    found = [OUTSIDE] * len(labels)
    for kind, first, last in entity_spans(labels):
        found[first : last + 1] = [f"B-{kind}", *[f"I-{kind}"] * (last - first)]
    return found


def _joined(example: TokenExample, rows: dict[int, LabelledRow], certain: bool) -> TokenPrediction:
    """Return the prediction for a sentence from those of its rows, given by their first words."""
    labels, sure = list[str](), list[float]()
    for first in sorted(rows):
        next_labels, next_sure = rows[first]
        seam = _seam(labels, next_labels, first)
        labels[seam:], sure[seam:] = next_labels[seam - first :], next_sure[seam - first :]
    return TokenPrediction(example.words, tuple(labels), tuple(sure) if certain else None)


def _seam(before: Sequence[str], after: Sequence[str], first: int) -> int:
    """Return the word from which on the next row, `after`, tells the labels; it begins at word `first`, and the words
    before end in the middle of it. That is the middle of the words that both have, where both have equally much
    context, or the nearest word to it at which no name goes on in either."""
    shared = range(first + 1, len(before))
    whole = [word for word in shared if not (goes_on(before, word) or goes_on(after, word - first))]
    middle = (first + len(before)) / 2
    return min(whole, key=lambda word: abs(word - middle), default=int(middle))


def check_steps(examples: Sequence[TokenExample], features: Sequence[WordsFeature], names: Sequence[str]) -> None:
    """Raise InputError for rows in which labels follow each other as their names forbid: a CRF cannot learn them."""
    forbidden, names = forbidden_steps(names).tolist(), ["no word", *names]
    for feature in features:
        labels = cast(list[int], feature.targets["labels"])
        path = [0, *(labels[position] + 1 for position in feature.positions), 0]
        for before, after in pairwise(path):
            if forbidden[before][after]:
                raise InputError(
                    f"example {examples[feature.example].id}: in a row of it the labels go from {names[before]} to "
                    f"{names[after]}, which a CRF never predicts: repair them, or leave out token_decoder=crf"
                )


def word_mask(features: Sequence[WordsFeature], like: Tensor) -> Tensor:
    """Return a mask (B, S) of the first piece of each word, of the length and on the device of `like` (B, S, ...)."""
    mask = torch.zeros(like.shape[:2], dtype=torch.bool)
    for row, feature in enumerate(features):
        mask[row, list(feature.positions)] = True
    return mask.to(like.device)


def words_of(text: str, tokenizer: Tokenizer) -> list[tuple[int, int]]:
    """Return first and last + 1 character of each word of a text, as BERT splits it before it makes pieces. Accents and
    vowel signs at its end, which lower-casing takes out of the pieces, belong to it."""
    encoding = tokenizer.encodings(text)[0]
    spans: dict[int | None, tuple[int, int]] = {}
    for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
        spans[word] = (spans.get(word, (start, end))[0], end)
    return [(start, after_marks(text, end)) for start, end in spans.values()]


def entities(words: Sequence[str], labels: Sequence[str]) -> list[Entity]:
    """Return the names that the labels of a sentence mark."""
    return [Entity(kind, a, b, " ".join(words[a : b + 1])) for kind, a, b in entity_spans(as_names([labels])[0])]


def _listed(found: set[Entity]) -> str:
    return ", ".join(f"{e.text} ({e.kind})" for e in sorted(found, key=lambda e: e.first)) or "none"


def _kind(label: str) -> str:
    return label[2:] if label != OUTSIDE and are_entities([label]) else label
