"""The role of each head on a text, if it has a clear one: previous, next, itself, ..., broad."""

from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.explain.attention.maps import AttentionMaps

ROLES = ("previous", "next", "itself", "[CLS]", "[SEP]", "same word", "broad")
MAJORITY = 0.5  # a head is named after what gets more than this share of its weight
_SPECIAL = ("[CLS]", "[SEP]")


@dataclass(frozen=True)
class HeadRoles:
    """How much of the weight of each head (L, A) goes where each of the R roles says.

    `scores` (L, A, R) are shares from 0 to 1, nan where the text cannot tell (no token comes twice, say);
    `uniform` (R,) is the share in uniform attention. `best` (L, A) is the index in ROLES
    of the role with the largest share, -1 where none has more than half of the weight.
    """

    scores: Tensor
    uniform: Tensor
    best: Tensor

    def name(self, layer: int, head: int) -> str | None:
        """Return the role of one head, counted from 0; None if no role fits."""
        best = int(self.best[layer, head])
        return ROLES[best] if best >= 0 else None


def head_roles(maps: AttentionMaps) -> HeadRoles:
    """Return the roles of all heads on one text, after the patterns of Clark et al. 2019, section 3.

    The score of a role is the weight on its tokens, averaged over the words that have such a token ([CLS] and
    [SEP] attend to nothing of interest and are left out as rows). For "broad" it is the part of the weight that
    lies as in uniform attention: sum over j of min(w_ij, 1/S). Compare with the roles of random_control(model).
    """
    targets = _targets(maps.tokens)  # (R-1, S, S)
    word = _word(maps.tokens)
    # (L, A, S, S) * (S, S) -sum-> (L, A, S) -those that have such a token-> (L, A, N) -mean-> (L, A), R-1 times
    shares = [(maps.weights * target).sum(-1)[..., target.any(-1)].mean(-1) for target in targets]
    even = 1 / len(maps.tokens)
    shares.append(maps.weights.clamp(max=even).sum(-1)[..., word].mean(-1))  # (L, A, S, S) -> (L, A)
    uniform = [even * target.sum(-1)[target.any(-1)].float().mean() for target in targets]  # (S, S) -> (), R-1 times
    uniform.append(torch.tensor(1.0))
    scores = torch.stack(shares, dim=-1)  # R x (L, A) -> (L, A, R)
    most, best = scores.nan_to_num(-1.0).max(-1)  # (L, A, R) -> (L, A)
    return HeadRoles(scores, torch.stack(uniform), best.masked_fill(most <= MAJORITY, -1))  # R x () -> (R,)


def _word(tokens: list[str]) -> Tensor:
    return torch.tensor([token not in _SPECIAL for token in tokens])  # (S,) bool


def _targets(tokens: list[str]) -> Tensor:
    """Return for each role except "broad" whether it sends token i to token j, bool (R-1, S, S)."""
    size, word = len(tokens), _word(tokens)
    itself = torch.eye(size, dtype=torch.bool)
    previous = torch.ones(size, size).tril(-1).triu(-1).bool()  # (S, S)
    number = torch.tensor([tokens.index(token) for token in tokens])  # (S,)
    same = (number[:, None] == number) & ~itself  # (S, 1) == (S,) -> (S, S)
    words = [previous & word, previous.T & word, itself, *(_column(tokens, t) for t in _SPECIAL), same]
    return torch.stack(words) & word[:, None]  # R-1 x (S, S) & (S, 1) -> (R-1, S, S)


def _column(tokens: list[str], wanted: str) -> Tensor:
    return torch.tensor([token == wanted for token in tokens]).expand(len(tokens), -1)  # (S,) -> (S, S)
