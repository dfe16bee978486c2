"""The label of each word of a text, and what contributes to one of them."""

import streamlit as st

from app.shared import contributions
from app.shared.model import models
from app.shared.page import confidence, layout, state
from app.shared.page.markdown import chip_names, plain
from app.shared.text import fit, texts, versions
from app.views.tasks import fields
from bertlab.corpora.labelled.schemes import OUTSIDE
from bertlab.draw.html.marked import marked_names
from bertlab.draw.percent import percent
from bertlab.explain.attribution import attribute_word
from bertlab.explain.labels import LabelledWords, capital_inside, label_words
from bertlab.tasks.token import in_usual_spelling

SPELLED = {"PER": "a person", "LOC": "a place", "ORG": "an organisation"}  # kinds of names as published sets write them


def show() -> None:
    text, _, other = fields.texts(texts.chosen().names, "names", pairs=False)
    word = None
    for loaded, ending in fields.models_for("word labels"):
        labelled = models.compute(label_words, loaded, text, loaded.limit)
        layout.notices(loaded.name, labelled.dropped, labelled.unknown, len(labelled.tokens))
        if not ending:
            fit.notice("word labels", loaded, text)
        theirs = models.compute(label_words, loaded, other, loaded.limit) if other else None
        word = show_one(loaded, labelled, theirs, text, f"word-labels{ending}", word)


def show_one(
    loaded: models.Loaded,
    labelled: LabelledWords,
    other: LabelledWords | None,
    text: str,
    name: str,
    word: int | None = None,
) -> int:
    """Show the labels of all words, how they change in the `other` version, and what contributes to one of them:
    `word`, or else the one that is pressed, at first that of a name.

    Returns its number, from 0. `name` is that of the files to save.
    """
    weak = doubted(loaded, labelled)
    with st.container(border=True):
        st.html(marked_names(labelled.text, labelled.names, labelled.kinds, weak))
    if weak or other and doubted(loaded, other):
        st.caption("Dashed, with a question mark: the model is not sure.")
    if other:
        show_changes(loaded, labelled, other)
    if word is None:
        named = [i for i, label in enumerate(labelled.prediction.labels) if label != OUTSIDE]
        chips, key = chip_names(words_of(labelled)), f"word {hash((loaded.stamp, text))}"
        press, first = "Press a word to see what contributed to its label", named[0] if named else 0
        word = state.linked_chip(press, chips, key, "word", first, wrap=True)
    word = min(word, len(labelled.spans) - 1)
    label = labelled.prediction.labels[word]
    asked = text, word, in_usual_spelling(loaded.model.config).label2id[label], loaded.limit
    both = contributions.with_control(attribute_word, loaded, *asked)
    st.markdown(label_of(loaded, labelled, word))
    ends = (*labelled.positions[1:], len(both[0].tokens))
    values = [float(both[0].values[start:stop].sum()) for start, stop in zip(labelled.positions, ends, strict=True)]
    fields.show_coloured(labelled.text, labelled.spans, values)
    contributions.show(name, both, label, contributions.LABEL, contributions.code_of(attribute_word, loaded, *asked))
    return word


def doubted(loaded: models.Loaded, labelled: LabelledWords) -> list[tuple[int, int]]:
    """Return first and last+1 character of each word of whose label the model is not sure."""
    return [span for number, span in enumerate(labelled.spans) if doubt_of(loaded, labelled, number)]


def doubt_of(loaded: models.Loaded, labelled: LabelledWords, word: int) -> str:
    """Say for Markdown if the label of a word is weak; "" if not, of punctuation, and where there is no probability."""
    label, shares = labelled.prediction.labels[word], labelled.prediction.probabilities
    if not shares or not any(map(str.isalnum, words_of(labelled)[word])):
        return ""
    unread = loaded.tokenizer.lowercase and capital_inside(labelled.text, labelled.spans)[word]
    if unread and label == OUTSIDE and OUTSIDE not in labelled.kinds:
        doubt = confidence.doubt([(label, shares[word])], confidence.NO_NAME)
        return doubt and f"{doubt} The model does not read its capital letter."
    return confidence.doubt([(label, shares[word])], confidence.LABEL)


def show_changes(loaded: models.Loaded, one: LabelledWords, two: LabelledWords) -> None:
    """Show the other version with its names, and say which words have another label there."""
    with st.container(border=True):
        st.html(marked_names(two.text, two.names, two.kinds, doubted(loaded, two)))
    mine, theirs = words_of(one), words_of(two)
    before, after = one.prediction.labels, two.prediction.labels
    pairs = versions.partners(mine, theirs).items()
    changed = [
        f"**{plain(theirs[j])}** {plain(before[i])} → {plain(after[j])}" for i, j in pairs if before[i] != after[j]
    ]
    st.markdown(f"In the other version: {', '.join(changed) or 'no word that both have changes its label'}.")


def words_of(labelled: LabelledWords) -> list[str]:
    return [labelled.text[start:stop] for start, stop in labelled.spans]


def label_of(loaded: models.Loaded, labelled: LabelledWords, word: int) -> str:
    """Say the label of a word in words, and how sure the model is."""
    label, shares = labelled.prediction.labels[word], labelled.prediction.probabilities
    sure = f", with a probability of {percent(shares[word])}".replace("> ", ">\u00a0") if shares else ""
    said = f"The label of “{plain(words_of(labelled)[word])}” is **{plain(label)}**{meaning(labelled, label)}{sure}."
    return f"{said} {doubt_of(loaded, labelled, word)}"


def meaning(labelled: LabelledWords, label: str) -> str:
    """Say what a label of a name means, such as I-place; "" for one of another kind, such as NOUN."""
    if label == OUTSIDE and OUTSIDE not in labelled.kinds:
        return " (no name)"
    if label[1:2] != "-" or label in labelled.kinds:
        return ""
    first = {"B": "begins", "I": "continues", "S": "is", "E": "ends"}.get(label[0])
    article = "an" if label[2:].lower().startswith(("a", "e", "i", "o")) else "a"  # a unit, a URL
    kind = SPELLED.get(label[2:], f"{article} {plain(label[2:])}")
    return f" (it {first} the name of {kind})" if first else ""
