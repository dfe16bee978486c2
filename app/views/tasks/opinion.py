"""The class of a text or pair: how sure the model is, how often it is right then, and what contributes to it."""

import streamlit as st

from app.shared import contributions
from app.shared.model import models
from app.shared.model.bundled import origin
from app.shared.page import confidence, layout
from app.shared.page.markdown import plain
from app.shared.text import fit, texts
from app.views.tasks import fields
from bertlab.draw.percent import percent
from bertlab.evaluation.calibration import Bin
from bertlab.explain.attribution import attribute_text
from bertlab.explain.labels import LabelledText, label_text
from bertlab.explain.text import clean
from bertlab.tasks.sequence import TextPrediction

CLASSES = 8  # only the model's maker wants to see more


def show(task: str) -> None:
    """Show what models for `task`, one of texts or of pairs, make of the visitor's text."""
    pairs = task == "pairs"
    examples = texts.PAIRS if pairs else texts.chosen().opinions
    text, pair, other = fields.texts(examples, task, pairs or origin(models.chosen()) is None)
    if pairs and fields.lacks_second(examples, text, pair):
        fields.offer_example("Your text needs a second one: write it beside the first.", examples)
        return
    for loaded, ending in fields.models_for(task):
        labelled = models.compute(label_text, loaded, text, pair, loaded.limit)
        encoded = labelled.encoded
        layout.notices(loaded.name, 0 if labelled.whole else encoded.dropped, encoded.unknown, len(encoded.tokens))
        if not ending:
            fit.notice(task, loaded, text)
        theirs = models.compute(label_text, loaded, other, pair, loaded.limit) if other else None
        show_one(loaded, labelled, theirs, text, pair, f"text-label{ending}")


def show_one(
    loaded: models.Loaded, labelled: LabelledText, other: LabelledText | None, text: str, pair: str | None, name: str
) -> None:
    """Show the label of a text, and how it changes in the `other` version. `name` is that of the files to save."""
    label = loaded.model.config.id2label[labelled.label]
    show_label(loaded, labelled, name, " ".join(filter(None, (text, pair))))
    if labelled.whole:
        st.caption(beginning(labelled, label))
    if other:
        st.markdown(change(labelled, other))
    asked = text, pair, labelled.label, loaded.limit
    both = contributions.with_control(attribute_text, loaded, *asked)
    for segment, read in enumerate(filter(None, (clean(text), clean(pair or "")))):
        fields.show_coloured(read, *fields.words_in(both[0], labelled.encoded, segment))
    code = contributions.code_of(attribute_text, loaded, *asked)
    unit = contributions.LABEL if labelled.said.probabilities else contributions.NUMBER
    contributions.show(name, both, label, unit, code)


def beginning(labelled: LabelledText, label: str) -> str:
    """Say what the model makes of the part of a long text that is explained below."""
    prediction, shown = labelled.prediction, len(labelled.encoded.tokens)
    shares = prediction.probabilities
    alone = f"“{plain(label)}” ({percent(shares[label])})" if shares else f"{prediction.label:.3f}"
    return (
        f"The text is read in windows of {shown} tokens, and the answer is the mean of what they say. Below is the "
        f"first window alone, which says {alone}."
    )


def show_label(loaded: models.Loaded, labelled: LabelledText, key: str, text: str) -> None:
    """Show the class and how sure the model is; of a text whose words it knows, also how often it is right then."""
    prediction = labelled.said
    if not prediction.probabilities:
        st.metric("Predicted number", f"{prediction.label:.3f}")
        return
    ranked, measured = verdict(loaded, prediction, text)
    confidence.show("Likeliest class", ranked, confidence.LABEL, measured, loaded.name, key)
    if len(ranked) > 2:
        st.caption("Then " + ", ".join(f"**{plain(name)}** ({percent(p)})" for name, p in ranked[1:CLASSES]))


def verdict(loaded: models.Loaded, prediction: TextPrediction, text: str) -> tuple[confidence.Ranked, Bin | None]:
    """Return the classes with their probabilities, likeliest first, and how often the model was right when it was as
    sure; None if that says nothing of this text."""
    ranked = sorted((prediction.probabilities or {}).items(), key=lambda item: -item[1])
    several = isinstance(prediction.label, tuple)
    return ranked, None if several else fit.when_as_sure(loaded, ranked[0][1], text)


def change(one: LabelledText, two: LabelledText) -> str:
    """Say how the label of a text and its probability change in another version."""
    if not one.said.probabilities or not two.said.probabilities:
        return f"In the other version the number is **{two.said.label:.3f}** instead of {one.said.label:.3f}."
    (first, p), (then, q) = (max(x.said.probabilities.items(), key=lambda item: item[1]) for x in (one, two))
    if first == then:
        return f"In the other version the class stays **{plain(first)}**, with {percent(q)} instead of {percent(p)}."
    return (
        f"In the other version the class is **{plain(then)}** ({percent(q)}) instead of **{plain(first)}** "
        f"({percent(p)})."
    )
