"""Question answering: examples to tensors, and start and end logits back to answers.

Devlin et al. 2019, sections 4.2 and 4.3: `[CLS] question [SEP] passage [SEP]`; an answer is a start and an
end in the passage, scored by the sum of their logits; "no answer" is the span that starts and ends at [CLS].
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.corpora.examples import QAExample
from bertlab.errors import InputError
from bertlab.tokenizer import Tokenizer


def qa_features(examples: Sequence[QAExample], tokenizer: Tokenizer, max_length: int) -> dict[str, Tensor]:
    """Tensors of a batch of questions; passages are cut to fit `max_length` tokens, questions never.

    input_ids, token_type_ids, attention_mask (B, S); start_positions, end_positions (B,), both 0 ([CLS])
    where there is no answer or it was cut away; offset_mapping (B, S, 2), characters in each text;
    passage_mask (B, S) bool. InputError names a question that leaves no room for its passage.
    """
    if not examples:
        raise InputError("no examples given: pass at least one question")
    questions = tokenizer.encodings([example.question for example in examples])
    passages = tokenizer.encodings([example.context for example in examples])
    rows, spans, firsts = [], [], []
    for example, question, passage in zip(examples, questions, passages, strict=True):
        asked = len(question.ids)
        room = max_length - asked - 3  # [CLS] question [SEP] passage [SEP]
        if room < 1:
            raise InputError(
                f"question {example.id!r} takes {asked} tokens and leaves no room for its passage "
                f"in max_length={max_length}: shorten it"
            )
        rows.append(tokenizer.assemble((question, passage), (asked, min(room, len(passage.ids)))))
        firsts.append(asked + 2)
        spans.append(_answer_tokens(example, passage.offsets, room, asked + 2))
    batch = tokenizer.batch(rows)
    starts, ends = torch.tensor(spans).T  # (B, 2) -> (B,) each
    place = torch.arange(batch["input_ids"].shape[1])  # (S,)
    passage_first = torch.tensor(firsts)[:, None]  # (B, 1)
    last_sep = batch["attention_mask"].sum(dim=1, keepdim=True) - 1  # (B, 1)
    passage_mask = (place >= passage_first) & (place < last_sep)  # (B, S)
    return batch | {"start_positions": starts, "end_positions": ends, "passage_mask": passage_mask}


def _answer_tokens(example: QAExample, offsets: list[tuple[int, int]], room: int, first: int) -> tuple[int, int]:
    """First and last token of the answer in a row whose passage starts at `first`; (0, 0) if there is
    none, or not all of it within the `room` tokens that are kept."""
    if example.is_impossible:
        return 0, 0
    answer_end = example.answer_start + len(example.answer)
    start = bisect_right(offsets, example.answer_start, key=lambda offset: offset[1])
    end = bisect_left(offsets, answer_end, key=lambda offset: offset[0]) - 1
    return (first + start, first + end) if start <= end < room else (0, 0)


@dataclass(frozen=True)
class Span:
    """An answer: tokens of the input, both ends inclusive, and characters of the passage; "" = none."""

    start_token: int
    end_token: int
    start_char: int
    end_char: int
    text: str
    score: float  # start logit + end logit


def best_spans(
    start_logits: Tensor,
    end_logits: Tensor,
    passage_mask: Tensor,
    offsets: Tensor,
    passage: str,
    n: int = 5,
    max_answer_tokens: int = 20,
) -> list[Span]:
    """The `n` spans of one row with the highest start + end logit, best first; fewer if there are fewer.

    Logits and mask are (S,), offsets (S, 2). A span lies in the passage, does not end before it starts,
    takes at most `max_answer_tokens`, and its text is exactly that part of `passage`.
    """
    size = len(start_logits)
    scores = start_logits[:, None].float() + end_logits[None, :].float()  # (S, 1) + (1, S) -> (S, S)
    allowed = passage_mask[:, None] & passage_mask[None, :]  # (S, S)
    allowed = allowed.triu().tril(max_answer_tokens - 1)
    count = min(n, int(allowed.sum()))
    top = scores.masked_fill(~allowed, float("-inf")).flatten().topk(count)
    return [
        _span(index // size, index % size, score, offsets, passage)
        for index, score in zip(top.indices.tolist(), top.values.tolist(), strict=True)
    ]


def _span(start: int, end: int, score: float, offsets: Tensor, passage: str) -> Span:
    start_char, end_char = int(offsets[start, 0]), int(offsets[end, 1])
    return Span(start, end, start_char, end_char, passage[start_char:end_char], score)


def null_score(start_logits: Tensor, end_logits: Tensor) -> float:
    """Score of "no answer": the span from [CLS] to [CLS]."""
    return float(start_logits[0]) + float(end_logits[0])


def answer_from_logits(
    start_logits: Tensor,
    end_logits: Tensor,
    passage_mask: Tensor,
    offsets: Tensor,
    passage: str,
    threshold: float = 0.0,
    max_answer_tokens: int = 20,
) -> Span:
    """The best span of one row, or the empty span at [CLS] unless some span beats it by `threshold`."""
    nothing = Span(0, 0, 0, 0, "", null_score(start_logits, end_logits))
    best = best_spans(start_logits, end_logits, passage_mask, offsets, passage, 1, max_answer_tokens)
    return best[0] if best and best[0].score > nothing.score + threshold else nothing
