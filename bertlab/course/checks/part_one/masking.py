"""Checkers of masking: read a masked row, choose and hide, whole words."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.course.checks.base import Mistake, checker, expect, none_of, run, tensors
from bertlab.course.solutions.tokenizer import Tokenizer
from bertlab.inputs.masking import KEPT, MASKED, NOT_CHOSEN, RANDOM
from bertlab.vocabulary import SPECIAL_TOKENS

MaskTokens = Callable[..., tuple[Tensor, Tensor]]  # (ids, special, tokenizer, generator, rate=0.15)


@checker
def check_actions(fn: Callable[[Tensor, Tensor, int], Tensor]) -> None:
    """Check fn(hidden, labels, mask_token_id) -> (B, S): 0 not chosen, 1 [MASK], 2 random, 3 kept."""
    mask = 4
    # [CLS], a [MASK] of the text itself, one that hides, a random token, a kept one, two not chosen, [SEP]
    hidden = torch.tensor([[2, mask, mask, 17, 9, 9, 30, 3], [2, 8, 9, mask, 3, 0, 0, 0]])
    labels = torch.full_like(hidden, IGNORED)
    labels[0, 2:5], labels[1, 1], labels[1, 3] = torch.tensor([11, 12, 9]), 8, 20
    result = run(fn, hidden, labels, mask)
    expect(isinstance(result, Tensor) and result.shape == hidden.shape, "return a tensor (B, S), like the ids.")
    expect(not result.is_floating_point(), "return whole numbers (long), like the ids.")
    chosen, masked, same = labels != IGNORED, hidden == mask, hidden == labels
    right = _dealt(chosen, masked, same)
    none_of(
        result,
        [
            (_dealt(torch.ones_like(chosen), masked, same), "where the label is -100 nothing was chosen: 0."),
            (
                _dealt(chosen | masked, masked, same),
                "a [MASK] whose label is -100 stood in the text already: nothing is asked there.",
            ),
            (_dealt(chosen & ~same, masked, same), "a kept token looks untouched, but its label asks for it: 3."),
            (_dealt(chosen, masked, chosen & False), "a token that equals its label was kept: 3, not 2."),
            (_dealt(chosen, masked, ~same), "2 and 3 are swapped: a kept token equals its label."),
            (_dealt(chosen, torch.zeros_like(masked), same), "what became [MASK] is 1, not a random token."),
            (chosen, "this says only what was chosen; say also what became of it: 1, 2 or 3."),
        ],
    )
    for row in zip(hidden, labels, right, result, strict=True):
        seen, asked, kinds, yours = (part.tolist() for part in row)
        expect(yours == kinds, f"for ids {seen} and labels {asked} it is {kinds}; yours is {yours}.")
    print("Right: every position has its kind.")


def _dealt(chosen: Tensor, masked: Tensor, same: Tensor) -> Tensor:
    kinds = torch.full(chosen.shape, RANDOM)
    kinds[same], kinds[masked], kinds[~chosen] = KEPT, MASKED, NOT_CHOSEN
    return kinds


DRAWS = 40
FIRST = len(SPECIAL_TOKENS)  # the special tokens have the ids before
MANY = 0.4  # another rate than the usual one, at which a function that ignores it is found out


@checker
def check_mask_tokens(fn: MaskTokens) -> None:
    """Check fn(input_ids, special, tokenizer, generator, rate=0.15) -> (hidden, labels), both (B, S), at 80/10/10.

    The paper leaves the drawing open: a fixed number of each row passes, and so does a coin for each token. Random
    replacements may come from the whole vocabulary, as in the released code. What was found is printed.
    """
    tokens = [*SPECIAL_TOKENS, *(f"w{i}" for i in range(60))]
    tokenizer = Tokenizer({token: number for number, token in enumerate(tokens)})
    ids, special = _sentences(tokenizer)
    chosen = torch.zeros(DRAWS, *ids.shape, dtype=torch.bool)
    tally, replaced = torch.zeros(len(ids), 3), []  # of each row: [MASK], random, kept; the random tokens of each draw
    for seed in range(DRAWS):
        hidden, labels = _masked(fn, ids, special, tokenizer, seed)
        _check_labels(hidden, labels, ids, special, tokenizer)
        chosen[seed] = labels != IGNORED
        masked, kept = hidden == tokenizer.mask_token_id, hidden == ids
        kinds = torch.stack([masked, ~masked & ~kept, kept]) & chosen[seed]  # (3, B, S)
        tally += kinds.sum(-1).T
        replaced.append(hidden[kinds[1]])
    how = _check_choice(chosen, ~special)
    _check_shares(tally)
    remark = _check_replacements(replaced)
    again = [_masked(fn, ids, special, tokenizer, 0)[0] for _ in range(2)]
    expect(torch.equal(*again), "the same generator seed gave two results: pass generator= to every random call.")
    _check_rate(fn, ids, special, tokenizer)
    print(f"Right: {how}, 80/10/10, and the labels are the originals.{remark}")


def _sentences(tokenizer: Any) -> tuple[Tensor, Tensor]:
    """Return eight rows [CLS] words [SEP] with padding, (8, 42), of unlike lengths, and what is special in them."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.zeros(8, 42, dtype=torch.long)
    for row, length in enumerate((40, 40, 34, 27, 20, 20, 14, 7)):
        ids[row, 1 : length + 1] = torch.randint(FIRST, tokenizer.vocab_size, (length,), generator=generator)
        ids[row, 0], ids[row, length + 1] = tokenizer.cls_token_id, tokenizer.sep_token_id
    return ids, ids < FIRST


