"""A head forms: where one head attends, snapshot by snapshot."""

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.page.exports import Cell, Name, exports
from app.shared.page.markdown import plain
from app.views.training.film import film_in, frames_of, model_at, moments_of, show_tiles, text_field
from bertlab.draw.charts.film import head_tile, strip, target_table
from bertlab.draw.percent import percent
from bertlab.explain.attention.maps import AttentionMaps, attention_maps
from bertlab.explain.runs import TrainingRun
from bertlab.explain.snapshots import HeadFrame, Targets, head_film, role_targets

MOST_TOKENS = 32  # a small picture cannot show more
PHRASES = {
    "previous": "the previous token",
    "next": "the next token",
    "itself": "the token itself",
    "same word": "the same word elsewhere",
}


def show(run: TrainingRun, step: int) -> None:
    text = text_field(run)
    moments, loaded = moments_of(run), model_at("encoder", run)
    frames = frames_of(head_film, loaded, moments, text, None, MOST_TOKENS)
    cell = Cell()
    film = film_in(cell, run.name, head_film, text, limit=MOST_TOKENS)
    control = control_maps(loaded, text, MOST_TOKENS)
    show_heads(frames, role_targets(frames, control), loaded.name, cell, film, step)


def control_maps(loaded: models.Loaded, text: str, limit: int | None = None) -> AttentionMaps:
    """Return the attention that random weights give the text, cut to `limit` tokens as that of the frames is."""
    return models.compute(attention_maps, models.control_of(loaded), text, None, limit)


def show_heads(
    frames: list[HeadFrame], targets: Targets, name: str, cell: Cell, film: Name, step: int | None = None
) -> None:
    """Show one head snapshot by snapshot and how much goes to its strongest target; `step` is marked. `cell` makes
    the `film` of all."""
    maps = frames[-1].maps
    layout.notices(name, maps.dropped, maps.unknown, len(maps.tokens))
    layer, head = choose_head(targets)
    shares = targets.shares[:, layer, head]  # (T, L, A, K) -> (T, K)
    target = int(targets.strongest[layer, head])
    st.markdown(story(frames, targets, target, layer, head))
    shown = zip(frames, shares[:, target].tolist(), strict=True)
    tiles = [head_tile(frame, layer, head, f"{targets.names[target]}: {percent(share)}") for frame, share in shown]
    show_tiles(tiles, frames, f"Layer {layer + 1}, head {head + 1}", step)
    st.caption(
        "Each row is a token that attends, each column a token that is attended to, both in the order of the text. "
        "Dark blue is 0, yellow 1 (all of a token's attention). Point at a cell to read its two tokens. "
        f"The percentages are {'of the row of [MASK]' if targets.of_gap else 'means over the words'}."
    )
    table = target_table(targets.names, shares, [frame.step for frame in frames])
    tile = cell.call(head_tile, Name("frame"), layer, head)
    exports("head-by-step", table, cell.picture(strip, Name(f"[{tile} for frame in {film}]")), strip(tiles))


def choose_head(targets: Targets) -> tuple[int, int]:
    """Ask for one of the heads, those that changed most first, each with its strongest target at the end."""

    def label(name: str) -> str:
        layer, head = (int(number) for number in name.split("-"))
        target = int(targets.strongest[layer - 1, head - 1])
        share = float(targets.shares[-1, layer - 1, head - 1, target])
        return f"layer {layer}, head {head}: {percent(share)} on {phrase(targets, target)}"

    order = targets.by_growth()
    names = [f"{layer + 1}-{head + 1}" for layer, head in order]
    if st.session_state.get("film_head") not in names:  # of a larger model
        st.session_state.pop("film_head", None)
    help = "First the heads that attend to words, by how much they changed."
    chosen = state.linked_select("Head", names, "film_head", names[0], format_func=label, width=460, help=help)
    return order[names.index(chosen)]


def phrase(targets: Targets, target: int) -> str:
    return PHRASES.get(targets.names[target], targets.names[target])


def story(frames: list[HeadFrame], targets: Targets, target: int, layer: int, head: int) -> str:
    """Say where the head attends at the end, since when, and what random weights and uniform attention give."""
    *earlier, share = targets.shares[:, layer, head, target].tolist()
    name, at = f"layer {layer + 1}, head {head + 1}", f"{percent(share)} of its attention on"
    who = f"In **{name}** the row of [MASK]" if targets.of_gap else f"**{name.capitalize()}**"
    text = f"{who} ends with {at} **{plain(phrase(targets, target))}**"
    half = next((frame.step for frame, then in zip(frames, earlier, strict=False) if then >= share / 2), None)
    if half:
        text += f"; it first reached half of that at step {half:,}"
    elif half is not None:  # step 0
        text += f"; it began with {percent(earlier[0])}"
    control, uniform = float(targets.control[layer, head, target]), float(targets.uniform[target])
    return text + f". With random weights the share is {percent(control)}, with uniform attention {percent(uniform)}."
