"""Layer by layer: what the masked-word head reads at a gap after each layer (the logit lens)."""

import math

import altair as alt
import streamlit as st

from app.shared.model import models
from app.shared.page import layout
from app.shared.page.exports import Cell, exports
from app.shared.page.markdown import explained, plain
from app.views.play.gap import Question
from app.views.play.guesses import EVERY
from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.charts import masking as charts
from bertlab.draw.percent import percent
from bertlab.explain.words.fill import masked_row, nth
from bertlab.explain.words.lens import Lens, logit_lens

GUESSES = 5
INTRO = (
    "What would the model write if it ended after an earlier layer? The *logit lens* applies the masked-word head "
    "after each one. That head was trained on the last layer only: a word that it does not find earlier may be there "
    f"all the same, in another basis. {EVERY}"
)


def read(model: BertForPreTraining, tokenizer: Tokenizer, text: str, gap: int, limit: int) -> Lens:
    """Return the lens on gap number `gap`."""
    _, positions = masked_row(model, tokenizer, text, limit=limit)
    return logit_lens(model, tokenizer, text, position=nth(positions, gap), k=GUESSES, limit=limit)


def show(question: Question) -> None:
    loaded, asked = question.loaded, (question.version.text, question.version.gap, question.loaded.limit)
    lens, control = (models.compute(read, one, *asked) for one in (loaded, models.control_of(loaded)))
    st.markdown(f"{story(lens)} {uncertainty(lens, loaded.tokenizer.vocab_size)}", help=explained("entropy nats"))
    grid = charts.lens_grid(lens)
    guesses = [f"{layer}: {fill.tokens[0]} {percent(fill.probabilities[0])}" for layer, fill in enumerate(lens.layers)]
    layout.show_chart(grid, f"Likeliest tokens after each layer. {'; '.join(guesses)}")
    p = charts.lens_probability(lens, control)
    own = "" if loaded.random else f", and in grey that of “{plain(control.answer)}”, the answer of random weights"
    st.markdown(f"Probability of “{plain(lens.answer)}”{own}. Each leads in the end by definition: see how early.")
    layout.show_chart(p, f"Probability of {lens.answer} after each layer")
    cell = Cell()
    options = dict(position=lens.position, k=GUESSES, limit=loaded.limit)
    code = cell.picture(charts.lens_grid, cell.made("lens", logit_lens, loaded, question.version.text, **options))
    picture = alt.vconcat(grid, p).resolve_scale(color="independent")
    exports(f"layers{question.key}", charts.lens_table(lens), code, picture)


def uncertainty(lens: Lens, vocabulary: int) -> str:
    """Say how undecided the last guess is."""
    entropy = lens.layers[-1].entropy
    choices = f"{math.exp(entropy):,.{0 if math.exp(entropy) > 10 else 1}f} of {vocabulary:,} tokens"
    return f"In the end the entropy is {entropy:.2f} nats: as uncertain as an even choice among {choices}."


def story(lens: Lens) -> str:
    """Say after which layer the final answer leads."""
    answer, last = plain(lens.answer), len(lens.layers) - 1
    if lens.first_lead == last:
        return f"“**{answer}**” (outlined) becomes the first guess only after **the last layer** ({last})."
    first = f"layer {lens.first_lead}" if lens.first_lead else "the embeddings"
    lead = f"“**{answer}**” (outlined) first leads after **{first}** of {last}"
    return f"{lead}, and stays ahead." if lens.first_lead == lens.settled else f"{lead}, falls behind, and leads again."
