"""Read a masked row, and find whole words."""

from typing import Any

import torch

from bertlab.config import IGNORED
from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, value


def actions(hidden, labels, mask_token_id):
    kinds = torch.where(hidden == labels, 3, 2)
    kinds = torch.where(hidden == mask_token_id, 1, kinds)
    return torch.where(labels == -100, 0, kinds)


def _masked_rows() -> list[tuple]:
    mask = 4
    # [CLS], a [MASK] of the text itself, one that hides, a random token, a kept one, two not chosen, [SEP]
    hidden = torch.tensor([[2, mask, mask, 17, 9, 9, 30, 3], [2, 8, 9, mask, 3, 0, 0, 0]])
    labels = torch.full_like(hidden, IGNORED)
    labels[0, 2:5], labels[1, 1], labels[1, 3] = torch.tensor([11, 12, 9]), 8, 0
    return [(hidden, labels, mask), (hidden[:1] + 3, (labels + 3)[:1].where(labels[:1] > 0, IGNORED), mask + 3)]


GIVEN = "return torch.where(labels == -100, 0, kinds)"

check_actions = Exercise(
    actions,
    _masked_rows,
    right="Right: every position has its kind.",
    slips=[
        ("where the label is -100 nothing was chosen: 0.", f"{GIVEN} => return kinds"),
        (
            "a [MASK] whose label is -100 stood in the text already: nothing is asked there.",
            "labels == -100 => (labels == -100) & (hidden != mask_token_id)",
        ),
        (
            "a kept token looks untouched, but its label asks for it: 3.",
            "labels == -100 => (labels == -100) | (labels == hidden)",
        ),
        (
            "a label may be 0, the number of a token like any other: only -100 means that nothing was chosen.",
            "labels == -100 => labels <= 0",
        ),
        ("a token that equals its label was kept: 3, not 2.", "3, 2 => 2, 2"),
        ("2 and 3 are swapped: a kept token equals its label.", "3, 2 => 2, 3"),
        ("what became [MASK] is 1, not a random token.", "hidden == mask_token_id, 1 => hidden == mask_token_id, 2"),
        (
            "this says only what was chosen; say also what became of it: 1, 2 or 3.",
            f"{GIVEN} => return (labels != -100).long()",
        ),
        (
            "return whole numbers (long), like the ids.",
            f"{GIVEN} => return torch.where(labels == -100, 0, kinds).float()",
        ),
    ],
)


def whole_words(tokens):
    words = []
    for position, token in enumerate(tokens):
        if token.startswith("##"):
            words[-1].append(position)
        elif token not in ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"):
            words.append([position])
    return words


def _words(fn, tokens) -> dict[str, Any]:
    found = value(fn, tokens)
    expect(all(isinstance(word, list) for word in found["result"]), "each word is a list of its positions.")
    return found


TOKENS = [
    "[CLS] a pen ##gui ##n [SEP]",
    "[CLS] un ##aff ##able dog ##s [SEP] he walk ##s [SEP]",
    "[CLS] one [SEP] [PAD] [PAD]",
    "[CLS] [SEP]",
    "[CLS] a [MASK] b [UNK] c [SEP]",
    "[CLS] [ a ] [SEP]",
    "[CLS] c## a## ##b [SEP]",
    "the # tag ##s of the dog ##s and the # tag ##s",
]
NEW = 'elif token not in ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"):'
AMONG = "a special token is among the words: leave [CLS], [SEP], [PAD], [UNK] and [MASK] out."

check_whole_words = Exercise(
    whole_words,
    lambda: [(text.split(),) for text in TOKENS],
    right="Right: every word with all its pieces, and nothing else.",
    observe=_words,
    slips=[
        (AMONG, f"{NEW} => else:"),
        (AMONG, ', "[PAD]", "[UNK]", "[MASK]" => '),
        (AMONG, ', "[UNK]", "[MASK]" => '),
        (
            "pieces that begin with ## are missing: they belong to the word before them.",
            "words[-1].append(position) => pass",
        ),
        (
            "a ## piece stands alone: join it to the word before it.",
            "words[-1].append(position) => words.append([position])",
        ),
        (
            "## at the end of a piece says nothing: ask what the piece begins with.",
            'token.startswith("##") => words and "##" in token',
        ),
        (
            "return positions (whole numbers), not the tokens themselves.",
            "append(position) => append(token)",
            "append([position]) => append([token])",
        ),
        (
            "a bracket that stands in the text is a word like any other: special are the five tokens, not what begins "
            "with [.",
            f'{NEW} => elif not token.startswith("["):',
        ),
    ],
)
