"""Whole text: every token is masked in turn, and the text coloured by the surprisal of each."""

import math
from collections.abc import Sequence

import streamlit as st

from app.shared.page import layout, progress, state
from app.shared.page.exports import Cell, exports
from app.shared.page.markdown import chip_names, plain
from app.views.play.gap import Question
from bertlab.draw.charts.masking import fill_bars, surprisal_bars, sweep_table
from bertlab.draw.palette import ORANGE
from bertlab.draw.percent import percent, signed
from bertlab.explain.text import encode
from bertlab.explain.words.surprisal import (
    Surprisal,
    maskable_positions,
    pseudo_log_likelihood,
    pseudo_perplexity,
    sweep,
)

GUESSES = 8
INTRO = (
    "Which word did the model least expect? Each token is masked in turn, and predicted from all the others. Its "
    "*surprisal* is −ln of the probability of the true token. 0 nats: the model was certain of it."
)
LIKELIHOOD = (
    "Minus the sum of the surprisals (Salazar et al. 2020). Of two texts of equal length, the one nearer to 0 is the "
    "more natural one to the model. It is no true log-likelihood, because every token is predicted with all the others "
    "in sight, and the pieces of a split word (##) give each other away."
)
PERPLEXITY = "exp of the mean surprisal: the number of equally likely tokens that would be as hard to choose from."


def show(question: Question) -> None:
    loaded, text = question.loaded, question.version.typed
    if "[MASK]" in text:
        st.caption(":material/edit: A [MASK] stays a gap and has no surprisal: write a word there to see if it fits.")
    ids = encode(loaded.tokenizer, text, None, loaded.limit).input_ids
    total, vocabulary = len(maskable_positions(loaded.tokenizer, ids)), loaded.tokenizer.vocab_size

    def draw(rows: list[Surprisal]) -> None:
        layout.show_chart(surprisal_bars(rows, vocabulary), "Surprisals so far", rows=len(rows))

    asked = text, None, GUESSES, loaded.limit
    rows = progress.rows(sweep, loaded, *asked, total=total, draw=draw)
    if len(rows) == total:
        show_sums(rows)
    chosen = choose_token(rows, question.key, math.log(vocabulary))
    show_token(chosen, vocabulary)
    cell = Cell()
    code = cell.picture(surprisal_bars, cell.made("rows", sweep, loaded, *asked, rows=True), vocabulary)
    bars = surprisal_bars(rows, vocabulary)
    with st.expander("Each token as a bar", icon=":material/bar_chart:"):
        layout.show_chart(bars, "Surprisal of each token", rows=len(rows))
    exports(f"surprisal{question.key}", sweep_table(rows), code, bars)


def show_sums(rows: Sequence[Surprisal]) -> None:
    total = pseudo_log_likelihood(rows)
    with st.container(horizontal=True, gap="small"):
        st.metric("Pseudo-log-likelihood", f"{signed(total, '.1f')} nats", width="content", help=LIKELIHOOD)
        st.metric("Pseudo-perplexity", f"{pseudo_perplexity(rows):,.1f}", width="content", help=PERPLEXITY)


def choose_token(rows: Sequence[Surprisal], key: str, uniform: float) -> Surprisal:
    """Show a coloured chip for every token; the most surprising one is pressed at first. Returns the pressed one."""
    first = max(range(len(rows)), key=lambda i: rows[i].surprisal)
    widget, box = f"at{key} {hash(tuple(row.token for row in rows))}", f"sweep{key}"
    tokens = chip_names([row.token for row in rows])
    names = [f"{token} :small[{row.surprisal:.1f}]" for token, row in zip(tokens, rows, strict=True)]
    st.html(colours(box, [row.surprisal / uniform for row in rows]))
    label = "The deeper the colour, the higher the surprisal (in nats). Press a token to see the guesses there"
    with st.container(key=box):
        return rows[state.linked_chip(label, names, widget, f"at{key}", first, wrap=True)]


def colours(box: str, shares: Sequence[float]) -> str:
    """Colour the chips in the container `box` by surprisal, as shares of that of uniform guessing."""
    rules = [
        f".st-key-{box} button:nth-of-type({n}) {{ background: {ORANGE}{round(190 * min(share, 1)):02x} !important }}"
        for n, share in enumerate(shares, 1)
    ]
    return f"<style>.st-key-{box} button {{ color: inherit !important }} {' '.join(rules)}</style>"


def show_token(row: Surprisal, vocabulary: int) -> None:
    rank = "It is the model's first guess." if row.rank == 1 else f"It is guess {row.rank:,} of {vocabulary:,}."
    p = f"{chance(row.surprisal)} ({row.surprisal:.2f} nats)"
    st.markdown(f"The model gives **{plain(row.token)}** a probability of {p}. {rank}")
    layout.show_chart(fill_bars(row.fill, row.token), f"What the model would write for {row.token}")


def chance(surprisal: float) -> str:
    """Return the probability of a surprisal, in words that stay readable where it is tiny."""
    if surprisal < math.log(100):
        return percent(math.exp(-surprisal))
    return f"1 in {math.exp(surprisal):,.0f}" if surprisal < math.log(1e9) else "less than 1 in a billion"