def _masked(fn: MaskTokens, ids: Tensor, special: Tensor, tokenizer: Any, seed: int, *rate) -> tuple[Tensor, ...]:
    given = ids.clone()
    result = run(fn, given, special.clone(), tokenizer, torch.Generator().manual_seed(seed), *rate)
    hidden, labels = tensors(result, 2, "two tensors, hidden and labels")
    expect(
        torch.equal(given, ids),
        "your function changed the input_ids it was given: clone them before you write into them.",
    )
    shapes = labels.shape == ids.shape and hidden.shape == ids.shape
    expect(shapes, "hidden and labels must have the shape of input_ids.")
    return hidden, labels


def _check_labels(hidden: Tensor, labels: Tensor, ids: Tensor, special: Tensor, tokenizer: Any) -> None:
    chosen = labels != IGNORED
    expect(
        bool(chosen.any()) and not bool(chosen.all()),
        "labels must be -100 where nothing is asked and the original id where a token was chosen.",
    )
    padding = (ids == tokenizer.pad_token_id) & chosen
    expect(not bool(padding.any()), "padding was chosen: there is nothing to guess there.")
    expect(not bool((special & chosen).any()), "[CLS] or [SEP] was chosen: special tokens never are.")
    expect(
        not bool((labels[chosen] == tokenizer.mask_token_id).any()),
        "labels hold [MASK]: take them from the original input_ids, before you hide anything.",
    )
    expect(bool((labels[chosen] == ids[chosen]).all()), "labels must be the original ids of the chosen tokens.")
    expect(
        bool((hidden == ids)[~chosen].all()), "tokens that were not chosen must stay as they are (and so must padding)."
    )


def _check_choice(chosen: Tensor, ordinary: Tensor) -> str:
    """Check which tokens were chosen, (draws, B, S), of the ordinary ones (B, S); return how, in words."""
    how = _check_counts(chosen, ordinary)
    often = chosen.sum(0)[ordinary]  # how often each ordinary token was chosen
    expect(
        int(often.max()) < 0.6 * len(chosen) and int((often == 0).sum()) < 0.05 * len(often),
        "some tokens are chosen again and again and others never: each must have the same chance.",
    )
    return how


def _check_counts(chosen: Tensor, ordinary: Tensor) -> str:
    counts, size = chosen.sum(-1), ordinary.sum(-1)  # (draws, B), (B,)
    share = float(counts.sum() / (len(counts) * size.sum()))
    if bool((counts == counts[0]).all()):
        aims = (size.double() * 0.15).round()
        for row in ((counts[0] - aims).abs() > 0).nonzero().flatten().tolist()[:1]:
            raise Mistake(
                f"of a row's {size[row]} ordinary tokens you choose {counts[0, row]}, where 15% are {aims[row]:.0f}: "
                "take 15% of the ordinary tokens, not of all positions, and round to the nearest number."
            )
        return "15% of each row, rounded"
    spread = (counts.double().var(0) / (size * 0.15 * 0.85)).mean()  # 1 if each token has a coin of its own
    expect(
        float(spread) < 2,
        "the number of chosen tokens differs too much from draw to draw: toss a coin for each token by itself.",
    )
    expect(
        abs(share - 0.15) < 0.02,
        f"in {len(counts)} draws {share:.0%} of the ordinary tokens were chosen; it should be 15%.",
    )
    rows = counts.double().mean(0) / size  # (B,)
    expect(
        float((rows - 0.15).abs().max()) < 0.1,
        f"of one row you choose {rows.min():.0%}, of another {rows.max():.0%}: it should be 15% of each, on average.",
    )
    return "a coin for each token chooses 15% on average"


