"""Which texts mean the same, by one vector for each text (Reimers and Gurevych 2019)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from bertlab.config import IGNORED, BertConfig
from bertlab.corpora.examples import TextExample
from bertlab.errors import InputError
from bertlab.inputs.features import Feature, Target
from bertlab.model.base import PretrainedModel
from bertlab.model.sentences import BertForSentenceEmbedding, SentenceOutput
from bertlab.tasks.base import Compared, Given, Prediction, Task, TaskName, lazily
from bertlab.tasks.measures import score_ranks

DOCSTRINGS = lazily("docstring_pairs", "docstring_pairs")
COUNTED = 20_000  # examples that the baseline counts words in
SAME = ("1", "1.0", "true", "yes", "same", "equivalent", "duplicate", "paraphrase", "entailment")
OTHER = ("0", "0.0", "false", "no", "different", "neutral", "contradiction")  # and what begins with "not"


@dataclass(frozen=True)
class PairPrediction(Prediction):
    """The cosine of the two vectors, and the vectors themselves, (2, H)."""

    similarity: float
    vectors: Tensor = field(repr=False, compare=False)

    def as_row(self) -> dict:
        return {"similarity": self.similarity}


class EmbeddingTask(Task[TextExample, PairPrediction]):
    """Pairs of texts that mean the same; each text is encoded alone, two rows an example.

    Pairs with a label that says otherwise are not learned from; in a search their second texts are further candidates.
    """

    names = {"match": TaskName("which texts mean the same, by one vector for each", pairs=True, docstrings=DOCSTRINGS)}
    head = BertForSentenceEmbedding
    best = "mrr"
    whole_batches = True
    apart = True
    given = (("text", "pair"),)
    read_rows = staticmethod(lazily("labelled.tabular", "maybe_labelled"))

    def head_fields(self, examples: Sequence[TextExample]) -> dict[str, Any]:
        if not any(is_same(example) for example in examples):
            raise InputError(f"none of {len(examples)} pairs means the same: there is nothing to learn")
        return {}

    def check(self, examples: Iterable[TextExample], config: BertConfig) -> None:
        for example in examples:
            is_same(example)

    def tune(self, model: PretrainedModel, examples: Sequence[TextExample]) -> None:
        assert isinstance(model, BertForSentenceEmbedding)
        model.max_length = self.max_length  # which the saved folder says to sentence-transformers

    def features(self, examples: Sequence[TextExample], config: BertConfig, learn: bool) -> list[Feature]:
        texts = [text for example in examples for text in both(example)]
        encodings = self.tokenizer.encodings(texts, offsets=False)
        features = []
        for number, example in enumerate(examples):
            pair = encodings[2 * number : 2 * number + 2]
            rows, cuts = zip(*(self.tokenizer.fitted((text,), self.max_length) for text in pair), strict=True)
            target: dict[str, Target] = {"labels": 1 if is_same(example) else IGNORED} if learn else {}
            features.append(Feature(rows, target, number, max(cuts)))
        return features

    def read_output(self, config: BertConfig, out: SentenceOutput) -> list[PairPrediction]:
        vectors = out.embeddings.float().cpu()  # (B, 2, H)
        cosines = (vectors[:, 0] * vectors[:, 1]).sum(-1).tolist()
        return [PairPrediction(cosine, pair) for cosine, pair in zip(cosines, vectors, strict=True)]

    def predict_given(self, model: PretrainedModel, given: Given, top: int) -> list[dict]:
        prediction = next(self.predict(model, [TextExample("", given["text"], given["pair"])]))
        return [{"value": prediction.similarity}]

    def measures(self, examples: Sequence[TextExample], predictions: Sequence[PairPrediction]) -> dict[str, float]:
        first, second = (torch.stack([p.vectors[side] for p in predictions]) for side in (0, 1))  # (N, H)
        return score_ranks([rank for rank, _ in partner_ranks(examples, first @ second.T)])

    def baselines(self, known: Sequence[TextExample], examples: Sequence[TextExample]) -> dict[str, dict[str, float]]:
        from bertlab.tasks.baselines import TERM, has_linear_models

        if not has_linear_models():
            return {}
        from sklearn.feature_extraction.text import TfidfVectorizer

        tfidf = TfidfVectorizer(token_pattern=TERM, sublinear_tf=True).fit(
            text for example in (*known[:COUNTED], *examples) for text in both(example)
        )
        first, second = (tfidf.transform([both(example)[side] for example in examples]) for side in (0, 1))
        similarity = torch.from_numpy((first @ second.T).toarray())
        return {"TF-IDF": score_ranks([rank for rank, _ in partner_ranks(examples, similarity)])}

    def compare(self, examples: Sequence[TextExample], predictions: Sequence[PairPrediction]) -> list[Compared]:
        first, second = (torch.stack([p.vectors[side] for p in predictions]) for side in (0, 1))
        same = [example for example in examples if is_same(example)]
        found = partner_ranks(examples, first @ second.T)
        return [
            Compared(example.id, example.text, both(example)[1], both(examples[best])[1], math.log(rank))
            for example, (rank, best) in zip(same, found, strict=True)
        ]


def both(example: TextExample) -> tuple[str, str]:
    """Return the two texts. InputError: there is only one."""
    if example.pair is None:
        raise InputError(f"example {example.id}: has no second text")
    return example.text, example.pair


def is_same(example: TextExample) -> bool:
    """Return whether the two texts mean the same, as they do without a label. InputError: the label does not say it."""
    both(example)
    label = example.label
    if label is None:
        return True
    name = label.lower() if isinstance(label, str) else ""
    if name not in SAME and name not in OTHER and not name.startswith("not"):
        yes, no = (", ".join(names) for names in (SAME, OTHER))
        raise InputError(f"example {example.id}: the label {label!r} is none of {yes} or {no}, not ...")
    return name in SAME


def partner_ranks(examples: Sequence[TextExample], similarity: Tensor) -> list[tuple[int, int]]:
    """Return, for each pair that means the same, the rank of its second text among those of all, by `similarity` (N, N)
    from first to second texts, and the number of the example whose second text comes first.

    Equal texts count once; of ties the partner comes last. Further partners of an equal first text do not count, nor
    does the first text itself.
    """
    texts = [both(example)[1] for example in examples]
    numbers: dict[str, int] = {}
    for number, text in enumerate(texts):
        numbers.setdefault(text, number)
    unique = torch.tensor(list(numbers.values()))
    partners: dict[str, set[int]] = {}
    for example, text in zip(examples, texts, strict=True):
        if is_same(example):
            partners.setdefault(example.text, set()).add(numbers[text])
    ranks = []
    for number, example in enumerate(examples):
        if is_same(example):
            own, row = numbers[texts[number]], similarity[number]
            itself = numbers.get(example.text, own)
            further = torch.tensor([*(partners[example.text] | {itself}) - {own}], dtype=torch.long)
            found = unique[~torch.isin(unique, further)]
            others = row[found[found != own]]
            ranks.append((1 + int((others >= row[number]).sum()), int(found[row[found].argmax()])))
    return ranks
