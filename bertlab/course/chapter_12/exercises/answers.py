"""How answers are compared, the head, the positions of an answer, no answer."""

import string
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from bertlab.course.chapter_09.exercises.classifier import on_the_encoder, with_new_head
from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, small_batch, value
from bertlab.course.solutions import answers
from bertlab.course.solutions.config import Config


def normalise(text):
    letters = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(word for word in letters.split() if word not in ("a", "an", "the"))


TEXTS = (
    "Lovely Toy Shop|toy shop.|the toy shop|an old toy|The toy|theatre banana|the 'a' team|the man  at the\tstore"
    "|New York, New York|o'clock|3 a.m.|Hauptstra\u00dfe|a (the) an|Caf\u00e9 Zo\u00e9|\u201cToy\u201d \u2013 shop"
    "|He ate 50% of $5!|#1: half-price?"
).split("|")
WORDS = 'for word in letters.split() if word not in ("a", "an", "the")'
LETTERS = '"".join(letter for letter in text.lower() if letter not in string.punctuation)'

check_normalise = Exercise(
    normalise,
    lambda: [(text,) for text in TEXTS],
    right="Right: as SQuAD's evaluation script compares answers.",
    observe=value,
    slips=[
        ("capitals do not count.", "text.lower() => text"),
        ("punctuation does not count.", " if letter not in string.punctuation => "),
        ("the articles a, an and the do not count.", ' if word not in ("a", "an", "the") => '),
        ("the articles a, an and the do not count.", '("a", "an", "the") => ("a", "the")'),
        (
            "a capital hides the article: make letters small before you take articles out.",
            "text.lower() => text",
            '" ".join(word => " ".join(word.lower()',
        ),
        (
            "articles are whole words: those letters inside a word stay.",
            f'" ".join(word {WORDS}) => " ".join(letters.replace("the", "").replace("a", "").split())',
        ),
        (
            "take punctuation out before the articles: a quoted article is one too, and the a of a.m. is none.",
            f"{LETTERS} => text.lower()",
            'return " ".join(word => return " ".join("".join(c for c in word if c not in string.punctuation)',
        ),
        (
            "accents stay: only capitals, punctuation and articles go.",
            "def normalise(text): => def normalise(text):\n    import unicodedata",
            "text.lower() => unicodedata.normalize('NFKD', text.lower()).encode('ascii', 'ignore').decode()",
        ),
        (
            "punctuation is string.punctuation, that of the keyboard: other marks, such as \u201c and \u2013, stay.",
            "letter not in string.punctuation => letter.isalnum() or letter.isspace()",
        ),
        ("single spaces between words, none at the ends.", "letters.split() => letters.split(' ')"),
        (
            "a mark inside a word goes without a space in its place.",
            f"{LETTERS} => \"\".join(' ' if letter in string.punctuation else letter for letter in text.lower())",
        ),
    ],
)


def _with_positions(starts: list[int], ends: list[int]) -> dict[str, torch.Tensor]:
    rows = dict(zip(("input_ids", "attention_mask", "token_type_ids"), small_batch(len(starts)), strict=True))
    return rows | {"start_positions": torch.tensor(starts), "end_positions": torch.tensor(ends)}


def _models() -> list[tuple]:
    sizes = ((12, 3, 2, ([1, 0, 2], [3, 0, 2])), (6, 1, 1, ([4, 3], [6, 3])))
    options: dict[str, Any] = {"max_position_embeddings": 9, "hidden_dropout_prob": 0.4, "layer_norm_eps": 0.1}
    return [
        ((Config(30, H, L, A, 10, **options),), {"forward": small_batch(), "loss": (_with_positions(*labels),)})
        for H, A, L, labels in sizes
    ]


def _answering(cls: type[nn.Module], options: Sequence, runs: Any) -> dict[str, Any]:
    return with_new_head(cls, options, runs, "qa_outputs")


BOTH = 'F.cross_entropy(start, batch["start_positions"]) + F.cross_entropy(end, batch["end_positions"])'
CALL = "self.bert(input_ids, attention_mask, token_type_ids)"
TWO = "return self.qa_outputs(hidden).unbind(-1)"

