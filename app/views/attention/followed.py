"""The masked position and the word for it that the views of heads and of measures follow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.page.markdown import plain
from app.shared.text import mask
from bertlab.explain.text import Encoded, encode
from bertlab.explain.words.fill import fill_mask, masked_row

OFFERED = 8  # guesses to choose the word from; any other can be typed


@dataclass(frozen=True)
class Query:
    """A text or pair for one model, with the tokens at `masked` hidden."""

    loaded: models.Loaded
    text: str
    pair: str | None
    masked: tuple[int, ...] = ()


@dataclass(frozen=True)
class Followed:
    """`word` at masked position `number`, counted from 0.

    The `queries` go to the model, to the one beside it, and last to random weights.
    """

    queries: list[Query]
    number: int
    word: str

    def arguments(self, query: Query) -> tuple:
        """Return the arguments for what bertlab.explain computes of a word at a masked position."""
        return query.text, query.pair, query.masked, self.number, self.word

    def asked(self) -> dict[str, tuple]:
        """Return each model by its name, with the arguments and the most tokens that it reads."""
        return {each.loaded.name: (each.loaded, *self.arguments(each), each.loaded.limit) for each in self.queries}


def choose(loaded: models.Loaded, text: str, pair: str | None) -> Followed:
    """Show the fields for position and word."""
    encoded = encode(loaded.tokenizer, text, pair, loaded.limit)
    layout.notices(loaded.name, encoded.dropped, encoded.unknown, len(encoded.tokens))
    positions = mask.choose(encoded)
    number = mask.choose_one(encoded, positions)
    own, *others = queries(loaded, encoded, text, pair, positions)
    word = choose_word(own, encoded, positions, number)
    beside = [query for query in others if not query.loaded.random and can_follow(query, word, len(positions))]
    control = replace(own, loaded=models.control_of(loaded))
    return Followed([own, *beside, control], number, word)


def queries(
    loaded: models.Loaded, encoded: Encoded, text: str, pair: str | None, positions: Sequence[int]
) -> list[Query]:
    """Return the query for the model and for the one beside it.

    If the second model cuts text into other tokens, its text has [MASK] written in place of the masked words.
    """
    by_hand = tuple(i for i in positions if i not in mask.typed_masks(encoded))
    own, beside = Query(loaded, text, pair, by_hand), models.beside("fill")
    if beside is None:
        return [own]
    if beside.tokenizer.vocab == loaded.tokenizer.vocab and beside.limit == loaded.limit:
        return [own, replace(own, loaded=beside)]
    text, pair = (mask.write_masks(part, encoded, segment, by_hand) for segment, part in enumerate((text, pair or "")))
    return [own, Query(beside, text, pair or None)]


def can_follow(query: Query, word: str, count: int) -> bool:
    """Return whether the second model knows the word and reads all `count` masked positions; if not, say so."""
    asked = query.text, query.pair, query.masked, query.loaded.limit
    if word not in query.loaded.tokenizer.vocab:
        reason = f"has no token “{plain(word)}”"
    elif len(models.compute(masked_row, query.loaded, *asked)[1]) != count:
        reason = "cannot read this text to its last gap"
    else:
        return True
    st.info(f"**{models.readable(query.loaded.name)}** {reason}, so it is left out.", icon=":material/info:")
    return False


def choose_word(query: Query, encoded: Encoded, positions: Sequence[int], number: int) -> str:
    """Return the model's first guess until the visitor chooses another, the hidden word itself, or types one."""
    found = models.compute(fill_mask, query.loaded, query.text, query.pair, OFFERED, query.masked, query.loaded.limit)
    truth = encoded.tokens[positions[number]]
    key = f"follow {hash((tuple(encoded.tokens), tuple(positions), number))}"
    own = f"{key} chosen"  # by the visitor: another model has another first guess
    if state.unset(own):
        st.session_state[own] = state.link_value("follow")
    others = [truth if truth != "[MASK]" else None, st.session_state[own]]
    options = list(dict.fromkeys([*found[number].tokens, *filter(None, others)]))
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
        help="The model's first guess, unless you choose another word or type one.",
        width=260,
    )
    state.share("follow", st.session_state[own] or "")
    return st.session_state[own] or options[0]
