"""The question and the passage that a reader gives, with examples that the model has not seen."""

import streamlit as st

from app.shared import state

QUESTION = "What did Rex eat?"
PASSAGE = (
    "Ruth Hill was a baker of Ashford. She lived on Elm Street with Rex, her dog. Ruth went to the toy shop. "
    "She bought a red kite from the toymaker for nine coins. “Nine coins for a red kite?” cried Mark. "
    "“The price of the toy shop,” said Ruth. Rex ate bread near the garden."
)


@st.cache_data(show_spinner=False)
def examples() -> list[tuple[str, str]]:
    """A few held-out questions about the story world and their passages, the first of them without an answer."""
    from bertlab.corpora.storyworld import questions

    chosen = {}
    for example in questions(seed=0, count=60, split="test"):
        kind = "none" if example.is_impossible else example.kind
        chosen.setdefault(kind, (example.question, example.context))
    kept = [chosen.pop("none", None), *chosen.values()][:5]
    return list(filter(None, kept))


def text_fields(prefix: str = "") -> tuple[str, str]:
    """The question and the passage; `prefix` keeps the keys of two views apart."""
    keys = f"{prefix}question", f"{prefix}passage"
    offered = {texts[0]: dict(zip(keys, texts, strict=True)) for texts in examples()}
    state.example_pills("Try a question that the model has not seen", offered)
    question = state.linked_text(st.text_input, "Your question", keys[0], QUESTION)
    return question, state.linked_text(st.text_area, "Your passage", keys[1], PASSAGE, height=150)
