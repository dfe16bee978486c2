"""Checkers of chapter 14, the other half of the Transformer: cross-attention, the decoder, search."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.course.checks.base import (
    check_dropout,
    checker,
    close,
    expect,
    none_of,
    random_tensor,
    run,
    same_weights,
    tensors,
)
from bertlab.course.solutions.family import beam_search
from bertlab.model.attend import Rows
from bertlab.relatives.transformer import CrossAttention, DecoderLayer, Transformer

CONFIG = BertConfig(vocab_size=30, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=24,
                    max_position_embeddings=8)  # fmt: skip
PADDING = torch.tensor([[0] * 5, [0] * 3 + [1] * 2]).bool()[:, None, None]  # (B, 1, 1, S)
FUTURE = torch.ones(4, 4, dtype=torch.bool).triu(1)  # (T, T)
START, END, VOCABULARY = 1, 2, 6
LogP = Callable[[Tensor], Tensor]


def text_and_source() -> tuple[Tensor, Tensor]:
    """What is written (B, T, H) and the states of what is read (B, S, H)."""
    return random_tensor(2, 4, 12), random_tensor(2, 5, 12, seed=1)


@checker
def check_cross_attention(cls: type[nn.Module]) -> None:
    """Check cls(config): forward(x (B, T, H), memory (B, S, H), padding) -> (B, T, H), weights (B, A, T, S)."""
    theirs, mine = same_weights(CrossAttention, cls, CONFIG, spread=0.3)
    x, memory = text_and_source()
    with torch.no_grad():
        output, weights = tensors(run(mine, x, memory, PADDING), 2, "two tensors, the output and the weights")
        right, right_weights = theirs(x, memory, PADDING)
        expect(output.shape == x.shape, f"the output should be {tuple(x.shape)}: a vector for each token of x.")
        none_of(output, _cross_slips(theirs, x, memory))
        expect(close(output, right), "the output is not the library's.")
        expect(close(weights, right_weights), "the output is right; the weights should be (B, A, T, S), masked.")
        free = tensors(run(mine, x, memory, None), 2, "two tensors, the output and the weights")[0]
        expect(close(free, theirs(x, memory, None)[0]), "with padding=None nothing is hidden.")
        check_dropout(mine, "on the weights, after the softmax", x, memory, PADDING)
        with torch.random.fork_rng([]):
            kept = run(mine.train(), x, memory, PADDING)[1]
        expect(close(kept, right_weights), "return the weights before dropout: here some were dropped in training.")
    print("Right: the text that is written asks, the text that is read answers.")


def _cross_slips(theirs: Any, x: Tensor, memory: Tensor) -> list[tuple[Tensor, str]]:
    def heads(part: Tensor) -> Tensor:
        return part.unflatten(-1, (theirs.heads, -1)).transpose(1, 2)

    q = heads(theirs.query(x))
    k, v = (heads(part) for part in theirs.key_value(memory).chunk(2, -1))
    own_k, own_v = (heads(part) for part in theirs.key_value(x).chunk(2, -1))

    def attend(k: Tensor, v: Tensor, hidden: Tensor | None = PADDING, width: int = q.size(-1)) -> Tensor:
        scores = q @ k.mT / math.sqrt(width)
        scores = scores if hidden is None else scores.masked_fill(hidden, torch.finfo(x.dtype).min)
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)

    return [
        (attend(k, v), "the last product is missing: `out` mixes what the heads found."),
        (theirs.out(attend(own_k, own_v, None)), "keys and values come from memory; yours come from x, as in "
         "self-attention."),
        (theirs.out(attend(v, k)), "keys and values are swapped: the first H columns of key_value are the keys."),
        (theirs.out(attend(k, v, None)), "padding of the source was not hidden."),
        (theirs.out(attend(k, v, ~PADDING)), "`padding` is True where a token must not be attended to."),
        (theirs.out(attend(k, v, PADDING, 1)), "the scores are not divided by the square root of D."),
        (theirs.out(attend(k, v, PADDING, 12)), "you divided by the square root of H: D is H / A."),
    ]  # fmt: skip


@checker
def check_decoder_layer(cls: type[nn.Module]) -> None:
    """Check cls(config): forward(x (B, T, H), future (T, T), memory (B, S, H), padding) -> x, weights (B, A, T, S)."""
    theirs, mine = same_weights(DecoderLayer, cls, CONFIG, spread=0.3)
    x, memory = text_and_source()
    with torch.no_grad():
        output, weights = tensors(run(mine, x, FUTURE, memory, PADDING), 2, "two tensors, x and the weights")
        right, right_weights = theirs(x, FUTURE, memory, PADDING)
        none_of(output, _decoder_slips(theirs, x, memory))
        expect(close(output, right), "the output is not the library's.")
        expect(close(weights, right_weights), "the second result should be the weights of the cross-attention.")
        check_dropout(mine, "on what each sublayer adds", x, FUTURE, memory, PADDING)
    print("Right: look at what is written, read the source, think; each added and normalised.")


def _decoder_slips(theirs: Any, x: Tensor, memory: Tensor) -> list[tuple[Tensor, str]]:
    def itself(x: Tensor, future: Tensor | None = FUTURE) -> Tensor:
        return theirs.attention_norm(x + theirs.attention(x, Rows(future))[0])

    def source(x: Tensor, padding: Tensor | None = PADDING, kept: float = 1.0) -> Tensor:
        return theirs.cross_norm(kept * x + theirs.cross_attention(x, memory, padding)[0])

    def think(x: Tensor) -> Tensor:
        return theirs.feed_forward_norm(x + theirs.feed_forward(x))

    written = itself(x)
    return [
        (think(source(itself(x, None))), "the text sees its own future: give self-attention the mask `future`."),
        (think(source(written, None)), "padding of the source is not hidden: give cross-attention `padding`."),
        (think(itself(source(x))), "the order is self-attention first, then the source."),
        (think(source(written, PADDING, 0.0)), "the source replaces x: add it to x, then normalise."),
        (think(written), "the source is never read: cross-attention is missing."),
        (source(written), "the feed-forward part is missing."),
        (
            think(theirs.cross_norm(x + theirs.cross_attention(written, memory, PADDING)[0])),
            "the second sum begins with what self-attention gave, not with the x of the start.",
        ),
    ]  # fmt: skip


@checker
def check_transformer(cls: type[nn.Module]) -> None:
    """Check cls(config) with encode, decode and loss against the library's Transformer."""
    theirs, mine = same_weights(Transformer, cls, CONFIG, spread=0.2)
    ids, target = torch.arange(10).view(2, 5) + 3, torch.arange(8).view(2, 4) + 9
    mask = (~PADDING[:, 0, 0]).long()
    with torch.no_grad():
        memory = run(mine.encode, ids, mask)  # type: ignore[arg-type]
        expect(close(memory, theirs.encode(ids, mask)), "encode should give the states of the source (B, S, H).")
        logits, weights = tensors(run(mine.decode, target, memory, mask), 2, "logits and weights")  # type: ignore[arg-type]
        right, attentions = theirs.decode(target, memory, mask)
        expect(torch.allclose(logits, right, atol=1e-4), "decode should give the logits after each token (B, T, V).")
        expect(close(weights, attentions[-1]), "the weights should be those of the last layer (B, A, T, S).")
        labels = target.roll(-1, 1).masked_fill(torch.tensor([[0] * 4, [0, 0, 0, 1]]).bool(), IGNORED)
        batch = {"input_ids": ids, "attention_mask": mask, "target_ids": target, "labels": labels}
        loss = F.cross_entropy(right.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)
        expect(close(run(mine.loss, batch), loss), "the loss is the mean over the labels that are not -100.")  # type: ignore[arg-type]
    print("Right: with the same weights your Transformer and the library's give the same.")


