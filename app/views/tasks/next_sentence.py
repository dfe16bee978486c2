"""Next sentence: does the second text follow the first? Asked in both orders, and of random weights too."""

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.page.exports import Cell, exports
from app.shared.page.markdown import plain
from app.shared.text import texts
from app.views.tasks import fields
from bertlab.draw.charts.masking import verdict_bars, verdict_table
from bertlab.draw.percent import percent, probability
from bertlab.explain.words.next_sentence import NextSentence, both_orders


def show() -> None:
    st.container(key="intro").markdown(
        "In the second task of pretraining, **next sentence prediction** (NSP), BERT decides whether the second of "
        "two texts follows the first. In half of the pairs it does. In the other half, the *negatives*, the second "
        "text comes from elsewhere."
    )
    examples = texts.chosen().next_sentence
    state.example_pills("Try", examples)
    text, pair = state.text_fields(examples, "next sentence")
    if fields.lacks_second(examples, text, pair):
        fields.offer_example("Your text needs a second one: write it beside the first.", examples)
        return
    judge, second = models.model_for("next sentence"), models.beside("next sentence")
    judges = {judge.name: judge} | ({second.name: second} if second else {})
    judges.setdefault(models.RANDOM, models.control_of(judge))
    show_verdicts(judges, text, pair or "")


def show_verdicts(judges: dict[str, models.Loaded], text: str, pair: str) -> None:
    asked = {name: (loaded, text, pair, loaded.limit) for name, loaded in judges.items()}
    verdicts = {name: models.compute(both_orders, *each) for name, each in asked.items()}
    for name, (given, swapped) in verdicts.items():
        if not judges[name].random:
            st.markdown(f"**{plain(name)}**: {verdict(given, swapped)}")
    bars = verdict_bars(verdicts)
    shares = {name: [percent(found.probability) for found in orders] for name, orders in verdicts.items()}
    spoken = "; ".join(f"{name} {given}, with the texts swapped {swapped}" for name, (given, swapped) in shares.items())
    layout.show_chart(bars, f"Probability that the second text follows: {spoken}")
    st.caption(
        "50% means undecided. Texts that follow each other also share their subject, and that alone may decide "
        "(Lan et al. 2020). The orange bar, with the texts swapped, shows whether their order matters at all."
    )
    cell = Cell()
    code = cell.picture(verdict_bars, cell.each(both_orders, asked))
    exports("next-sentence", verdict_table(verdicts), code, bars)


def verdict(given: NextSentence, swapped: NextSentence) -> str:
    says = "the second text **follows**" if given.probability > 0.5 else "the second text **does not follow**"
    same = (given.probability > 0.5) == (swapped.probability > 0.5)
    order = "the same verdict" if same else "the opposite verdict"
    p, q = (probability(found.probability) for found in (given, swapped))
    return f"{says}, {p}. With the texts swapped, {q}: {order}."
