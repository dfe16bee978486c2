"""What each token contributes to an output of a model: integrated gradients over the word embeddings.

Sundararajan, Taly, Yan 2017, "Axiomatic Attribution for Deep Networks"; the integral is captum's.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from bertlab.explain.labels import label_row, label_words
from bertlab.explain.text import bert_of, frame_mask
from bertlab.explain.words.fill import MaskedLM, position_logits
from bertlab.inputs.features import Batch
from bertlab.model import BertForQuestionAnswering, BertForSequenceClassification, BertForTokenClassification
from bertlab.model.base import PretrainedModel
from bertlab.tasks.sequence import problem_of
from bertlab.tasks.token import in_usual_spelling
from bertlab.tokenizer import Tokenizer

STEPS = 128  # points on the path from the baseline, by Gauss-Legendre quadrature
FEW = 8  # points that are tried first: enough for random weights, whose scores are nearly linear on the path
EXACT = 1e-5  # nats; the values of so few points are taken if they sum to the difference of the scores as well as this
ROWS = 16  # points that are computed at once

Progress = Callable[[int, int], None]  # called with the number of points done, and of all


@dataclass(frozen=True)
class Attribution:
    """`values` (S,) is what each token adds to a score, in nats; for a model that predicts a number, to that number.

    `score` is that of the text, `baseline` that of the same row with [PAD] for every token except [CLS] and [SEP].
    """

    tokens: list[str]
    values: Tensor
    score: float
    baseline: float

    @property
    def delta(self) -> float:
        """The sum of the values minus (score - baseline); 0 if the integral were exact (completeness)."""
        return float(self.values.sum()) - (self.score - self.baseline)


def attribute_text(
    model: BertForSequenceClassification,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None = None,
    label: int | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Attribution:
    """Return what each token of a text or pair adds to the label_score of class `label` (None: the likeliest).

    Of a text that does not fit, of its beginning. Raises InputError when the text is empty.
    """
    labelled = label_row(model, tokenizer, text, pair, limit)
    label = labelled.label if label is None else label
    rivals = problem_of(model.config) == "single_label_classification"

    def score(model: PretrainedModel, batch: Batch) -> Tensor:
        return label_score(model(**batch).logits, label, rivals)

    return integrated_gradients(model, tokenizer, labelled.encoded.batch, score, progress)


def attribute_word(
    model: BertForTokenClassification,
    tokenizer: Tokenizer,
    text: str,
    word: int,
    label: int | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Attribution:
    """Return what each token adds to the score of `label` (None: the predicted one) of word number `word`, from 0.

    Raises InputError when the text is empty.
    """
    labelled = label_words(model, tokenizer, text, limit)
    label = in_usual_spelling(model.config).label2id[labelled.prediction.labels[word]] if label is None else label

    def score(model: PretrainedModel, batch: Batch) -> Tensor:
        return label_score(model(**batch).logits[:, labelled.positions[word]], label)

    return integrated_gradients(model, tokenizer, labelled.batch, score, progress)


def attribute_fill(
    model: MaskedLM, tokenizer: Tokenizer, batch: Batch, position: int, token_id: int, progress: Progress | None = None
) -> Attribution:
    """Return what each token of a row (1, S) adds to the log-odds of writing `token_id` at `position` (label_score)."""

    def score(model: MaskedLM, batch: Batch) -> Tensor:
        return label_score(position_logits(model, batch, position), token_id)

    return integrated_gradients(model, tokenizer, batch, score, progress)


def attribute_span(
    model: BertForQuestionAnswering,
    tokenizer: Tokenizer,
    batch: Batch,
    start: int,
    end: int,
    progress: Progress | None = None,
) -> Attribution:
    """Return what each token of a row (1, S) adds to ln p(start) + ln p(end) of the answer from `start` to `end`.

    Both are softmaxes over all positions, as the head was trained (Devlin et al. 2019, section 4.2); (0, 0), at [CLS],
    is "no answer".
    """

    def score(model: PretrainedModel, batch: Batch) -> Tensor:
        out = model(**batch)
        return out.start_logits.log_softmax(-1)[:, start] + out.end_logits.log_softmax(-1)[:, end]

    return integrated_gradients(model, tokenizer, batch, score, progress)


def integrated_gradients(
    model: PretrainedModel,
    tokenizer: Tokenizer,
    batch: Batch,
    score: Callable[[Any, Batch], Tensor],
    progress: Progress | None = None,
) -> Attribution:
    """Return the Attribution of one row (1, S) for any `score(model, batch)`, (B,) for a batch of B rows.

    On the path from the baseline only the word embeddings change: positions and segments stay, and so do [CLS] and
    [SEP], which therefore get exactly 0. `progress` is called before each group of points and at the end.
    """
    from captum.attr import LayerIntegratedGradients

    ids = batch["input_ids"]  # (1, S)
    baseline = ids.where(frame_mask(tokenizer, ids), tokenizer.pad_token_id)  # (1, S)
    others = {name: tensor for name, tensor in batch.items() if name != "input_ids"}
    model = _hookable(model)
    done, total = 0, FEW + STEPS

    def scores(ids: Tensor) -> Tensor:  # (B, S) -> (B,), the same row B times with other word embeddings
        nonlocal done
        if progress and torch.is_grad_enabled():
            progress(done, total)
            done += len(ids)
        return score(model, {"input_ids": ids} | {name: tensor.expand(len(ids), -1) for name, tensor in others.items()})

    with torch.inference_mode():
        reached, start = scores(torch.cat([ids, baseline])).tolist()
    method = LayerIntegratedGradients(scores, bert_of(model).embeddings.word)
    tokens = tokenizer.convert_ids_to_tokens(ids[0])

    def integral(points: int) -> Attribution:
        gradients = method.attribute(ids, baseline, n_steps=points, internal_batch_size=ROWS)  # (1, S, H)
        return Attribution(tokens, gradients[0].sum(-1).detach(), reached, start)  # (1, S, H) -> (S,)

    found = integral(FEW)
    if abs(found.delta) > EXACT:
        found = integral(STEPS)
    if progress:
        progress(total, total)
    return found


def _hookable(model: PretrainedModel) -> PretrainedModel:
    """Return the model with its own modules around the same weights, so nobody else sees captum's hooks."""
    return deepcopy(model, {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())})


def label_score(logits: Tensor, label: int, rivals: bool = True) -> Tensor:
    """Return the log-odds of a label in nats, (B, N) -> (B,); for a model that predicts a number, that number.

    If the labels exclude each other (`rivals`), this is not the logit alone: what raises all logits alike changes no
    probability. With a CRF the logits are those before it.
    """
    chosen = logits[:, label]
    if not rivals or logits.size(-1) == 1:
        return chosen
    rest = torch.cat([logits[:, :label], logits[:, label + 1 :]], dim=-1)  # (B, N - 1)
    return chosen - rest.logsumexp(-1)