def toy_log_p(seed: int) -> LogP:
    """ln p of the next of VOCABULARY tokens, which depends on the last two: a language in which haste goes wrong."""
    table = 3.0 * random_tensor(VOCABULARY, VOCABULARY, VOCABULARY, seed=seed)
    table[..., START], table[..., END] = -30.0, table[..., END] - 1.0

    def log_p(ids: Tensor) -> Tensor:
        last = ids[:, -1]
        before = ids[:, -2] if ids.size(1) > 1 else torch.zeros_like(last)
        return table[before, last].log_softmax(-1)

    return log_p


TOYS = (17, 26, 41)  # seeds at which the usual slips give other texts


@checker
def check_beam_search(fn: Callable[..., list[int]]) -> None:
    """Check fn(log_p, start, end, beams, most, penalty) -> the ids of the best text found."""
    for seed in TOYS:
        log_p = toy_log_p(seed)

        def found(beams: int, most: int = 8, penalty: float = 0.6, log_p: LogP = log_p) -> list[int]:
            ids = run(fn, log_p, START, END, beams, most, penalty)
            expect(isinstance(ids, list), "return a list of ids.")
            expect(START not in ids, "leave the start token out of what you return.")
            expect(END not in ids, "leave the end token out of what you return.")
            expect(len(ids) <= most, f"your text has {len(ids)} tokens, and `most` is {most}.")
            return ids

        greedy, best = (beam_search(log_p, START, END, beams, 8) for beams in (1, 4))
        expect(found(1) == greedy, f"with one beam, take the likeliest token each time: {greedy}, not {found(1)}.")
        mine = found(4)
        expect(mine == best or mine != greedy, "four beams find what one finds: keep several texts at each step.")
        short = beam_search(log_p, START, END, 4, 8, 0.0)
        expect(
            mine == best or mine != short, "short texts win by being short: divide ln p by ((5 + n) / 6) ** penalty."
        )
        rule = "Count how many texts go on: at most `beams` minus all that are finished."
        expect(mine == best, f"four beams should find {best}; yours is {mine}. {rule}")
        expect(found(4, most=3) == beam_search(log_p, START, END, 4, 3), "after `most` tokens, stop; if no text has "
               "ended, the best of the others is taken.")  # fmt: skip
    print("Right: several texts side by side, and the best one in the end.")
