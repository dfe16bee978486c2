"""Checkers of chapter 14, the language models: the causal mask, GPT, ELMo, and what its two directions say together."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.course.checks.base import (
    Mistake,
    check_dropout,
    checker,
    close,
    expect,
    none_of,
    random_tensor,
    run,
    same_weights,
)
from bertlab.course.solutions.family import backwards as reversed_rows
from bertlab.model.attend import Rows
from bertlab.relatives.elmo import Elmo
from bertlab.relatives.gpt import Gpt

MASK = torch.tensor([[1] * 6, [1] * 4 + [0] * 2])  # (B, S): the second text has padding
IDS = torch.tensor([[3, 9, 4, 17, 6, 8], [12, 5, 11, 7, 0, 0]])
CONFIG = BertConfig(vocab_size=30, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                    max_position_embeddings=8)  # fmt: skip


@checker
def check_causal_mask(fn: Callable[[Tensor], Tensor]) -> None:
    """Check fn(attention_mask (B, S)) -> bool (B, 1, S, S), True where attending is forbidden."""
    found = run(fn, MASK.clone())
    padding = (MASK == 0)[:, None, None, :]  # (B, 1, 1, S)
    ahead = torch.ones(6, 6, dtype=torch.bool).triu(1)  # (S, S)
    right = padding | ahead
    expect(isinstance(found, Tensor) and found.dtype == torch.bool, "return True and False: a bool tensor.")
    same_for_all = found.shape[-2:] == (6, 6) and found.numel() == 36
    expect(not same_for_all, "one mask for all texts knows nothing of their padding: `|` it with (B, 1, 1, S).")
    expect(found.shape == right.shape, f"your mask is {tuple(found.shape)}, not (B, 1, S, S) = (2, 1, 6, 6): the 1 "
           "stands for the heads.")  # fmt: skip
    none_of(
        found,
        [
            (~right, "this is True where attending is allowed: your attention hides what is True."),
            (padding | ahead.T, "rows and columns are swapped: rows attend. Row 0 must not attend to column 1."),
            (padding | torch.ones(6, 6, dtype=torch.bool).triu(0), "a token may attend to itself: triu(1), not triu."),
            (padding.expand_as(right), "this hides padding alone: also hide what stands to the right."),
            (ahead.expand_as(right), "padding is missing: its columns are hidden from every row, as in your BERT."),
            (padding & ahead, "hide what is padding OR stands to the right: you hide only what is both."),
            ((MASK == 0)[:, None, :, None] | ahead, "you hid the rows of padding: hide its columns, nobody reads it."),
        ],
    )
    expect(torch.equal(found, right), "of a text, token i may attend to the tokens 0 to i that are not padding.")
    print("Right: each token attends to itself and to the left, and nobody to padding.")


def next_loss(logits: Tensor, wanted: Tensor) -> Tensor:
    """Logits (B, S, V), wanted ids (B, S), -100 for none -> the mean loss."""
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=IGNORED)


@checker
def check_gpt(cls: type[nn.Module]) -> None:
    """Check cls(config) against the library's GPT: forward(input_ids, attention_mask) -> logits (B, S, V); loss."""
    theirs, mine = same_weights(Gpt, cls, CONFIG, spread=0.3)
    real = MASK.bool()
    with torch.no_grad():
        result = run(mine, IDS, MASK)
        right = theirs.logits(theirs(IDS, MASK).last_hidden_state)
        expect(isinstance(result, Tensor) and result.shape == right.shape,
               "forward should return one tensor, the logits (B, S, V).")  # fmt: skip
        known = [(logits[real], message) for logits, message in _gpt_slips(theirs, right)]
        none_of(result[real], known)
        expect(torch.allclose(result[real], right[real], atol=1e-4), "the logits are not the library's.")
        _check_gpt_loss(mine, result)
        check_dropout(mine, "on the sum of the embeddings, and in your encoder", IDS, MASK)
    print("Right: your encoder, a mask, and the next token.")


def _gpt_slips(theirs: Any, right: Tensor) -> list[tuple[Tensor, str]]:
    positions = torch.arange(IDS.size(1))
    x = theirs.word(IDS) + theirs.position(positions)

    def logits(mask: Tensor | None, x: Tensor = x) -> Tensor:
        return theirs.logits(theirs.encoder(x, Rows(mask))[0][-1])

    padding = (MASK == 0)[:, None, None, :]
    ahead = padding | torch.ones(6, 6, dtype=torch.bool).triu(1)
    open_both = "every position sees the words to its right: give the encoder causal_mask(attention_mask)."
    return [
        (logits(padding), open_both),
        (logits(None), open_both),
        (logits(~ahead), "the mask is the wrong way round: it is True where attending is forbidden."),
        (logits(ahead, theirs.word(IDS)), "positions are missing: add their vectors to those of the words."),
        (right.softmax(-1), "return logits: cross_entropy takes the softmax itself."),
        (right.log_softmax(-1), "return logits: cross_entropy takes the softmax itself."),
    ]


