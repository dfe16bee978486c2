"""A gap filled from the left alone, beside a BERT that reads both sides of it."""

from bertlab.errors import InputError
from bertlab.explain.text import clean, longest
from bertlab.explain.words.fill import Fill
from bertlab.explain.words.guess import likeliest_words, no_words
from bertlab.model import BertForPreTraining
from bertlab.relatives.left_to_right import next_log_probabilities
from bertlab.tokenizer import Tokenizer


def fill_from_left(
    model: BertForPreTraining, tokenizer: Tokenizer, text: str, k: int = 10, limit: int | None = None
) -> Fill:
    """Return the Fill of whole words at the one [MASK] of a text by a left-to-right model, which reads only what stands
    before it.

    Raises InputError when the text is empty, holds no [MASK] or several, or has more tokens before it than `limit` or
    the model allow, and for a model that sees both sides.
    """
    before = one_gap(tokenizer, text)[0]
    position = 1 + len(tokenizer.encode_batch([before])[0])  # [CLS] is the first token
    if position + 1 >= longest(model, limit):
        raise InputError("the words before [MASK] are more than the model reads: shorten the text")
    log_p = next_log_probabilities(model, tokenizer, [before])[0]  # (V,)
    return likeliest_words(tokenizer, log_p, no_words(tokenizer), position, k)


def one_gap(tokenizer: Tokenizer, text: str, name: str = "the text") -> tuple[str, str]:
    """Return what stands before and after the one [MASK] of a text. InputError, in which the text is called `name`: it
    is empty, has none or more."""
    text = clean(text)
    if not text:
        raise InputError(f"{name} is empty: write at least one word")
    parts = text.split(tokenizer.mask_token)
    if len(parts) != 2:
        raise InputError(f"{name} holds {len(parts) - 1 or 'no'} [MASK]: write [MASK] in place of one word")
    return parts[0], parts[1]
