"""A label for each word, such as the kind of name it belongs to (Devlin et al. 2019, section 5.3)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import torch
from torch import Tensor

from bertlab.config import BertConfig
from bertlab.corpora.examples import TokenExample
from bertlab.errors import InputError
from bertlab.inputs.features import Batch, WordsFeature, word_features
from bertlab.model import BertForTokenClassification
from bertlab.model.crf import forbidden_steps
from bertlab.tasks.base import Judged, Prediction, Task
from bertlab.tasks.measures import score_entities
from bertlab.tasks.sequence import check_labels
from bertlab.tokenizer import Tokenizer

OUTSIDE = "O"


@dataclass(frozen=True)
class Entity:
    """Words `first` to `last`, both inclusive, are one name of that kind."""

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


class TokenTask(Task):
    """Labels stand at the first piece of each word. A sentence that does not fit is read in several rows."""

    head = BertForTokenClassification
    best = "f1"

    def settle(self, examples: Sequence[TokenExample]) -> dict:
        seen = {label for example in examples for label in example.labels or ()}
        kinds = sorted({label[2:] for label in seen if label != OUTSIDE})
        marks = "BIES" if any(label[:2] in ("E-", "S-") for label in seen) else "BI"
        if not kinds:
            raise InputError(f"no word of the {len(examples)} sentences is labelled: there is nothing to learn")
        names = [OUTSIDE, *(f"{mark}-{kind}" for kind in kinds for mark in marks)]
        return {"id2label": dict(enumerate(names))}

    def check(self, examples: Iterable[TokenExample], config: BertConfig) -> None:
        for example in examples:
            check_labels(example.id, example.labels, config)

    def features(self, examples: Sequence[TokenExample], config: BertConfig, learn: bool) -> list[WordsFeature]:
        features = word_features(examples, self.tokenizer, self.max_length, config.label2id if learn else None)
        if learn and config.token_decoder == "crf":
            check_steps(examples, features, list(config.id2label.values()))
        return features

    def decode(self, model, examples: Sequence[TokenExample], features: Sequence[WordsFeature]):
        names = model.config.id2label
        parts: list[dict[int, tuple[list[str], list[float]]]] = [{} for _ in examples]  # by their first word
        for chosen, out in self.outputs(model, features):
            mask = word_mask(chosen, out.logits)
            shares = out.logits.float().softmax(-1).amax(-1)  # (B, S, N) -> (B, S)
            rows = zip(chosen, model.decode(out.logits, mask), shares.tolist(), strict=True)
            for feature, labels, row in rows:
                said = [names[label] for label in labels], [row[place] for place in feature.places]
                parts[feature.example][feature.first_word] = said
        certain = model.config.token_decoder != "crf"
        return [_joined(example, found, certain) for example, found in zip(examples, parts, strict=True)]

    def inputs(self, features: Sequence[WordsFeature], model) -> Batch:
        batch = super().inputs(features, model)
        return batch | {"word_mask": word_mask(features, batch["input_ids"])}

    def measures(self, examples: Sequence[TokenExample], predictions: Sequence[TokenPrediction]) -> dict[str, float]:
        return score_entities([list(e.labels) for e in examples], [list(p.labels) for p in predictions])

    def baselines(self, known: Sequence[TokenExample], examples: Sequence[TokenExample]):
        counts: dict[str, Counter] = {}
        for example in known:
            for word, label in zip(example.words, example.labels, strict=True):
                counts.setdefault(word, Counter())[label] += 1
        usual = {word: seen.most_common(1)[0][0] for word, seen in counts.items()}
        said = [TokenPrediction(e.words, tuple(usual.get(word, OUTSIDE) for word in e.words), None) for e in examples]
        return {"each word's most frequent label": self.measures(examples, said)}

    def judged(self, examples: Sequence[TokenExample], predictions: Sequence[TokenPrediction]) -> list[Judged]:
        judged = []
        for example, prediction in zip(examples, predictions, strict=True):
            right, said = set(entities(example.words, example.labels)), set(prediction.entities)
            judged.append(
                Judged(example.id, " ".join(example.words), _listed(right), _listed(said), float(len(right ^ said)))
            )
        return judged

    def confusions(self, examples, predictions) -> list[tuple[str, str]]:
        pairs = zip(examples, predictions, strict=True)
        return [(_kind(a), _kind(b)) for e, p in pairs for a, b in zip(e.labels, p.labels, strict=True)]


def _joined(example: TokenExample, parts: dict[int, tuple[list[str], list[float]]], certain: bool) -> TokenPrediction:
    ordered = [parts[first] for first in sorted(parts)]
    labels = tuple(label for labels, _ in ordered for label in labels)
    return TokenPrediction(example.words, labels, tuple(p for _, sure in ordered for p in sure) if certain else None)


def check_steps(examples: Sequence[TokenExample], features: Sequence[WordsFeature], names: Sequence[str]) -> None:
    """InputError for rows whose labels follow each other as the names forbid: a CRF could not learn them."""
    forbidden, names = forbidden_steps(names).tolist(), ["no word", *names]
    for feature in features:
        path = [0, *(feature.targets["labels"][place] + 1 for place in feature.places), 0]
        for before, after in pairwise(path):
            if forbidden[before][after]:
                raise InputError(
                    f"example {examples[feature.example].id}: in a row of it the labels go from {names[before]} to "
                    f"{names[after]}, which a CRF never says: repair them, or leave out token_decoder=crf"
                )


def word_mask(features: Sequence[WordsFeature], like: Tensor) -> Tensor:
    """(B, S) bool: the first piece of each word; S is the length of `like` (B, S, ...), whose device it is on."""
    mask = torch.zeros(like.shape[:2], dtype=torch.bool)
    for row, feature in enumerate(features):
        mask[row, list(feature.places)] = True
    return mask.to(like.device)


def words_of(text: str, tokenizer: Tokenizer) -> list[tuple[int, int]]:
    """First and last + 1 character of each word of a plain text, as BERT splits it before it makes pieces."""
    encoding = tokenizer.encodings(text)[0]
    spans: dict[int, tuple[int, int]] = {}
    for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
        spans[word] = (spans.get(word, (start, end))[0], end)
    return list(spans.values())


def entities(words: Sequence[str], labels: Sequence[str]) -> list[Entity]:
    """The names that the labels of a sentence mark, as seqeval reads them."""
    from seqeval.metrics.sequence_labeling import get_entities

    return [Entity(kind, a, b, " ".join(words[a : b + 1])) for kind, a, b in get_entities(list(labels))]


def _listed(found: set[Entity]) -> str:
    return ", ".join(f"{e.text} ({e.kind})" for e in sorted(found, key=lambda e: e.first)) or "none"


def _kind(label: str) -> str:
    return label if label == OUTSIDE else label[2:]
