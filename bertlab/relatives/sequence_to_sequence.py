"""From a sequence to a sequence: what takes a decoder. The Transformer reads a sentence and writes it in other words.

It shows what BERT is: the encoder of such a model. `from_encoder` lets the Transformer begin with a BERT's.

Shapes: B pairs of texts, S source tokens, T target tokens.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bertlab.config import IGNORED, BertConfig
from bertlab.corpora import storyworld
from bertlab.corpora.examples import TextExample
from bertlab.corpora.labelled.records import Record
from bertlab.corpora.labelled.tabular import ReadOptions, text_examples
from bertlab.errors import InputError
from bertlab.inputs.features import Feature
from bertlab.model import BertModel
from bertlab.model.base import PretrainedModel
from bertlab.relatives.transformer import Transformer, TransformerOutput
from bertlab.tasks.base import Compared, Given, Prediction, Task, TaskName
from bertlab.tasks.registry import register

LONGER = 10  # tokens that a retelling may be longer than its sentence


class SequenceToSequence(Transformer):
    """A Transformer whose target begins with `start` and ends with `end`, called as the heads of BERT are."""

    def __init__(self, config: BertConfig, start: int, end: int):
        super().__init__(config, label_smoothing=0.0)
        self.start, self.end = start, end

    def from_encoder(self, bert: BertModel) -> "SequenceToSequence":
        """Take embeddings and encoder from a BERT of the same shape."""
        self.embeddings.load_state_dict(bert.embeddings.state_dict())
        self.encoder.load_state_dict(bert.encoder.state_dict())
        return self

    def forward(  # type: ignore[override]  # the target is made from the labels
        self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None, **_: object
    ) -> TransformerOutput:
        """labels (B, T): the target with its end, -100 for padding; without them there are logits of the start."""
        start = input_ids.new_full((len(input_ids), 1), self.start)
        if labels is None:
            return super().forward(input_ids, attention_mask, start)
        before = labels[:, :-1].masked_fill(labels[:, :-1] == IGNORED, self.config.pad_token_id)
        return super().forward(input_ids, attention_mask, torch.cat([start, before], 1), labels)

    @torch.inference_mode()
    def write(self, input_ids: Tensor, attention_mask: Tensor) -> list[list[int]]:
        """Return for each source the likeliest next token, again and again, up to the end (greedy search)."""
        memory = self.encode(input_ids, attention_mask)
        target = input_ids.new_full((len(input_ids), 1), self.start)
        for _ in range(min(input_ids.size(1) + LONGER, self.config.max_position_embeddings - 1)):
            logits, _attention = self.decode(target, memory, attention_mask)
            target = torch.cat([target, logits[:, -1:].argmax(-1)], 1)  # (B, T) -> (B, T + 1)
            if (target == self.end).any(1).all():
                break
        rows = [row[1:] for row in target.tolist()]
        return [row[: row.index(self.end)] if self.end in row else row for row in rows]


@dataclass(frozen=True)
class WrittenText(Prediction):
    """What the model wrote."""

    text: str


class SequenceToSequenceTask(Task[TextExample, WrittenText]):
    """`text` is to be retold as `pair`. It is measured by words: right ones at the right position."""

    names = {"retelling": TaskName("a sentence in other words", storyworld.retelling, pairs=True)}
    head = SequenceToSequence
    best = "word_accuracy"

    @staticmethod
    def read_rows(records: Iterator[Record], source: str, options: ReadOptions) -> Iterator[TextExample]:
        return text_examples(records, source, options)

    def head_fields(self, examples: Sequence[TextExample]) -> dict[str, Any]:
        return {}

    def check(self, examples: Iterable[TextExample], config: BertConfig) -> None:
        for example in examples:
            if example.pair is None:
                raise InputError(f"example {example.id}: has no second text, which the first is to be retold as")

    def features(self, examples: Sequence[TextExample], config: BertConfig, learn: bool) -> list[Feature]:
        sources = self.tokenizer.encodings([example.text for example in examples], offsets=False)
        targets = self.tokenizer.encode_batch([example.pair or "" for example in examples])
        features = []
        for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
            row, cut = self.tokenizer.fitted((source,), self.max_length)
            labels = [*target[: self.max_length - 1], self.tokenizer.sep_token_id]
            features.append(Feature((row,), {"labels": labels} if learn else {}, number, cut))
        return features

    def decode(self, model: PretrainedModel, examples: Sequence[TextExample]) -> list[WrittenText]:
        batch = self.inputs(self.features(examples, model.config, learn=False), model)
        written = model.write(batch["input_ids"], batch["attention_mask"])  # type: ignore[operator]  # a SequenceToSequence
        return [WrittenText(self.tokenizer.decode(ids)) for ids in written]

    def predict_given(self, model: PretrainedModel, given: Given, top: int) -> list[dict]:
        return [{"text": next(self.predict(model, [TextExample("", given["text"])])).text}]

    def measures(self, examples: Sequence[TextExample], predictions: Sequence[WrittenText]) -> dict[str, float]:
        right, words = map(sum, zip(*map(self.right_words, examples, predictions), strict=True))
        return {"word_accuracy": right / words}

    def right_words(self, example: TextExample, written: WrittenText) -> tuple[int, int]:
        """Return the number of words that stand where they should, and the words of the longer text."""
        gold, found = (self.tokenizer.tokenize(text) for text in (example.pair or "", written.text))
        return sum(a == b for a, b in zip(gold, found, strict=False)), max(len(gold), len(found))

    def compare(self, examples: Sequence[TextExample], predictions: Sequence[WrittenText]) -> list[Compared]:
        compared = []
        for example, written in zip(examples, predictions, strict=True):
            right, words = self.right_words(example, written)
            compared.append(Compared(example.id, example.text, example.pair or "", written.text, 1 - right / words))
        return compared


register(SequenceToSequenceTask, listed=False)  # for comparisons: only a model with a decoder can learn it
