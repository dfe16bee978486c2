"""Choose tokens and hide them."""

from typing import Any

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.course.exercise import Exercise
from bertlab.course.observe import SHUFFLED, expect, value
from bertlab.course.solutions import pretraining
from bertlab.course.solutions.config import SPECIAL
from bertlab.course.solutions.tokenizer import Tokenizer

DRAWS = 40
FIRST = len(SPECIAL)  # the special tokens have the ids before
MANY = 0.4  # another rate than the usual one, at which a function that ignores it is found out


def _tokenizer(tokens: list[str]) -> Tokenizer:
    tokenizer = Tokenizer({token: number for number, token in enumerate(tokens)})
    del tokenizer.vocabulary  # the library's tokenizer, which the chapter uses, has none
    return tokenizer


def _sentences() -> list[tuple]:
    """Eight rows [CLS] words [SEP] with padding, (8, 42), of unlike lengths, and what is special in them."""
    tokens = [*SHUFFLED, *(f"w{i}" for i in range(60))]
    tokenizer = _tokenizer(tokens)
    generator = torch.Generator().manual_seed(0)
    ids = torch.full((8, 42), tokenizer.pad_token_id)
    for row, length in enumerate((40, 40, 34, 26, 20, 20, 12, 7)):
        words = torch.randint(FIRST, tokenizer.vocab_size, (length,), generator=generator)
        ids[row, 1 : length + 1] = words - (words > FIRST + 40).long() * (words % 2)  # some words stand in no text
        ids[row, 0], ids[row, length + 1] = tokenizer.cls_token_id, tokenizer.sep_token_id
    special = ids < FIRST
    special[2:] |= ids[2:] == FIRST + 2  # who calls says what is special, not the ids
    return [(ids, special, tokenizer)]


def _masked(fn, ids: Tensor, special: Tensor, tokenizer: Any) -> dict[str, Any]:
    """What holds of many drawings. A fixed number of each row is right, and so is a coin for each token; random words
    may come from the whole vocabulary, as in the released code."""
    draws = [_drawn(fn, ids, special, tokenizer, seed) for seed in range(DRAWS)]
    hidden, labels = (torch.stack(part) for part in zip(*draws, strict=True))  # (draws, B, S) each
    chosen, masked, kept = labels != IGNORED, hidden == tokenizer.mask_token_id, hidden == ids
    found = {
        "labels are -100 where nothing is asked, and something is asked": chosen.any() and not chosen.all(),
        "special tokens and padding are never chosen": not bool((chosen & special).any()),
        "labels are the ids before anything was hidden": bool((labels == ids)[chosen].all()),
        "what was not chosen stays as it is": bool(kept[~chosen].all()),
    }
    found |= _shares(chosen, masked, kept) | _choice(chosen, ~special)
    found |= _replaced(hidden, chosen & ~masked & ~kept, ids)
    again = [_drawn(fn, ids, special, tokenizer, 0)[0] for _ in range(2)]
    found["the same seed gives the same result"] = torch.equal(*again)
    found["a second batch from the same generator hides other tokens"] = _goes_on(fn, ids, special, tokenizer)
    found["random replacements come from all of the vocabulary, its last word too"] = _reaches_all(fn, ids, special)
    return found | _at_another_rate(fn, ids, special, tokenizer)


def _at_another_rate(fn, ids: Tensor, special: Tensor, tokenizer: Any) -> dict[str, bool]:
    draws = [_drawn(fn, ids, special, tokenizer, seed, MANY) for seed in range(16)]
    hidden, labels = (torch.stack(part) for part in zip(*draws, strict=True))
    chosen = labels != IGNORED
    share = float(chosen.sum() / (len(draws) * (~special).sum()))
    shares = _shares(chosen, hidden == tokenizer.mask_token_id, hidden == ids)
    return {
        f"rate={MANY} chooses {MANY:.0%}": abs(share - MANY) < 0.08,
        f"the split is 80/10/10 with rate={MANY} too": shares["the split is 80/10/10"],
    }


