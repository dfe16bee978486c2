"""Exercise checkers. Each calls the reader's function on small cases and names the likely mistake."""

import math
from collections.abc import Callable, Sequence
from functools import wraps

import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.inputs.masking import IGNORED
from bertlab.tokenizer import Tokenizer
from bertlab.vocabulary import SPECIAL_TOKENS

PairInputs = Callable[[list[int], list[int], int, int, int], tuple[list[int], list[int], list[int]]]
MaskTokens = Callable[[Tensor, Tensor, Tokenizer, torch.Generator], tuple[Tensor, Tensor]]


class Mistake(AssertionError):
    """What is wrong with an exercise, in one or two sentences; a notebook shows these and no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"Not yet: {self}"]


def checker(check: Callable[..., None]) -> Callable[..., None]:
    """A check that calls an exercise not yet begun what it is, without a traceback."""

    @wraps(check)
    def run(fn, *args, **options) -> None:
        try:
            check(fn, *args, **options)
        except NotImplementedError:
            raise Mistake("write your code in place of `raise NotImplementedError`.") from None

    return run


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise Mistake(message)


# The tour: three inputs from two texts


@checker
def check_pair_inputs(fn: PairInputs) -> None:
    """Check fn(first, second, cls, sep, length) -> input_ids, token_type_ids, attention_mask, all lists."""
    cls, sep = 2, 3
    for first, second, length in (([10, 11, 12], [13, 14], 10), ([20], [21, 22, 23], 7), ([30, 31], [32], 9)):
        result = fn(list(first), list(second), cls, sep, length)
        _expect(
            isinstance(result, tuple) and len(result) == 3,
            "return three lists: input_ids, token_type_ids, attention_mask.",
        )
        ids, types, mask = map(list, result)
        _check_pair_ids(ids, first, second, cls, sep, length)
        _check_pair_types(types, len(first), len(second), length)
        _check_pair_mask(mask, len(first) + len(second) + 3, length)
    print("Right: ids, segments and mask are those that BERT expects.")


def _check_pair_ids(ids: list[int], first: Sequence[int], second: Sequence[int], cls: int, sep: int, length: int):
    text = [cls, *first, sep, *second, sep]
    _expect(bool(ids) and ids[0] == cls, "input_ids must begin with [CLS]: its vector later speaks for the whole pair.")
    _expect(
        ids[: len(text) - 1] != [cls, *first, *second, sep],
        "there is no [SEP] between the two texts: BERT would read them as one.",
    )
    _expect(
        ids.count(sep) >= 2,
        "a [SEP] is missing: one stands after the first text and one after the second.",
    )
    _expect(ids[: len(text)] == text, "input_ids should be [CLS] first [SEP] second [SEP], in this order.")
    _expect(len(ids) == length, f"pad input_ids to length {length}; yours has {len(ids)}.")
    _expect(set(ids[len(text) :]) <= {0}, "fill up with 0, the id of [PAD].")


def _check_pair_types(types: list[int], first: int, second: int, length: int):
    right = [0] * (first + 2) + [1] * (second + 1)
    _expect(len(types) == length, f"token_type_ids needs one entry for each token, padding too: {length}.")
    _expect(
        types[: len(right)] != [0] * (first + 1) + [1] * (second + 2),
        "the first [SEP] closes the first text: its token_type_id is 0.",
    )
    _expect(
        types[: len(right)] != right[:-1] + [0],
        "the last [SEP] belongs to the second text: its token_type_id is 1.",
    )
    _expect(types[: len(right)] == right, "token_type_ids is 0 up to the first [SEP] and 1 from there to the last.")
    _expect(not any(types[len(right) :]), "padding has token_type_id 0.")


def _check_pair_mask(mask: list[int], text: int, length: int):
    _expect(len(mask) == length, f"attention_mask needs one entry for each token, padding too: {length}.")
    _expect(
        mask != [0] * text + [1] * (length - text),
        "attention_mask is the wrong way round: 1 means look at it, 0 means padding.",
    )
    _expect(all(mask[:text]), "attention_mask is 1 on every real token, [CLS] and [SEP] too.")
    _expect(not any(mask[text:]), "attention_mask must be 0 on padding: else words attend to nothing at all.")


# The masked language model: choose and hide


@checker
def check_mask_tokens(fn: MaskTokens, draws: int = 40) -> None:
    """Check fn(input_ids, special, tokenizer, generator) -> (hidden, labels), both (B, S), at 15% and 80/10/10."""
    tokenizer = Tokenizer.from_vocab([*SPECIAL_TOKENS, *(f"w{i}" for i in range(60))])
    ids, special = _sentences(tokenizer)
    tally = torch.zeros(3)
    for seed in range(draws):
        given = ids.clone()
        hidden, labels = fn(given, special, tokenizer, torch.Generator().manual_seed(seed))
        _expect(
            torch.equal(given, ids),
            "your function changed the input_ids it was given: clone them before you write into them.",
        )
        _check_choice(hidden, labels, ids, special, tokenizer)
        chosen = labels != IGNORED
        masked, kept = hidden == tokenizer.mask_token_id, hidden == ids
        tally += torch.stack([(part & chosen).sum() for part in (masked, ~masked & ~kept, kept)])
    _check_shares(tally / tally.sum())
    again = [fn(ids.clone(), special, tokenizer, torch.Generator().manual_seed(0))[0] for _ in range(2)]
    _expect(
        torch.equal(*again),
        "the same generator seed gave two results: pass generator= to every random call.",
    )
    print("Right: what is chosen, hidden and asked for is as the paper says.")


def _sentences(tokenizer: Tokenizer) -> tuple[Tensor, Tensor]:
    """Eight rows [CLS] words [SEP] with padding, (8, 42), of unlike lengths; and what is special in them."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.zeros(8, 42, dtype=torch.long)
    for row, length in enumerate((40, 40, 34, 27, 20, 20, 14, 7)):
        ids[row, 1 : length + 1] = torch.randint(5, tokenizer.vocab_size, (length,), generator=generator)
        ids[row, 0], ids[row, length + 1] = tokenizer.cls_token_id, tokenizer.sep_token_id
    return ids, tokenizer.special_mask(ids)


