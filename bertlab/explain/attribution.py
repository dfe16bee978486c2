"""How much each token pushed a label: integrated gradients (Sundararajan et al. 2017) over the word embeddings."""

from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.explain.labels import label_text, label_words
from bertlab.tasks.sequence import problem_of

STEPS = 128  # points on the path from the baseline, by Gauss-Legendre quadrature
ROWS = 16  # points that are computed at once


@dataclass(frozen=True)
class Attribution:
    """`values` (S,) is what each token adds to the score of a label; see label_score for its unit.

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
    model, tokenizer, text: str, pair: str | None = None, label: int | None = None, limit: int | None = None
) -> Attribution:
    """What each token adds to the score of class `label` (None: the likeliest) of a text or pair.

    Raises InputError when the text is empty.
    """
    said = label_text(model, tokenizer, text, pair, limit)
    label = said.label if label is None else label
    return integrated_gradients(model, tokenizer, said.encoded.batch, label)


def attribute_word(
    model, tokenizer, text: str, word: int, label: int | None = None, limit: int | None = None
) -> Attribution:
    """What each token adds to the score of `label` (None: the one it got) for word number `word`, counted from 0.

    Raises InputError when the text is empty.
    """
    said = label_words(model, tokenizer, text, limit)
    label = model.config.label2id[said.prediction.labels[word]] if label is None else label
    return integrated_gradients(model, tokenizer, said.batch, label, said.places[word])


def integrated_gradients(
    model, tokenizer, batch: dict[str, Tensor], label: int, place: int | None = None
) -> Attribution:
    """The Attribution of one row (1, S) for class `label`, of the token at `place` where tokens have classes.

    On the way from the baseline only the word embeddings change: positions and segments stay, and so do [CLS] and
    [SEP], which therefore get exactly 0.
    """
    from captum.attr import LayerIntegratedGradients

    ids = batch["input_ids"]  # (1, S)
    kept = torch.isin(ids, ids.new_tensor([tokenizer.cls_token_id, tokenizer.sep_token_id]))
    baseline = ids.where(kept, tokenizer.pad_token_id)  # (1, S)
    others = {name: tensor for name, tensor in batch.items() if name != "input_ids"}
    rivals = place is not None or problem_of(model.config) == "single_label_classification"

    def score(ids: Tensor) -> Tensor:  # (B, S) -> (B,), the same row B times with other word embeddings
        logits = model(ids, **{name: tensor.expand(len(ids), -1) for name, tensor in others.items()}).logits
        return label_score(logits if place is None else logits[:, place], label, rivals)

    method = LayerIntegratedGradients(score, model.bert.embeddings.word)
    pushes = method.attribute(ids, baseline, n_steps=STEPS, internal_batch_size=ROWS)  # (1, S, H)
    with torch.inference_mode():
        reached, start = score(torch.cat([ids, baseline])).tolist()
    tokens = tokenizer.convert_ids_to_tokens(ids[0])
    return Attribution(tokens, pushes[0].sum(-1).detach(), reached, start)  # (1, S, H) -> (S,)


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