def _goes_on(fn, ids: Tensor, special: Tensor, tokenizer: Any) -> bool:
    generator = torch.Generator().manual_seed(0)
    first, second = (fn(ids.clone(), special.clone(), tokenizer, generator)[1] for _ in range(2))
    return not torch.equal(first, second)


def _reaches_all(fn, ids: Tensor, special: Tensor) -> bool:
    """Whether each of three words, which are the whole vocabulary, stands in for another."""
    few = _tokenizer([*SHUFFLED, "a", "b", "c"])
    ids = torch.where(special, ids, FIRST + ids % 3)
    draws = [_drawn(fn, ids, special, few, seed, MANY)[0] for seed in range(8)]
    words = torch.stack([hidden[hidden != ids].bincount(minlength=FIRST + 3) for hidden in draws]).sum(0)
    return bool(words[FIRST:].all())


def _drawn(fn, ids: Tensor, special: Tensor, tokenizer: Any, seed: int, *rate: float) -> tuple[Tensor, Tensor]:
    found = value(fn, ids.clone(), special.clone(), tokenizer, torch.Generator().manual_seed(seed), *rate)
    expect(not found["changed"], "your function changed what it was given: clone it before you write into it.")
    result = found["result"]
    pair = isinstance(result, list | tuple) and len(result) == 2 and all(isinstance(each, Tensor) for each in result)
    expect(pair and not (result[0] < 0).any(), "return two tensors, hidden and labels, in this order, each a tensor.")
    same = all((each.shape, each.dtype) == (ids.shape, ids.dtype) for each in result)
    expect(same, "hidden and labels must have the shape of input_ids and be whole numbers of 64 bits, torch.long.")
    return result


def _shares(chosen: Tensor, masked: Tensor, kept: Tensor) -> dict[str, bool]:
    """How many of each row became [MASK], random, stayed."""
    tally = torch.stack([masked & chosen, ~masked & ~kept & chosen, kept & chosen]).sum((1, 3)).T.double()  # (B, 3)
    shares = (tally.sum(0) / tally.sum().clamp(min=1)).tolist()
    halves = [float(rows[:, 0].sum() / rows.sum().clamp(min=1)) for rows in tally.chunk(2)]
    return {
        "not every chosen token becomes [MASK]": shares[0] < 0.99,
        "10% become a random word": shares[1] > 0.055,
        "10% stay": shares[2] > 0.055,
        "the split is 80/10/10": all(
            abs(share - aim) < 0.045 for share, aim in zip(shares, (0.8, 0.1, 0.1), strict=True)
        ),
        "the split is the same in all rows": max(halves) < 0.95,
        "what becomes of a token is drawn for each by itself": _is_mixed(chosen, masked, 5, 0.4)
        and _is_mixed(chosen.mT, masked.mT, 2, 0.1),
    }


def _is_mixed(chosen: Tensor, masked: Tensor, several: int, share: float) -> bool:
    """Whether of the rows with `several` chosen tokens more than `share` have some that became [MASK], but not all."""
    count, some = chosen.sum(-1), (masked & chosen).sum(-1)
    return bool(((some > 0) & (some < count))[count >= several].double().mean() > share)


def _choice(chosen: Tensor, ordinary: Tensor) -> dict[str, Any]:
    """How the tokens were chosen, (draws, B, S), of the ordinary ones (B, S)."""
    counts, size, often = chosen.sum(-1), ordinary.sum(-1), chosen.sum(0)[ordinary]
    share = float(counts.sum() / (len(counts) * size.sum()))
    rows = counts.double().mean(0) / size  # (B,)
    fixed = bool((counts == counts[0]).all())
    spread = float((counts.double().var(0) / (size * 0.15 * 0.85)).mean())  # 1 if each token has a coin of its own
    return {
        "15% are chosen": abs(share - 0.15) < 0.02,
        "a row's 15% are of its ordinary tokens, rounded": not fixed
        or bool(((counts[0] - size * 0.15).abs() <= 0.51).all()),
        "the number of chosen tokens differs as coins do": fixed or spread < 2,
        "each row has 15%, on average": float((rows - 0.15).abs().max()) < 0.1,
        "each row has draws of its own": not torch.equal(chosen[:, 0], chosen[:, 1]),
        "each token has the same chance": int(often.max()) < 0.6 * len(chosen)
        and int((often == 0).sum()) < 0.05 * len(often),
    }


