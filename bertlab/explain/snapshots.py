"""What the snapshots of a training do with one text: how a model learns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from bertlab.errors import InputError
from bertlab.explain.attention.heads import RESTING, ROLES, head_roles, links
from bertlab.explain.attention.maps import AttentionMaps, attention_maps
from bertlab.explain.runs import Moment
from bertlab.explain.text import encode, longest
from bertlab.explain.words.fill import position_log_probabilities
from bertlab.model import BertForPreTraining, BertModel
from bertlab.model.base import PretrainedModel
from bertlab.tokenizer import Tokenizer

MOST_WORDS = 8

Model = TypeVar("Model", bound=PretrainedModel)


@dataclass(frozen=True)
class WordFrame:
    """Probabilities (V,) of every token of the vocabulary at one gap, after `step` steps."""

    step: int
    probabilities: Tensor


@dataclass(frozen=True)
class HeadFrame:
    """Where every head attends after `step` steps."""

    step: int
    maps: AttentionMaps


def picked(moments: Sequence[Moment], most: int) -> tuple[Moment, ...]:
    """All moments, or `most` of them evenly from the first to the last."""
    if len(moments) <= most:
        return tuple(moments)
    return tuple(moments[round(i * (len(moments) - 1) / (most - 1))] for i in range(most))


def word_film(moments: Sequence[Moment], text: str, pair: str | None = None, gap: int = 0) -> Iterator[WordFrame]:
    """What each model would write at [MASK] number `gap` of a text or pair, counted from 0.

    Raises InputError when the text is empty or has no such [MASK].
    """
    for moment in moments:
        model, tokenizer = _opened(BertForPreTraining, moment)
        encoded = encode(tokenizer, text, pair, longest(model))
        positions = (encoded.input_ids == tokenizer.mask_token_id).nonzero()[:, 0].tolist()  # (S,) -> M
        if gap >= len(positions):
            raise InputError("the text has no [MASK] to fill: write [MASK] in place of a word")
        log_p = position_log_probabilities(model, tokenizer, encoded.batch, positions)  # (M, V)
        yield WordFrame(moment.step, log_p[gap].exp())


def followed_words(frames: Sequence[WordFrame]) -> list[int]:
    """Ids of the likeliest token of each frame, that of the last one first, at most eight."""
    firsts = [int(frame.probabilities.argmax()) for frame in reversed(frames)]
    return list(dict.fromkeys(firsts))[:MOST_WORDS]


def head_film(
    moments: Sequence[Moment], text: str, pair: str | None = None, limit: int | None = None
) -> Iterator[HeadFrame]:
    """The attention of each model for a text or pair, cut to `limit` tokens. InputError when the text is empty."""
    for moment in moments:
        model, tokenizer = _opened(BertModel, moment)
        yield HeadFrame(moment.step, attention_maps(model, tokenizer, text, pair, limit))


@dataclass(frozen=True)
class Targets:
    """What a film of heads follows: where T moments' attention goes, to K targets.

    `shares` (T, L, A, K) from 0 to 1, nan where the text cannot tell; those of random weights are `control` (L, A, K),
    those of even attention `uniform` (K,).
    `dull` (K,) marks targets that say little, such as [CLS], where a head rests that has nothing to do. `of_gap`: the
    targets are the tokens that [MASK] attends to, and not roles.
    """

    names: Sequence[str]
    shares: Tensor
    control: Tensor
    uniform: Tensor
    dull: Tensor
    of_gap: bool = False

    @property
    def strongest(self) -> Tensor:
        """(L, A): the target that gets most of each head's attention in the end."""
        return self.shares[-1].nan_to_num(0.0).argmax(-1)

    def by_growth(self) -> list[tuple[int, int]]:
        """Return layer and head of all heads, from 0, by how much the target grew that is strongest in the end; those
        whose target is dull come last."""
        strongest = self.strongest[..., None]  # (L, A) -> (L, A, 1)
        grown = (self.shares[-1] - self.shares[0]).gather(-1, strongest)  # (L, A, 1)
        order = (grown - 2 * self.dull[strongest].float()).flatten().argsort(descending=True)
        return [divmod(index, self.shares.size(2)) for index in order.tolist()]


def role_targets(frames: Sequence[HeadFrame], control: AttentionMaps) -> Targets:
    """Follow the roles of ROLES that name a token, each a mean over the words; `control`: random weights' attention."""
    named = slice(ROLES.index(RESTING))
    shares = torch.stack([head_roles(frame.maps).scores[..., named] for frame in frames])  # T x (L, A, R) -> (T, ...)
    random = head_roles(control)
    dull = torch.tensor([role in ("[CLS]", "[SEP]") for role in ROLES[named]])
    return Targets(ROLES[named], shares, random.scores[..., named], random.uniform[named], dull)


def gap_targets(frames: Sequence[HeadFrame], control: AttentionMaps) -> Targets:
    """Follow where the first [MASK] of the text attends: each token is a target. InputError where it has none."""
    tokens = control.tokens
    if "[MASK]" not in tokens:
        raise InputError("the text has no [MASK] whose attention could be followed")
    gap = tokens.index("[MASK]")
    shares = torch.stack([frame.maps.weights[:, :, gap] for frame in frames])  # T x (L, A, S) -> (T, L, A, S)
    dull = ~links(tokens)[gap] | torch.tensor([token.startswith("[") for token in tokens])
    even = torch.full((len(tokens),), 1 / len(tokens))
    return Targets(tokens, shares, control.weights[:, :, gap], even, dull, of_gap=True)


def _opened(kind: type[Model], moment: Moment) -> tuple[Model, Tokenizer]:
    model = kind.trained(moment.source, optional=("pooler", "nsp"), advice="choose another run")
    return model, Tokenizer.from_pretrained(moment.source)
