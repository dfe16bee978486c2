"""Pretraining's draw: which tokens are chosen by lot, what becomes of them, and what each costs."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from app.pages.masking import cells
from app.pages.masking.gaps import Asked
from app.shared import models, token_rows
from app.shared.exports import exports
from app.shared.two_models import side_by_side
from bertlab.draw.charts.masking import loss_bars, loss_table
from bertlab.draw.html.marked import ACTIONS, token_strip
from bertlab.explain.words.masking import SampledMasking, sample_masking


def show(asks: Sequence[Asked]) -> None:
    st.markdown(
        "Nobody presses words during pretraining: about 15% of the tokens are drawn by lot. Of these, 80% "
        "become [MASK], 10% a random token and 10% stay as they are, so that the model must keep a good idea "
        "of *every* word. This is the very sampler that trained the model."
    )
    left, right = st.columns(2, gap="large")
    rate = left.slider("Share of tokens chosen", 5, 80, 15, step=5, format="%d%%", key="rate", bind="query-params")
    seed = right.slider("Seed of the draw", 0, 99, 0, key="seed", bind="query-params")
    side_by_side(asks, partial(show_draw, rate=rate / 100, seed=seed))


def show_draw(ask: Asked, rate: float, seed: int) -> None:
    drawn = models.compute(sample_masking, ask.loaded, ask.text, ask.pair, rate, seed, ask.loaded.limit)
    st.html(token_strip(drawn.after, drawn.actions, drawn.before, drawn.special))
    st.markdown("**What the model says at the chosen places**")
    table = loss_table(drawn.guesses, ACTIONS)
    share = st.column_config.ProgressColumn("p(true)", format="percent", min_value=0, max_value=1)
    nats = st.column_config.NumberColumn("loss (nats)", format="%.2f")
    shown = table.drop(columns="position")
    st.dataframe(shown, hide_index=True, column_config={"p(true)": share, "loss": nats})
    costs, counts = st.columns([3, 2], gap="large")
    costs.markdown(f"The loss of this draw is the mean over the chosen places: **{drawn.loss:.2f} nats**.")
    bars = loss_bars(drawn.guesses, ACTIONS, ask.loaded.tokenizer.vocab_size) if drawn.guesses else None
    if bars is not None:
        with costs:
            token_rows.show(bars, len(drawn.guesses), in_words(drawn))
    counts.markdown("**Counts of this draw**")
    counts.dataframe(count_table(drawn, rate), hide_index=True)
    counts.caption("Counts are exact, not only on average: they are the nearest whole numbers to the shares.")
    exports(f"masking{ask.key}", table, cells.draw(ask, rate, seed), bars)


def in_words(drawn: SampledMasking) -> str:
    return "Loss at each chosen place: " + ", ".join(f"{guess.truth} {guess.loss:.1f} nats" for guess in drawn.guesses)


def count_table(drawn: SampledMasking, rate: float) -> pd.DataFrame:
    """How many tokens met each fate, and how many the shares ask for."""
    ordinary = drawn.special.count(False)
    chosen = len(drawn.guesses)
    shares = [("chosen", chosen, rate * ordinary)]
    for action, share in ((1, 0.8), (2, 0.1), (3, 0.1)):
        shares.append((f"… {ACTIONS[action]}", drawn.actions.count(action), share * chosen))
    table = pd.DataFrame(shares, columns=["", "here", "expected"])
    return table.round(1)