def _replaced(hidden: Tensor, random: Tensor, ids: Tensor) -> dict[str, bool]:
    """Which tokens stand in for others. 4 of 65 are special if they are drawn from the whole vocabulary."""
    words, draws = hidden[random], [row[where] for row, where in zip(hidden, random, strict=True)]
    rows = [row[where] for row, where in zip(hidden.flatten(0, 1), random.flatten(0, 1), strict=True)]
    several = [len(row.unique()) for row in rows if len(row) > 1]
    everywhere = not len(words) or (int(words.max()) > FIRST + 50 and int(words[words >= FIRST].min()) < FIRST + 10)
    return {
        "random replacements are words": not len(words) or float((words < FIRST).double().mean()) < 0.25,
        "random replacements differ within a batch": not len(words) or max(len(each.unique()) for each in draws) > 1,
        "random replacements differ within a row": not several or max(several) > 1,
        "random replacements come from all of the vocabulary": everywhere,
        "random replacements are words of other texts too": not len(words) or not bool(torch.isin(words, ids).all()),
    }


HIDDEN = "hidden[row, column] = tokenizer.mask_token_id"
CHOICE = "chosen = choose(special, rate, generator)"
COIN = "chosen = (torch.rand(ids.shape, generator=generator) < {}) & ~special"

