"""One head through a training: how it comes to look where it looks."""

import streamlit as st
from torch import Tensor

from app.pages.training import cells
from app.pages.training.film import MOST_MOMENTS, last_model, moments_of, text_fields
from app.shared import models, progress, state
from app.shared.exports import exports
from app.shared.models import Loaded
from bertlab.draw.charts.film import head_tile, role_lines, role_table, strip, unfitted
from bertlab.explain.attention.heads import ROLES, head_roles
from bertlab.explain.attention.maps import attention_maps
from bertlab.explain.runs import Moment, TrainingRun
from bertlab.explain.snapshots import HeadFrame, head_film, heads_by_change, role_scores

LOOKED_AT = ROLES[: ROLES.index("broad")]  # roles that name a token
MOST_TOKENS = 32  # more cannot be told apart in a small picture
PHRASES = {
    "previous": "the token before",
    "next": "the token after",
    "itself": "the token itself",
    "same word": "the same word elsewhere",
}


def film(model, tokenizer, moments: tuple[Moment, ...], text: str, pair: str | None, limit: int):
    """For progress.rows; the models are those of the moments."""
    return head_film(moments, text, pair, limit)


def show(run: TrainingRun, source: str, step: int) -> None:
    """`source` is what a cell opens; `step` is marked."""
    text, pair = text_fields()
    moments, loaded = moments_of(run), last_model("encoder", run)
    frames = progress.rows(film, loaded, moments, text, pair, MOST_TOKENS, total=len(moments))
    if not frames:
        return
    maps = frames[-1].maps
    state.notices(maps.dropped, maps.unknown, len(maps.tokens))
    whole = role_scores(frames)  # (T, L, A, R)
    scores = whole[..., : len(LOOKED_AT)].nan_to_num(0.0)
    layer, head = choose_head(heads_by_change(whole), scores[-1])
    st.markdown(told(loaded, frames, scores[:, layer, head], text, pair, layer, head))
    role = int(scores[-1, layer, head].argmax())
    tiles = [
        head_tile(frame, layer, head, f"{LOOKED_AT[role]}: {share:.0%}")
        for frame, share in zip(frames, scores[:, layer, head, role].tolist(), strict=True)
    ]
    with st.container(horizontal=True, gap="medium"):
        for frame, tile in zip(frames, tiles, strict=True):
            alt = f"Layer {layer + 1}, head {head + 1} after {frame.step:,} steps"
            st.altair_chart(unfitted(tile), width="content", alt=alt)
    st.caption(
        "Rows are tokens that look, columns tokens that are looked at, both in the order of the text; dark blue is "
        "nothing, yellow all of a token's attention (0 to 1). Point at a cell to read its two tokens."
    )
    table = role_table(whole[:, layer, head], [frame.step for frame in frames])
    st.altair_chart(role_lines(table, step), width="stretch", alt="Where the head looks, by training step")
    st.caption("Shares of attention, averaged over the words of this text that have such a token.")
    exports("head-by-step", table, cells.head(source, MOST_MOMENTS, text, pair, MOST_TOKENS, layer, head), strip(tiles))


def choose_head(order: list[tuple[int, int]], scores: Tensor) -> tuple[int, int]:
    """A list of all heads in this order, with what they look at in the end; `scores` (L, A, R)."""

    def label(place: str) -> str:
        layer, head = (int(number) for number in place.split("-"))
        share, role = scores[layer - 1, head - 1].max(-1)
        return f"layer {layer}, head {head}: {share:.0%} on {phrase(LOOKED_AT[role])}"

    names = [f"{layer + 1}-{head + 1}" for layer, head in order]
    if st.session_state.get("film_head") not in names:
        linked = state.link_value("film_head")  # not bound: Streamlit would put the whole label into the link
        st.session_state.film_head = linked if linked in names else names[0]
    look = dict(format_func=label, key="film_head", width=460, persist_state="session")
    chosen = st.selectbox("Head (first those that changed most)", names, **look)
    state.share("film_head", chosen)
    return order[names.index(chosen)]


def phrase(role: str) -> str:
    return PHRASES.get(role, role)


def told(loaded: Loaded, frames: list[HeadFrame], scores: Tensor, text: str, pair: str | None, layer: int, head: int):
    """What the head does in the end, when it began to, and what random weights do. `scores` (T, R)."""
    role = int(scores[-1].argmax())
    share, name = float(scores[-1, role]), phrase(LOOKED_AT[role])
    where = f"Layer {layer + 1}, head {head + 1}"
    said = f"**{where}** puts {share:.0%} of its attention on **{name}** in the end"
    earlier = zip(frames[:-1], scores[:-1], strict=True)
    half = next((frame.step for frame, row in earlier if row[role] >= share / 2), None)
    said += f", and half as much first at step {half:,}. " if share > 0 and half else ". "
    control = models.compute(attention_maps, models.control_of(loaded), text, pair, MOST_TOKENS)
    random = head_roles(control)
    dull, even = float(random.scores[layer, head, role]), float(random.uniform[role])
    return said + f"With random weights it is {dull:.0%}; a head that looks at all tokens alike gives {even:.0%}."
