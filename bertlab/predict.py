"""Predictions as plain rows, as the command line prints them."""

from bertlab.explain.fill import fill_mask
from bertlab.explain.spans import answer
from bertlab.model import BertForPreTraining, BertForQuestionAnswering
from bertlab.tokenizer import Tokenizer


def fill_in(text: str, model: str, top: int) -> list[dict]:
    """For each [MASK], counted from 1, the `top` likeliest tokens with their probabilities."""
    tokenizer = Tokenizer.from_pretrained(model)
    fills = fill_mask(BertForPreTraining.from_pretrained(model), tokenizer, text, k=top)
    return [
        {"mask": number, "text": token, "probability": probability}
        for number, fill in enumerate(fills, start=1)
        for token, probability in zip(fill.tokens, fill.probabilities, strict=True)
    ]


def answer_question(question: str, passage: str, model: str, top: int) -> list[dict]:
    """The `top` likeliest answers with their probabilities; "" is "no answer"."""
    tokenizer = Tokenizer.from_pretrained(model)
    result = answer(BertForQuestionAnswering.from_pretrained(model), tokenizer, question, passage, n=top)
    return [{"text": span.text, "probability": span.probability} for span in result.spans]
