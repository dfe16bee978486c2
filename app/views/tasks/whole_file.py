"""A whole file: the predictions of a model for many examples, beside their labels."""

import streamlit as st

from app.shared.page import layout
from app.shared.text import fit
from app.views.tasks.file import label_names, rows, source, where_wrong
from app.views.tasks.file.judged import judge, show_measures

VIEWS = {"Rows": rows.show, "Slices": where_wrong.show_slices, "Confusion": where_wrong.show_confusion}


def show() -> None:
    st.markdown(
        "One example can be luck. Let a fine-tuned BERT read a whole file, look at its errors, and open any row to see "
        "why."
    )
    data = source.choose()
    if data is None:
        return
    judged = judge(label_names.translated(data))
    if judged.data.file:
        fit.say_learned(judged.data.loaded)
    show_measures(judged)
    with layout.open_tab("dataset", VIEWS) as name:
        VIEWS[name](judged)