def _check_gpt_loss(mine: Any, logits: Tensor) -> None:
    loss = run(mine.loss, {"input_ids": IDS.clone(), "attention_mask": MASK.clone()})  # type: ignore[arg-type]
    expect(isinstance(loss, Tensor) and loss.dim() == 0, "loss should be one number, the mean over all questions.")
    real = IDS.masked_fill(MASK == 0, IGNORED)
    itself = "position i is asked for token i, which it sees: ask it for token i + 1."
    none_of(
        loss,
        [
            (next_loss(logits, real), itself),
            (next_loss(logits, IDS), itself),
            (next_loss(logits[:, 1:], real[:, :-1]), "shifted the wrong way: position i predicts token i + 1."),
            (next_loss(logits[:, :-1], IDS[:, 1:]), "padding counts as a word to predict: give it the label -100."),
            (_summed(logits[:, :-1], real[:, 1:]), "this is the sum: return the mean over the tokens asked for."),
            (_mean_of_rows(logits[:, :-1], real[:, 1:]), "this is the mean of each text's mean: every token counts "
             "alike, so take one mean over the tokens of all texts."),
        ],
    )  # fmt: skip
    expect(close(loss, next_loss(logits[:, :-1], real[:, 1:])), "the loss is not that of the next tokens.")


def _summed(logits: Tensor, wanted: Tensor) -> Tensor:
    return next_loss(logits, wanted) * (wanted != IGNORED).sum()


def _mean_of_rows(logits: Tensor, wanted: Tensor) -> Tensor:
    return torch.stack([next_loss(x[None], y[None]) for x, y in zip(logits, wanted, strict=True)]).mean()


