"""The role of each head on a text, if it has a clear one: previous, next, itself, ..., broad."""

from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.explain.attention.maps import AttentionMaps

_SPECIAL = ("[CLS]", "[SEP]")
RESTING = " + ".join(_SPECIAL)  # both together: where a head rests that has nothing to do
ROLES = ("previous", "next", "itself", *_SPECIAL, "same word", "punctuation", RESTING, "broad")
MAJORITY = 0.5  # a head is named after what gets more than this share of its weight


@dataclass(frozen=True)
class HeadRoles:
    """How much of the weight of each head (L, A) goes where each of the R roles says.

    `scores` (L, A, R) are shares from 0 to 1, nan where the text cannot tell (no token comes twice, say);
    `uniform` (R,) is the share in uniform attention. `best` (L, A) is the index in ROLES of the role with the largest
    share, -1 where none has more than half of the weight. RESTING counts where [CLS] and [SEP] have that only together.
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
    return HeadRoles(scores, torch.stack(uniform), _best(scores.nan_to_num(-1.0)))  # R x () -> (R,)


def strongest_link(maps: AttentionMaps) -> tuple[int, int]:
    """Return layer and head, counted from 0, of the largest weight from a word to another that is not beside it.

    Not beside it: a head that goes by position alone looks the same for every text. [MASK] counts as a word.
    """
    strongest = (maps.weights * links(maps.tokens)).amax((-1, -2))  # (L, A, S, S) -> (L, A)
    layer, head = divmod(int(strongest.argmax()), strongest.shape[1])
    return layer, head


def links(tokens: list[str]) -> Tensor:
    """Return whether token i leads to token j from a word to another that is not beside it, bool (S, S)."""
    positions = torch.arange(len(tokens))
    words = _word(tokens) & ~_marks(tokens)
    return (positions[:, None] - positions).abs().gt(1) & words[:, None] & words


def _best(scores: Tensor) -> Tensor:
    """Return the index of each head's role, -1 for none: (L, A, R) -> (L, A)."""
    together = ROLES.index(RESTING)
    alone = scores.index_fill(-1, torch.tensor([together]), -1.0)
    most, best = alone.max(-1)
    resting = torch.where(scores[..., together] > MAJORITY, together, -1)
    return torch.where(most > MAJORITY, best, resting)


def _word(tokens: list[str]) -> Tensor:
    return torch.tensor([token not in _SPECIAL for token in tokens])  # (S,) bool


def _marks(tokens: list[str]) -> Tensor:
    return torch.tensor([not any(map(str.isalnum, token)) for token in tokens])  # (S,) bool


def _targets(tokens: list[str]) -> Tensor:
    """Return for each role except "broad" whether it sends token i to token j, bool (R-1, S, S)."""
    size, word = len(tokens), _word(tokens)
    itself = torch.eye(size, dtype=torch.bool)
    previous = torch.ones(size, size).tril(-1).triu(-1).bool()  # (S, S)
    number = torch.tensor([tokens.index(token) for token in tokens])  # (S,)
    same = (number[:, None] == number) & ~itself  # (S, 1) == (S,) -> (S, S)
    special = [_column([token == one for token in tokens]) for one in _SPECIAL]
    marks = _marks(tokens).expand(size, -1)  # (S,) -> (S, S)
    words = [previous & word, previous.T & word, itself, *special, same, marks, special[0] | special[1]]
    return torch.stack(words) & word[:, None]  # R-1 x (S, S) & (S, 1) -> (R-1, S, S)


def _column(wanted: list[bool]) -> Tensor:
    return torch.tensor(wanted).expand(len(wanted), -1)  # (S,) -> (S, S)
