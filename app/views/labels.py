"""Labels: what fine-tuned models say of a text and of its words, and which tokens pushed them to it."""

from collections.abc import Callable

import models
import pandas as pd
import state
import streamlit as st
from cells import labels as cells
from exports import exports

from bertlab.draw import charts
from bertlab.draw.marked import attribution_strip, marked_names
from bertlab.explain.attribution import Attribution, attribute_text, attribute_word
from bertlab.explain.labels import LabelledText, LabelledWords, label_text, label_words
from bertlab.tasks.token import OUTSIDE

TEXT = "Ruth Hill and her dog Lucky went to Ashford. The cake was delicious, and nobody called the pudding bland."
EXAMPLES = {
    "not bad": TEXT,
    "although": "The cake was delicious, although the soup was salty.",
    "never": "Eleanor met Zara in Valleyfield. The pudding was never bland.",
    "names or words?": "Rose gave the rose to May in may. The baker thanked Jack Baker.",
}
CLASSES = 8  # more than this only the model's maker wants to see


def show_text(loaded: models.Loaded, said: LabelledText, text: str, pair: str | None) -> None:
    prediction = said.prediction
    label = loaded.model.config.id2label[said.label]
    st.caption(f"Labelled by {state.plain(loaded.name)}.")
    one, all_of_them = st.columns([1, 2], gap="large")
    if not prediction.probabilities:
        one.metric("The number", f"{prediction.label:.3f}")
    else:
        one.metric("Likeliest class", state.plain(label))
        share = st.column_config.ProgressColumn("probability", format="percent", min_value=0, max_value=1)
        all_of_them.dataframe(class_table(said), hide_index=True, column_config={"probability": share})
    pushed, control = with_control(attribute_text, loaded, text, pair, said.label, loaded.limit)
    show_pushes(pushed, control, f"What pushed it to “{label}”")
    code = cells.text_label(loaded.name, text, pair)
    table = charts.attribution_table(pushed, control)
    exports("text-label", table, code, charts.attribution_bars(pushed, control))


def with_control(function: Callable, loaded: models.Loaded, *arguments) -> tuple[Attribution, Attribution]:
    """What `function` finds in the model, and in the same architecture with random weights."""
    with st.spinner("Following the gradients; a large model takes half a minute"):
        return tuple(models.compute(function, model, *arguments) for model in (loaded, models.control_of(loaded)))


def class_table(said: LabelledText) -> pd.DataFrame:
    ranked = sorted(said.prediction.probabilities.items(), key=lambda item: -item[1])
    return pd.DataFrame(ranked[:CLASSES], columns=["class", "probability"])


def show_words(loaded: models.Loaded, said: LabelledWords, text: str) -> None:
    st.caption(f"Labelled by {state.plain(loaded.name)}.")
    with st.container(border=True):
        st.html(marked_names(said.text, said.names, kinds(loaded.model.config.id2label.values())))
    word = choose_word(said, f"word {hash((loaded.stamp, text))}")
    label = said.prediction.labels[word]
    number = loaded.model.config.label2id[label]
    pushed, control = with_control(attribute_word, loaded, text, word, number, loaded.limit)
    st.markdown(sureness(said, word))
    show_pushes(pushed, control, f"What pushed “{words_of(said)[word]}” to “{label}”")
    table = charts.attribution_table(pushed, control)
    table["label"] = table["position"].map(dict(zip(said.places, said.prediction.labels, strict=True)))
    code = cells.word_label(loaded.name, text, word)
    exports("word-labels", table, code, charts.attribution_bars(pushed, control))


def words_of(said: LabelledWords) -> list[str]:
    return [said.text[start:stop] for start, stop in said.spans]


def kinds(labels) -> list[str]:
    """The kinds of name that labels such as B-person and I-person tell apart."""
    return sorted({label[2:] if label[1:2] == "-" else label for label in labels if label != OUTSIDE})


def choose_word(said: LabelledWords, key: str) -> int:
    """A chip for every word, the first word of a name being pressed to begin with."""
    words = words_of(said)
    named = [i for i, label in enumerate(said.prediction.labels) if label != OUTSIDE]
    first = named[0] if named else 0
    if key not in st.session_state:
        linked = state.link_value("word") or ""
        st.session_state[key] = int(linked) if linked.isdecimal() and int(linked) < len(words) else first
    names = state.chip_names(words).__getitem__
    word = st.pills("Press a word to see what its label came from", range(len(words)), key=key, format_func=names)
    word = first if word is None else word
    state.share("word", "" if word == first else str(word))
    return word


def sureness(said: LabelledWords, word: int) -> str:
    label, shares = said.prediction.labels[word], said.prediction.probabilities
    return f"Its label is **{state.plain(label)}**" + (
        f", with a probability of {shares[word]:.1%}." if shares else "."
    )


def show_pushes(pushed: Attribution, control: Attribution, title: str) -> None:
    trained, random = st.columns(2, gap="large")
    with trained:
        st.markdown(f"**{state.plain(title)}**")
        st.html(attribution_strip(pushed.tokens, pushed.values.tolist()))
        st.caption(balance(pushed))
    with random:
        st.markdown("**The same question to random weights**")
        st.html(attribution_strip(control.tokens, control.values.tolist()))
        st.caption(balance(control))
    st.markdown("**Both on one scale**")
    bars = charts.attribution_bars(pushed, control)
    st.altair_chart(bars, width="stretch", alt=f"{title}: the push of each token, and with random weights")


def balance(pushed: Attribution) -> str:
    """The check that integrated gradients carry with them, in numbers."""
    start, score, total = (f"{x:.3f}".replace("-", "−") for x in (pushed.baseline, pushed.score, pushed.values.sum()))
    return (
        f"Check: the pushes sum to {total}; the score goes from {start} without the tokens to {score} with them. "
        f"Gap: {abs(pushed.gap):.4f}."
    )


state.heading(
    "Labels",
    "A fine-tuned BERT gives a text its class, or each word its label. Which tokens pushed it there? *Integrated "
    "gradients* share out the score of the label among them: blue tokens pushed towards it, orange ones away from it.",
)
st.caption(
    "The score is the log-odds of the label, in nats; where a model gives a number, this number. It is followed from a "
    "text of nothing but [PAD] to yours, and the pushes must add up to the whole way: the check under each picture "
    "tells how nearly they do. Colours are stretched to the largest push of each picture."
)
state.example_pills("Try", {name: {"label_text": text, "label_pair": ""} for name, text in EXAMPLES.items()})
text, pair = state.text_fields("label_", TEXT)
with state.box():
    st.subheader("The whole text", anchor=False)
    loaded = models.model_for("text label")
    of_text = models.compute(label_text, loaded, text, pair, loaded.limit)
    of_text_counts = of_text.encoded.dropped, of_text.encoded.unknown, len(of_text.encoded.tokens)
    state.notices(*of_text_counts)
    show_text(loaded, of_text, text, pair)
    st.subheader("Each word", anchor=False)
    loaded = models.model_for("word labels")
    of_words = models.compute(label_words, loaded, text, loaded.limit)
    of_words_counts = of_words.dropped, of_words.unknown, len(of_words.tokens)
    if of_words_counts != of_text_counts:
        state.notices(*of_words_counts)
    show_words(loaded, of_words, text)
