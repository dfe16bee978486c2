"""Does a text suit the model that reads it? The page says what that has learned from, and if another one knows more.

Neither its rare words nor the surprisal of a text tell news from a new article of Wikipedia, so what a fine-tuned
model learned from stands beside every text of the visitor's own.
"""

import streamlit as st

from app.shared.model import model_bar, models
from app.shared.model.bundled import DEFAULT_MODEL, LEARNED, READ, STORYWORLD, origin, specialist
from bertlab import Tokenizer
from bertlab.evaluation import calibration
from bertlab.evaluation.calibration import Bin
from bertlab.explain.text import rare_words

FEW = 0.1  # of the words: every model lacks some names and rare words
MANY = 0.5  # of the words: no text of its language


def notice(task: str, loaded: models.Loaded, text: str) -> None:
    """Say of a bundled model if another one knows more words of the text, or else, unless the text is an example, what
    a fine-tuned one has learned from."""
    own = origin(loaded.source)
    if own is None or loaded.random:
        return
    rare, words = rare_words(loaded.tokenizer, text)
    other = DEFAULT_MODEL if own == STORYWORLD else STORYWORLD
    known = words - rare_words(tokenizer(other), text)[0]
    name = models.readable(loaded.name)
    why = f":orange[:material/menu_book:] **{name}** has {words - rare} of these {words} words in its vocabulary"
    if rare >= 3 and rare > FEW * words and 2 * (words - known) <= rare:
        offer(task, other, f"{why}: the others are rare or new to it.", known)
    elif mostly_unknown(loaded, text):
        st.markdown(f"{why}. It answers all the same, but the answer means little.")
    elif text not in st.session_state.get("offered", {}):
        say_learned(loaded)


def mostly_unknown(loaded: models.Loaded, text: str) -> bool:
    """Return whether most words of a text are not in the vocabulary of the model: another language, or code."""
    rare, words = rare_words(loaded.tokenizer, text)
    return words > 2 and rare > MANY * words  # a word or two may just be rare


def when_as_sure(loaded: models.Loaded, probability: float, text: str) -> Bin | None:
    """Return how often the model was right on held-out texts when it was as sure; None if that is not known, or says
    nothing of this text or of random weights."""
    unlike = loaded.random or mostly_unknown(loaded, text)
    return None if unlike else calibration.when_as_sure(loaded.folder, probability, text)


def say_learned(loaded: models.Loaded) -> None:
    """Say what a fine-tuned bundled model has learned from, of which the file or text of a visitor may be unlike."""
    if loaded.source in LEARNED and not loaded.random:
        st.caption(f":material/school: **{models.readable(loaded.name)}** learned from {LEARNED[loaded.source]}.")


def offer(task: str, other: str, why: str, known: int) -> None:
    """Say `why` the text does not suit the model, and offer the `other` one, which knows so many of its words."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(why, width="content")
        if origin(models.chosen()) and specialist(task, other):
            help = f"It has read {READ[other]}, and has {known} of these words."
            st.button(f"Use {other}", key=f"fit_{task}", help=help, on_click=model_bar.use, args=(other,))


@st.cache_resource(show_spinner=False)
def tokenizer(name: str) -> Tokenizer:
    return Tokenizer.from_pretrained(name)
