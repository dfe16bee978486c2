"""The label of a whole text and of each word, with what each token contributes to it."""

import altair as alt
import pandas as pd
import streamlit as st

from app.shared import contributions
from app.shared.model import models
from app.shared.page import layout, state, sureness
from app.shared.page.exports import exports
from app.shared.page.markdown import chip_names, plain, signed
from app.shared.text import versions
from app.views.labels import cells
from bertlab.draw.charts.attribution import attribution_table
from bertlab.draw.html.marked import marked_names
from bertlab.draw.percent import percent
from bertlab.explain.attribution import Attribution, attribute_text, attribute_word
from bertlab.explain.labels import LabelledText, LabelledWords
from bertlab.tasks.token import OUTSIDE

CLASSES = 8  # only the model's maker wants to see more


def show_text(loaded: models.Loaded, labelled: LabelledText, text: str, pair: str | None, name: str) -> None:
    """Show the label of a text. `name` is that of the files to save."""
    label = loaded.model.config.id2label[labelled.label]
    show_classes(labelled, label)
    asked = text, pair, labelled.label, loaded.limit
    found, control = contributions.with_control(attribute_text, loaded, *asked)
    bars = show_contributions(found, control, f"What contributes to “{label}”", label)
    code = cells.text_label(loaded.source, text, pair, loaded.limit)
    exports(name, attribution_table(found, control), code, bars)


def text_change(loaded: models.Loaded, one: LabelledText, two: LabelledText) -> str:
    """Say how the label of a text and its probability change in another version."""
    names = loaded.model.config.id2label
    if not one.prediction.probabilities or not two.prediction.probabilities:
        return (
            f"In the other version the number is **{two.prediction.label:.3f}** instead of {one.prediction.label:.3f}."
        )
    first, then = (names[x.label] for x in (one, two))
    p, q = (percent(x.prediction.probabilities[names[x.label]]) for x in (one, two))
    if first == then:
        return f"In the other version the class stays **{plain(first)}**, with {q} instead of {p}."
    return f"In the other version the class is **{plain(then)}** ({q}) instead of **{plain(first)}** ({p})."


def show_word_changes(one: LabelledWords, two: LabelledWords) -> None:
    """Show the other version with its names, and say which words have another label there."""
    with st.container(border=True):
        st.html(marked_names(two.text, two.names, two.kinds))
    mine, theirs = words_of(one), words_of(two)
    before, after = one.prediction.labels, two.prediction.labels
    pairs = versions.partners(mine, theirs).items()
    changed = [
        f"**{plain(theirs[j])}** {plain(before[i])} → {plain(after[j])}" for i, j in pairs if before[i] != after[j]
    ]
    st.markdown(f"In the other version: {', '.join(changed) or 'no word that both have changes its label'}.")


def show_classes(labelled: LabelledText, label: str) -> None:
    prediction = labelled.prediction
    one, all_of_them = st.columns([1, 2], gap="large")
    if not prediction.probabilities:
        one.metric("Predicted number", f"{prediction.label:.3f}")
        return
    ranked = sorted(prediction.probabilities.items(), key=lambda item: -item[1])
    doubt = sureness.doubt(ranked, sureness.LABEL)
    one.metric("Best guess" if doubt else "Likeliest class", plain(label))
    with all_of_them:
        layout.show_shares(pd.DataFrame(ranked[:CLASSES], columns=["class", "probability"]), "probability")
    if doubt:
        st.markdown(doubt)


def show_words(loaded: models.Loaded, labelled: LabelledWords, text: str, name: str, word: int | None = None) -> int:
    """Show the labels of all words, and what contributes to one of them: `word`, or else the one that is pressed.

    Returns its number, from 0. `name` is that of the files to save.
    """
    with st.container(border=True):
        st.html(marked_names(labelled.text, labelled.names, labelled.kinds))
    if word is None:
        word = choose_word(labelled, f"word {hash((loaded.stamp, text))}")
    word = min(word, len(labelled.spans) - 1)
    label = labelled.prediction.labels[word]
    asked = text, word, loaded.model.config.label2id[label], loaded.limit
    found, control = contributions.with_control(attribute_word, loaded, *asked)
    st.markdown(label_of(labelled, word))
    title = f"What contributes to “{label}” for “{words_of(labelled)[word]}”"
    bars = show_contributions(found, control, title, label)
    table = attribution_table(found, control)
    table["label"] = table["position"].map(dict(zip(labelled.positions, labelled.prediction.labels, strict=True)))
    exports(name, table, cells.word_label(loaded.source, text, word, loaded.limit), bars)
    return word


def words_of(labelled: LabelledWords) -> list[str]:
    return [labelled.text[start:stop] for start, stop in labelled.spans]


def choose_word(labelled: LabelledWords, key: str) -> int:
    """Show a chip for every word; the first word of a name is pressed at first. Returns the pressed one."""
    words = words_of(labelled)
    named = [i for i, label in enumerate(labelled.prediction.labels) if label != OUTSIDE]
    first = named[0] if named else 0
    if state.unset(key):
        linked = state.number_in(state.link_value("word"))
        st.session_state[key] = first if linked is None or linked >= len(words) else linked
    state.keep(key)
    word = st.pills(
        "Press a word to see what contributed to its label",
        range(len(words)),
        key=key,
        format_func=chip_names(words).__getitem__,
        persist_state="session",
    )
    word = first if word is None else word
    state.share("word", "" if word == first else str(word))
    return word


def label_of(labelled: LabelledWords, word: int) -> str:
    label, shares = labelled.prediction.labels[word], labelled.prediction.probabilities
    if not shares:
        return f"Its label is **{plain(label)}**."
    sure = f"Its label is **{plain(label)}**, with a probability of {percent(shares[word])}."
    return sureness.doubt([(label, shares[word])], sureness.LABEL) or sure


def show_contributions(found: Attribution, control: Attribution, title: str, label: str) -> alt.Chart:
    """Show the attributions of the model and those of random weights. Returns the chart of both."""
    trained, random = st.columns(2, gap="large")
    with trained:
        st.markdown(f"**{plain(title)}**")
        st.markdown(f"{effect(found)} {contributions.in_a_sentence(label, found)}")
        contributions.show_marked(found)
        st.caption(contributions.completeness(found))
    with random:
        st.markdown("**The same for random weights**")
        st.markdown(effect(control))
        contributions.show_marked(control)
        st.caption(contributions.completeness(control))
    st.markdown("**Both on one scale**")
    return contributions.show_bars(found, control, title)


def effect(found: Attribution) -> str:
    """Say how much of the logit is due to the words at all."""
    added = found.score - found.baseline
    start = f"Without any words the logit of this label is **{signed(found.baseline)}**"
    return f"{start}; these words {'add' if added >= 0 else 'lower it:'} **{signed(added)}**."
