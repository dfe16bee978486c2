"""My BERT, chapter 12: answers as spans of a passage."""

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course.solutions.config import UNK
from bertlab.course.solutions.encoder import Bert
from bertlab.course.solutions.tokenizer import clean, cut_word, split

# %% where the answer stands (chapter 12): Devlin et al., sections 4.2 and 4.3; windows after the released run_squad.py


class BertForQuestionAnswering(nn.Module):
    """One linear layer on every token: how well an answer starts there, and how well it ends there."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)  # the vectors S and E of the paper
        nn.init.normal_(self.qa_outputs.weight, std=config.initializer_range)
        nn.init.zeros_(self.qa_outputs.bias)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, S) -> start logits (B, S), end logits (B, S)."""
        hidden, _ = self.bert(input_ids, attention_mask, token_type_ids)
        return self.qa_outputs(hidden).unbind(-1)  # (B, S, H) -> (B, S, 2) -> 2 x (B, S)

    def loss(self, batch):
        """The three inputs (B, S), start_positions and end_positions (B,) -> the mean of both mean losses."""
        start, end = self(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
        return (F.cross_entropy(start, batch["start_positions"]) + F.cross_entropy(end, batch["end_positions"])) / 2


def offsets(tokenizer, text):
    """Where each token of a text begins and stops, in characters of the text: [(0, 4), (5, 8), ...]."""
    becomes = {character: clean(character) for character in set(text)}  # each only once
    letters = [(letter, place) for place, character in enumerate(text) for letter in becomes[character]]
    cleaned, at, found = "".join(letter for letter, _ in letters), 0, []
    for word in split(cleaned):
        at = cleaned.index(word, at)
        for piece in cut_word(word, tokenizer.vocabulary):
            size = len(word) if piece == UNK else len(piece.removeprefix("##"))
            found.append((letters[at][1], letters[at + size - 1][1] + 1))
            at += size
    return found


def answer_positions(places, first, begin, stop):
    """Characters of the passage's tokens, the position of the first of them in its row, characters begin..stop of the
    answer -> positions of its first and last token; 0, 0 ([CLS]) if there is none (begin < 0) or not all is here."""
    if begin < 0 or begin < places[0][0] or stop > places[-1][1]:
        return 0, 0
    touched = [number for number, (left, right) in enumerate(places) if left < stop and begin < right]
    return first + touched[0], first + touched[-1]


def cut_windows(count, room, stride):
    """Ranges of at most `room` of `count` tokens, which start `stride` tokens apart."""
    stride = min(stride, room)  # no token may fall between two windows
    return [range(start, min(start + room, count)) for start in range(0, max(count - room, 0) + stride, stride)]


def most_context(windows):
    """For each token the number of the window in which it has most context; of equal ones the first."""

    def context(number, token):
        window = windows[number]
        return min(token - window.start, window.stop - 1 - token) + 0.01 * len(window)

    holding = [[n for n, window in enumerate(windows) if token in window] for token in range(windows[-1].stop)]
    return [max(numbers, key=lambda n: context(n, token)) for token, numbers in enumerate(holding)]


def question_rows(tokenizer, question, passage, max_tokens=128, stride=64):
    """One row for each window of the passage: `ids`, `first`, the position of the window's first token in the row,
    `places`, the characters of its tokens in the passage, `starts`, whether an answer may start with each of them."""
    head = [tokenizer.cls_token_id, *tokenizer.ids(question)[:64], tokenizer.sep_token_id]
    ids, places = tokenizer.ids(passage), offsets(tokenizer, passage)
    windows = cut_windows(len(ids), max_tokens - len(head) - 1, stride)
    best = most_context(windows)
    return [
        dict(
            ids=[*head, *ids[window.start : window.stop], tokenizer.sep_token_id],
            first=len(head),
            places=places[window.start : window.stop],
            starts=[best[token] == number for token in window],
        )
        for number, window in enumerate(windows)
    ]


def question_batch(rows, tokenizer):
    """Rows of question_rows -> input_ids, attention_mask, token_type_ids (B, S)."""
    longest = max(len(row["ids"]) for row in rows)
    free = [longest - len(row["ids"]) for row in rows]  # positions of padding
    kinds = [[0] * row["first"] + [1] * (len(row["places"]) + 1) for row in rows]
    return dict(
        input_ids=torch.tensor([r["ids"] + [tokenizer.pad_token_id] * n for r, n in zip(rows, free, strict=True)]),
        attention_mask=torch.tensor([[1] * len(r["ids"]) + [0] * n for r, n in zip(rows, free, strict=True)]),
        token_type_ids=torch.tensor([kind + [0] * n for kind, n in zip(kinds, free, strict=True)]),
    )


def best_span(start, end, starts, ends, longest=30):
    """Logits (S,) and where an answer may start and end, bool (S,) -> first and last token of the best span of at most
    `longest` tokens."""
    size = len(start)
    scores = start[:, None] + end[None, :]  # (S, 1) + (1, S) -> (S, S)
    near = torch.ones(size, size, dtype=torch.bool).triu().tril(longest - 1)  # start <= end < start + longest
    legal = near & starts[:, None] & ends[None, :]
    return divmod(int(scores.masked_fill(~legal, -torch.inf).argmax()), size)


def decide(nulls, spans, threshold=0.0):
    """Of each window the score of "no answer", and its best span as (score, text) -> the answer, or "" for none."""
    score, text = max(spans)
    return "" if min(nulls) - score > threshold else text


@torch.no_grad()
def answer_question(model, tokenizer, question, passage, threshold=0.0, max_tokens=128, stride=64):
    """Return the answer as it stands in the passage, "" for none."""
    rows, nulls, spans = question_rows(tokenizer, question, passage, max_tokens, stride), [], []
    for row, start, end in zip(rows, *model(**question_batch(rows, tokenizer)), strict=True):
        starts, ends = torch.zeros(2, len(start), dtype=torch.bool)
        passage_part = slice(row["first"], row["first"] + len(row["places"]))
        starts[passage_part], ends[passage_part] = torch.tensor(row["starts"]), True
        first, last = best_span(start, end, starts, ends)
        (begin, _), (_, stop) = row["places"][first - row["first"]], row["places"][last - row["first"]]
        nulls.append(float(start[0] + end[0]))
        spans.append((float(start[first] + end[last]), passage[begin:stop]))
    return decide(nulls, spans, threshold)
