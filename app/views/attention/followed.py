"""The masked position and the word for it that the views of heads and of measures follow."""

from dataclasses import dataclass

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.page.markdown import plain
from app.shared.text import mask
from bertlab.explain.text import encode
from bertlab.explain.words.fill import fill_mask

OFFERED = 8  # guesses to choose the word from; any other can be typed


@dataclass(frozen=True)
class Followed:
    """`word` at gap `number`, counted from 0, of a text or pair with [MASK] at each gap.

    The `loaded` models are the chosen one, the one to compare with, and last random weights.
    """

    loaded: list[models.Loaded]
    text: str
    pair: str | None
    number: int
    word: str

    def arguments(self) -> tuple:
        """Return the arguments for what bertlab.explain computes of a word at a masked position."""
        return self.text, self.pair, (), self.number, self.word

    def asked(self) -> dict[str, tuple]:
        """Return each model by its name, with the arguments and the most tokens that it reads."""
        return {each.name: (each, *self.arguments(), each.limit) for each in self.loaded}


def choose(loaded: models.Loaded, text: str, pair: str | None) -> Followed:
    """Show the fields for gap and word. A word that was pressed becomes [MASK], as every model reads it."""
    encoded = encode(loaded.tokenizer, text, pair, loaded.limit)
    layout.notices(loaded.name, encoded.dropped, encoded.unknown, len(encoded.tokens))
    positions = mask.choose(encoded)
    hidden = mask.word_of(encoded, positions[mask.choose_one(encoded, positions)])
    number = sorted({mask.word_of(encoded, i)[0] for i in positions}).index(hidden[0])
    pressed = [i for i in positions if i not in mask.typed_masks(encoded)]
    text, pair = (mask.write_masks(part, encoded, segment, pressed) for segment, part in enumerate((text, pair or "")))
    truth = "".join(encoded.tokens[i] for i in hidden)
    word = choose_word(loaded, text, pair or None, number, truth)
    other = models.beside("fill")
    beside = [other] if other and not other.random and knows(other, word) else []
    return Followed([loaded, *beside, models.control_of(loaded)], text, pair or None, number, word)


def knows(loaded: models.Loaded, word: str) -> bool:
    """Return whether the second model has a token for the word; if not, say so."""
    if word in loaded.tokenizer.vocab:
        return True
    text = f"**{models.readable(loaded.name)}** has no token “{plain(word)}”, so it is left out."
    st.info(text, icon=":material/info:")
    return False


def choose_word(loaded: models.Loaded, text: str, pair: str | None, number: int, truth: str) -> str:
    """Return the model's first guess unless the visitor chooses another, the hidden word itself, or types one."""
    found = models.compute(fill_mask, loaded, text, pair, OFFERED, (), loaded.limit)[number].tokens
    key = f"follow {hash((text, pair, number))}"
    state.open_with(key, "follow", lambda linked: linked)
    others = [truth if truth in loaded.tokenizer.vocab and truth != "[MASK]" else None, st.session_state[key]]
    words, usual = list(dict.fromkeys([*found, *filter(None, others)])), f"{found[0]} (the first guess)"
    options = dict(index=None, key=key, accept_new_options=True, persist_state="session", width=260)
    help = "The model's first guess, unless you choose another word or type one."
    word = st.selectbox("Word to follow", words, placeholder=usual, help=help, **options)
    state.share("follow", word or "")
    return (word or "").strip() or found[0]
