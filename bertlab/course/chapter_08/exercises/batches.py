"""Batches of pairs without end."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.course.exercise import Exercise
from bertlab.course.observe import SHUFFLED, expect
from bertlab.course.solutions import training
from bertlab.course.solutions.config import SPECIAL
from bertlab.course.solutions.tokenizer import Tokenizer

ORDER = (7, 2, 9, 0, 4, 1, 8, 3, 6, 5)  # documents


def _document(number: int) -> list[list[int]]:
    """Sentences whose ids run on by 1; in the first document two of them are too long for a row."""
    lengths = (12, 11, 12, 10, 9, 10, 9, 5) if number == ORDER[0] else (6, 3, 9, 5, 7, 4, 8, 6, 3, 7)
    starts = [5 + 78 * number + sum(lengths[:sentence]) for sentence in range(len(lengths))]
    return [list(range(start, start + length)) for start, length in zip(starts, lengths, strict=True)]


DOCUMENTS = [_document(number) for number in ORDER]


RATE = 0.25  # another rate than the usual one, at which a function that ignores it is found out


def _drawn(fn) -> dict[str, Any]:
    """What holds of the first batches of two seeds."""
    tokens = [*SHUFFLED, *(f"w{number}" for number in range(800))]
    tokenizer = Tokenizer({token: number for number, token in enumerate(tokens)})
    documents = deepcopy(DOCUMENTS)
    streams = [fn(documents, tokenizer, 4, 21, RATE, seed) for seed in (0, 0, *range(1, 16))]
    drawn = [list(islice(stream, 1)) for stream in streams]  # the streams take turns
    made = [start + list(islice(stream, 13)) for start, stream in zip(drawn[:3], streams[:3], strict=True)]
    expect(all(len(batches) == 14 for batches in made), "the batches end: begin another round over the documents.")
    names = {"input_ids", "attention_mask", "token_type_ids", "labels", "next_sentence_label"}
    expect(all(names <= batch.keys() for batch in made[0]), f"each batch has {', '.join(sorted(names))}.")
    first, again, other = made
    labels = torch.cat([batch["labels"].flatten() for batch in first])
    asked, words = labels[labels != IGNORED], sum(int((batch["attention_mask"].sum(1) - 3).sum()) for batch in first)
    longest = max(batch["input_ids"].size(1) for batch in first)
    following = torch.cat([batch["next_sentence_label"] for batch in first]).float()
    firsts = [sorted({(int(row[1]) - 5) // 78 for row in _shown(batch)}) for batch in first]
    return {
        "the documents stay as they were": documents == DOCUMENTS,
        "every batch has `size` rows": {len(batch["input_ids"]) for batch in first} == {4},
        "and of another size": len(next(iter(fn(documents, tokenizer, 3, 21, RATE, 0)))["input_ids"]) == 3,
        "attention_mask is 1 on tokens and 0 on padding": all(
            torch.equal(batch["attention_mask"], (_shown(batch) != tokenizer.pad_token_id).long()) for batch in first
        ),
        "no row has more than max_tokens tokens, [CLS] and two [SEP] counted": longest <= 21,
        "pairs use the room that max_tokens leaves": longest == 21 and words > 15 * 4 * len(first),
        "the same seed gives the same batches": all(
            _alike(*([batch[name] for batch in made] for made in (first, again))) for name in ("input_ids", "labels")
        ),
        "another seed gives other pairs": not _alike(map(_shown, first), map(_shown, other)),
        "another seed gives other masks": _masked_alike(first[:1] * 15, [start[0] for start in drawn[2:]]) < 0.5,
        "each round makes new pairs and masks": len({str(_shown(batch)[:, 1:].tolist()) for batch in first}) == 14,
        "masks are drawn anew for each batch": _masked_alike(first, first[1:]) < 0.4,
        "the share `rate` of the words is masked": abs(len(asked) / words - RATE) < 0.05,
        "no special token is masked": bool((asked >= len(SPECIAL)).all()),
        "[MASK] stands in every batch that asks": all(
            bool((batch["input_ids"] == tokenizer.mask_token_id).any()) for batch in first
        ),
        "half of the pairs are NotNext": 0.25 < float(following.mean()) < 0.75,
        "a label fits its pair": all(_label_fits(batch) for batch in first),
        "a batch mixes documents": sum(map(len, firsts)) > 2.5 * len(firsts),
    }


def _alike(one: Iterable, other: Iterable) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def _masked_alike(some: Sequence, others: Sequence) -> float:
    """The share of masked words that are masked in another batch of the same shape too."""
    masks = [[batch["labels"] != IGNORED for batch in batches] for batches in (some, others)]
    pairs = [(a, b) for a, b in zip(*masks, strict=False) if a.shape == b.shape]
    return sum(int((a & b).sum()) for a, b in pairs) / max(1, sum(int(a.sum()) for a, _ in pairs))


def _shown(batch: Mapping[str, Tensor]) -> Tensor:
    """The ids before anything was masked."""
    return torch.where(batch["labels"] != IGNORED, batch["labels"], batch["input_ids"])


def _label_fits(batch: Mapping[str, Tensor]) -> bool:
    """Ids of a document run on by 1: a true second text begins where the first ends."""
    starts = batch["token_type_ids"].argmax(1)  # (B,)
    rows = zip(_shown(batch), starts.tolist(), batch["next_sentence_label"].tolist(), strict=True)
    return all((int(row[start]) == int(row[start - 2]) + 1) == (label == 0) for row, start, label in rows)


LONG = "a row has more than max_tokens tokens: cut each pair to what [CLS] and two [SEP] leave (cut_pair)."
SAME = (
    "the same seed gave two results: draw from generators of your own alone, random.Random(seed) and torch.Generator()."
)

check_batches = Exercise(
    training.batches,
    lambda: [()],
    right="Right: true pairs and negatives, masked anew each time, without end.",
    observe=_drawn,
    kept=("true_pairs", "batches"),
    slips=[
        ("the batches end: begin another round over the documents.", "while True: => for _ in range(1):"),
        (LONG, "max_tokens - 3 => max_tokens + 3"),
        (
            "padding is 0 in attention_mask: keep the one of collate.",
            "yield batch => batch['attention_mask'] = torch.ones_like(batch['labels']); yield batch",
        ),
        ("every batch has `size` rows.", "len(pairs) - size + 1, size => len(pairs), size"),
        ("mask the share `rate` of the words, 15% if nothing else is asked for.", "generator, rate) => generator)"),
        (
            "two seeds gave one result: both generators begin with the seed.",
            "random.Random(seed), torch.Generator().manual_seed(seed) => random.Random(0), "
            "torch.Generator().manual_seed(0)",
        ),
        (
            "two seeds gave the same pairs or masks: both generators begin with the seed.",
            "torch.Generator().manual_seed(seed) => torch.Generator()",
        ),
        (
            "two seeds gave the same pairs or masks: both generators begin with the seed.",
            "random.Random(seed) => random.Random(0)",
        ),
        (SAME, "random.Random(seed) => random"),
        (
            SAME,
            "    rng, generator = random.Random(seed) =>     random.seed(seed)\n    rng, generator = random",
        ),
        (
            "every batch has its masks at the same positions: let the generator run on.",
            'batch["input_ids"], batch["labels"] = => generator.manual_seed(seed); batch["input_ids"], '
            'batch["labels"] =',
        ),
        (
            "every round gives the same pairs and masks: begin the generators once, before the first round.",
            "        positives = true =>         rng = random.Random(seed); generator.manual_seed(seed)\n"
            "        positives = true",
        ),
        (
            LONG,
            "(*cut_pair(*pair, max_tokens - 3), label) => (*pair, label)",
        ),
        (
            "a batch has pairs of one or two documents: keep the order of make_pairs, which mixes them.",
            "make_pairs(positives, rng)] => sorted(make_pairs(positives, rng))]",
        ),
        (
            SAME,
            "yield batch => generator.seed(); yield batch",
        ),
        (
            "a label does not fit its pair: 0 where the second text goes on, else 1.",
            "max_tokens - 3), label) => max_tokens - 3), 1 - label)",
        ),
        (
            "labels are there, and no [MASK] is: input_ids are what mask_tokens gives back.",
            'batch["input_ids"], batch["labels"] = => _, batch["labels"] =',
        ),
        (
            "special tokens were masked: they are no words.",
            'special = torch.isin(batch["input_ids"], special_ids) => special = batch["input_ids"] < 0',
        ),
    ],
    spared={
        "if len(positives) <= size": "what is too little text is not asked",
        "document, *_ in positives}) <= 2": "what is too little text is not asked",
        "document, *_ in positives}) < 3": "what is too little text is not asked",
        "range(1, len(pairs)": "which pairs a round leaves over is free",
    },
)
