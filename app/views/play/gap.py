"""The gap that is guessed: a word that is hidden by hand, or a typed [MASK], in one or two versions of a sentence."""

from dataclasses import dataclass
from os.path import commonprefix

import streamlit as st

from app.shared.model import models
from app.shared.text import mask, versions
from bertlab.explain.text import Encoded, clean, encode


@dataclass(frozen=True)
class Version:
    """A text with [MASK] at each gap, the number of the gap that is guessed, the word that was hidden there, and the
    text as it was typed."""

    text: str
    gap: int
    truth: str | None
    typed: str


@dataclass(frozen=True)
class Question:
    """One version for one model; `key` tells the models apart."""

    loaded: models.Loaded
    version: Version
    key: str


def hidden(encoded: Encoded) -> list[int]:
    """Return the masked positions; where no [MASK] is typed, ask which words to hide."""
    typed, kept = mask.typed_masks(encoded), st.session_state[mask.masked_key(encoded)]
    if not typed or set(kept) - set(typed):
        return mask.choose(encoded)
    mask.share_masked(encoded, typed)
    return typed


def played(loaded: models.Loaded, encoded: Encoded, text: str, other: str) -> list[Version]:
    """Ask for a gap where there are several. Returns the text with it, and the other version if that has it too."""
    positions = hidden(encoded)
    chosen = positions[mask.choose_one(encoded, positions)]
    found = [version(text, encoded, positions, chosen)]
    if not clean(other):
        return found
    theirs = encode(loaded.tokenizer, other, None, loaded.limit)
    partner = versions.partners(encoded.tokens, theirs.tokens)
    if chosen not in partner or (encoded.tokens[chosen] == "[MASK]") != (theirs.tokens[partner[chosen]] == "[MASK]"):
        st.info("The other version does not have this gap.", icon=":material/info:")
        return found
    second = version(other, theirs, [partner[i] for i in positions if i in partner], partner[chosen])
    return found if second.text == found[0].text else [*found, second]


def version(text: str, encoded: Encoded, positions: list[int], chosen: int) -> Version:
    """Return a text with [MASK] written for the words at `positions`, to be guessed at the `chosen` one."""
    typed = mask.typed_masks(encoded)
    written = mask.write_masks(text, encoded, 0, [i for i in positions if i not in typed])
    gaps = sorted({mask.word_of(encoded, i)[0] for i in (*typed, *positions)})
    word = mask.word_of(encoded, chosen)
    truth = "".join(encoded.tokens[i].removeprefix("##") for i in word)
    return Version(written, gaps.index(word[0]), None if chosen in typed else truth, clean(text))


def named(both: list[Version]) -> list[str]:
    """Return the words in which two versions differ, to tell them apart."""
    words = [version.text.split() for version in both]
    start = len(commonprefix(words))
    end = len(commonprefix([each[start:][::-1] for each in words]))
    return [versions.short(" ".join(each[start : len(each) - end]).strip(".,;:!?")) or "without" for each in words]
