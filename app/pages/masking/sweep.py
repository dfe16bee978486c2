"""Whole text: every token masked in turn, the text coloured by how much each one surprised the model."""

import math
from collections.abc import Sequence

import streamlit as st

from app.pages.masking import cells
from app.pages.masking.gaps import Asked
from app.shared import progress, state, token_rows
from app.shared.exports import exports
from app.shared.two_models import side_by_side
from bertlab.draw.charts import base as charts
from bertlab.draw.charts import masking as masking_charts
from bertlab.draw.palette import ORANGE
from bertlab.explain.text import encode
from bertlab.explain.words.surprisal import Surprisal, pseudo_log_likelihood, pseudo_perplexity, scored_places, sweep

GUESSES = 8


def show(asks: Sequence[Asked]) -> None:
    st.markdown(
        "Hide each token in turn, let the model guess it from all the others, and note its *surprisal*: "
        "−ln of the probability that it gave the true token. 0 nats: it was certain of it."
    )
    st.caption(
        "The sum is the pseudo-log-likelihood (Salazar et al. 2020): of two texts of equal length, the one nearer to "
        "0 reads more natural to the model. It is no true probability: every token is guessed with all the others in "
        "sight, and the pieces of a split word (##) give each other away."
    )
    if "[MASK]" in f"{asks[0].text} {asks[0].pair or ''}".upper():
        st.caption(":material/edit: A [MASK] stays a gap and is not judged: write a word there to see if it fits.")
    side_by_side(asks, show_sweep)


def show_sweep(ask: Asked) -> None:
    loaded = ask.loaded
    ids = encode(loaded.tokenizer, ask.text, ask.pair, loaded.limit).input_ids
    total, vocabulary = len(scored_places(loaded.tokenizer, ids)), loaded.tokenizer.vocab_size

    def draw(rows: list[Surprisal]) -> None:
        bars = masking_charts.surprisal_bars(rows, vocabulary)
        token_rows.show(bars, len(rows), "Surprisals so far")

    rows = progress.rows(sweep, loaded, ask.text, ask.pair, GUESSES, loaded.limit, total=total, draw=draw)
    if not rows:
        return
    if len(rows) == total:
        show_sums(rows)
    chosen = choose_token(rows, ask.key, math.log(vocabulary))
    show_token(chosen, vocabulary)
    bars = masking_charts.surprisal_bars(rows, vocabulary)
    token_rows.show(bars, len(rows), in_words(rows))
    exports(f"surprisal{ask.key}", masking_charts.sweep_table(rows), cells.sweep(ask, GUESSES), bars)


def show_sums(rows: Sequence[Surprisal]) -> None:
    total = pseudo_log_likelihood(rows)
    with st.container(horizontal=True, gap="small"):
        st.metric("Pseudo-log-likelihood", f"{state.signed(total, '.1f')} nats", width="content")
        st.metric("Mean surprisal", f"{-total / len(rows):.2f} nats", width="content")
        help = "exp of the mean: among how many equally likely tokens it chooses at a place on average."
        st.metric("Pseudo-perplexity", f"{pseudo_perplexity(rows):,.1f}", width="content", help=help)


def choose_token(rows: Sequence[Surprisal], key: str, blind: float) -> Surprisal:
    """A coloured chip for every judged token; the most surprising one is pressed to begin with."""
    first = max(range(len(rows)), key=lambda i: rows[i].surprisal)
    widget = f"at{key} {hash(tuple(row.token for row in rows))}"
    if widget not in st.session_state:
        linked = state.link_value(f"at{key}") or ""
        st.session_state[widget] = int(linked) if linked.isdecimal() and int(linked) < len(rows) else first
    names = [
        f"{name} :small[{row.surprisal:.1f}]"
        for name, row in zip(state.chip_names([row.token for row in rows]), rows, strict=True)
    ]
    box = f"sweep{key}"
    st.html(colours(box, [row.surprisal / blind for row in rows]))
    with st.container(key=box):
        label = "The deeper the colour, the greater the surprise, in nats. Press a token to see the guesses there"
        state.keep(widget)
        chosen = st.pills(
            label,
            range(len(rows)),
            key=widget,
            format_func=names.__getitem__,
            required=True,
            wrap=True,
            persist_state="session",
        )
    state.share(f"at{key}", "" if chosen == first else str(chosen))
    return rows[chosen]


def colours(box: str, shares: Sequence[float]) -> str:
    """Chips in the container `box` by their share of the surprise of blind guessing; the text stays readable."""
    rules = [
        f".st-key-{box} button:nth-of-type({n}) {{ background: {ORANGE}{round(190 * min(share, 1)):02x} !important }}"
        for n, share in enumerate(shares, 1)
    ]
    return f"<style>.st-key-{box} button {{ color: inherit !important }} {' '.join(rules)}</style>"


def show_token(row: Surprisal, vocabulary: int) -> None:
    bars, words = st.columns([3, 2], gap="large")
    chart = charts.fill_bars(row.fill, row.token)
    bars.altair_chart(chart, alt=f"What the model would write for {row.token}", width="stretch")
    token = state.plain(row.token)
    words.markdown(f"The model gives **{token}** a chance of {chance(row.surprisal)}: {row.surprisal:.2f} nats.")
    guessed = "It is the model's first guess." if row.rank == 1 else f"It is guess {row.rank:,} of {vocabulary:,}."
    words.markdown(guessed)


def chance(surprisal: float) -> str:
    """A probability given as its -ln, in words that stay readable where it is tiny."""
    if surprisal < math.log(100):
        return f"{math.exp(-surprisal):.1%}"
    return f"1 in {math.exp(surprisal):,.0f}" if surprisal < math.log(1e9) else "less than 1 in a billion"


def in_words(rows: Sequence[Surprisal]) -> str:
    worst = sorted(rows, key=lambda row: -row.surprisal)[:3]
    return "Surprisal of each token; most surprising: " + ", ".join(f"{r.token} {r.surprisal:.1f} nats" for r in worst)
