"""Why this word? What each token of the sentence contributes to the first guess."""

import streamlit as st

from app.shared import contributions
from app.shared.page.exports import Cell, Name
from app.shared.page.markdown import plain
from app.views.play import guesses
from app.views.play.gap import Question
from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.charts.attribution import attribution_bars
from bertlab.draw.html.marked import attribution_strip
from bertlab.explain.attribution import Attribution, Progress, attribute_fill
from bertlab.explain.words.fill import masked_row, nth

INTRO = (
    "*Integrated gradients* divide the log-odds of the first guess among the tokens that the model read. Blue tokens "
    "contribute to the word, orange ones count against it."
)


def attribute(
    model: BertForPreTraining, tokenizer: Tokenizer, text: str, gap: int, limit: int, token_id: int, **watch: Progress
) -> Attribution:
    """Return what each token contributes to `token_id` at gap number `gap` of a text."""
    batch, positions = masked_row(model, tokenizer, text, limit=limit)
    return attribute_fill(model, tokenizer, batch, nth(positions, gap), token_id, **watch)


def show(question: Question) -> None:
    loaded, version = question.loaded, question.version
    guess = guesses.asked(loaded, version).fill.tokens[0]
    token_id = loaded.tokenizer.convert_tokens_to_ids(guess)
    both = contributions.with_control(attribute, loaded, version.text, version.gap, loaded.limit, token_id)
    st.html(attribution_strip(both[0].tokens, both[0].values.tolist()))
    cell = Cell()
    cell.made("batch, positions", masked_row, loaded, version.text, limit=loaded.limit)
    asked = Name("batch"), Name(f"positions[{version.gap}]"), token_id
    code = cell.picture(attribution_bars, *cell.both(attribute_fill, loaded, *asked))
    contributions.show(f"why{question.key}", both, guess, f"nats of the log-odds of “{plain(guess)}”", code)