@checker
def check_backwards(fn: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check fn(x (B, S, ...), attention_mask (B, S)) -> each row's tokens from the last to the first."""
    found = run(fn, IDS.clone(), MASK.clone())
    right = torch.tensor([[8, 6, 17, 4, 9, 3], [7, 11, 5, 12, 0, 0]])
    expect(isinstance(found, Tensor), "return a tensor of the shape of x.")
    none_of(
        found,
        [
            (IDS, "nothing has changed: return the reversed rows."),
            (IDS.flip(1), "padding stands in front now: an LSTM would read it first. Reverse each row within its own "
             "length."),
            (IDS.flip(0), "you reversed the order of the texts: reverse the tokens of each."),
            (right.roll(1, 1), "off by one: the new first token is the one at position length - 1."),
        ],
    )  # fmt: skip
    expect(torch.equal(found, right), f"the second text {IDS[1].tolist()} should become {right[1].tolist()}; yours is "
           f"{found[1].tolist() if found.dim() > 1 else found.tolist()}.")  # fmt: skip
    states = random_tensor(2, 6, 3)
    deep = "it should also reverse states (B, S, H): index with rows and positions, x[rows, order]."
    try:
        turned = run(fn, states.clone(), MASK.clone())
    except Mistake as stopped:
        raise Mistake(f"{stopped} On ids it works; {deep}") from stopped
    expect(isinstance(turned, Tensor) and close(turned, reversed_rows(states, MASK)), deep)
    print("Right: each row from its own end, and padding stays behind.")


@checker
def check_elmo(cls: type[nn.Module]) -> None:
    """Check cls(config) against the library's ELMo: forward -> (L+1, B, S, H); loss of both directions."""
    theirs, mine = same_weights(Elmo, cls, CONFIG, spread=0.4)
    real = MASK.bool()
    with torch.no_grad():
        result = run(mine, IDS, MASK)
        right = torch.stack(theirs(IDS, MASK).hidden_states)  # (L+1, B, S, H)
        expect(isinstance(result, Tensor) and result.shape == right.shape,
               f"forward should return one tensor {tuple(right.shape)}: all layers, (L+1, B, S, H).")  # fmt: skip
        none_of(result[:, real], [(states[:, real], message) for states, message in _elmo_slips(theirs)])
        expect(torch.allclose(result[:, real], right[:, real], atol=1e-4), "the states are not the library's.")
        _check_elmo_loss(mine, theirs, result)
    print("Right: two language models that never see each other's side.")


def _elmo_slips(theirs: Any) -> list[tuple[Tensor, str]]:
    """The states (L+1, B, S, H) of the usual slips."""

    def one_way(ids: Tensor, layers: nn.ModuleList, first: int = 1) -> Tensor:
        states = [theirs.word(ids)]
        for number, layer in enumerate(layers):
            new = layer(states[-1])[0]
            states.append(new + states[-1] if number >= first else new)
        return torch.stack(states)

    def turned(x: Tensor) -> Tensor:
        return torch.stack([reversed_rows(layer, MASK) for layer in x])

    def both(left: Tensor, right: Tensor) -> Tensor:
        return torch.cat([left, right], -1)

    there = reversed_rows(IDS, MASK)
    left, right = one_way(IDS, theirs.lefts), one_way(there, theirs.rights)
    flipped = one_way(IDS.flip(1), theirs.rights).flip(2)
    same = both(left, turned(one_way(there, theirs.lefts)))
    bare, full = (
        both(one_way(IDS, theirs.lefts, first), turned(one_way(there, theirs.rights, first))) for first in (9, 0)
    )
    return [
        (both(left, right), "the states from the right are still in reading order: turn them back, layer by layer."),
        (both(left, one_way(IDS, theirs.rights)), "both read from the left: `rights` gets the ids backwards."),
        (both(turned(right), left), "the halves are swapped: from the left first, then from the right."),
        (both(left, flipped), "flip(1) puts padding in front: the direction from the right reads it first. Use "
         "`backwards`."),
        (same, "both directions use `lefts`: each has its own LSTMs."),
        (bare, "the residual connection is missing: from the second LSTM on, add its input to its output."),
        (full, "the first LSTM has no residual connection: add the input from the second one on."),
    ]  # fmt: skip


def _check_elmo_loss(mine: Any, theirs: Any, states: Tensor) -> None:
    loss = run(mine.loss, {"input_ids": IDS.clone(), "attention_mask": MASK.clone()})  # type: ignore[arg-type]
    expect(isinstance(loss, Tensor) and loss.dim() == 0, "loss should be one number.")
    out = theirs(IDS, MASK, predict=True)
    left, right = (theirs.decoder(half) for half in states[-1].chunk(2, -1))  # (B, S, V) each
    real = IDS.masked_fill(MASK == 0, IGNORED)
    before = real[:, :-1].masked_fill(real[:, 1:] == IGNORED, IGNORED)
    ahead = next_loss(right[:, :-1], real[:, 1:])
    none_of(
        loss,
        [
            (out.forward_loss, "the direction from the right is missing: it predicts the token before."),
            (out.backward_loss, "the direction from the left is missing: it predicts the next token."),
            (out.forward_loss + out.backward_loss, "this is the sum: return the mean of the two losses."),
            ((out.forward_loss + ahead) / 2, "from the right, the next token has been read already: ask for the token "
             "before."),
            ((next_loss(left, real) + next_loss(right, real)) / 2, "each position is asked for its own token, which it "
             "sees: shift by one."),
            ((out.forward_loss + next_loss(right[:, 1:], real[:, :-1])) / 2, "states of padding predict the last "
             "token: padding has no token before it."),
        ],
    )  # fmt: skip
    expect(before.numel() > 0 and close(loss, out.loss), "the loss is not the mean of both directions' losses.")


@checker
def check_both_sides(fn: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """Check fn(left (N, V), right (N, V), prior (V,)), all ln p -> ln p of each word given both sides (N, V)."""
    left, right = (random_tensor(3, 7, seed=seed).log_softmax(-1) for seed in (0, 1))
    prior = random_tensor(7, seed=2).log_softmax(-1)
    found = run(fn, left.clone(), right.clone(), prior.clone())
    expect(isinstance(found, Tensor) and found.shape == (3, 7), "return a tensor (N, V).")
    total = left + right - prior
    twice = "what is frequent counts twice: both sides have it in them, so take ln p(word) off once."
    mixture = ((left.exp() + right.exp()) / 2).log()
    none_of(
        found,
        [
            (total, "these do not sum to one: finish with log_softmax."),
            (left + right, twice),
            ((left + right).log_softmax(-1), twice),
            ((left + right + prior).log_softmax(-1), "the sign of the prior is wrong: divide by p(word)."),
            (mixture, "this is the mean of the probabilities: two pieces of evidence multiply."),
            (((left + right) / 2).log_softmax(-1), "you take the mean: the evidence of both sides adds up."),
            (total.softmax(-1), "return ln p, not p: log_softmax."),
            (total.log_softmax(0), "the softmax runs over the words of one gap, dim -1."),
        ],
    )
    expect(close(found, total.log_softmax(-1)), "ln p(word | both) is ln p(word | left) + ln p(word | right) - ln "
           "p(word), and a constant.")  # fmt: skip
    print("Right: what the two sides say apart, put together by Bayes' rule.")
