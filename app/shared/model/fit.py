"""Does the chosen model know the words of a text? If the model of the other world knows more, the page says so."""

import streamlit as st

from app.shared.model import model_bar, models
from app.shared.model.bundled import DEFAULT_MODEL, READ, STORYWORLD, origin
from bertlab import Tokenizer
from bertlab.explain.text import cut_words
from bertlab.io.locate import bundled_models

FEW = 0.1  # of the words cut into pieces: names and rare words do that to every model


def notice(task: str, loaded: models.Loaded, text: str) -> None:
    """Say if a bundled model cuts many words of the text and another one at most half as many; offer that one."""
    own = origin(loaded.source)
    cut, words = cut_words(loaded.tokenizer, text)
    if own is None or cut < 3 or cut <= FEW * words:
        return
    worlds = [name for name in (DEFAULT_MODEL, STORYWORLD) if name != own and name in bundled_models()]
    others = {name: cut_words(tokenizer(name), text)[0] for name in worlds}
    best = min(worlds, key=lambda name: others[name], default=None)
    if best is None or 2 * others[best] > cut:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        name = models.readable(loaded.name)
        text = f"**{name}** cuts {cut} of these {words} words into pieces: they are rare or new to it."
        st.markdown(f":orange[:material/menu_book:] {text}", width="content")
        if origin(models.chosen()) and f"{best}{models.TASKS[task][2]}" in bundled_models():
            label, why = f"Use {best}", f"It has read {READ[best]}, and cuts {others[best]} of these words."
            st.button(label, key=f"fit_{task}", help=why, on_click=model_bar.use, args=(best,))


@st.cache_resource(show_spinner=False)
def tokenizer(name: str) -> Tokenizer:
    return Tokenizer.from_pretrained(name)