def _check_replacements(replaced: list[Tensor]) -> str:
    """Check the random tokens of each draw; return a remark if special ones are among them."""
    special = (torch.cat(replaced) < FIRST).double().mean()
    expect(
        float(special) < 0.25,  # 4 of 65 if they are drawn from the whole vocabulary of this check
        f"{special:.0%} of the random replacements are special tokens such as [PAD] or [SEP]: draw from the words.",
    )
    expect(
        max(len(tokens.unique()) for tokens in replaced) > 1,
        "all random replacements of a batch are one and the same token: draw one for each.",
    )
    if special == 0:
        return ""
    return (
        "\n(Your random replacements may be special tokens such as [SEP]. The released BERT code draws them from the "
        "whole vocabulary too; our library leaves special tokens out.)"
    )


def _check_rate(fn: MaskTokens, ids: Tensor, special: Tensor, tokenizer: Any) -> None:
    draws = [_masked(fn, ids, special, tokenizer, seed, MANY)[1] != IGNORED for seed in range(8)]
    share = float(torch.stack(draws).sum() / (len(draws) * (~special).sum()))
    expect(
        abs(share - MANY) < 0.08,
        f"with rate={MANY} you choose {share:.0%} of the tokens: use the argument `rate`, not the number 0.15.",
    )


def _check_shares(tally: Tensor) -> None:
    """How many of each row became [MASK], random, stayed: (B, 3)."""
    mask, random, kept = (tally.sum(0) / tally.sum()).tolist()
    expect(
        mask < 0.99,
        "every chosen token became [MASK]: 10% should turn into a random word and 10% stay.",
    )
    expect(
        not (0.7 < mask < 0.76 or random < 0.05 or kept < 0.05),
        f"of the chosen tokens {mask:.0%} became [MASK], {random:.0%} random, {kept:.0%} stayed; it should be "
        "80/10/10. If you drew twice, mind that 10% random is half of the remaining 20%.",
    )
    right = all(abs(share - aim) < 0.045 for share, aim in zip((mask, random, kept), (0.8, 0.1, 0.1), strict=True))
    expect(right, f"the split is {mask:.0%} [MASK], {random:.0%} random, {kept:.0%} kept; it should be 80/10/10.")
    halves = (rows[:, 0].sum() / rows.sum() for rows in tally.chunk(2))
    expect(
        bool(max(halves) < 0.95),
        "over the batch it is 80/10/10, but some rows get hardly anything but [MASK]: shuffle the chosen positions of "
        "the whole batch before you divide them.",
    )


@checker
def check_whole_words(fn: Callable[[list[str]], list[list[int]]]) -> None:
    """Check fn(tokens) -> the positions of each whole word, in order, special tokens left out."""
    cases = [
        (["[CLS]", "a", "pen", "##gui", "##n", "[SEP]"], [[1], [2, 3, 4]]),
        (["[CLS]", "un", "##aff", "##able", "dog", "##s", "[SEP]", "he", "walk", "##s", "[SEP]"], None),
        (["[CLS]", "one", "[SEP]", "[PAD]", "[PAD]"], [[1]]),
        (["[CLS]", "[SEP]"], []),
        (["[CLS]", "[", "a", "]", "[SEP]"], [[1], [2], [3]]),  # brackets are ordinary tokens
    ]
    cases[1] = (cases[1][0], [[1, 2, 3], [4, 5], [7], [8, 9]])
    for tokens, right in cases:
        result = run(fn, list(tokens))
        expect(isinstance(result, list), "return a list of lists of positions.")
        words = [list(word) for word in result]
        flat = [position for word in words for position in word]
        expect(
            not any(isinstance(position, str) for position in flat),
            "return positions (whole numbers), not the tokens themselves.",
        )
        special = [i for i, token in enumerate(tokens) if token in SPECIAL_TOKENS]
        expect(not set(flat) & set(special), "a special token is among the words: leave [CLS], [SEP] and [PAD] out.")
        pieces = [i for i, token in enumerate(tokens) if token.startswith("##")]
        expect(set(pieces) <= set(flat), "pieces that begin with ## are missing: they belong to the word before them.")
        expect(not any([piece] in words for piece in pieces), "a ## piece stands alone: join it to the word before it.")
        expect(words == right, f"for {' '.join(tokens)} the words are {right}; yours are {words}.")
    print("Right: every word with all its pieces, and nothing else.")
