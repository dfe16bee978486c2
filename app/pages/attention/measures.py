"""Is attention an explanation? Raw attention beside rollout, value-weighted norms and integrated gradients."""

import streamlit as st

from app.pages.attention import gap as attention_gap
from app.pages.attention import knockout_cells as cells
from app.shared import models, progress, state
from app.shared.exports import exports
from bertlab.draw.charts.knockout import agreement_map, measure_map, measure_maps, measure_table
from bertlab.explain.attention.flow import FEWEST, Measures, measures

MEANINGS = """
- **attention**: how much the gap looks at each token, the mean over all layers and heads.
- **rollout**: attention followed through the layers, half of each being what passes by the heads (Abnar and
  Zuidema 2020).
- **value-weighted**: attention times the length of what is carried: a token looked at may have nothing to give
  (Kobayashi et al. 2020).
- **gradients**: how much each token pushed the word, towards it or away, by integrated gradients (Sundararajan et al.
  2017).
"""


def show(loaded: models.Loaded, text: str, pair: str | None) -> None:
    st.markdown(
        "Which tokens made the model write its word? Four measures each put the tokens in an order. If attention "
        "explained the guess, they would agree. Look whether they do."
    )
    followed = attention_gap.choose(loaded, text, pair)
    if followed is None:
        return
    found = {
        ask.loaded.name: progress.watched(measures, ask.loaded, *followed.question(ask), ask.loaded.limit)
        for ask in followed.asks
    }
    own = found[loaded.name]
    if own.agreement is None:
        st.info(f"An order needs at least {FEWEST} tokens beside the gap: write a longer text.", icon=":material/edit:")
        return
    st.markdown(story(own))
    show_maps(followed.word, own, found)
    with st.expander("What the four measures are", icon=":material/help:"):
        st.markdown(MEANINGS)
    code = cells.measures(followed.asks[:-1], followed.gap, followed.word)
    exports("measures", measure_table(own), code, measure_maps(found))


def show_maps(word: str, own: Measures, found: dict[str, Measures]) -> None:
    """The measures of the tokens; and for each model how they agree."""
    left, right = st.columns([5, 4], gap="large")
    with left:
        st.markdown(f"**What “{state.plain(word)}” owes to each token**: rank 1 is most")
        alt = f"Ranks of the tokens for {word} by four measures"
        st.altair_chart(measure_map(own), width="stretch", alt=alt)
        st.caption("Not compared: the gap itself, and [CLS] and [SEP], which attention often uses as a place to rest.")
    with right:
        for name, one in found.items():
            st.markdown(f"**How alike the orders are: {state.plain(name)}**")
            alt = f"Rank correlations of four measures: {story(one)}"
            st.altair_chart(agreement_map(one), width="stretch", alt=alt)


def story(measures: Measures) -> str:
    """How far attention and gradients agree, in words, and what chance would give."""
    names = list(measures.values)
    value = float(measures.agreement[names.index("attention"), names.index("gradients")])
    count = sum(measures.compared)
    chance = 1.96 / (count - 1) ** 0.5
    if value != value:  # nan
        return "Attention gives all tokens the same here: there is no order to compare."
    surely = "is more than chance" if abs(value) > chance else "may be chance"
    return (
        f"Here the orders of raw attention and of integrated gradients are **{alike(value)}**: their rank correlation "
        f"is **{state.signed(value)}** (1 is the same order, 0 no relation, −1 reversed). With {count} tokens, "
        f"unrelated orders stay within ±{min(chance, 1):.2f} in 19 of 20 cases: this **{surely}**."
    )


def alike(correlation: float) -> str:
    """The size of a rank correlation in words."""
    size = abs(correlation)
    if size < 0.1:
        return "unrelated"
    degree = "weakly" if size < 0.4 else "fairly" if size < 0.7 else "much"
    return f"{degree} {'alike' if correlation > 0 else 'opposed'}"
