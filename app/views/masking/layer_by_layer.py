"""Layer by layer: what the masked-word head reads at a masked position after each layer (the logit lens)."""

from collections.abc import Sequence
from functools import partial

import altair as alt
import streamlit as st

from app.shared.model import models
from app.shared.page import layout
from app.shared.page.exports import exports
from app.shared.page.markdown import plain
from app.views.masking import cells, mask
from app.views.masking.mask import Query
from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.charts import masking as charts
from bertlab.draw.percent import percent
from bertlab.explain.text import Encoded
from bertlab.explain.words.fill import masked_row
from bertlab.explain.words.lens import Lens, logit_lens

GUESSES = 5


def read(
    model: BertForPreTraining,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None,
    masked: Sequence[int],
    limit: int,
    number: int,
) -> Lens:
    """Return the lens on masked position `number`."""
    _, positions = masked_row(model, tokenizer, text, pair, masked, limit)
    return logit_lens(model, tokenizer, text, pair, positions[number], GUESSES, masked, limit)


def show(queries: Sequence[Query], encoded: Encoded, positions: Sequence[int]) -> None:
    st.markdown(
        "Every layer rewrites the vector at the masked position. The *logit lens* applies the masked-word head after "
        "each layer, not only after the last."
    )
    st.caption(
        "Read it with care. The head was trained on the last layer only, and its matrix is the table of input "
        "embeddings. A word that it does not find in an early layer may be there in another basis. The final answer "
        "leads after the last layer by definition, with random weights too (grey). What tells you something is how "
        "early it leads, and with what probability."
    )
    number = mask.choose_one(encoded, positions)
    if len(positions) == 1:
        st.markdown(mask.context(encoded, positions[0]))
    layout.side_by_side(queries, partial(show_lens, number=number))


def show_lens(query: Query, number: int) -> None:
    query.check()
    asked = query.text, query.pair, query.masked, query.loaded.limit, number
    lens = models.compute(read, query.loaded, *asked)
    control = models.compute(read, models.control_of(query.loaded), *asked)
    st.markdown(story(lens))
    grid = charts.lens_grid(lens)
    layout.show_chart(grid, f"Likeliest tokens after each layer. {in_words(lens)}")
    p = charts.lens_probability(lens, control)
    rank = charts.lens_rank(lens, control, query.loaded.tokenizer.vocab_size)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"Probability of “{plain(lens.answer)}”")
        layout.show_chart(p, f"Probability of {lens.answer} after each layer")
    with right:
        st.markdown(f"Rank of “{plain(lens.answer)}” (1 is the first guess)")
        layout.show_chart(rank, f"Rank of {lens.answer} after each layer")
    picture = alt.vconcat(grid, p, rank).resolve_scale(color="independent")
    exports(f"layers{query.key}", charts.lens_table(lens), cells.lens(query, lens.position, GUESSES), picture)


def story(lens: Lens) -> str:
    """Say after which layer the final answer leads."""
    answer, last = plain(lens.answer), len(lens.layers) - 1
    if lens.first_lead == last:
        return f"“**{answer}**” becomes the first guess only after **the last layer** ({last})."
    first = f"layer {lens.first_lead}" if lens.first_lead else "the embeddings"
    lead = f"“**{answer}**” first leads after **{first}** of {last}"
    return f"{lead}, and stays ahead." if lens.first_lead == lens.settled else f"{lead}, falls behind, and leads again."


def in_words(lens: Lens) -> str:
    return "; ".join(
        f"{layer}: {fill.tokens[0]} {percent(fill.probabilities[0])}" for layer, fill in enumerate(lens.layers)
    )
