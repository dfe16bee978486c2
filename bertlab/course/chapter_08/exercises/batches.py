"""Batches of pairs without end."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect
from bertlab.course.solutions import training
from bertlab.course.solutions.config import SPECIAL
from bertlab.course.solutions.tokenizer import Tokenizer

ORDER = {
    7: 13,
    2: 10,
    9: 10,
    0: 10,
    4: 10,
    1: 10,
    8: 10,
    3: 10,
    6: 10,
    5: 10,
}  # documents and their sentences of 6 words
DOCUMENTS = [[[5 + 78 * d + 6 * s + t for t in range(6)] for s in range(count)] for d, count in ORDER.items()]


def _drawn(fn) -> dict[str, Any]:
    """What holds of the first batches of two seeds."""
    tokens = [*SPECIAL, *(f"w{number}" for number in range(800))]
    tokenizer = Tokenizer({token: number for number, token in enumerate(tokens)})
    documents = deepcopy(DOCUMENTS)
    made = [list(islice(fn(documents, tokenizer, 4, 21, 0.15, seed), 14)) for seed in (0, 0, 1)]
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
        "no row has more than max_tokens tokens, [CLS] and two [SEP] counted": longest <= 21,
        "pairs use the room that max_tokens leaves": longest == 21,
        "the same seed gives the same batches": _alike(first, again),
        "another seed gives other batches": not _alike(first, other),
        "15% of the words are masked": 0.1 < len(asked) / words < 0.2,
        "no special token is masked": bool((asked >= len(SPECIAL)).all()),
        "[MASK] stands in every batch that asks": all(
            bool((batch["input_ids"] == tokenizer.mask_token_id).any()) for batch in first
        ),
        "half of the pairs are NotNext": 0.25 < float(following.mean()) < 0.75,
        "a label fits its pair": all(_label_fits(batch) for batch in first),
        "a batch mixes documents": sum(len(each) > 1 for each in firsts) > 7,
    }


def _alike(one: Sequence, other: Sequence) -> bool:
    pairs = [(a[name], b[name]) for a, b in zip(one, other, strict=True) for name in ("input_ids", "labels")]
    return all(torch.equal(a, b) for a, b in pairs)


def _shown(batch: Mapping[str, Tensor]) -> Tensor:
    """The ids before anything was masked."""
    return torch.where(batch["labels"] != IGNORED, batch["labels"], batch["input_ids"])


def _label_fits(batch: Mapping[str, Tensor]) -> bool:
    """Ids of a document run on by 1: a true second text begins where the first ends."""
    starts = batch["token_type_ids"].argmax(1)  # (B,)
    rows = zip(_shown(batch), starts.tolist(), batch["next_sentence_label"].tolist(), strict=True)
    return all((int(row[start]) == int(row[start - 2]) + 1) == (label == 0) for row, start, label in rows)


check_batches = Exercise(
    training.batches,
    lambda: [()],
    right="Right: true pairs and negatives, masked anew each time, without end.",
    observe=_drawn,
    kept=("true_pairs", "batches"),
    slips=[
        ("the batches end: begin another round over the documents.", "while True: => for _ in range(1):"),
        ("a row has more than max_tokens tokens: [CLS] and two [SEP] count.", "max_tokens - 3 => max_tokens + 3"),
        ("every batch has `size` rows.", "len(pairs) - size + 1, size => len(pairs), size"),
        (
            "mask the share `rate` of the words, 15% if nothing else is asked for.",
            "generator, rate) => generator, 0.5)",
        ),
        (
            "two seeds gave one result: both generators begin with the seed.",
            "random.Random(seed), torch.Generator().manual_seed(seed) => random.Random(0), "
            "torch.Generator().manual_seed(0)",
        ),
        ("the same seed gave two results: draw from its generators alone.", "random.Random(seed) => random"),
        (
            "the same seed gave two results: draw from its generators alone.",
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
