"""Which tokens are hidden, and what each of one or two models is therefore asked."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from app.shared import models, state
from bertlab.errors import InputError
from bertlab.explain.text import Encoded, clean, encode


@dataclass(frozen=True)
class Asked:
    """What one model is asked: a text or pair with the positions `masked` hidden; `key` tells the models apart.

    `cut_off`: a gap is beyond what this model reads.
    """

    loaded: models.Loaded
    text: str
    pair: str | None
    masked: tuple[int, ...] = ()
    key: str = ""
    cut_off: bool = False

    @property
    def name(self) -> str:
        """For Markdown."""
        return state.plain(self.loaded.name)

    def check(self) -> None:
        """InputError where the model does not read as far as the last gap."""
        if self.cut_off:
            raise InputError(f"{self.loaded.name} cuts this text into more tokens than it reads: shorten the text")


def choose(encoded: Encoded) -> list[int]:
    """A chip for every token; pressed chips are masked, and typed [MASK]s stay so. The positions, in order."""
    typed = [i for i, token in enumerate(encoded.tokens) if token == "[MASK]"]
    places = [i for i in range(len(encoded.tokens)) if not encoded.special[i]]
    key = f"gaps {hash(tuple(encoded.tokens))}"  # kept when only the model or its step changes
    if key not in st.session_state:
        linked = [int(i) for i in (state.link_value("mask") or "").split(",") if i.isdecimal()]
        st.session_state[key] = sorted({i for i in linked if i in places} | set(typed))

    def hold() -> None:
        st.session_state[key] = sorted({*st.session_state[key], *typed})

    state.keep(key)
    locked = " (a typed [MASK] stays: it hides no word)" if typed else ""
    gaps = st.pills(
        f"Press a word to mask it, press again to show it{locked}",
        places,
        selection_mode="multi",
        key=key,
        format_func=state.chip_names(encoded.tokens).__getitem__,
        on_change=hold,
        help="A word that the vocabulary does not hold is cut into pieces; ## marks one that goes on with a word.",
        persist_state="session",
    )
    state.share("mask", ",".join(str(i) for i in sorted(gaps) if i not in typed))
    if not gaps and encoded.dropped and not typed:
        st.info(
            "Nothing is masked in the part that fits: press a word, or write [MASK] earlier.", icon=":material/edit:"
        )
    elif not gaps:
        st.info("Nothing is masked: press a word, or type [MASK] in the text.", icon=":material/touch_app:")
    return sorted(gaps)


def choose_one(encoded: Encoded, gaps: Sequence[int]) -> int:
    """The number of one gap, counted from 0; asked for only where there are several."""
    if len(gaps) == 1:
        return 0
    key = f"gap {hash((tuple(encoded.tokens), tuple(gaps)))}"
    if key not in st.session_state:
        linked = state.link_value("gap") or ""
        st.session_state[key] = int(linked) - 1 if linked.isdecimal() and 0 < int(linked) <= len(gaps) else 0
    names = [around(encoded, position) for position in gaps]
    state.keep(key)
    number = st.pills(
        "Which gap", range(len(gaps)), key=key, format_func=names.__getitem__, required=True, persist_state="session"
    )
    state.share("gap", str(number + 1) if number else "")
    return number


def asked(
    loaded: models.Loaded,
    beside: models.Loaded | None,
    encoded: Encoded,
    text: str,
    pair: str | None,
    gaps: Sequence[int] = (),
) -> list[Asked]:
    """What is asked of the model, and of the one beside it. Where that cuts text into other tokens, the gaps are
    written into its text."""
    typed = {i for i, token in enumerate(encoded.tokens) if token == "[MASK]"}
    by_hand = tuple(i for i in gaps if i not in typed)
    asks = [Asked(loaded, text, pair, by_hand)]
    if beside is None:
        return asks
    if beside.tokenizer.vocab == loaded.tokenizer.vocab and beside.limit == loaded.limit:
        return [*asks, Asked(beside, text, pair, by_hand, "-beside")]
    written = [written_out(part, encoded, kind, by_hand) for kind, part in enumerate((text, pair or ""))]
    ids = encode(beside.tokenizer, *written, beside.limit).input_ids
    cut_off = int((ids == beside.tokenizer.mask_token_id).sum()) < len(gaps)
    return [*asks, Asked(beside, written[0], written[1] or None, key="-beside", cut_off=cut_off)]


def written_out(text: str, encoded: Encoded, kind: int, gaps: Sequence[int]) -> str:
    """The first (`kind` 0) or second text with [MASK] in place of its tokens at `gaps`."""
    text = clean(text)
    for position in sorted(gaps, reverse=True):
        if encoded.token_type_ids[position] == kind:
            start, end = encoded.offsets[position].tolist()
            text = f"{text[:start]}[MASK]{text[end:]}"
    return text


def around(encoded: Encoded, position: int) -> str:
    """The place of one gap in the sentence: a few tokens to either side."""
    words = [i for i in range(len(encoded.tokens)) if not encoded.special[i]]
    before = [encoded.tokens[i] for i in words if position - 4 < i < position]
    after = [encoded.tokens[i] for i in words if position < i < position + 4]
    left, right = (state.plain(" ".join(tokens).replace(" ##", "")) for tokens in (before, after))
    return f"{left} **▢** {right}"
