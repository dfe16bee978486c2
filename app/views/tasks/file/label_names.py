"""What the model calls the labels of a data set: a guess that the visitor sees and can change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from app.shared.page.exports import Name
from app.shared.page.markdown import plain
from app.shared.text.columns import NOTHING
from app.views.tasks.file.kinds import TEXTS, WORDS
from app.views.tasks.file.source import Data
from bertlab.corpora.labelled.schemes import OUTSIDE
from bertlab.explain.labels import name_kinds
from bertlab.tasks.token import in_usual_spelling

FIELD = 165  # pixels: two of them beside each other on a phone
MOST = 8  # labels of a data set; a form of more would be a page of its own
ALIKE = (
    {"positive", "pos", "good", "1", "+1", "yes", "true", "+"},
    {"negative", "neg", "bad", "0", "-1", "no", "false", "-"},
    {"person", "per", "pers", "people"},  # CoNLL 2003, OntoNotes, WNUT-17 and others
    {"place", "loc", "location", "gpe"},
    {"organisation", "organization", "org"},
    {"miscellaneous", "misc", "other"},
)
TWO = ({"0", "1"}, {"-1", "1"}, {"-1", "+1"})  # numbers that say no and yes; 1 to 5 would be stars
PREFIXES = {"E": "I", "S": "B"}  # of BIOES, for a model that has B and I only


def translated(data: Data) -> Data:
    """Show fields for the labels that the model does not have, and return the data with the model's names for them."""
    if data.kind is TEXTS:
        return with_classes(data)
    return with_kinds(data) if data.kind is WORDS and data.labelled else data


def with_classes(data: Data) -> Data:
    """Return the texts with the model's names for their classes."""
    theirs = sorted({example.label for example in data.examples if isinstance(example.label, str)})
    names = ask(theirs, list(data.loaded.model.config.label2id), data.key)
    new = (replace(example, label=names.get(example.label, example.label)) for example in data.examples)
    return renamed(data, names, new, "label=names.get(e.label, e.label)")


def with_kinds(data: Data) -> Data:
    """Return the sentences with the model's names for the kinds of names in them. A kind that the model does not have
    counts as no name, but only if it has another one of them."""
    labels = {label for example in data.examples for label in example.labels or ()}
    known = list(in_usual_spelling(data.loaded.model.config).label2id)
    theirs, mine = name_kinds(labels), name_kinds(known)
    of_names = any(label[1:2] == "-" for label in labels) == any(label[1:2] == "-" for label in known)
    kinds = ask(theirs, mine, data.key) if of_names else {}  # DET is no kind of name
    met = kinds | {kind: kind for kind in theirs if kind in mine}
    if not of_names or len(theirs) > MOST or not met:
        return data
    say_kinds(kinds, [kind for kind in theirs if kind not in met], data.loaded.name)
    names = {label: name for label in sorted(labels) if (name := label_with(label, met, known)) != label}
    new = (replace(e, labels=tuple(names.get(label, label) for label in e.labels or ())) for e in data.examples)
    return renamed(data, names, new, "labels=tuple(names.get(label, label) for label in e.labels)")


def renamed(data: Data, names: Mapping[str, str], examples: Iterable, field: str) -> Data:
    """Return the data with these `examples`, whose labels have the model's `names`; in a cell `field` sets them."""
    if not names:
        return data
    cell = data.code.copy()
    cell.let("names", Name(repr(names)))
    cell.let("examples", Name(f"[{cell.use(replace)}(e, {field}) for e in examples]"))
    return replace(data, examples=list(examples), names=tuple(names.items()), code=cell)


def label_with(label: str, kinds: Mapping[str, str], known: Sequence[str]) -> str:
    """Return the model's label for one such as B-PER; O if it has none."""
    prefix, dash, kind = label.partition("-") if label[1:2] == "-" else ("", "", label)
    if kind not in kinds:
        return OUTSIDE
    named = f"{prefix}{dash}{kinds[kind]}"
    return named if named in known else f"{PREFIXES.get(prefix, prefix)}{dash}{kinds[kind]}"


def say_kinds(kinds: Mapping[str, str], others: Sequence[str], model: str) -> None:
    """Say which kinds of names are read as which, and which ones the model does not have."""
    read = [f"{plain(theirs)} as **{plain(mine)}**" for theirs, mine in kinds.items()]
    if read:
        st.markdown(f"Read for **{plain(model)}**: {', '.join(read)}.")
    if others:
        named = ", ".join(f"**{plain(kind)}**" for kind in others)
        st.markdown(f"It has no label for {named}: such a name counts as none, and is an error if the model marks it.")


def ask(theirs: Sequence[str], known: Sequence[str], key: str) -> dict[str, str]:
    """Show a field for each of `theirs` that is not `known`. Returns the model's names for those that have one; none
    if there is nothing to ask, or too much."""
    unknown = [name for name in theirs if name not in known]
    if not unknown or len(theirs) > MOST:
        return {}
    st.caption("The model has other names for its labels than these data. Which of its labels is meant?")
    row, guesses = st.container(horizontal=True), guess(theirs, known)
    names: dict[str, str] = {}
    for name in unknown:
        choices = [NOTHING, *known]
        at, field = choices.index(guesses.get(name, NOTHING)), f"dataset_name {key} {list(known)} {name}"
        options = dict(key=field, width=FIELD, persist_state="session")
        chosen = row.selectbox(f"“{plain(name[:40])}” is", choices, at, **options)
        names |= {} if chosen == NOTHING else {name: chosen}
    return names


def guess(theirs: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """Return which of the `known` labels each of `theirs` most likely means; without those that could be anything."""
    fitting = {name: [one for one in sure(known) if alike(name, one)] for name in sure(theirs)}
    return {name: found[0] for name, found in fitting.items() if len(found) == 1}


def sure(names: Sequence[str]) -> list[str]:
    """Return the names without numbers, unless these say just no and yes."""
    numbers = {name for name in names if name.lstrip("+-").isdecimal()}
    return [name for name in names if name not in numbers or numbers in TWO]


def alike(one: str, other: str) -> bool:
    """Return whether two names are the same but for case, or both mean yes, no, or the same kind of name."""
    names = {one.lower(), other.lower()}
    return len(names) == 1 or any(names <= group for group in ALIKE)