def _check_choice(hidden: Tensor, labels: Tensor, ids: Tensor, special: Tensor, tokenizer: Tokenizer):
    _expect(
        labels.shape == ids.shape and hidden.shape == ids.shape, "hidden and labels must have the shape of input_ids."
    )
    chosen = labels != IGNORED
    _expect(
        bool(chosen.any()) and not bool(chosen.all()),
        "labels must be -100 where nothing is asked and the original id where a token was chosen.",
    )
    padding = (ids == tokenizer.pad_token_id) & chosen
    _expect(not bool(padding.any()), "padding was chosen: there is nothing to guess there.")
    _expect(not bool((special & chosen).any()), "[CLS] or [SEP] was chosen: special tokens never are.")
    _expect(
        not bool((labels[chosen] == tokenizer.mask_token_id).any()),
        "labels hold [MASK]: take them from the original input_ids, before you hide anything.",
    )
    _expect(bool((labels[chosen] == ids[chosen]).all()), "labels must be the original ids of the chosen tokens.")
    _expect(
        bool((hidden == ids)[~chosen].all()), "tokens that were not chosen must stay as they are (and so must padding)."
    )
    replaced = hidden[chosen & (hidden != ids)]
    drawn = torch.isin(replaced, torch.tensor(tokenizer.all_special_ids)) & (replaced != tokenizer.mask_token_id)
    _expect(
        not bool(drawn.any()),
        "a random replacement is a special token such as [PAD] or [SEP]: draw from the ordinary words only.",
    )
    wanted = ((~special).sum(1).double() * 0.15).round().clamp(min=1)
    _expect(
        bool((chosen.sum(1) == wanted).all()),
        "choose exactly round(0.15 x n) of a row's n ordinary tokens, at least one: "
        "a coin thrown for each token, or a share of all slots, gives other counts.",
    )


def _check_shares(shares: Tensor):
    mask, random, kept = shares.tolist()
    _expect(
        mask < 0.99,
        "every chosen token became [MASK]: 10% should turn into a random word and 10% stay.",
    )
    _expect(
        not (0.7 < mask < 0.76 or random < 0.05 or kept < 0.05),
        f"of the chosen tokens {mask:.0%} became [MASK], {random:.0%} random, {kept:.0%} stayed; it should be "
        "80/10/10. If you drew twice, mind that 10% random is half of the remaining 20%.",
    )
    right = all(abs(share - aim) < 0.04 for share, aim in zip((mask, random, kept), (0.8, 0.1, 0.1), strict=True))
    _expect(right, f"the split is {mask:.0%} [MASK], {random:.0%} random, {kept:.0%} kept; it should be 80/10/10.")


# The masked language model: the loss


