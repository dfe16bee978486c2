"""Layer by layer: what the masked-word head reads in the gap before the last layer is reached."""

from collections.abc import Sequence
from functools import partial

import altair as alt
import streamlit as st

from app.pages.masking import cells
from app.pages.masking import gaps as masking_gaps
from app.pages.masking.gaps import Asked
from app.shared import models, state
from app.shared.exports import exports
from app.shared.two_models import side_by_side
from bertlab.draw.charts import masking as masking_charts
from bertlab.explain.text import Encoded
from bertlab.explain.words.fill import masked_row
from bertlab.explain.words.lens import Lens, logit_lens

GUESSES = 5


def read(model, tokenizer, text, pair, masked, limit, number) -> Lens:
    """The lens on gap number `number`."""
    _, gaps = masked_row(model, tokenizer, text, pair, masked, limit)
    return logit_lens(model, tokenizer, text, pair, gaps[number], GUESSES, masked, limit)


def show(asks: Sequence[Asked], encoded: Encoded, gaps: Sequence[int]) -> None:
    st.markdown(
        "Every layer rewrites the vector of the gap. Here the head that names words reads it too early: after each "
        "layer, not only after the last. This is the *logit lens*."
    )
    st.caption(
        "Read it with care. The head learned to read the last layer alone, and its matrix is the table of the input "
        "embeddings: a word that it does not find in an early layer may be there in another basis. And the final "
        "answer always leads at the end, with random weights too (grey): what tells is how early, and how surely."
    )
    number = masking_gaps.choose_one(encoded, gaps)
    if len(gaps) == 1:
        st.markdown(masking_gaps.around(encoded, gaps[0]))
    side_by_side(asks, partial(show_lens, number=number))


def show_lens(ask: Asked, number: int) -> None:
    ask.check()
    arguments = ask.text, ask.pair, ask.masked, ask.loaded.limit
    lens = models.compute(read, ask.loaded, *arguments, number)
    control = models.compute(read, models.control_of(ask.loaded), *arguments, number)
    st.markdown(story(lens))
    grid = masking_charts.lens_grid(lens)
    st.altair_chart(grid, alt=f"Likeliest tokens after each layer. {in_words(lens)}", width="stretch")
    p = masking_charts.lens_probability(lens, control)
    rank = masking_charts.lens_rank(lens, control, ask.loaded.tokenizer.vocab_size)
    left, right = st.columns(2, gap="large")
    answer = state.plain(lens.answer)
    left.markdown(f"Probability of “{answer}”")
    left.altair_chart(p, alt=f"Probability of {lens.answer} after each layer", width="stretch")
    right.markdown(f"Rank of “{answer}”: 1 is the first guess")
    right.altair_chart(rank, alt=f"Rank of {lens.answer} after each layer", width="stretch")
    picture = alt.vconcat(grid, p, rank).resolve_scale(color="independent")
    exports(f"layers{ask.key}", masking_charts.lens_table(lens), cells.lens(ask, lens.position, GUESSES), picture)


def story(lens: Lens) -> str:
    """At which layer the final answer leads, in a sentence."""
    answer, last = state.plain(lens.answer), len(lens.layers) - 1
    if lens.first_lead == last:
        return f"“**{answer}**” becomes the first guess only after **the last layer** ({last})."
    first = f"layer {lens.first_lead}" if lens.first_lead else "the embeddings"
    lead = f"“**{answer}**” first leads after **{first}** of {last}"
    return f"{lead}, and stays ahead." if lens.first_lead == lens.settled else f"{lead}, falls behind, and leads again."


def in_words(lens: Lens) -> str:
    return "; ".join(f"{layer}: {fill.tokens[0]} {fill.probabilities[0]:.0%}" for layer, fill in enumerate(lens.layers))
