"""Which tokens of a text are masked: pressed ones and typed [MASK]s, or else its last word; on every page the same."""

from collections.abc import Sequence

import streamlit as st

from app.shared.page import state
from app.shared.page.markdown import chip_names, plain
from bertlab.errors import InputError
from bertlab.explain.text import Encoded, clean

NEAR = 3  # tokens to either side of a gap


def choose(encoded: Encoded) -> list[int]:
    """Show a chip for every token; pressed ones are masked, and typed [MASK]s stay so. Returns their positions, one at
    least. Raises InputError if the text is empty."""
    typed, positions = typed_masks(encoded), words(encoded)
    if not positions:
        raise InputError("the text is empty: write at least one word")
    key, usual = masked_key(encoded), masked_at_first(encoded)

    def hold() -> None:
        pressed = {*st.session_state[key], *typed}
        if "mask" not in st.query_params and not typed:
            pressed -= {*usual}  # nobody pressed that word: another one takes its place
        st.session_state[key] = sorted(pressed) or usual

    masked = st.pills(
        "Press a word to mask it, press it again to show it",
        positions,
        selection_mode="multi",
        key=key,
        format_func=chip_names(encoded.tokens).__getitem__,
        on_change=hold,
        help="A word that is not in the vocabulary is split into pieces. ## marks a piece that continues a word. A "
        "typed [MASK] stays: it hides no word.",
        persist_state="session",
    )
    share_masked(encoded, masked)
    return sorted(masked)


def typed_masks(encoded: Encoded) -> list[int]:
    return [i for i, token in enumerate(encoded.tokens) if token == "[MASK]"]


def words(encoded: Encoded) -> list[int]:
    """Return the positions that can be masked."""
    return [i for i in range(len(encoded.tokens)) if not encoded.special[i]]


def masked_at_first(encoded: Encoded) -> list[int]:
    """Return the positions of the typed [MASK]s; without any, that of the last word that is one token, or of the last
    token, so that every view has something to show. None of an empty text."""
    if typed := typed_masks(encoded):
        return typed
    positions = words(encoded)
    whole = [i for i in positions if encoded.tokens[i].isalnum() and len(word_of(encoded, i)) == 1]
    return (whole or positions)[-1:]


def masked_key(encoded: Encoded) -> str:
    """Return the key of the masked positions in the session, at first those of the link beside the typed ones."""
    key = f"gaps {hash(tuple(encoded.tokens))}"  # kept when only the model or its step changes
    if state.unset(key):
        linked = {state.number_in(part) for part in (state.link_value("mask") or "").split(",")}
        chosen = {i for i in words(encoded) if i in linked} | set(typed_masks(encoded))
        st.session_state[key] = sorted(chosen) or masked_at_first(encoded)
    state.keep(key)
    return key


def share_masked(encoded: Encoded, masked: Sequence[int]) -> None:
    """Put the masked positions into the link, without those that are masked anyway."""
    typed, pressed = typed_masks(encoded), sorted(masked) != masked_at_first(encoded)
    state.share("mask", ",".join(str(i) for i in sorted(masked) if i not in typed) if pressed else "")


def choose_one(encoded: Encoded, positions: Sequence[int]) -> int:
    """Ask for one of several masked positions. Returns its number, counted from 0."""
    if len(positions) == 1:
        return 0
    names = [context(encoded, position, positions) for position in positions]
    return state.linked_chip("Which gap", names, gap_key(encoded, positions), "gap", counted=1)


def gap_key(encoded: Encoded, positions: Sequence[int]) -> str:
    """Return the key in the session of the number of the chosen masked position."""
    return f"gap {hash((tuple(encoded.tokens), tuple(positions)))}"


def write_masks(text: str, encoded: Encoded, segment: int, positions: Sequence[int]) -> str:
    """Return the first (`segment` 0) or second text with [MASK] in place of the words of the tokens at `positions`."""
    text = clean(text)
    for word in sorted({word_of(encoded, position) for position in positions}, key=min, reverse=True):
        if encoded.texts[word[0]] == segment:
            start, end = int(encoded.offsets[word[0]][0]), int(encoded.offsets[word[-1]][1])
            text = f"{text[:start]}[MASK]{text[end:]}"
    return text


def word_of(encoded: Encoded, position: int) -> range:
    """Return the positions of all pieces of the word that the token at `position` belongs to."""
    first = last = position
    while is_piece(encoded, first):
        first -= 1
    while last + 1 < len(encoded.tokens) and is_piece(encoded, last + 1):
        last += 1
    return range(first, last + 1)


def context(encoded: Encoded, position: int, masked: Sequence[int]) -> str:
    """Return a masked position with a few tokens to either side, for Markdown; of what is `masked` no word is given
    away."""
    before = [i for i in words(encoded) if i < position]
    after = [i for i in words(encoded) if i > position]
    hidden = {piece for one in masked for piece in word_of(encoded, one)}
    first, last = max(len(before) - NEAR, 0), NEAR
    while first > 0 and is_piece(encoded, before[first]):
        first -= 1
    while last < len(after) and is_piece(encoded, after[last]):
        last += 1
    left, right = (
        plain(" ".join("▢" if i in hidden else encoded.tokens[i] for i in near).replace(" ##", ""))
        for near in (before[first:], after[:last])
    )
    return f"{'… ' * (first > 0)}{left} **▢** {right}{' …' * (last < len(after))}"


def is_piece(encoded: Encoded, position: int) -> bool:
    """Return whether a token continues a word."""
    return encoded.tokens[position].startswith("##")
