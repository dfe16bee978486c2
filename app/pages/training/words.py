"""One gap through a training: how the right word comes to be written."""

import streamlit as st

from app.pages.training import cells
from app.pages.training.film import MOST_MOMENTS, last_model, moments_of, settled, text_fields
from app.shared import progress
from app.shared.exports import exports
from app.shared.state import notices, plain
from bertlab.draw.charts.film import word_lines, word_table
from bertlab.errors import InputError
from bertlab.explain.runs import Moment, TrainingRun
from bertlab.explain.snapshots import WordFrame, followed_words, word_film
from bertlab.explain.text import encode


def film(model, tokenizer, moments: tuple[Moment, ...], text: str, pair: str | None, gap: int):
    """For progress.rows; the models are those of the moments."""
    return word_film(moments, text, pair, gap)


def show(run: TrainingRun, source: str, step: int) -> None:
    """`source` is what a cell opens; `step` is marked."""
    text, pair = text_fields()
    moments, loaded = moments_of(run), last_model("fill", run)
    encoded = encode(loaded.tokenizer, text, pair, loaded.model.config.max_position_embeddings)
    notices(encoded.dropped, encoded.unknown, len(encoded.tokens))
    gaps = encoded.tokens.count("[MASK]")
    if not gaps:
        raise InputError("the text holds no [MASK] to fill: write [MASK] in place of a word")
    gap = 0
    if gaps > 1:
        options = dict(default=1, required=True, key=f"film_gap{gaps}", bind="query-params")
        gap = st.segmented_control("Which gap", range(1, gaps + 1), **options) - 1
    frames = progress.rows(film, loaded, moments, text, pair, gap, total=len(moments))
    if not frames:
        return
    table = word_table(frames, followed_words(frames), loaded.tokenizer)
    st.markdown(told(frames, loaded.tokenizer))
    chart = word_lines(table, step)
    st.altair_chart(chart, width="stretch", alt="Probability of the likeliest words in the gap, by training step")
    st.caption(
        "Drawn are the four likeliest tokens of the last snapshot and the first guess of each earlier one. "
        "Probabilities are over the whole vocabulary. Snapshots stand evenly, however many steps lie between them."
    )
    exports("gap-by-step", table, cells.words(source, MOST_MOMENTS, text, pair, gap), chart)


def told(frames: list[WordFrame], tokenizer) -> str:
    """The story of the gap: what is written in the end, since when, and what stood there before."""
    firsts = [int(frame.probabilities.argmax()) for frame in frames]
    final, share = firsts[-1], float(frames[-1].probabilities[firsts[-1]])
    since = settled(firsts)
    name = plain(tokenizer.convert_ids_to_tokens(final))
    said = f"At step {frames[-1].step:,} the model writes **{name}** ({share:.0%}). "
    if since == 0:
        return said + "It was the first guess in every snapshot."
    before = tokenizer.convert_ids_to_tokens(firsts[since - 1])
    said += f"That is its first guess since step {frames[since].step:,}; "
    return said + f"at step {frames[since - 1].step:,} it still wrote “{plain(before)}”."
