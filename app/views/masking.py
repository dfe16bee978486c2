"""Masked words: what BERT writes in the gaps, and how pretraining chooses them."""

import math

import models
import pandas as pd
import state
import streamlit as st
from cells import masking as cells
from exports import exports

from bertlab.draw import charts
from bertlab.draw.marked import ACTIONS, token_strip
from bertlab.explain.fill import fill_positions
from bertlab.explain.masking import SampledMasking, sample_masking
from bertlab.explain.text import Encoded, encode

EXAMPLES = {
    "too …": {"text": state.DEFAULT_TEXT, "pair": ""},
    "my dog": {"text": "my dog is [MASK].", "pair": "he likes walks."},
    "the store": {"text": "the man went to the [MASK].", "pair": "he bought a gallon of milk."},
    "penguins": {"text": "penguins are flightless [MASK].", "pair": ""},
}
PANELS = 6  # more fill-ins than this at once are only in the table


def fills(model, tokenizer, text, pair, limit, positions, k):
    """Fill-ins at hand-chosen positions of a text, masked before the model sees it."""
    encoded = encode(tokenizer, text, pair, limit)
    ids = encoded.batch["input_ids"].clone()  # (1, S)
    ids[0, list(positions)] = tokenizer.mask_token_id
    return fill_positions(model, tokenizer, encoded.batch | {"input_ids": ids}, positions, k)


def choose_positions(encoded: Encoded, key: str) -> list[int]:
    """A chip for every token; pressed chips are masked, and typed [MASK]s always are."""
    typed = [i for i, token in enumerate(encoded.tokens) if token == "[MASK]"]
    places = [i for i in range(len(encoded.tokens)) if not encoded.special[i]]
    if key not in st.session_state:
        linked = [int(i) for i in (state.link_value("mask") or "").split(",") if i.isdecimal()]
        st.session_state[key] = sorted({i for i in linked if i in places} | set(typed))
    pressed = st.pills(
        "Press a word to mask it, press again to show it",
        places,
        selection_mode="multi",
        key=key,
        format_func=state.chip_names(encoded.tokens).__getitem__,
    )
    by_hand = sorted(set(pressed) - set(typed))
    state.share("mask", ",".join(map(str, by_hand)))
    return sorted(set(typed) | set(by_hand))


def around(encoded: Encoded, position: int) -> str:
    """The place of one gap in the sentence: a few tokens to either side."""
    words = [i for i in range(len(encoded.tokens)) if not encoded.special[i]]
    before = [encoded.tokens[i] for i in words if position - 4 < i < position]
    after = [encoded.tokens[i] for i in words if position < i < position + 4]
    return f"{state.plain(' '.join(before))} **▢** {state.plain(' '.join(after))}"


def show_fills(loaded: models.Loaded, encoded: Encoded, text: str, pair: str | None) -> None:
    positions = choose_positions(encoded, f"chips {hash((loaded.stamp, text, pair))}")
    if not positions:
        st.info("Nothing is masked: press a word, or type [MASK] in the text.", icon=":material/touch_app:")
        return
    k = st.slider("Guesses", 3, 20, 8, key="k", bind="query-params", width=260)
    found = models.compute(fills, loaded, text, pair, loaded.limit, tuple(positions), k)
    across = min(3, len(positions))
    columns = st.columns(across, gap="large")
    drawn = []
    for n, fill in enumerate(found[:PANELS]):
        truth = encoded.tokens[fill.position]
        drawn.append(charts.fill_bars(fill, truth))
        with columns[n % across]:
            st.markdown(around(encoded, fill.position))
            st.altair_chart(drawn[-1], alt=f"Likeliest tokens at position {fill.position}", width="stretch")
            st.caption(describe(fill, truth, loaded.tokenizer.vocab_size))
    if len(found) > PANELS:
        st.caption(f"The first {PANELS} of {len(found)} gaps are drawn; the table has all.")
    masked = masked_text(encoded, positions, loaded.tokenizer)
    code = cells.fill(loaded.name, *masked, k)
    exports("fill-ins", charts.fill_table(found), code, drawn[0])


