"""Every checker passes a right answer and names the mistake of each known wrong one."""

import pytest
import torch
import torch.nn.functional as F

from bertlab import course
from bertlab.course import (
    Mistake,
    check_actions,
    check_diagnose,
    check_heads,
    check_mask_tokens,
    check_mlm_loss,
    check_pair_inputs,
    check_probes,
    check_question_rows,
    check_tagging,
    check_whole_words,
)
from bertlab.inputs.masking import Masking, mask_tokens
from bertlab.tokenizer import Tokenizer
from bertlab.vocabulary import SPECIAL_TOKENS

# Pair inputs


def pair(first, second, cls, sep, length):
    ids = [cls, *first, sep, *second, sep]
    types = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    pad = [0] * (length - len(ids))
    return ids + pad, types + pad, [1] * len(ids) + pad


def changed_pair(change):
    def wrong(first, second, cls, sep, length):
        parts = {"ids": 0, "types": 1, "mask": 2}
        result = list(pair(first, second, cls, sep, length))
        name, new = change(first, second, cls, sep, length, *result)
        result[parts[name]] = new
        return tuple(result)

    return wrong


PAIR_MISTAKES = {
    "ids already": lambda a, b, cls, sep, n, ids, types, mask: ("ids", ["[CLS]", *ids[1:]]),
    "begin with": lambda a, b, cls, sep, n, ids, types, mask: ("ids", [*ids[1:], 0]),
    "between the two": lambda a, b, cls, sep, n, ids, types, mask: ("ids", ([cls, *a, *b, sep] + [0] * n)[:n]),
    "is missing": lambda a, b, cls, sep, n, ids, types, mask: ("ids", ([cls, *a, sep, *b] + [0] * n)[:n]),
    "in this order": lambda a, b, cls, sep, n, ids, types, mask: ("ids", ([cls, *b, sep, *a, sep] + [0] * n)[:n]),
    "pad input_ids": lambda a, b, cls, sep, n, ids, types, mask: ("ids", [cls, *a, sep, *b, sep]),
    "fill up with 0": lambda a, b, cls, sep, n, ids, types, mask: ("ids", ([cls, *a, sep, *b, sep] + [9] * n)[:n]),
    "first [SEP]": lambda a, b, cls, sep, n, ids, types, mask: (
        "types",
        [0] * (len(a) + 1) + [1] * (len(b) + 2) + [0] * (n - len(a) - len(b) - 3),
    ),
    "last [SEP]": lambda a, b, cls, sep, n, ids, types, mask: (
        "types",
        [0] * (len(a) + 2) + [1] * len(b) + [0] * (n - len(a) - len(b) - 2),
    ),
    "up to the first": lambda a, b, cls, sep, n, ids, types, mask: ("types", [0] * n),
    "padding has": lambda a, b, cls, sep, n, ids, types, mask: ("types", [0] * (len(a) + 2) + [1] * (n - len(a) - 2)),
    "wrong way round": lambda a, b, cls, sep, n, ids, types, mask: ("mask", [1 - m for m in mask]),
    "every real token": lambda a, b, cls, sep, n, ids, types, mask: ("mask", [0, *mask[1:]]),
    "on padding": lambda a, b, cls, sep, n, ids, types, mask: ("mask", [1] * n),
}


@pytest.mark.parametrize("kind", [tuple, list, lambda rows: tuple(map(torch.tensor, rows))])
def test_pair_inputs_right(kind):
    check_pair_inputs(lambda *given: kind(pair(*given)))


@pytest.mark.parametrize("words", PAIR_MISTAKES)
def test_pair_inputs_mistake(words):
    with pytest.raises(Mistake, match=words.replace("[", r"\[")):
        check_pair_inputs(changed_pair(PAIR_MISTAKES[words]))


# What was done


def right_actions(hidden, labels, mask):
    kinds = torch.where(hidden == labels, 3, 2)
    kinds = torch.where(hidden == mask, 1, kinds)
    return torch.where(labels == -100, 0, kinds)


def swapped_actions(hidden, labels, mask):
    kinds = right_actions(hidden, labels, mask)
    return torch.where(kinds == 3, 2, torch.where(kinds == 2, 3, kinds))


