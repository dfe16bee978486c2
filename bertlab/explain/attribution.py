"""How much each token pushed what a model says: integrated gradients over the word embeddings.

Sundararajan, Taly, Yan 2017, "Axiomatic Attribution for Deep Networks"; the integral is captum's.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor, nn

from bertlab.explain.labels import label_text, label_words
from bertlab.explain.text import frame_mask
from bertlab.explain.words.fill import position_logits
from bertlab.inputs.features import Batch
from bertlab.tasks.sequence import problem_of

STEPS = 128  # points on the path from the baseline, by Gauss-Legendre quadrature
ROWS = 16  # points that are computed at once

Progress = Callable[[int, int], None]  # is told how many points are done, and of how many


@dataclass(frozen=True)
class Attribution:
    """`values` (S,) is what each token adds to a score, in nats; of a model that gives numbers, to its number.

    `score` is that of the text, `baseline` that of the same row with [PAD] in place of every token but [CLS] and [SEP].
    """

    tokens: list[str]
    values: Tensor
    score: float
    baseline: float

    @property
    def gap(self) -> float:
        """How far the sum of the values is from score - baseline; 0 if the integral were exact (completeness)."""
        return float(self.values.sum()) - (self.score - self.baseline)


def attribute_text(
    model,
    tokenizer,
    text: str,
    pair: str | None = None,
    label: int | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Attribution:
    """What each token adds to the score of class `label` (None: the likeliest) of a text or pair; see label_score.

    Raises InputError when the text is empty.
    """
    said = label_text(model, tokenizer, text, pair, limit)
    label = said.label if label is None else label
    rivals = problem_of(model.config) == "single_label_classification"

    def score(model, batch: Batch) -> Tensor:
        return label_score(model(**batch).logits, label, rivals)

    return integrated_gradients(model, tokenizer, said.encoded.batch, score, progress)


def attribute_word(
    model,
    tokenizer,
    text: str,
    word: int,
    label: int | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Attribution:
    """What each token adds to the score of `label` (None: the one it got) for word number `word`, counted from 0.

    Raises InputError when the text is empty.
    """
    said = label_words(model, tokenizer, text, limit)
    label = model.config.label2id[said.prediction.labels[word]] if label is None else label

    def score(model, batch: Batch) -> Tensor:
        return label_score(model(**batch).logits[:, said.places[word]], label)

    return integrated_gradients(model, tokenizer, said.batch, score, progress)


def attribute_fill(
    model, tokenizer, batch: Batch, position: int, token_id: int, progress: Progress | None = None
) -> Attribution:
    """What each token of a row (1, S) adds to the log-odds of writing `token_id` at `position` (label_score)."""

    def score(model, batch: Batch) -> Tensor:
        return label_score(position_logits(model, batch, position), token_id)

    return integrated_gradients(model, tokenizer, batch, score, progress)


def attribute_span(
    model, tokenizer, batch: Batch, start: int, end: int, progress: Progress | None = None
) -> Attribution:
    """What each token of a row (1, S) adds to ln p(start) + ln p(end) of an answer from token `start` to `end`.

    Both are softmaxes over all positions, as the head was trained (Devlin et al. 2019, section 4.2); (0, 0), at [CLS],
    is "no answer".
    """

    def score(model, batch: Batch) -> Tensor:
        out = model(**batch)
        return out.start_logits.log_softmax(-1)[:, start] + out.end_logits.log_softmax(-1)[:, end]

    return integrated_gradients(model, tokenizer, batch, score, progress)


def integrated_gradients(
    model, tokenizer, batch: Batch, score: Callable[[nn.Module, Batch], Tensor], progress: Progress | None = None
) -> Attribution:
    """The Attribution of one row (1, S) for any `score(model, batch)`, (B,) for a batch of B rows.

    On the way from the baseline only the word embeddings change: positions and segments stay, and so do [CLS] and
    [SEP], which therefore get exactly 0. `progress` is called before each group of points and at the end.
    """
    from captum.attr import LayerIntegratedGradients

    ids = batch["input_ids"]  # (1, S)
    baseline = ids.where(frame_mask(tokenizer, ids), tokenizer.pad_token_id)  # (1, S)
    others = {name: tensor for name, tensor in batch.items() if name != "input_ids"}
    model = _hookable(model)
    done = 0

    def scores(ids: Tensor) -> Tensor:  # (B, S) -> (B,), the same row B times with other word embeddings
        nonlocal done
        if progress and torch.is_grad_enabled():
            progress(done, STEPS)
            done += len(ids)
        return score(model, {"input_ids": ids} | {name: tensor.expand(len(ids), -1) for name, tensor in others.items()})

    method = LayerIntegratedGradients(scores, model.bert.embeddings.word)
    pushes = method.attribute(ids, baseline, n_steps=STEPS, internal_batch_size=ROWS)  # (1, S, H)
    if progress:
        progress(STEPS, STEPS)
    with torch.inference_mode():
        reached, start = scores(torch.cat([ids, baseline])).tolist()
    tokens = tokenizer.convert_ids_to_tokens(ids[0])
    return Attribution(tokens, pushes[0].sum(-1).detach(), reached, start)  # (1, S, H) -> (S,)


def _hookable(model: nn.Module) -> nn.Module:
    """The same model with modules of its own around the same weights: captum's hooks are seen by nobody else."""
    return deepcopy(model, {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())})


def label_score(logits: Tensor, label: int, rivals: bool = True) -> Tensor:
    """(B, N) -> (B,): the log-odds of a label, in nats; of a model that gives numbers, its number.

    Where labels are `rivals`, of which one is right, this is not the logit alone: what raises all logits alike changes
    no probability. With a CRF these are the scores before it.
    """
    chosen = logits[:, label]
    if not rivals or logits.size(-1) == 1:
        return chosen
    rest = torch.cat([logits[:, :label], logits[:, label + 1 :]], dim=-1)  # (B, N - 1)
    return chosen - rest.logsumexp(-1)
