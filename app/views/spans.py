"""Answer spans: how BERT marks an answer in a passage, and what the answer hangs on."""

import models
import state
import streamlit as st
from parts import spans_answer, spans_grid, spans_heads, spans_why
from parts.spans_reading import Reading

QUESTION = "What did Ruth buy?"
PASSAGE = (
    "Ruth Hill was a baker of Ashford. She lived on Elm Street with Rex, her dog. Ruth went to the toy shop. "
    "She bought a red kite from the toymaker for nine coins. “Nine coins for a red kite?” cried Mark. "
    "“The price of the toy shop,” said Ruth."
)
TABS = {
    "answer": ("The answer", spans_answer),
    "grid": ("Starts and ends", spans_grid),
    "why": ("Why this answer?", spans_why),
    "heads": ("Which head?", spans_heads),
}


@st.cache_data(show_spinner=False)
def examples() -> dict[str, dict[str, str]]:
    """A few held-out questions about the story world, the first of them without an answer."""
    from bertlab.corpora.storyworld import questions

    chosen = {}
    for example in questions(seed=0, count=60, split="test"):
        kind = "none" if example.is_impossible else example.kind
        chosen.setdefault(kind, {"question": example.question, "passage": example.context})
    kept = [chosen.pop("none", None), *chosen.values()][:5]
    return {fields["question"]: fields for fields in kept if fields}


def show(question: str, passage: str) -> None:
    loaded, beside = models.model_for("answer"), models.beside("answer")
    asks = [Reading(loaded, question, passage)]
    if beside:
        asks.append(Reading(beside, question, passage, "-beside"))
    found = asks[0].found
    state.notices(found.dropped, found.unknown, len(found.tokens))
    tabs = state.tabs("spans", {key: name for key, (name, _) in TABS.items()})
    for key, (_, part) in TABS.items():
        if tabs[key].open:
            with tabs[key], state.box():
                part.show(asks)


state.heading(
    "Answer spans",
    "A fine-tuned BERT answers by marking: for each token it says how well an answer could start there and "
    "end there. If the [CLS] token scores best, the passage holds no answer. It can only copy, and it can be "
    "wrong.",
)
state.example_pills("Try a question that the model has not seen", examples())
question = state.linked_text(st.text_input, "Your question", "question", QUESTION)
passage = state.linked_text(st.text_area, "Your passage", "passage", PASSAGE, height=150)
with state.box():
    show(question, passage)
