"""Fill in: what the model would write in the gaps, how sure it is, and which tokens made it write that."""

import math
from collections.abc import Sequence
from functools import partial

import streamlit as st

from app.pages.masking import cells
from app.pages.masking import gaps as masking_gaps
from app.pages.masking.gaps import Asked
from app.shared import models, progress, reasons, state, token_rows
from app.shared.exports import exports
from app.shared.two_models import side_by_side
from bertlab.draw.charts import base as charts
from bertlab.draw.html.marked import attribution_strip
from bertlab.explain.attribution import Attribution, attribute_fill
from bertlab.explain.text import Encoded
from bertlab.explain.words.fill import Fill, fill_mask, masked_row

PANELS = 6  # more fill-ins than this at once are only in the table


def show(asks: Sequence[Asked], encoded: Encoded, gaps: Sequence[int]) -> None:
    k = st.slider("Guesses", 3, 20, 8, key="k", bind="query-params", width=260)
    across = 1 if len(asks) > 1 else min(3, len(gaps))
    side_by_side(asks, partial(show_fills, encoded=encoded, gaps=gaps, k=k, across=across))
    st.subheader("Why this word?", anchor=False)
    st.markdown(
        "*Integrated gradients* share out the model's first guess among the tokens that it read: blue tokens speak "
        "for the word, orange ones against it."
    )
    number = masking_gaps.choose_one(encoded, gaps)
    side_by_side(asks, partial(show_why, number=number))


def show_fills(ask: Asked, encoded: Encoded, gaps: Sequence[int], k: int, across: int) -> None:
    ask.check()
    found = fills(ask, k)
    drawn, places = found[:PANELS], gaps[: min(PANELS, len(found))]
    truths = [encoded.tokens[position] for position in places]
    columns = st.columns(across, gap="large")
    for number, (fill, truth, position) in enumerate(zip(drawn, truths, places, strict=True)):
        with columns[number % across]:
            st.markdown(masking_gaps.around(encoded, position))
            st.altair_chart(charts.fill_bars(fill, truth), alt=in_words(fill), width="stretch")
            st.caption(sureness(fill, truth, ask.loaded.tokenizer.vocab_size))
    if len(found) > PANELS:
        st.caption(f"The first {PANELS} of {len(found)} gaps are drawn; the table has all.")
    picture = charts.fill_panels(drawn, truths)
    exports(f"fill-ins{ask.key}", charts.fill_table(found), cells.fill(ask, k, truths), picture)


def fills(ask: Asked, k: int) -> list[Fill]:
    return models.compute(fill_mask, ask.loaded, ask.text, ask.pair, k, ask.masked, ask.loaded.limit)


def in_words(fill: Fill) -> str:
    best = [f"{token} {p:.1%}" for token, p in zip(fill.tokens[:3], fill.probabilities, strict=False)]
    return f"Bars of the likeliest tokens at position {fill.position}: {', '.join(best)}"


def sureness(fill: Fill, truth: str, vocabulary: int) -> str:
    """How sure the model is, in words a newcomer can place."""
    sure = (
        f"Entropy {fill.entropy:.2f} nats: as unsure as an even choice among {math.exp(fill.entropy):,.1f} tokens "
        f"of {vocabulary:,}."
    )
    if truth == "[MASK]":
        return sure
    where = "green" if truth in fill.tokens else "not among these"
    return f"{sure} Masked by hand: {state.plain(truth)} ({where})."


def pushes(model, tokenizer, text, pair, masked, limit, number, token_id, progress=None) -> Attribution:
    """How much each token pushed `token_id` in gap number `number` of a text or pair."""
    batch, gaps = masked_row(model, tokenizer, text, pair, masked, limit)
    return attribute_fill(model, tokenizer, batch, gaps[number], token_id, progress)


def show_why(ask: Asked, number: int) -> None:
    ask.check()
    guess = fills(ask, 1)[number].tokens[0]
    arguments = ask.text, ask.pair, ask.masked, ask.loaded.limit, number
    token_id = ask.loaded.tokenizer.convert_tokens_to_ids(guess)
    pushed = progress.watched(pushes, ask.loaded, *arguments, token_id)
    st.markdown(reasons.in_a_sentence(guess, pushed))
    st.html(attribution_strip(pushed.tokens, pushed.values.tolist()))
    control = progress.watched(pushes, models.control_of(ask.loaded), *arguments, token_id)
    bars = charts.attribution_bars(pushed, control)
    token_rows.show(bars, len(pushed.tokens), f"How much each token pushed “{guess}”, and with random weights")
    st.caption(
        f"Unit: nats of log-odds of “{state.plain(guess)}”, followed from a text of nothing but [PAD] to yours. Check: "
        f"the pushes add up to {pushed.values.sum():.2f}, the log-odds rose by {pushed.score - pushed.baseline:.2f}. "
        "Grey: the same question to random weights."
    )
    table = charts.attribution_table(pushed, control)
    exports(f"why{ask.key}", table, cells.why(ask, number), bars)
