"""Next sentence: does the second text follow the first? The verdict, both ways round, beside random weights."""

from collections.abc import Sequence

import streamlit as st

from app.pages.masking import cells
from app.pages.masking.gaps import Asked
from app.shared import models, state
from app.shared.exports import exports
from bertlab.draw.charts.masking import verdict_bars, verdict_table
from bertlab.explain.words.next_sentence import NextSentence, both_orders

HEAD = "cls.seq_relationship"
STORY = "I am Penny Thorne, and I am an engineer. My dog Duchess is hairy."
PAIRS = {
    "one story": (STORY, "She likes bones, and my brother Martin likes a new film."),
    "two stories": (STORY, "Broken ink roller! Polite Richard needed another ink roller at the printing house."),
}


def show(asks: Sequence[Asked]) -> None:
    st.markdown(
        "The second task of pretraining: of two texts, does the second follow the first? Half the pairs were "
        "neighbours; in the other half the second text came from elsewhere."
    )
    st.pills("Try a pair", list(PAIRS), key="nsp_pair", on_change=fill_in)
    judges = {ask.loaded.name: ask.loaded for ask in asks if ask.loaded.random or ask.loaded.has(HEAD)}
    for ask in asks:
        if ask.loaded.name not in judges:
            st.info(f"**{ask.name}** was saved without a head for next sentences.", icon=":material/info:")
    if not asks[0].pair:
        text = "There is no second text: write one beside the first, or press a pair above."
        st.info(text, icon=":material/edit:")
    elif judges:
        judges.setdefault(models.RANDOM, models.control_of(asks[0].loaded))
        show_verdicts(judges, asks[0].text, asks[0].pair)


def fill_in() -> None:
    if st.session_state.nsp_pair:
        st.session_state.text, st.session_state.pair = PAIRS[st.session_state.nsp_pair]


def show_verdicts(judges: dict[str, models.Loaded], text: str, pair: str) -> None:
    verdicts = {name: models.compute(both_orders, loaded, text, pair, loaded.limit) for name, loaded in judges.items()}
    for name, (given, turned) in verdicts.items():
        if not judges[name].random:
            st.markdown(f"**{state.plain(name)}**: {verdict(given, turned)}")
    bars = verdict_bars(verdicts)
    st.altair_chart(bars, alt=in_words(verdicts), width="stretch")
    st.caption(
        "50% is no opinion; random weights, the control, have learned nothing of it. Neighbours also share their "
        "subject, and that alone may decide (Lan et al. 2020): the orange bar shows whether the order matters at all."
    )
    sources = [(loaded.source, loaded.random) for loaded in judges.values()]
    exports(
        "next-sentence", verdict_table(verdicts), cells.next_sentence(sources, text, pair, models.DRAWN_TOKENS), bars
    )


def verdict(given: NextSentence, turned: NextSentence) -> str:
    says = "the second text **follows**" if given.probability > 0.5 else "the second text **does not follow**"
    same = (given.probability > 0.5) == (turned.probability > 0.5)
    order = "the same verdict" if same else "the opposite verdict"
    return f"{says}: {given.probability:.1%} for it. Turned round {turned.probability:.1%}, {order}."


def in_words(verdicts: dict[str, tuple[NextSentence, NextSentence]]) -> str:
    told = [
        f"{name} {given.probability:.0%}, turned round {turned.probability:.0%}"
        for name, (given, turned) in verdicts.items()
    ]
    return "Probability that the second text follows: " + "; ".join(told)
