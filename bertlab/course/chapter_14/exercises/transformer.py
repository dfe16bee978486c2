"""Cross-attention, a decoder layer, encoder and decoder, beam search."""

from typing import Any

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.course.chapter_04.exercises.heads import ATTENDS
from bertlab.course.exercise import Exercise
from bertlab.course.observe import attention, expect, module, random_tensor
from bertlab.course.solutions import family
from bertlab.course.solutions.config import Config

PADDING = torch.tensor([[0] * 5, [0] * 3 + [1] * 2]).bool()[:, None, None]  # (B, 1, 1, S)
OPTIONS: dict[str, Any] = {"attention_probs_dropout_prob": 0.3, "hidden_dropout_prob": 0.4, "layer_norm_eps": 0.1}


def _config(H: int, A: int, L: int = 1) -> Config:
    return Config(30, H, L, A, 10, max_position_embeddings=9, **OPTIONS)


def _sources() -> list[tuple]:
    sizes = ((12, 3, PADDING), (6, 1, PADDING), (8, 4, None))
    return [
        ((_config(H, A),), {"forward": (random_tensor(2, 4, H), random_tensor(2, 5, H, seed=1), padding)})
        for H, A, padding in sizes
    ]


KEYS = "key, value = (split_heads(part, self.heads) for part in self.key_value(memory).chunk(2, dim=-1))"
OUT = "self.out(merge_heads(self.dropout(weights) @ value))"

check_cross_attention = Exercise(
    family.CrossAttention,
    _sources,
    right="Right: the text that is written asks, the text that is read answers.",
    observe=attention,
    gives=("the output", "the weights"),
    kept=("CrossAttention",),
    slips=[
        *ATTENDS,
        (
            "keys and values come from memory; yours come from x, as in self-attention.",
            "self.key_value(memory) => self.key_value(x)",
            "if padding is not None: => if False:",
        ),
        (
            "keys and values are swapped: the first H columns of key_value are the keys.",
            "key, value = (split => value, key = (split",
        ),
        (
            "the source learns too: keys and values keep their gradient, no detach on memory.",
            "self.key_value(memory) => self.key_value(memory.detach())",
        ),
    ],
)


def _layers() -> list[tuple]:
    future = torch.ones(4, 4, dtype=torch.bool).triu(1)[None, None]  # (1, 1, T, T)
    return [
        ((_config(H, A),), {"forward": (random_tensor(2, 4, H), future, random_tensor(2, 5, H, seed=1), PADDING)})
        for H, A in ((12, 3), (6, 1))
    ]


FIRST = "self.attention_norm(x + self.dropout(attended))"
READ = "self.cross_norm(x + self.dropout(read))"
THINK = "self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))"

check_decoder_layer = Exercise(
    family.DecoderLayer,
    _layers,
    right="Right: look at what is written, read the source, think; each added and normalised.",
    observe=module,
    gives=("x", "the weights of the cross-attention"),
    kept=("DecoderLayer",),
    slips=[
        (
            "the text sees its own future: give self-attention the mask `future`.",
            "self.attention(x, future) => self.attention(x, None)",
        ),
        (
            "padding of the source is not hidden: give cross-attention `padding`.",
            "self.cross_attention(x, memory, padding) => self.cross_attention(x, memory, None)",
        ),
        (
            "the order is self-attention first, then the source.",
            f"attended, _ = self.attention(x, future)\n        x = {FIRST}\n        read, weights = "
            f"self.cross_attention(x, memory, padding)\n        x = {READ} => read, weights = self.cross_attention(x, "
            f"memory, padding)\n        x = {READ}\n        attended, _ = self.attention(x, future)\n        x = "
            f"{FIRST}",
        ),
        ("the source replaces x: add it to x, then normalise.", f"{READ} => self.cross_norm(self.dropout(read))"),
        ("the source is never read: cross-attention is missing.", f"        x = {READ}\n => "),
        (
            "attention_norm comes after self-attention, cross_norm after the source.",
            f"x = {FIRST} => x = {FIRST.replace('attention_norm', 'cross_norm')}",
            f"x = {READ} => x = {READ.replace('cross_norm', 'attention_norm')}",
        ),
        ("the feed-forward part is missing.", f"return {THINK} => return x"),
        (
            "the second sum begins with what self-attention gave, not with the x of the start.",
            f"x = {FIRST} => start, x = x, {FIRST}",
            f"x = {READ} => x = {READ.replace('x +', 'start +')}",
        ),
        (
            "the second result should be the weights of the cross-attention.",
            "attended, _ = => attended, own =",
            f"{THINK}, weights => {THINK}, own",
        ),
        ("dropout belongs on what each of the three sublayers adds.", "self.dropout(attended) => attended"),
        ("dropout belongs on what each of the three sublayers adds.", "self.dropout(read) => read"),
        (
            "dropout belongs on what each of the three sublayers adds.",
            "self.dropout(self.feed_forward(x)) => self.feed_forward(x)",
        ),
        (
            "the gradient does not pass the residual connections: what is added goes back too, no detach.",
            f"x = {READ} => x = {READ.replace('x +', 'x.detach() +')}",
        ),
        (
            "the source learns too: no detach on memory.",
            "self.cross_attention(x, memory, padding) => self.cross_attention(x, memory.detach(), padding)",
        ),
    ],
)


