"""Pretraining's draw: which tokens the sampler chooses, what becomes of them, and the loss at each."""

import math

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.page.exports import Cell, Name, exports
from app.shared.text import texts
from app.views.training.film import model_at
from bertlab.draw.charts.masking import loss_table
from bertlab.draw.html.marked import ACTIONS, token_strip
from bertlab.explain.runs import TrainingRun
from bertlab.explain.words.masking import sample_masking


def show(run: TrainingRun, step: int | None) -> None:
    """Show the guesses of the snapshot at `step`, or of the last one."""
    st.markdown(
        "In pretraining chance picks the words: about 15% of the tokens. Of these, 80% become [MASK], 10% a random "
        "token, and 10% stay as they are, so the model must keep a useful vector for *every* word."
    )
    examples = texts.of(run.name).next_sentence
    state.example_pills("Try", examples)
    text, pair = state.text_fields(examples, "next sentence")
    left, right = st.columns(2, gap="large")
    rate = left.slider("Share of tokens chosen", 5, 80, 15, step=5, format="%d%%", key="rate", bind="query-params")
    seed = right.slider("Random seed", 0, 99, 0, key="seed", bind="query-params")
    loaded = model_at("fill", run, step)
    show_draw(loaded, text, pair, rate / 100, seed)


def show_draw(loaded: models.Loaded, text: str, pair: str | None, rate: float, seed: int) -> None:
    drawn = models.compute(sample_masking, loaded, text, pair, rate, seed, loaded.limit)
    st.html(token_strip(drawn.after, drawn.actions, drawn.before, drawn.special))
    table = loss_table(drawn.guesses, ACTIONS)
    nats = st.column_config.NumberColumn("loss (nats)", format="%.2f")
    layout.show_shares(table.drop(columns=["position", "action"]), "p(true)", {"loss": nats})
    st.markdown(
        f"The loss of this draw is the mean over the chosen positions: **{drawn.loss:.2f} nats**. Blind guessing has "
        f"ln {loaded.tokenizer.vocab_size:,} = {math.log(loaded.tokenizer.vocab_size):.2f}."
    )
    cell = Cell()
    made = cell.made("drawn", sample_masking, loaded, text, pair, rate, seed, loaded.limit)
    strip = cell.call(token_strip, *(Name(f"{made}.{part}") for part in ("after", "actions", "before", "special")))
    exports("masking", table, cell.html(strip))
