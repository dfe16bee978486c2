"""A task family of one file: how many stars, 0 to 5, does a text give?"""

from dataclasses import dataclass
from functools import partial

from torch import nn

from bertlab.corpora.reading import check_text, usable
from bertlab.errors import InputError
from bertlab.inputs.features import Feature
from bertlab.model.classifiers import BertClassifier, ClassifierOutput
from bertlab.tasks.base import Compared, Prediction, Task, TaskName


@dataclass(frozen=True)
class Review:
    id: str
    text: str
    stars: float | None = None


@dataclass(frozen=True)
class Rating(Prediction):
    stars: float


class BertForRating(BertClassifier):
    def __init__(self, config):
        super().__init__(config, 1)
        self.initialise()

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, *, labels=None, **wanted):
        pooled, _ = self.encode_text(input_ids, attention_mask, token_type_ids, **wanted)
        stars = 5 * self.logits(pooled)[:, 0].sigmoid()  # (B, H) -> (B,)
        return ClassifierOutput(stars, None if labels is None else nn.functional.mse_loss(stars, labels))


def review(options, record):
    stars = float(record.value("stars")) if options.labelled else None
    return Review(str(record.number), check_text(record.value("text"), record.where), stars)


class RatingTask(Task[Review, Rating]):
    names = {"rating": TaskName("how many stars a text gives")}
    head, best = BertForRating, "within_one"

    @staticmethod
    def read_rows(records, source, options):
        return usable(records, partial(review, options), options.skipped)

    def head_fields(self, examples):
        return {}

    def check(self, examples, config):
        if missing := [e.id for e in examples if e.stars is None]:
            raise InputError(f"example {missing[0]}: has no stars")

    def features(self, examples, config, learn):
        encodings = self.tokenizer.encodings([e.text for e in examples])
        rows = [self.tokenizer.fitted((encoding,), self.max_length)[0] for encoding in encodings]
        targets = [{"labels": e.stars} if learn else {} for e in examples]
        return [Feature((row,), target, i) for i, (row, target) in enumerate(zip(rows, targets, strict=True))]

    def read_output(self, config, out):
        return [Rating(stars) for stars in out.logits.tolist()]

    def predict_given(self, model, given, top):
        return [{"value": next(self.predict(model, [Review("", given["text"])])).stars}]

    def measures(self, examples, predictions):
        errors = [abs(e.stars - p.stars) for e, p in zip(examples, predictions, strict=True)]
        return {"error": sum(errors) / len(errors), "within_one": sum(error <= 1 for error in errors) / len(errors)}

    def compare(self, examples, predictions):
        pairs = zip(examples, predictions, strict=True)
        return [Compared(e.id, e.text, f"{e.stars}", f"{p.stars:.1f}", abs(e.stars - p.stars)) for e, p in pairs]