def _translations() -> list[tuple]:
    ids, target = torch.arange(10).view(2, 5) + 3, torch.arange(8).view(2, 4) + 9
    mask = (~PADDING[:, 0, 0]).long()
    labels = target.roll(-1, 1).masked_fill(torch.tensor([[0] * 4, [0, 0, 0, 1]]).bool(), IGNORED)
    batch = {"input_ids": ids, "attention_mask": mask, "target_ids": target, "labels": labels}
    return [
        (
            (_config(H, A, L),),
            {"encode": (ids, mask), "decode": (target, random_tensor(2, 5, H), mask), "loss": (batch,)},
        )
        for H, A, L in ((6, 2, 2),)
    ]


check_transformer = Exercise(
    family.Transformer,
    _translations,
    right="Right: with the same weights your Transformer and the library's give the same.",
    observe=module,
    kept=("Transformer",),
    slips=[
        (
            "the text sees its own future: decode needs a causal mask.",
            "layer(x, future, memory, padding) => layer(x, None, memory, padding)",
        ),
        (
            "padding of the source is not hidden in decode.",
            "layer(x, future, memory, padding) => layer(x, future, memory, None)",
        ),
        (
            "padding of the source is not hidden in encode.",
            "torch.zeros_like(input_ids)), padding) => torch.zeros_like(input_ids)), None)",
        ),
        (
            "the output layer is the table of word vectors: self.decoder.weight = self.embeddings.word.weight.",
            "        self.decoder.weight = self.embeddings.word.weight\n => ",
        ),
        (
            "this is the sum: return the mean over the labels that are not -100.",
            "ignore_index=IGNORED => ignore_index=IGNORED, reduction='sum'",
        ),
        (
            "the encoder learns nothing: the loss goes back through memory, no detach.",
            'self.decode(batch["target_ids"], memory, => self.decode(batch["target_ids"], memory.detach(),',
        ),
        (
            "the loss teaches nothing: no detach, item or no_grad on its way.",
            "F.cross_entropy(logits.flatten => F.cross_entropy(logits.detach().flatten",
        ),
    ],
)

START, END, VOCABULARY = 1, 2, 6


def toy_log_p(seed: int):
    """ln p of the next of VOCABULARY tokens, which depends on the last two: a language in which haste goes wrong."""
    table = 3.0 * random_tensor(VOCABULARY, VOCABULARY, VOCABULARY, seed=seed)
    table[..., START], table[..., END] = -30.0, table[..., END] - 1.0

    def log_p(ids: Tensor) -> Tensor:
        last = ids[:, -1]
        before = ids[:, -2] if ids.size(1) > 1 else torch.zeros_like(last)
        return table[before, last].log_softmax(-1)

    return log_p


def _found(fn) -> dict[str, Any]:
    found = {}
    for seed in (17, 26, 41, 3, 8):
        for beams, most, penalty in ((1, 8, 0.6), (4, 8, 0.6), (4, 8, 0.0), (4, 3, 0.6), (2, 6, 2.0), (4, 8, 2.0)):
            ids = fn(toy_log_p(seed), START, END, beams, most, penalty)
            expect(isinstance(ids, list), "return a list of ids.")
            found[f"language {seed} with {beams} beams, at most {most} tokens and penalty {penalty}"] = ids
    return found


check_beam_search = Exercise(
    family.beam_search,
    lambda: [()],
    right="Right: several texts side by side, and the best one in the end.",
    observe=_found,
    kept=("beam_search",),
    slips=[
        (
            "leave the start token out of what you return.",
            "return [token for token in ids if token != end] => return [start, *(token for token in ids if token != "
            "end)]",
        ),
        (
            "leave the end token out of what you return.",
            "return [token for token in ids if token != end] => return ids",
        ),
        ("four beams find what one finds: keep several texts at each step.", "topk(beams) => topk(1)"),
        (
            "short texts win by being short: divide ln p by ((5 + n) / 6) ** penalty.",
            " / ((5 + len(text[0])) / 6) ** penalty => ",
        ),
        (
            "n counts the end as well: of three words and the end, n is 4.",
            "((5 + len(text[0])) / 6) => ((5 + len([token for token in text[0] if token != end])) / 6)",
        ),
        ("a finished text goes before all that are not.", "done or unfinished => unfinished or done"),
        ("use the penalty that is given.", "** penalty => ** 0.6"),
        ("after `most` tokens, stop.", "and len(unfinished[0][0]) < most => and len(unfinished[0][0]) < 8"),
        (
            "count how many texts go on: at most `beams` minus all that are finished.",
            "[: max(0, beams - len(done))] => [:beams]",
        ),
        (
            "ln p of a text is the sum over its tokens: add what it had before.",
            "totals = totals + torch.tensor([total for _, total in unfinished])[:, None] => pass",
        ),
        (
            "the best of those that have ended, not the last one.",
            "ids, _ = max(done or unfinished, key=lambda text: text[1] / ((5 + len(text[0])) / 6) ** penalty) => ids, "
            "_ = (done or unfinished)[-1]",
        ),
    ],
    spared={"len(text[0])) / 7": "a factor that all texts share decides nothing"},
)