def actions_everywhere(hidden, labels, mask):
    return torch.where(hidden == mask, 1, torch.where(hidden == labels, 3, 2))


ACTION_MISTAKES = {
    "nothing was chosen": actions_everywhere,
    "stood in the text already": lambda h, y, m: torch.where(h == m, 1, right_actions(h, y, m)),
    "looks untouched": lambda h, y, m: torch.where(h == y, 0, right_actions(h, y, m)),
    "are swapped": swapped_actions,
    "not a random token": lambda h, y, m: right_actions(h, y, -1),
    "3, not 2": lambda h, y, m: right_actions(h, y, m).clamp(max=2),
    "says only what was chosen": lambda h, y, m: (y != -100).long(),
    "whole numbers": lambda h, y, m: right_actions(h, y, m).float(),
    "like the ids": lambda h, y, m: right_actions(h, y, m)[0],
    "yours is": lambda h, y, m: 3 * right_actions(h, y, m),
}


def test_actions_right():
    check_actions(right_actions)


@pytest.mark.parametrize("words", ACTION_MISTAKES)
def test_actions_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_actions(ACTION_MISTAKES[words])


# Masking


LIBRARY = Tokenizer.from_vocab([*SPECIAL_TOKENS, *(f"w{i}" for i in range(60))])  # as the check has it


def right_masking(ids, special, tokenizer, generator, rate=0.15, **shares):
    masked = mask_tokens(ids, special, LIBRARY, generator, Masking(rate, **shares))
    return masked.input_ids, masked.labels


def coins(ids, special, tokenizer, generator, rate=0.15, first=5, seen=None):
    """A coin for each token, and coins again for 80/10/10."""
    chosen = (torch.rand(ids.shape, generator=generator) < rate) & ~special if seen is None else seen
    coin = torch.rand(ids.shape, generator=generator)
    hidden = ids.masked_fill(chosen & (coin < 0.8), tokenizer.mask_token_id)
    words = torch.randint(first, tokenizer.vocab_size, ids.shape, generator=generator)
    return torch.where(chosen & (coin > 0.9), words, hidden), ids.masked_fill(~chosen, -100)


def whole_vocabulary(ids, special, tokenizer, generator, rate=0.15):
    return coins(ids, special, tokenizer, generator, rate, first=0)


def rate_ignored(ids, special, tokenizer, generator, rate=0.15):
    return right_masking(ids, special, tokenizer, generator)


def attribute_of_the_library(ids, special, tokenizer, generator, rate=0.15):
    return coins(ids, special, tokenizer, generator, rate, first=len(tokenizer.all_special_ids))


def no_rate(ids, special, tokenizer, generator):
    return right_masking(ids, special, tokenizer, generator)


def all_positions(ids, special, tokenizer, generator, rate=0.15):
    draws = torch.rand(ids.shape, generator=generator).masked_fill(special, 2.0)
    seen = (draws.argsort(1).argsort(1) < round(rate * ids.shape[1])) & ~special
    return coins(ids, special, tokenizer, generator, seen=seen)


def coin_of_20(ids, special, tokenizer, generator, rate=0.15):
    return coins(ids, special, tokenizer, generator, 0.2)


def coin_for_each_row(ids, special, tokenizer, generator, rate=0.15):
    row = torch.rand(len(ids), 1, generator=generator) < 0.15
    row[0] |= ~row.any()
    return coins(ids, special, tokenizer, generator, seen=row & ~special)


def first_tokens(ids, special, tokenizer, generator, rate=0.15):
    wanted = ((~special).sum(1, keepdim=True) * rate).round()
    return coins(ids, special, tokenizer, generator, seen=((~special).cumsum(1) <= wanted) & ~special)


def long_rows(ids, special, tokenizer, generator, rate=0.15):
    seen = (torch.rand(ids.shape, generator=generator) < torch.tensor([0.25] * 2 + [0.08] * 6)[:, None]) & ~special
    return coins(ids, special, tokenizer, generator, seen=seen)


def in_place(ids, special, tokenizer, generator):
    hidden, labels = right_masking(ids, special, tokenizer, generator)
    ids[:] = hidden
    return ids, labels