check_question_answering = Exercise(
    answers.BertForQuestionAnswering,
    _models,
    right="Right: two logits for every token, and the mean of both losses.",
    observe=_answering,
    kept=("BertForQuestionAnswering",),
    slips=[
        *on_the_encoder(CALL, "self.qa_outputs(hidden"),
        ("these are logits of a row, from [CLS] alone: every token gets two.", "hidden, _ = => _, hidden ="),
        ("take the two columns apart: start logits (B, S), end logits (B, S).", ".unbind(-1) => "),
        (
            "start and end are swapped: the published weights have start in row 0 of qa_outputs.",
            f"{TWO} => return self.qa_outputs(hidden).flip(-1).unbind(-1)",
        ),
        (
            "forward gives logits: the softmax belongs to the loss.",
            f"{TWO} => return self.qa_outputs(hidden).softmax(1).unbind(-1)",
        ),
        (
            "no softmax over start and end: they do not compete.",
            f"{TWO} => return self.qa_outputs(hidden).softmax(-1).unbind(-1)",
        ),
        ("this is the sum of both losses: the mean is half of it.", f"({BOTH}) / 2 => {BOTH}"),
        ("this is the loss of the start alone.", f'({BOTH}) / 2 => F.cross_entropy(start, batch["start_positions"])'),
        ("this is the loss of the end alone.", f'({BOTH}) / 2 => F.cross_entropy(end, batch["end_positions"])'),
        ("both losses are of the start logits: the second one takes `end`.", "(end, batch => (start, batch"),
        ("start and end labels are swapped.", "(start, batch => (end, batch", '(end, batch["end => (start, batch["end'),
        (
            "position 0 counts too: it is [CLS], the label of no answer.",
            'batch["start_positions"]) => batch["start_positions"], ignore_index=0)',
            'batch["end_positions"]) => batch["end_positions"], ignore_index=0)',
        ),
        (
            "padding can be no answer, but its logits stay in the softmax, as in the released code.",
            'token_type_ids"]) => token_type_ids"]); '
            'start, end = (x.masked_fill(batch["attention_mask"] == 0, -1e4) for x in (start, end))',
        ),
        (
            "view fills (B, 2, S) in the order of memory, which mixes start and end: take the columns, unbind(-1).",
            f"{TWO} => return self.qa_outputs(hidden).view(len(hidden), 2, -1).unbind(1)",
        ),
        (
            "the new layer starts as PyTorch draws it: nn.init.normal_ with BERT's config.initializer_range (0.02).",
            "        nn.init.normal_(self.qa_outputs.weight, std=config.initializer_range)\n => ",
        ),
        ("keep the config: self.config = config. `save` needs it.", "        self.config = config\n => "),
        (
            "the loss teaches nothing: no detach, item or no_grad on its way.",
            f"return ({BOTH}) / 2 => return (({BOTH}) / 2).detach()",
        ),
    ],
)


PLACES = [(0, 3), (4, 8), (8, 10), (11, 15), (15, 16)]
LATER = [(begin + 40, stop + 40) for begin, stop in PLACES]


def _answers() -> list[tuple]:
    here = (
        (4, 10),
        (11, 15),
        (0, 16),
        (5, 15),
        (9, 13),
        (-1, -1),
        (11, 20),
        (8, 11),
        (8, 9),
        (10, 15),
        (3, 8),
        (15, 16),
    )
    there = ((35, 43), (44, 50), (40, 43), (50, 56), (39, 45), (43, 51))
    rows = [(PLACES, 7, *answer) for answer in here] + [(LATER, 3, *answer) for answer in there]
    return [(list(places), first, begin, stop) for places, first, begin, stop in rows]


def two_positions(fn, *case) -> dict[str, Any]:
    """Observe a function that returns a tuple of two positions, of whichever kind of whole numbers."""
    found = value(fn, *case)
    expect(isinstance(found["result"], tuple), "return a tuple: the positions of the first and the last token.")
    return found | {"result": [int(position) for position in found["result"]]}


TOUCHED = "left < stop and begin < right"
GONE = "begin < 0 or begin < places[0][0] or stop > places[-1][1]"