check_mask_tokens = Exercise(
    pretraining.mask_tokens,
    _sentences,
    right="Right: 15% of the ordinary tokens, 80/10/10, and the labels are the originals.",
    observe=_masked,
    helpers=(pretraining.choose,),
    kept=("choose", "mask_tokens"),
    slips=[
        (
            "your function changed what it was given: clone it before you write into it.",
            "hidden = ids.clone() => hidden = ids",
        ),
        (
            "labels hold [MASK]: take them from the original input_ids, before you hide anything.",
            "return hidden, labels => return hidden, hidden.masked_fill(~chosen, IGNORED)",
        ),
        (
            "labels must be -100 where nothing is asked and the original id where a token was chosen.",
            "return hidden, labels => return hidden, ids.clone()",
        ),
        *(
            (
                "a token was chosen where `special` is True ([CLS], [SEP], padding): there is nothing to guess there.",
                f"{CHOICE} => {CHOICE.replace('special', some)}",
            )
            for some in (
                "special & (ids < 0)",
                "special & (ids == tokenizer.pad_token_id)",
                "special & (ids != tokenizer.pad_token_id)",
                "ids < len(SPECIAL)",
            )
        ),
        (
            "every chosen token became [MASK]: 10% should turn into a random word and 10% stay.",
            "round(0.8 * len(positions)), round(0.1 => len(positions), round(0.1",
        ),
        (
            "10% random is half of the remaining 20%: if you draw twice, mind of what the second share is.",
            "round(0.1 * len(positions)) => round(0.02 * len(positions))",
        ),
        (
            "10% of the chosen tokens stay as they are: yours all change.",
            "round(0.1 * len(positions)) => round(0.2 * len(positions))",
        ),
        (
            "one fate for a whole row: draw for each chosen token whether it becomes [MASK], a random word or stays.",
            "positions = positions[torch.randperm(len(positions), generator=generator)] => positions = "
            "torch.cat([positions[positions[:, 0] == n] for n in torch.randperm(len(ids), generator=generator)])",
        ),
        (
            "over the batch it is 80/10/10, but some rows get hardly anything but [MASK]: shuffle the chosen positions "
            "of the whole batch before you divide them.",
            "positions = positions[torch.randperm(len(positions), generator=generator)] => pass",
        ),
        ("use the argument `rate`, not the number 0.15.", f"{CHOICE} => chosen = choose(special, 0.15, generator)"),
        (
            "80%, 10% and 10% are shares of the chosen tokens, whatever `rate` is: yours are right for 0.15 alone.",
            "round(0.8 * len(positions)), round(0.1 * len(positions)) => round(0.12 * int((~special).sum())), "
            "round(0.015 * int((~special).sum()))",
        ),
        (
            "15% of the ordinary tokens, not of all positions: padding counts for nothing.",
            "(~special).sum(1, keepdim=True) * rate => torch.full((len(special), 1), special.size(1) * rate)",
        ),
        (
            "the number of chosen tokens differs too much from draw to draw: toss a coin for each token by itself.",
            f"{CHOICE} => chosen = (torch.rand(len(ids), 1, generator=generator) < rate).expand_as(ids) & ~special",
        ),
        (
            "every row hides the same positions: draw for each token of the batch.",
            f"{CHOICE} => {COIN.format('rate').replace('ids.shape', 'ids.size(1)')}",
        ),
        (
            "toss the coin with `rate`: yours chooses another share of the ordinary tokens than 15%.",
            f"{CHOICE} => {COIN.format('rate + 0.05')}",
        ),
        (
            "round the number of tokens of a row, and take one at least: yours cuts off, so rows get less than 15%.",
            "* rate).round().clamp(min=1) => * rate).floor()",
        ),
        (
            "of one row you choose far more than of another: it should be 15% of each, on average.",
            f"{CHOICE} => {COIN.format('torch.tensor([0.25] * 2 + [0.05] * 6)[:, None] * rate / 0.15')}",
        ),
        (
            "some tokens are chosen again and again and others never: each must have the same chance.",
            f"{CHOICE} => chosen = ((~special).cumsum(1) <= ((~special).sum(1, keepdim=True) * rate).round()) & "
            f"~special",
        ),
        (
            "most random replacements are special tokens such as [PAD] or [SEP]: draw from the words.",
            "torch.randint(len(SPECIAL), tokenizer.vocab_size, => torch.randint(0, len(SPECIAL),",
        ),
        (
            "random replacements come from a part of the vocabulary alone: draw from all words.",
            "torch.randint(len(SPECIAL), tokenizer.vocab_size, => torch.randint(len(SPECIAL), tokenizer.vocab_size // "
            "2,",
        ),
        (
            "random replacements are words of this batch alone: draw from all words.",
            "torch.randint(len(SPECIAL), tokenizer.vocab_size, (len(row),), generator=generator) => "
            "ids[row, column].flip(0)",
        ),
        ("[MASK] is tokenizer.mask_token_id, which need not be 4.", "= tokenizer.mask_token_id => = 4"),
        (
            "all random replacements of a batch are one and the same token: draw one for each.",
            "(len(row),), generator => (1,), generator",
        ),
        (
            "all random replacements of a row are one and the same token: draw one for each.",
            "(len(row),), generator=generator) => (len(ids),), generator=generator)[row]",
        ),
        (
            "every batch hides the same positions: draw from the generator that is given, which goes on.",
            f"{CHOICE} => generator = torch.Generator().manual_seed(generator.initial_seed()); {CHOICE}",
        ),
        (
            "the same generator seed gave two results: pass generator= to every random call.",
            "torch.rand(special.shape, generator=generator) => torch.rand(special.shape)",
        ),
        (
            "tokens that were not chosen must stay as they are (and so must padding).",
            "return hidden, labels => return hidden.masked_fill(special, 7), labels",
        ),
        (
            "return two tensors, hidden and labels, in this order, each a tensor.",
            "return hidden, labels => return hidden",
        ),
    ],
)
