"""What the model calls the labels of a data set: a guess that the visitor sees and can change."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from app.shared.page.markdown import plain
from app.views.dataset import cells
from app.views.dataset.kinds import TEXTS
from app.views.dataset.source import NOTHING, Data

MOST = 8  # labels of a data set; a form of more would be a page of its own
ALIKE = (
    {"positive", "pos", "good", "1", "+1", "yes", "true", "+"},
    {"negative", "neg", "bad", "0", "-1", "no", "false", "-"},
)
TWO = ({"0", "1"}, {"-1", "1"}, {"-1", "+1"})  # numbers that say no and yes; 1 to 5 would be stars


def translated(data: Data) -> Data:
    """Show fields for the labels that the model does not have, and return the data with the model's names for them."""
    if data.kind is not TEXTS:
        return data
    known = list(data.loaded.model.config.label2id)
    theirs = sorted({example.label for example in data.examples if isinstance(example.label, str)})
    strange = [name for name in theirs if name not in known]
    if not strange or len(theirs) > MOST:
        return data
    st.caption("The model has other names for its labels than these data. Which of its labels is meant?")
    fields, guesses = st.columns(min(len(strange), 4)), guess(theirs, known)
    names: dict[str, str] = {}
    for number, name in enumerate(strange):
        choices = [NOTHING, *known]
        at, key = choices.index(guesses.get(name, NOTHING)), f"dataset_name {data.key} {known} {name}"
        chosen = fields[number % len(fields)].selectbox(f"“{plain(name[:40])}” is", choices, at, key=key)
        names |= {} if chosen == NOTHING else {name: chosen}
    examples = [replace(example, label=names.get(example.label, example.label)) for example in data.examples]
    return replace(data, examples=examples, names=tuple(names.items()), code=cells.renamed(data.code, names))


def guess(theirs: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """Return which of the `known` labels each of `theirs` most likely means; without those that could be anything."""
    fitting = {name: [one for one in sure(known) if alike(name, one)] for name in sure(theirs)}
    return {name: found[0] for name, found in fitting.items() if len(found) == 1}


def sure(names: Sequence[str]) -> list[str]:
    """Return the names without numbers, unless these say just no and yes."""
    numbers = {name for name in names if name.lstrip("+-").isdecimal()}
    return [name for name in names if name not in numbers or numbers in TWO]


def alike(one: str, other: str) -> bool:
    """Return whether two names are the same but for case, or both say yes, or both no."""
    names = {one.lower(), other.lower()}
    return len(names) == 1 or any(names <= group for group in ALIKE)