check_answer_positions = Exercise(
    answers.answer_positions,
    _answers,
    right="Right: from characters to positions of the row, and [CLS] where there is no answer.",
    observe=two_positions,
    kept=("answer_positions",),
    slips=[
        (
            "the piece before the answer is included: a token that stops where the answer begins holds nothing of it.",
            f"{TOUCHED} => left < stop and begin <= right",
        ),
        (
            "the piece behind the answer is included: `stop` is behind its last character.",
            f"{TOUCHED} => left <= stop and begin < right",
        ),
        ("the end is the last token itself, included.", "first + touched[-1] => first + touched[-1] + 1"),
        (
            "positions count in the row; add `first`.",
            "return first + touched[0], first + touched[-1] => return touched[0], touched[-1]",
        ),
        (
            "an answer that begins or stops inside a token takes the whole token.",
            f"{TOUCHED} => begin <= left and right <= stop",
            "return first + touched[0], first + touched[-1] => return (first + touched[0], first + touched[-1]) if "
            "touched else (0, 0)",
        ),
        ("the answer goes on behind this window, so here it is no answer: 0, 0.", " or stop > places[-1][1] => "),
        ("the answer begins before this window, so here it is no answer: 0, 0.", "or begin < places[0][0]  => "),
        (
            "characters count in the whole passage, not from the window's first one.",
            "left < stop and begin < right => left - places[0][0] < stop and begin < right - places[0][0]",
        ),
        ("where there is no answer both positions are 0, [CLS], not -1.", "return 0, 0 => return -1, -1"),
    ],
)


def _scores() -> list[tuple]:
    spans = [(4.0, "a kite"), (6.0, "Nine coins")]
    rows = (
        ([9.0, 3.0], 0.0),
        ([9.0, 7.0], 0.0),
        ([9.0, 7.0], 2.0),
        ([9.0, 5.0], -2.0),
        ([8.0, 6.0], 0.0),
        ([3.0, 9.0], 0.0),
        ([3.9, 9.5], 0.0),
    )
    return [(nulls, list(spans), threshold) for nulls, threshold in rows] + [
        ([-3.0], [(-5.0, "a kite")], 1.0),
        ([5.0, 4.5], [(6.0, "b"), (4.0, "c")], -2.0),
        ([5.0], [(6.0, "b")], 2.0),
        ([1.0, 1.0], [(6.0, "b"), (4.0, "c d")], 0.0),
    ]


def _by_window(nulls, spans, threshold=0.0):
    better = [(score, text) for null, (score, text) in zip(nulls, spans, strict=True) if null - score <= threshold]
    return max(better)[1] if better else ""


check_decide = Exercise(
    answers.decide,
    _scores,
    right="Right: one answer of all windows, or none.",
    observe=value,
    kept=("decide",),
    slips=[
        ("take the least score of no answer: it must be missing in every window.", "min(nulls) => max(nulls)"),
        ("the minimum is over all windows, not for each by itself: compare it with the best span of all.", _by_window),
        ("the score of no answer is the least of all windows, not the first.", "min(nulls) => nulls[0]"),
        (
            "the score of no answer is the least of all windows, not that of the best span's window.",
            "min(nulls) => nulls[spans.index(max(spans))]",
        ),
        (
            "the score of no answer is the least of all windows, not their mean.",
            "min(nulls) => sum(nulls) / len(nulls)",
        ),
        (
            "the best span has the highest score; yours has the last text of the alphabet.",
            "max(spans) => max(spans, key=lambda s: s[1])",
        ),
        ("take the best span of all windows.", "max(spans) => spans[0]"),
        ("the sign is wrong: a high threshold asks for more before it gives no answer.", "> threshold => > -threshold"),
        ("exactly the threshold is not more than it.", "> threshold => >= threshold"),
        ("compare with the threshold that is given.", "> threshold => > 0"),
        (
            "scores can be below zero: compare their difference, not their size.",
            "min(nulls) - score => abs(min(nulls)) - abs(score)",
        ),
        (
            'give the text where it beats no answer, and "" else: yours is the other way round.',
            '"" if => text if',
            "else text => else ''",
        ),
    ],
)
