"""One gap of a text and one word for it, which the views of heads and of measures follow."""

from dataclasses import dataclass, replace

import streamlit as st

from app.pages.masking import gaps as masking_gaps
from app.pages.masking.gaps import Asked
from app.shared import models, state
from bertlab.explain.text import Encoded, encode
from bertlab.explain.words.fill import fill_mask, masked_row

OFFERED = 8  # guesses among which the word is chosen; any other may be typed


@dataclass(frozen=True)
class Followed:
    """`word` in gap number `gap`, as asked of the model, of the one beside it, and last of random weights."""

    asks: list[Asked]
    gap: int
    word: str
    surroundings: str

    def question(self, ask: Asked) -> tuple:
        """The arguments of what bertlab.explain computes of a word in a gap."""
        return ask.text, ask.pair, ask.masked, self.gap, self.word


def choose(loaded: models.Loaded, text: str, pair: str | None) -> Followed | None:
    """Fields for the gap and the word; None while nothing is masked."""
    encoded = encode(loaded.tokenizer, text, pair, loaded.limit)
    state.notices(encoded.dropped, encoded.unknown, len(encoded.tokens))
    gaps = masking_gaps.choose(encoded)
    if not gaps:
        return None
    gap = masking_gaps.choose_one(encoded, gaps)
    own, *others = masking_gaps.asked(loaded, models.beside("fill"), encoded, text, pair, gaps)
    word = choose_word(own, encoded, gaps, gap)
    beside = [ask for ask in others if not ask.loaded.random and can_follow(ask, word, len(gaps))]
    control = replace(own, loaded=models.control_of(loaded))
    return Followed([own, *beside, control], gap, word, masking_gaps.around(encoded, gaps[gap]))


def can_follow(ask: Asked, word: str, gaps: int) -> bool:
    """Whether the model beside knows the word and reads as far as the last gap; says so where not."""
    if word not in ask.loaded.tokenizer.vocab:
        reason = f"has no token “{state.plain(word)}”"
    elif len(models.compute(masked_row, ask.loaded, ask.text, ask.pair, ask.masked, ask.loaded.limit)[1]) != gaps:
        reason = "cannot read this text to its last gap"
    else:
        return True
    st.info(f"**{ask.name}** {reason}, so it is left out.", icon=":material/info:")
    return False


def choose_word(ask: Asked, encoded: Encoded, gaps: list[int], gap: int) -> str:
    """The model's first guess, until the reader chooses another one, the hidden word itself, or types one."""
    found = models.compute(fill_mask, ask.loaded, ask.text, ask.pair, OFFERED, ask.masked, ask.loaded.limit)
    truth = encoded.tokens[gaps[gap]]
    key = f"follow {hash((tuple(encoded.tokens), tuple(gaps), gap))}"
    own = f"{key} chosen"  # by the reader: another model has another first guess
    if own not in st.session_state:
        st.session_state[own] = state.link_value("follow")
    others = [truth if truth != "[MASK]" else None, st.session_state[own]]
    options = list(dict.fromkeys([*found[gap].tokens, *filter(None, others)]))
    st.session_state[key] = st.session_state[own] or options[0]

    def keep() -> None:
        word = (st.session_state[key] or "").strip()
        st.session_state[own] = None if word == options[0] else word or None

    st.selectbox(
        "Word to follow",
        options,
        key=key,
        on_change=keep,
        accept_new_options=True,
        help="The model's first guess, unless you choose another or type one.",
        width=260,
    )
    state.share("follow", st.session_state[own] or "")
    return st.session_state[own] or options[0]
