"""Is attention an explanation? Raw attention beside rollout, value-weighted norms and integrated gradients."""

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, progress
from app.shared.page.exports import Cell, exports
from app.shared.page.markdown import plain
from app.views.attention import followed
from bertlab.draw.charts.knockout import agreement_map, measure_map, measure_maps, measure_table
from bertlab.draw.percent import signed
from bertlab.explain.attention.flow import FEWEST, Measures, measures

MEANINGS = """
Four measures:

- **attention**: the weight that the masked position gives to each token, the mean over all layers and heads.
- **rollout**: attention followed through the layers; half of each layer is the residual connection, which passes by
  the heads (Abnar and Zuidema 2020).
- **value-weighted**: attention times the length of the vector it carries, since a token that gets much attention may
  have little to give (Kobayashi et al. 2020).
- **gradients**: the size of each token's contribution to the word, for or against it, by integrated gradients
  (Sundararajan et al. 2017).
"""
LEFT_OUT = "Without the gap itself, and [CLS] and [SEP], on which attention often rests when a head finds nothing."


def show(loaded: models.Loaded, text: str, pair: str | None) -> None:
    st.markdown(
        "Which tokens made the model write its word? If attention explained that, it would rank the tokens as other "
        "measures do. See whether it does.",
        help=MEANINGS,
    )
    chosen = followed.choose(loaded, text, pair)
    asked = chosen.asked()
    found = {name: progress.watched(measures, *each) for name, each in asked.items()}
    own = found[loaded.name]
    if any(one.agreement is None for one in found.values()):
        text = f"A ranking needs at least {FEWEST} tokens beside the gap: write a longer text."
        st.info(text, icon=":material/edit:")
        return
    st.markdown(story(own))
    show_maps(chosen.word, own, found)
    cell = Cell()
    code = cell.picture(measure_maps, cell.each(measures, asked))
    exports("measures", measure_table(own), code, measure_maps(found))


def show_maps(word: str, own: Measures, found: dict[str, Measures]) -> None:
    """Show the ranks of the tokens, and for each model how well the measures agree."""
    left, right = st.columns([5, 4], gap="large")
    with left:
        st.markdown(f"**How important each token is for “{plain(word)}”** (rank 1: most)", help=LEFT_OUT)
        layout.show_chart(measure_map(own), f"Ranks of the tokens for {word} by four measures")
    with right:
        for name, one in found.items():
            st.markdown(f"**How well the rankings agree: {plain(name)}**")
            layout.show_chart(agreement_map(one), f"Rank correlations of four measures: {story(one)}")


def story(measures: Measures) -> str:
    """Say how far attention and gradients agree, and what chance would give."""
    names, agreement, count = list(measures.values), measures.agreement, sum(measures.compared)
    assert agreement is not None  # or nothing is shown
    value = float(agreement[names.index("attention"), names.index("gradients")])
    chance = 1.96 / (count - 1) ** 0.5
    if value != value:  # nan
        return "Attention gives every token the same weight here, so there is no ranking to compare."
    surely = "is more than chance" if abs(value) > chance else "may be chance"
    return (
        f"Here the rankings by raw attention and by integrated gradients are **{alike(value)}**: their rank "
        f"correlation is **{signed(value)}** (1: same order, 0: no relation, −1: reversed). With {count} tokens, "
        f"unrelated rankings stay within ±{min(chance, 1):.2f} in 19 of 20 cases, so this **{surely}**."
    )


def alike(correlation: float) -> str:
    """Name the size of a rank correlation."""
    size = abs(correlation)
    if size < 0.1:
        return "unrelated"
    degree = "weakly" if size < 0.4 else "moderately" if size < 0.7 else "strongly"
    return f"{degree} {'similar' if correlation > 0 else 'opposed'}"