def labels_after(ids, special, tokenizer, generator):
    hidden, labels = right_masking(ids, special, tokenizer, generator)
    return hidden, hidden.masked_fill(labels == -100, -100)


def labels_everywhere(ids, special, tokenizer, generator):
    return right_masking(ids, special, tokenizer, generator)[0], ids.clone()


def specials_too(ids, special, tokenizer, generator):
    return right_masking(ids, ids == tokenizer.pad_token_id, tokenizer, generator)


def padding_too(ids, special, tokenizer, generator):
    return right_masking(ids, special & (ids != tokenizer.pad_token_id), tokenizer, generator)


def only_masks(ids, special, tokenizer, generator):
    return right_masking(ids, special, tokenizer, generator, mask=1.0, random=0.0)


def drawn_twice(ids, special, tokenizer, generator):
    return right_masking(ids, special, tokenizer, generator, mask=0.8, random=0.02)


def coin_and_masks(ids, special, tokenizer, generator):
    chosen = (torch.rand(ids.shape, generator=generator) < 0.15) & ~special
    return ids.masked_fill(chosen, tokenizer.mask_token_id), ids.masked_fill(~chosen, -100)


def special_replacements(ids, special, tokenizer, generator):
    hidden, labels = right_masking(ids, special, tokenizer, generator)
    replaced = (hidden != ids) & (hidden != tokenizer.mask_token_id)
    return hidden.masked_fill(replaced, tokenizer.sep_token_id), labels


def unseeded(ids, special, tokenizer, generator):
    return right_masking(ids, special, tokenizer, torch.Generator().manual_seed(torch.seed() % 2**31))


def others_changed(ids, special, tokenizer, generator):
    hidden, labels = right_masking(ids, special, tokenizer, generator)
    return hidden.masked_fill((labels == -100) & ~special, 7), labels


def in_order(ids, special, tokenizer, generator):
    hidden, labels = right_masking(ids, special, tokenizer, generator)
    positions = (labels != -100).nonzero()  # (M, 2): from the first row to the last
    masks = round(0.8 * len(positions))
    hidden = ids.clone()
    hidden[tuple(positions[:masks].T)] = tokenizer.mask_token_id
    randoms = positions[masks : masks + len(positions) // 10]
    hidden[tuple(randoms.T)] = torch.arange(7, 7 + len(randoms))
    return hidden, labels


def one_word(ids, special, tokenizer, generator):
    hidden, labels = right_masking(ids, special, tokenizer, generator)
    return hidden.masked_fill((hidden != ids) & (hidden != tokenizer.mask_token_id), 7), labels


def hidden_alone(ids, special, tokenizer, generator):
    return right_masking(ids, special, tokenizer, generator)[0]


MASKING_MISTAKES = {
    in_place: "clone",
    labels_after: r"labels hold \[MASK\]",
    labels_everywhere: "-100 where nothing",
    specials_too: r"\[CLS\] or \[SEP\] was chosen",
    padding_too: "padding was chosen",
    only_masks: "every chosen token became",
    drawn_twice: "half of the remaining",
    coin_and_masks: "every chosen token became",
    rate_ignored: "use the argument `rate`",
    no_rate: "5 were given",
    attribute_of_the_library: "no attribute 'all_special_ids'",
    all_positions: "not of all positions",
    coin_of_20: "20% of the ordinary tokens were chosen",
    coin_for_each_row: "toss a coin for each token",
    first_tokens: "each must have the same chance",
    long_rows: "of one row you choose",
    special_replacements: "100% of the random replacements are special",
    unseeded: "pass generator=",
    others_changed: "must stay as they are",
    in_order: "shuffle the chosen positions",
    one_word: "one and the same token",
    hidden_alone: "return two tensors",
}


@pytest.mark.parametrize(
    ("right", "words"),
    [
        (right_masking, "15% of each row, rounded, 80/10/10"),
        (coins, "a coin for each token"),
        (whole_vocabulary, "released BERT code draws them from the whole vocabulary too"),
    ],
)
def test_masking_right(right, words, capsys):
    check_mask_tokens(right)
    out = capsys.readouterr().out
    assert out.startswith("Right") and words in out and ("vocabulary" in out) == (right is whole_vocabulary)


@pytest.mark.parametrize("wrong", MASKING_MISTAKES, ids=lambda fn: fn.__name__)
def test_masking_mistake(wrong):
    with pytest.raises(Mistake, match=MASKING_MISTAKES[wrong]):
        check_mask_tokens(wrong)


# Loss


def right_loss(logits, labels):
    chosen = labels != -100
    return F.cross_entropy(logits[chosen], labels[chosen], reduction="sum") / chosen.sum().clamp(min=1)


def log_p(logits, labels):
    return logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]  # (B, S)


