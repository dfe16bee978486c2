"""A head forms: where one head attends, snapshot by snapshot."""

import streamlit as st
from torch import Tensor

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.page.cell import Cell, Name
from app.shared.page.exports import exports
from app.views.training.film import film_in, frames_of, model_at, moments_of, show_tiles, text_fields
from bertlab.draw.charts.film import head_tile, role_table, strip
from bertlab.draw.percent import percent
from bertlab.explain.attention.heads import RESTING, ROLES, head_roles
from bertlab.explain.attention.maps import attention_maps
from bertlab.explain.runs import TrainingRun
from bertlab.explain.snapshots import HeadFrame, head_film, heads_by_change, role_scores

NAMED = ROLES[: ROLES.index(RESTING)]  # roles that name a token
MOST_TOKENS = 32  # a small picture cannot show more
PHRASES = {
    "previous": "the previous token",
    "next": "the next token",
    "itself": "the token itself",
    "same word": "the same word elsewhere",
}


def show(run: TrainingRun, source: str, step: int) -> None:
    text, pair = text_fields(run)
    moments, loaded = moments_of(run), model_at("encoder", run)
    frames = frames_of(head_film, loaded, moments, text, pair, MOST_TOKENS)
    if frames:
        cell = Cell()
        show_heads(frames, loaded, text, pair, cell, film_in(cell, source, head_film, text, pair, MOST_TOKENS))


def show_heads(
    frames: list[HeadFrame],
    loaded: models.Loaded,
    text: str,
    pair: str | None,
    cell: Cell,
    film: Name,
) -> None:
    """Show one head snapshot by snapshot. `cell` makes the `film` of all."""
    maps = frames[-1].maps
    layout.notices(loaded.name, maps.dropped, maps.unknown, len(maps.tokens))
    shares = role_scores(frames)  # (T, L, A, R)
    named = shares[..., : len(NAMED)].nan_to_num(0.0)
    layer, head = choose_head(heads_by_change(shares), named[-1])
    control = models.compute(attention_maps, models.control_of(loaded), text, pair, MOST_TOKENS)
    random = head_roles(control)
    role = int(named[-1, layer, head].argmax())
    chances = float(random.scores[layer, head, role]), float(random.uniform[role])
    st.markdown(story(frames, named[:, layer, head, role], role, layer, head, *chances))
    shown = zip(frames, named[:, layer, head, role].tolist(), strict=True)
    tiles = [head_tile(frame, layer, head, f"{NAMED[role]}: {percent(share)}") for frame, share in shown]
    show_tiles(tiles, frames, f"Layer {layer + 1}, head {head + 1}")
    st.caption(
        "Each row is a token that attends, each column a token that is attended to, both in the order of the text. "
        "Dark blue is 0, yellow 1 (all of a token's attention). Point at a cell to read its two tokens. The "
        "percentages are means over the words."
    )
    table = role_table(shares[:, layer, head], [frame.step for frame in frames])
    tile = cell.call(head_tile, Name("frame"), layer, head)
    exports("head-by-step", table, cell.picture(strip, Name(f"[{tile} for frame in {film}]")), strip(tiles))


def choose_head(order: list[tuple[int, int]], shares: Tensor) -> tuple[int, int]:
    """Ask for one of the heads, in this order, each with its strongest role at the end; `shares` (L, A, R)."""

    def label(name: str) -> str:
        layer, head = (int(number) for number in name.split("-"))
        share, role = shares[layer - 1, head - 1].max(-1)
        return f"layer {layer}, head {head}: {percent(float(share))} on {PHRASES.get(NAMED[role], NAMED[role])}"

    names = [f"{layer + 1}-{head + 1}" for layer, head in order]
    if state.unset("film_head") or st.session_state.film_head not in names:
        linked = state.link_value("film_head")  # not bound: Streamlit would put the whole label into the link
        st.session_state.film_head = linked if linked in names else names[0]
    options = dict(format_func=label, key="film_head", width=460, persist_state="session")
    chosen = st.selectbox("Head (first those that lead to words, by how much they changed)", names, **options)
    state.share("film_head", chosen)
    return order[names.index(chosen)]


def story(
    frames: list[HeadFrame], shares: Tensor, role: int, layer: int, head: int, control: float, uniform: float
) -> str:
    """Say where the head attends at the end, since when, and what random weights and uniform attention give.

    `shares` (T,) are those of the role by snapshot.
    """
    share = float(shares[-1])
    text = f"**Layer {layer + 1}, head {head + 1}** ends with {percent(share)} of its attention on "
    text += f"**{PHRASES.get(NAMED[role], NAMED[role])}**"
    earlier = zip(frames[:-1], shares[:-1].tolist(), strict=True)
    half = next((frame.step for frame, then in earlier if then >= share / 2), None)
    if half:
        text += f"; it first reached half of that at step {half:,}"
    elif half is not None:  # step 0
        text += f"; it began with {percent(float(shares[0]))}"
    return text + f". With random weights the share is {percent(control)}, with uniform attention {percent(uniform)}."
