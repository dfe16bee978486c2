"""Linear-chain conditional random field (Lafferty et al. 2001): the labels of a sentence are chosen together.

Shapes: B sequences, W words, N labels.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bertlab.errors import InputError
from bertlab.model.base import may_be_read, without_autocast

FORBIDDEN = -1e4  # as a score; finite, for the gradient of a sum of nothing but -inf would be nan


class CRF(nn.Module):
    """Scores a sequence of labels by its emissions, each step from label to label, and its first and last label.

    Where the names of the labels are BIO or BIOES, the steps that these forbid (O to I-PER, say) are no part of it:
    they get no probability and are never predicted. Works in float32 or better. A mask (B, W) bool is True at the
    words, which are the first of each row.
    """

    forbidden: Tensor

    def __init__(self, names: Sequence[str]):
        super().__init__()
        self.names = list(names)
        self.start = nn.Parameter(torch.zeros(len(names)))
        self.end = nn.Parameter(torch.zeros(len(names)))
        self.transitions = nn.Parameter(torch.zeros(len(names), len(names)))  # [from, to]
        self.register_buffer("forbidden", forbidden_steps(names), persistent=False)  # (1 + N, 1 + N)

    def log_likelihood(self, emissions: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        """Return log P(labels) of each row: emissions (B, W, N), labels (B, W), mask (B, W) -> (B,); 0 of no words.

        On the CPU, InputError for labels that the names forbid.
        """
        if may_be_read(labels):
            self._check(labels, mask)
        with without_autocast(emissions.device):
            emissions = precise(emissions)
            difference = self._score(emissions, labels, mask) - self._log_partition(emissions, mask)
        return torch.where(mask.any(1), difference, 0.0)

    @torch.no_grad()
    def decode(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """Return the likeliest labels (Viterbi): emissions (B, W, N), mask (B, W) -> (B, W), arbitrary off the mask."""
        start, steps, end = self._scores()
        emissions = precise(emissions)
        best = start + emissions[:, 0]  # (B, N): of the likeliest sequence up to here that ends in each label
        stays = torch.arange(len(self.names), device=best.device).expand_as(best)
        pointers = []  # W-1 x (B, N): the label before
        for emission, real in zip(emissions.unbind(1)[1:], mask.unbind(1)[1:], strict=True):
            score, before = (best[:, :, None] + steps).max(1)  # (B, N, 1) + (N, N) -> (B, N)
            best = torch.where(real[:, None], score + emission, best)
            pointers.append(torch.where(real[:, None], before, stays))
        path = [(best + end).argmax(1, keepdim=True)]  # (B, 1)
        for pointer in reversed(pointers):
            path.append(pointer.gather(1, path[-1]))
        return torch.cat(path[::-1], dim=1)

    def table(self) -> dict[str, list]:
        """Return the names of the labels and the scores of first labels (N,), steps (N, N) [from, to] and last labels
        (N,), what is forbidden very low, as plain data: with them any program can find the likeliest labels."""
        start, steps, end = (scores.tolist() for scores in self._scores())
        return {"labels": self.names, "start": start, "transitions": steps, "end": end}

    def _scores(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the scores of first labels (N,), steps (N, N) and last labels (N,), what is forbidden very low."""
        start, steps, end = precise(self.start), precise(self.transitions), precise(self.end)
        return (
            start.masked_fill(self.forbidden[0, 1:], FORBIDDEN),
            steps.masked_fill(self.forbidden[1:, 1:], FORBIDDEN),
            end.masked_fill(self.forbidden[1:, 0], FORBIDDEN),
        )

    def _score(self, emissions: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        """Return the score of these labels: (B,)."""
        start, steps, end = self._scores()
        chosen = emissions.gather(2, labels[:, :, None]).squeeze(2)  # (B, W, N) -> (B, W)
        step = steps[labels[:, :-1], labels[:, 1:]]  # (B, W-1)
        last = labels.gather(1, mask.sum(1, keepdim=True).sub(1).clamp(min=0)).squeeze(1)  # (B,)
        return start[labels[:, 0]] + (chosen * mask).sum(1) + (step * mask[:, 1:]).sum(1) + end[last]

    def _log_partition(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """Return the log of the sum of exp(score) over all sequences of labels, word by word: (B,)."""
        start, steps, end = self._scores()
        total = start + emissions[:, 0]  # (B, N): over all sequences up to here that end in each label
        for emission, real in zip(emissions.unbind(1)[1:], mask.unbind(1)[1:], strict=True):
            longer = (total[:, :, None] + steps).logsumexp(1) + emission  # (B, N, 1) + (N, N) -> (B, N)
            total = torch.where(real[:, None], longer, total)
        return (total + end).logsumexp(1)

    def _check(self, labels: Tensor, mask: Tensor) -> None:
        outside = labels.new_zeros(len(labels), 1)
        path = torch.cat([outside, (labels + 1) * mask, outside], dim=1)  # (B, 1 + W + 1); 0 is no word
        wrong = self.forbidden[path[:, :-1], path[:, 1:]]  # (B, 1 + W)
        if wrong.any():
            row, position = wrong.nonzero()[0].tolist()
            names = ["no word", *self.names]
            before, after = (names[path[row, at]] for at in (position, position + 1))
            raise InputError(f"row {row}: labels go from {before} to {after}, which BIO and BIOES names forbid")


def forbidden_steps(names: Sequence[str]) -> Tensor:
    """Return which label may not follow which: (1 + N, 1 + N) bool, [from, to]; row and column 0 are no word.

    BIO: I-x continues B-x or I-x. With E- labels, BIOES: what B-x begins, I-x continues and E-x ends, and
    nothing else may come between. Nothing is forbidden where names are not of this form.
    """
    parts = [name.partition("-")[::2] for name in ("O", *names)]  # ("B", "PER"); single kinds may be "B" alone
    prefixes = {prefix for prefix, _ in parts}
    if not {"O", "B"} <= prefixes <= set("OBIES"):
        return torch.zeros(len(parts), len(parts), dtype=torch.bool, device="cpu")
    must_end = "E" in prefixes
    table = [[not may_follow(before, after, must_end) for after in parts] for before in parts]
    return torch.tensor(table, device="cpu")  # even where a model is being made on the "meta" device


def may_follow(before: tuple[str, str], after: tuple[str, str], must_end: bool) -> bool:
    """Return whether one label, as (prefix, kind), may follow another; `must_end`: BIOES."""
    is_open, goes_on = before[0] in "BI", after[0] in "IE"
    if goes_on:
        return is_open and before[1] == after[1]
    return not (must_end and is_open)


def precise(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))
