"""The label of a whole text, and what pushed the text to it."""

import pandas as pd
import streamlit as st

from app.pages.labels import cells
from app.pages.labels.contributions import show_pushes, with_control
from app.shared import models, state
from app.shared.exports import exports
from bertlab.draw.charts import base as charts
from bertlab.explain.attribution import attribute_text
from bertlab.explain.labels import LabelledText

CLASSES = 8  # more than this only the model's maker wants to see


def show(loaded: models.Loaded, said: LabelledText, text: str, pair: str | None, name: str) -> None:
    """`name` is that of the files to save."""
    label = loaded.model.config.id2label[said.label]
    show_label(said, label)
    pushed, control = with_control(attribute_text, loaded, text, pair, said.label, loaded.limit)
    bars = show_pushes(pushed, control, f"What pushed it to “{label}”", label)
    code = cells.text_label(loaded.source, text, pair, loaded.limit)
    exports(name, charts.attribution_table(pushed, control), code, bars)


def show_label(said: LabelledText, label: str) -> None:
    prediction = said.prediction
    one, all_of_them = st.columns([1, 2], gap="large")
    if not prediction.probabilities:
        one.metric("The number", f"{prediction.label:.3f}")
    else:
        one.metric("Likeliest class", state.plain(label))
        share = st.column_config.ProgressColumn("probability", format="percent", min_value=0, max_value=1)
        all_of_them.dataframe(class_table(said), hide_index=True, column_config={"probability": share})


def class_table(said: LabelledText) -> pd.DataFrame:
    ranked = sorted(said.prediction.probabilities.items(), key=lambda item: -item[1])
    return pd.DataFrame(ranked[:CLASSES], columns=["class", "probability"])
