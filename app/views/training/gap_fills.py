"""A gap fills: the probabilities of words at one masked position, snapshot by snapshot."""

import streamlit as st

from app.shared.page import layout
from app.shared.page.exports import exports
from app.shared.page.markdown import plain
from app.views.training import cells
from app.views.training.film import MOST_MOMENTS, frames_of, model_at, moments_of, settled, text_fields
from bertlab import Tokenizer
from bertlab.draw.charts.film import word_lines, word_table
from bertlab.draw.percent import percent
from bertlab.errors import InputError
from bertlab.explain.runs import TrainingRun
from bertlab.explain.snapshots import WordFrame, followed_words, word_film
from bertlab.explain.text import Encoded, encode


def show(run: TrainingRun, source: str, step: int) -> None:
    """`source` is what a cell opens; `step` is marked."""
    text, pair = text_fields(run)
    moments, loaded = moments_of(run), model_at("fill", run)
    encoded = encode(loaded.tokenizer, text, pair, loaded.model.config.max_position_embeddings)
    layout.notices(loaded.name, encoded.dropped, encoded.unknown, len(encoded.tokens))
    gap = choose_gap(encoded)
    frames = frames_of(word_film, loaded, moments, text, pair, gap)
    if not frames:
        return
    table = word_table(frames, followed_words(frames), loaded.tokenizer)
    st.markdown(story(frames, loaded.tokenizer))
    chart = word_lines(table, step)
    layout.show_chart(chart, "Probability of the likeliest words in the gap, by training step")
    st.caption(
        "The lines are the four likeliest tokens of the last snapshot and the first guess of each earlier one. "
        "Probabilities are over the whole vocabulary. Snapshots are evenly spaced, however many steps lie between them."
    )
    exports("gap-by-step", table, cells.words(source, MOST_MOMENTS, text, pair, gap), chart)


def choose_gap(encoded: Encoded) -> int:
    """Ask for one of several [MASK]s. Returns its number, from 0. Raises InputError if there is none."""
    count = encoded.tokens.count("[MASK]")
    if not count:
        raise InputError("the text has no [MASK] to fill: write [MASK] in place of a word")
    if count == 1:
        return 0
    options = dict(default=1, required=True, key=f"film_gap{count}", bind="query-params")
    return st.segmented_control("Which gap", range(1, count + 1), **options) - 1


def story(frames: list[WordFrame], tokenizer: Tokenizer) -> str:
    """Say what the model writes at the end, since when, and what it wrote before."""
    firsts = [int(frame.probabilities.argmax()) for frame in frames]
    final, share = firsts[-1], float(frames[-1].probabilities[firsts[-1]])
    since = settled(firsts)
    text = f"At step {frames[-1].step:,} the model writes **{plain(tokenizer.convert_ids_to_tokens(final))}** "
    text += f"({percent(share)}). "
    if since == 0:
        return text + "It was the first guess in every snapshot."
    before = plain(tokenizer.convert_ids_to_tokens(firsts[since - 1]))
    text += f"This has been its first guess since step {frames[since].step:,}; "
    return text + f"at step {frames[since - 1].step:,} it still wrote “{before}”."
