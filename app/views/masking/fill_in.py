"""Fill in: what the model would write in each gap, how sure it is, and which tokens contribute to that."""

import math
from collections.abc import Sequence
from functools import partial

import streamlit as st

from app.shared import contributions
from app.shared.model import models
from app.shared.page import layout, sureness
from app.shared.page.exports import exports
from app.shared.page.markdown import explained, plain
from app.views.masking import cells, mask
from app.views.masking.mask import Query
from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.charts.attribution import attribution_table
from bertlab.draw.charts.masking import fill_bars, fill_panels, fill_table
from bertlab.draw.percent import percent
from bertlab.explain.attribution import Attribution, Progress, attribute_fill
from bertlab.explain.text import Encoded
from bertlab.explain.words.fill import Fill, fill_mask, masked_row

PANELS = 6  # charts at once; the table has the rest


def show(queries: Sequence[Query], encoded: Encoded, positions: Sequence[int]) -> None:
    picture = st.container()
    k = st.slider("Guesses", 3, 20, 8, key="k", bind="query-params", width=260)
    across = 1 if len(queries) > 1 else min(3, len(positions))
    with picture:
        layout.side_by_side(queries, partial(show_fills, encoded=encoded, positions=positions, k=k, across=across))
    st.subheader("Why this word?", anchor=False)
    st.markdown(
        "*Integrated gradients* divide the log-odds of the first guess among the tokens that the model read. Blue "
        "tokens contribute to the word, orange ones count against it."
    )
    number = mask.choose_one(encoded, positions)
    layout.side_by_side(queries, partial(show_why, number=number))


def show_fills(query: Query, encoded: Encoded, positions: Sequence[int], k: int, across: int) -> None:
    query.check()
    found = fills(query, k)
    drawn, at = found[:PANELS], positions[: min(PANELS, len(found))]
    truths = [encoded.tokens[position] for position in at]
    columns = st.columns(across, gap="large")
    for number, (fill, truth, position) in enumerate(zip(drawn, truths, at, strict=True)):
        with columns[number % across]:
            st.markdown(mask.context(encoded, position))
            if doubt := sureness.doubt(list(zip(fill.tokens, fill.probabilities, strict=True)), sureness.GAP):
                st.markdown(doubt)
            layout.show_chart(fill_bars(fill, truth), in_words(fill))
            sure = evenness(fill, truth, query.loaded.tokenizer.vocab_size)
            st.caption(sure, help=explained(sure))
    if len(found) > PANELS:
        st.caption(f"Only the first {PANELS} of {len(found)} gaps are drawn. The table lists all.")
    code = cells.fill(query, k, truths)
    exports(f"fill-ins{query.key}", fill_table(found), code, fill_panels(drawn, truths))


def fills(query: Query, k: int) -> list[Fill]:
    return models.compute(fill_mask, query.loaded, query.text, query.pair, k, query.masked, query.loaded.limit)


def in_words(fill: Fill) -> str:
    best = [f"{token} {percent(p)}" for token, p in zip(fill.tokens[:3], fill.probabilities, strict=False)]
    return f"Bars of the likeliest tokens at position {fill.position}: {', '.join(best)}"


def evenness(fill: Fill, truth: str, vocabulary: int) -> str:
    """Say over how many tokens the model spreads its guess, in words a newcomer can place."""
    choices = math.exp(fill.entropy)
    even = f"{choices:,.{0 if choices > 10 else 1}f}"
    sure = f"Entropy {fill.entropy:.2f} nats: as uncertain as an even choice among {even} of {vocabulary:,} tokens."
    if truth == "[MASK]":
        return sure
    where = "green" if truth in fill.tokens else "not among these guesses"
    return f"{sure} The hidden word: {plain(truth)} ({where})."


def attribute(
    model: BertForPreTraining,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None,
    masked: Sequence[int],
    limit: int,
    number: int,
    token_id: int,
    progress: Progress | None = None,
) -> Attribution:
    """Return what each token contributes to `token_id` at masked position `number` of a text or pair."""
    batch, positions = masked_row(model, tokenizer, text, pair, masked, limit)
    return attribute_fill(model, tokenizer, batch, positions[number], token_id, progress)


def show_why(query: Query, number: int) -> None:
    query.check()
    guess = fills(query, 1)[number].tokens[0]
    token_id = query.loaded.tokenizer.convert_tokens_to_ids(guess)
    asked = query.text, query.pair, query.masked, query.loaded.limit, number, token_id
    found, control = contributions.with_control(attribute, query.loaded, *asked)
    st.markdown(contributions.in_a_sentence(guess, found))
    contributions.show_marked(found)
    bars = contributions.show_bars(found, control, f"What each token contributes to “{guess}”")
    unit = f"Unit: nats of the log-odds of “{plain(guess)}”. {contributions.completeness(found)}"
    st.caption(unit, help=explained("nats, log-odds"))
    table = attribution_table(found, control)
    exports(f"why{query.key}", table, cells.why(query, number), bars)
