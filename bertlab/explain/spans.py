"""How a question-answering head chooses a span: every start against every end."""

from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.errors import InputError
from bertlab.explain.text import clean, encode
from bertlab.inputs.spans import Span, best_spans, null_score


@dataclass(frozen=True)
class Answer:
    """What the model answers and everything it weighed; a span with text "" is "no answer".

    `grid` is (S, S): the probability of the span from token i to token j, zero where no span may be;
    its cell (0, 0) at [CLS] is "no answer", and the whole sums to one. `start_probabilities` and
    `end_probabilities` are (S,), as the head was trained: a softmax over all positions. `passage` is the
    text that the characters of the spans count in; `passage_slice` are its first and last+1 token.
    """

    best: Span
    spans: list[Span]
    no_answer_probability: float
    tokens: list[str]
    start_probabilities: Tensor
    end_probabilities: Tensor
    grid: Tensor
    passage_slice: tuple[int, int]
    passage: str
    dropped: int = 0
    unknown: int = 0

    def probability(self, span: Span) -> float:
        """The probability of one span of `spans`, or of no answer."""
        return float(self.grid[span.start_token, span.end_token])


def legal_spans(passage_mask: Tensor, max_answer_tokens: int = 20) -> Tensor:
    """(S, S) bool: start and end in the passage, end not before start, at most so many tokens."""
    inside = passage_mask.bool()
    ones = torch.ones(len(inside), len(inside), dtype=torch.bool)
    band = ones.triu() & ones.tril(max_answer_tokens - 1)
    return inside[:, None] & inside[None, :] & band  # (S, 1) & (1, S) -> (S, S)


def span_grid(start_logits: Tensor, end_logits: Tensor, passage_mask: Tensor, max_answer_tokens: int = 20) -> Tensor:
    """(S, S) probabilities of all legal spans and of no answer, which is cell (0, 0).

    A softmax of start + end score over legal cells only: the product of the two distributions of the
    paper (section 4.2), renormalised over what can be an answer.
    """
    legal = legal_spans(passage_mask, max_answer_tokens)
    legal[0, 0] = True
    scores = start_logits.float()[:, None] + end_logits.float()[None, :]  # (S, 1) + (1, S) -> (S, S)
    scores = scores.masked_fill(~legal, -torch.inf)
    return scores.flatten().softmax(0).view_as(scores)  # (S, S) -> (S*S,) -> (S, S)


@torch.inference_mode()
def answer(model, tokenizer, question: str, passage: str, n: int = 5, max_answer_tokens: int = 20) -> Answer:
    """Answer a question from a passage; what does not fit the model is cut off the longer of the two.

    Raises InputError when the question or the passage is empty.
    """
    question, passage = clean(question), clean(passage)
    if not question or not passage:
        raise InputError(f"the {'passage' if question else 'question'} is empty: write at least one word")
    encoded = encode(tokenizer, question, passage, model.config.max_position_embeddings)
    inside = (encoded.token_type_ids == 1) & ~encoded.special  # (S,)
    if not inside.any():
        raise InputError("no token is left of the passage: write at least one word")
    out = model(**encoded.batch)
    start, end = out.start_logits[0].float(), out.end_logits[0].float()  # (1, S) -> (S,)
    grid = span_grid(start, end, inside, max_answer_tokens)
    nothing = Span(0, 0, 0, 0, "", null_score(start, end))
    found = best_spans(start, end, inside, encoded.offsets, passage, n, max_answer_tokens)
    spans = sorted([nothing, *found], key=lambda span: -span.score)[:n]
    places = inside.nonzero()[:, 0].tolist()
    return Answer(
        best=spans[0],
        spans=spans,
        no_answer_probability=float(grid[0, 0]),
        tokens=encoded.tokens,
        start_probabilities=start.softmax(0),
        end_probabilities=end.softmax(0),
        grid=grid,
        passage_slice=(places[0], places[-1] + 1),
        passage=passage,
        dropped=encoded.dropped,
        unknown=encoded.unknown,
    )
