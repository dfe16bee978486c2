"""The checkers of chapter 14's decoder and search pass right answers and name each known mistake."""

import math

import torch

from bertlab.course import (
    check_beam_search,
    check_cross_attention,
    check_decoder_layer,
    check_transformer,
)
from bertlab.course.solutions import family as solution
from bertlab.course.solutions.encoder import merge_heads, split_heads
from tests.course.checks.checking import checker_tests, not_begun_test, otherwise_test

# Cross-attention and the decoder


def cross(attend):
    def forward(self, x, memory, padding):
        query = split_heads(self.query(x), self.heads)
        key, value = (split_heads(part, self.heads) for part in self.key_value(memory).chunk(2, -1))
        return attend(self, query, key, value, x, padding)

    return type("OwnCross", (solution.CrossAttention,), {"forward": forward})


def attended(self, query, key, value, padding, width=None, out=True):
    scores = query @ key.mT / math.sqrt(width or query.size(-1))
    if padding is not None:
        scores = scores.masked_fill(padding, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    context = merge_heads(self.dropout(weights) @ value)
    return self.out(context) if out else context, weights


def of_itself(self, query, key, value, x, padding):
    key, value = (split_heads(part, self.heads) for part in self.key_value(x).chunk(2, -1))
    return attended(self, query, key, value, None)


def dropped_weights(self, query, key, value, x, padding):
    output, weights = attended(self, query, key, value, padding)
    return output, self.dropout(weights)


def decoder(steps):
    """A decoder layer whose forward is `steps`(self, x, future, memory, padding)."""
    return type("OwnDecoder", (solution.DecoderLayer,), {"forward": steps})


def itself(self, x, future):
    return self.attention_norm(x + self.dropout(self.attention(x, future)[0]))


def source(self, x, memory, padding, kept=1.0):
    read, weights = self.cross_attention(x, memory, padding)
    return self.cross_norm(kept * x + self.dropout(read)), weights


def think(self, x):
    return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


def without_future(self, x, future, memory, padding):
    x, weights = source(self, itself(self, x, None), memory, padding)
    return think(self, x), weights


def without_padding(self, x, future, memory, padding):
    x, weights = source(self, itself(self, x, future), memory, None)
    return think(self, x), weights


def other_order(self, x, future, memory, padding):
    x, weights = source(self, x, memory, padding)
    return think(self, itself(self, x, future)), weights


def replaced(self, x, future, memory, padding):
    x, weights = source(self, itself(self, x, future), memory, padding, kept=0.0)
    return think(self, x), weights


def unread(self, x, future, memory, padding):
    x = itself(self, x, future)
    return think(self, x), source(self, x, memory, padding)[1]


def thoughtless(self, x, future, memory, padding):
    return source(self, itself(self, x, future), memory, padding)


def unfused(self, x, future, memory, padding):
    written = itself(self, x, future)
    read, weights = self.cross_attention(written, memory, padding)
    return think(self, self.cross_norm(x + read)), weights


class Sideways(solution.Transformer):
    def decode(self, target_ids, memory, attention_mask):
        logits, weights = super().decode(target_ids, memory, torch.ones_like(attention_mask))
        return logits, weights


class Unmasked(solution.Transformer):
    def encode(self, input_ids, attention_mask):
        return super().encode(input_ids, torch.ones_like(attention_mask))


class CountsAll(solution.Transformer):
    def loss(self, batch):
        return super().loss(batch | {"labels": batch["labels"].clamp(min=0)})


# Search


def search(beams=None, penalty=None, wrap=list):
    def found(log_p, start, end, given, most, strength):
        own = given if beams is None else beams
        return wrap(solution.beam_search(log_p, start, end, own, most, strength if penalty is None else penalty))

    return found


def endless(log_p, start, end, beams, most, penalty):
    return solution.beam_search(log_p, start, end, beams, 30 if most == 3 else most, penalty) + [3] * 9


def greedy_by_hand(log_p, start, end, most):
    ids = []
    while len(ids) < most and end not in ids:
        ids.append(int(log_p(torch.tensor([[start, *ids]]))[0].argmax()))
    return [token for token in ids if token != end]


def crowded(log_p, start, end, beams, most, penalty):
    return search_by_hand(log_p, start, end, beams, most, penalty, room=False)


def search_by_hand(log_p, start, end, beams, most, penalty, room=True):
    """One prefix at a time, with sorted lists."""
    if beams == 1:
        return greedy_by_hand(log_p, start, end, most)
    growing, done = [((), 0.0)], []
    for _ in range(most):
        if not growing:
            break
        every = []
        for ids, total in growing:
            logs = log_p(torch.tensor([[start, *ids]]))[0].tolist()
            every += [((*ids, token), total + value) for token, value in enumerate(logs)]
        every = sorted(every, key=lambda text: -text[1])[:beams]
        done += [text for text in every if text[0][-1] == end]
        growing = [text for text in every if text[0][-1] != end][: max(0, beams - len(done) * room)]
    best = max(done or growing, key=lambda text: text[1] / ((5 + len(text[0])) / 6) ** penalty)
    return [token for token in best[0] if token != end]


RIGHT = {
    check_cross_attention: solution.CrossAttention,
    check_decoder_layer: solution.DecoderLayer,
    check_transformer: solution.Transformer,
    check_beam_search: solution.beam_search,
}
MISTAKES = {
    check_cross_attention: {
        "come from x": cross(of_itself),
        "keys and values are swapped": cross(lambda s, q, k, v, x, p: attended(s, q, v, k, p)),
        "padding of the source": cross(lambda s, q, k, v, x, p: attended(s, q, k, v, None)),
        "`padding` is True": cross(lambda s, q, k, v, x, p: attended(s, q, k, v, ~p)),
        "not divided": cross(lambda s, q, k, v, x, p: attended(s, q, k, v, p, width=1)),
        "square root of H": cross(lambda s, q, k, v, x, p: attended(s, q, k, v, p, width=12)),
        "last product is missing": cross(lambda s, q, k, v, x, p: attended(s, q, k, v, p, out=False)),
        "the weights should be": cross(lambda s, q, k, v, x, p: (attended(s, q, k, v, p)[0], q)),
        "before dropout": cross(dropped_weights),
        "two tensors": cross(lambda s, q, k, v, x, p: attended(s, q, k, v, p)[0]),
    },
    check_decoder_layer: {
        "sees its own future": decoder(without_future),
        "padding of the source": decoder(without_padding),
        "self-attention first": decoder(other_order),
        "replaces x": decoder(replaced),
        "never read": decoder(unread),
        "feed-forward part is missing": decoder(thoughtless),
        "what self-attention gave": decoder(unfused),
    },
    check_transformer: {
        "states of the source": Unmasked,
        "logits after each token": Sideways,
        "labels that are not -100": CountsAll,
    },
    check_beam_search: {
        "keep several texts": search(beams=1),
        "win by being short": search(penalty=0.0),
        "how many texts go on": crowded,
        "with one beam": search(beams=4),
        "leave the start token out": search(wrap=lambda ids: [1, *ids]),
        "leave the end token out": search(wrap=lambda ids: [*ids, 2]),
        "return a list": search(wrap=torch.tensor),
        "and `most` is": endless,
    },
}

test_right_answer_passes, test_mistake_is_named = checker_tests(RIGHT, MISTAKES)

OTHERWISE = [
    (check_beam_search, search_by_hand),
]

test_a_right_answer_written_another_way_passes = otherwise_test(OTHERWISE)
test_what_is_not_begun_is_called_so = not_begun_test(RIGHT)