@checker
def check_mlm_loss(fn: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check fn(logits (B, S, V), labels (B, S) with -100) -> mean loss over the labelled positions."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 8, 12, generator=generator)
    labels = torch.full((3, 8), IGNORED)
    labels[0, 1:6], labels[1, 2], labels[2, [0, 3]] = torch.tensor([4, 0, 7, 1, 3]), 5, torch.tensor([0, 9])
    value = _loss(fn, logits, labels)
    chosen = labels != IGNORED
    each = F.cross_entropy(logits[chosen], labels[chosen], reduction="none")  # (M,)
    _diagnose_loss(value, logits, labels, each)
    empty = _loss(fn, logits, torch.full_like(labels, IGNORED))
    _expect(
        not math.isnan(empty),
        "with no label at all the loss is nan, and one such batch ruins all weights: divide by max(count, 1).",
    )
    _expect(empty == 0, f"with no label at all the loss should be 0, not {empty:.4f}.")
    print("Right: the mean over the masked positions alone.")


def _loss(fn: Callable[[Tensor, Tensor], Tensor], logits: Tensor, labels: Tensor) -> float:
    try:
        result = torch.as_tensor(fn(logits, labels))
    except NotImplementedError:
        raise
    except (IndexError, RuntimeError) as error:
        raise Mistake(
            f"your function stopped with: {error}. Cross-entropy wants (N, V) and (N,); -100 is no word, leave it out."
        ) from error
    _expect(result.numel() == 1, "return one number, the mean: yours has shape " + str(tuple(result.shape)) + ".")
    return float(result)


def _diagnose_loss(value: float, logits: Tensor, labels: Tensor, each: Tensor):
    chosen = labels != IGNORED
    scores = logits.log_softmax(-1)
    nonzero = labels.clamp(min=0)
    rows = [F.cross_entropy(row[mask], label[mask]) for row, label, mask in zip(logits, labels, chosen, strict=True)]
    twice = F.nll_loss(logits.softmax(-1)[chosen], labels[chosen])
    known = {
        each.sum() / labels.numel(): "you divide by all positions: the loss then shrinks with every unmasked or padded "
        "token. Divide by the number of labels that are not -100.",
        each.sum(): "this is the sum: divide by the number of masked positions.",
        torch.stack(rows).mean(): "you average over rows first: a row with one mask then weighs as much as one "
        "with five. Take one mean over all masked positions.",
        -scores.flatten(0, 1)[range(labels.numel()), nonzero.flatten()].mean(): "-100 was counted as word 0: "
        "positions without a label must not enter the loss.",
        F.cross_entropy(logits.flatten(0, 1), nonzero.flatten(), ignore_index=0): "you ignore label 0, which is a "
        "word like any other; ignore -100.",
        twice: "you took probabilities where log-probabilities belong: the loss is -log p.",
        F.cross_entropy(logits[chosen].softmax(-1), labels[chosen]): "softmax is applied twice: cross_entropy "
        "wants raw logits.",
        -each.mean(): "the sign is wrong: the loss is minus the log-probability.",
        each.mean() / math.log(2): "this is in bits; BERT's loss is in nats (natural logarithm).",
    }
    for wrong, message in known.items():
        _expect(abs(value - float(wrong)) > 1e-4, message)
    right = float(each.mean())
    _expect(abs(value - right) < 1e-5, f"the loss of the test case is {right:.4f}; yours is {value:.4f}.")


# The masked language model: whole words


@checker
def check_whole_words(fn: Callable[[list[str]], list[list[int]]]) -> None:
    """Check fn(tokens) -> the positions of each whole word, in order, special tokens left out."""
    cases = [
        (["[CLS]", "a", "pen", "##gui", "##n", "[SEP]"], [[1], [2, 3, 4]]),
        (["[CLS]", "un", "##aff", "##able", "dog", "##s", "[SEP]", "he", "walk", "##s", "[SEP]"], None),
        (["[CLS]", "one", "[SEP]", "[PAD]", "[PAD]"], [[1]]),
        (["[CLS]", "[SEP]"], []),
    ]
    cases[1] = (cases[1][0], [[1, 2, 3], [4, 5], [7], [8, 9]])
    for tokens, right in cases:
        result = fn(list(tokens))
        _expect(isinstance(result, list), "return a list of lists of positions.")
        words = [list(word) for word in result]
        flat = [place for word in words for place in word]
        _expect(
            not any(isinstance(place, str) for place in flat),
            "return positions (whole numbers), not the tokens themselves.",
        )
        special = [i for i, token in enumerate(tokens) if token in SPECIAL_TOKENS]
        _expect(not set(flat) & set(special), "a special token is among the words: leave [CLS], [SEP] and [PAD] out.")
        pieces = [i for i, token in enumerate(tokens) if token.startswith("##")]
        _expect(set(pieces) <= set(flat), "pieces that begin with ## are missing: they belong to the word before them.")
        _expect(
            not any([piece] in words for piece in pieces), "a ## piece stands alone: join it to the word before it."
        )
        _expect(words == right, f"for {' '.join(tokens)} the words are {right}; yours are {words}.")
    print("Right: every word with all its pieces, and nothing else.")