def rows_first(logits, labels):
    return torch.stack([right_loss(row[None], label[None]) for row, label in zip(logits, labels, strict=True)]).mean()


LOSS_MISTAKES = {
    "all positions": lambda z, y: right_loss(z, y) * (y != -100).float().mean(),
    "this is the sum": lambda z, y: right_loss(z, y) * (y != -100).sum(),
    "over rows first": rows_first,
    "-100 was counted": lambda z, y: -log_p(z, y).mean(),
    "ignore label 0": lambda z, y: F.cross_entropy(z.flatten(0, 1), y.clamp(min=0).flatten(), ignore_index=0),
    "log-probabilities belong": lambda z, y: F.nll_loss(z.softmax(-1)[y != -100], y[y != -100]),
    "applied twice": lambda z, y: right_loss(z.softmax(-1), y),
    "sign is wrong": lambda z, y: -right_loss(z, y),
    "in bits": lambda z, y: right_loss(z, y) / 0.6931472,
    "is nan": lambda z, y: F.cross_entropy(z.flatten(0, 1), y.flatten()),
    "one number, the mean: yours": lambda z, y: F.cross_entropy(z.flatten(0, 1), y.flatten(), reduction="none"),
    "one number, the mean.$": lambda z, y: None,
    "stopped with": lambda z, y: z.log_softmax(-1).gather(-1, y[..., None]).mean(),
    "yours is": lambda z, y: right_loss(z, y) + 0.5,
}


def test_loss_right():
    check_mlm_loss(right_loss)


@pytest.mark.parametrize("words", LOSS_MISTAKES)
def test_loss_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_mlm_loss(LOSS_MISTAKES[words])


# Whole words


def right_words(tokens):
    words = []
    for place, token in enumerate(tokens):
        if token.startswith("##"):
            words[-1].append(place)
        elif token not in ("[CLS]", "[SEP]", "[PAD]"):
            words.append([place])
    return words


WORD_MISTAKES = {
    "a special token": lambda tokens: [[0], *right_words(tokens)],
    "are missing": lambda tokens: [word[:1] for word in right_words(tokens)],
    "stands alone": lambda tokens: [[place] for word in right_words(tokens) for place in word],
    "not the tokens": lambda tokens: [[tokens[i] for i in word] for word in right_words(tokens)],
    "return a list": lambda tokens: None,
    "yours are": lambda tokens: right_words(tokens)[::-1],
    r"\[ a \] ": lambda tokens: [w for w in right_words(tokens) if not tokens[w[0]].startswith("[")],
}


def test_words_right():
    check_whole_words(right_words)


@pytest.mark.parametrize("words", WORD_MISTAKES)
def test_words_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_whole_words(WORD_MISTAKES[words])


def test_a_mistake_is_shown_without_a_traceback():
    assert Mistake("one line")._render_traceback_() == ["Not yet: one line"]


# Exercises not begun


def stub(*args):
    raise NotImplementedError


BESIDE = {  # what they take beside one function
    check_heads: stub,
    check_probes: None,
    check_diagnose: {1: {"A": None}},
    check_question_rows: stub,
    check_tagging: stub,
}
CHECKERS = [getattr(course, name) for name in course.__all__ if name.startswith("check_")]


@pytest.mark.parametrize("check", CHECKERS, ids=lambda check: check.__name__)
def test_an_exercise_not_begun(check):
    beside = [BESIDE[check]] if check in BESIDE else []
    with pytest.raises(Mistake, match="write your code in place of"):
        check(stub, *beside)