def masked_text(encoded: Encoded, positions: list[int], tokenizer) -> tuple[str, str | None]:
    """The text or pair with its masked tokens written as [MASK], for the notebook cell."""
    ids = encoded.input_ids.clone()
    ids[positions] = tokenizer.mask_token_id
    parts = [tokenizer.decode(ids[(encoded.token_type_ids == kind) & ~encoded.special]) for kind in (0, 1)]
    return parts[0], parts[1] or None


def describe(fill, truth: str, vocabulary: int) -> str:
    """How sure the model is, in words a newcomer can place."""
    choices = math.exp(fill.entropy)
    sure = f"As unsure as an even choice among {choices:,.1f} tokens of {vocabulary:,}."
    return sure if truth == "[MASK]" else f"{sure} Masked by hand: {state.plain(truth)} (orange)."


def show_sampler(loaded: models.Loaded, text: str, pair: str | None) -> None:
    st.subheader("How pretraining chooses its gaps", anchor=False)
    st.markdown(
        "Nobody presses words during pretraining: about 15% of the tokens are drawn by lot. Of these, 80% "
        "become [MASK], 10% a random token and 10% stay as they are, so that the model must keep a good idea "
        "of *every* word. This is the very sampler that trained the model."
    )
    left, right = st.columns(2, gap="large")
    rate = left.slider("Share of tokens chosen", 5, 80, 15, step=5, format="%d%%", key="rate", bind="query-params")
    seed = right.slider("Seed of the draw", 0, 99, 0, key="seed", bind="query-params")
    drawn = models.compute(sample_masking, loaded, text, pair, rate / 100, seed, loaded.limit)
    st.html(token_strip(drawn.after, drawn.actions, drawn.before, drawn.special))
    counts, guesses = st.columns([1, 2], gap="large")
    with counts:
        st.markdown("**Counts of this draw**")
        st.dataframe(count_table(drawn, rate / 100), hide_index=True)
        st.caption("Counts are exact, not only on average: they are the nearest whole numbers to the shares.")
    with guesses:
        st.markdown("**What the model says at the chosen places**")
        table = guess_table(drawn)
        share = st.column_config.ProgressColumn("p(true)", format="percent", min_value=0, max_value=1)
        st.dataframe(table, hide_index=True, column_config={"p(true)": share})
        st.caption(f"Mean loss here, -ln p(true token): {drawn.loss:.2f} nats.")
    exports("masking", table, cells.sampler(loaded.name, text, pair, rate / 100, seed))


def count_table(drawn: SampledMasking, rate: float) -> pd.DataFrame:
    """How many tokens met each fate, and how many the shares ask for."""
    ordinary = drawn.special.count(False)
    chosen = len(drawn.guesses)
    shares = [("chosen", chosen, rate * ordinary)]
    for action, share in ((1, 0.8), (2, 0.1), (3, 0.1)):
        shares.append((f"… {ACTIONS[action]}", drawn.actions.count(action), share * chosen))
    table = pd.DataFrame(shares, columns=["", "here", "expected"])
    return table.round(1)


def guess_table(drawn: SampledMasking) -> pd.DataFrame:
    rows = [(g.truth, g.shown, ACTIONS[g.action], g.guess, g.rank, g.probability) for g in drawn.guesses]
    return pd.DataFrame(rows, columns=["true token", "model sees", "action", "its guess", "rank of true", "p(true)"])


state.heading(
    "Masked words",
    "BERT learns by filling gaps. Hide words of your own text and see what it would write there, reading the "
    "words on *both* sides. The bars are probabilities over its whole vocabulary.",
)
state.example_pills("Try", EXAMPLES)
text, pair = state.text_fields()
with state.box():
    loaded = models.model_for("fill")
    encoded = encode(loaded.tokenizer, text, pair, loaded.limit)
    state.notices(encoded.dropped, encoded.unknown, len(encoded.tokens))
    show_fills(loaded, encoded, text, pair)
    show_sampler(loaded, text, pair)
