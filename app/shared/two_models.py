"""How two models stand beside each other in a view."""

from collections.abc import Callable, Sequence

import streamlit as st

from app.shared import models, state


def side_by_side(asks: Sequence, draw: Callable) -> None:
    """`draw` for one model over the whole width, or for two in columns with their names above.

    What is asked of a model has it as `loaded`.
    """
    if len(asks) == 1:
        draw(asks[0])
        return
    for column, ask in zip(st.columns(len(asks), gap="large"), asks, strict=True):
        with column, state.box():
            st.markdown(f"**{models.readable(ask.loaded.name)}**")
            draw(ask)
