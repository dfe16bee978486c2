"""A gap fills: the probabilities of words at one masked position, snapshot by snapshot."""

import streamlit as st

from app.shared.page import layout, state
from app.shared.page.exports import Cell, exports
from app.shared.page.markdown import plain
from app.views.training.film import film_in, frames_of, model_at, moments_of, settled, text_field
from bertlab.draw.charts.film import word_lines, word_table
from bertlab.draw.percent import percent
from bertlab.errors import InputError
from bertlab.explain.runs import TrainingRun
from bertlab.explain.snapshots import followed_words, word_film
from bertlab.explain.text import Encoded, encode

LINES = "Each word that was the first guess of some snapshot has a line"


def show(run: TrainingRun, step: int) -> None:
    text = text_field(run)
    moments, loaded = moments_of(run), model_at("fill", run)
    encoded = encode(loaded.tokenizer, text, None, loaded.model.config.max_position_embeddings)
    layout.notices(loaded.name, encoded.dropped, encoded.unknown, len(encoded.tokens))
    gap = choose_gap(encoded)
    frames = frames_of(word_film, loaded, moments, text, None, gap)
    table = word_table(frames, followed_words(frames), loaded.tokenizer)
    cell = Cell()
    film = film_in(cell, run.name, word_film, text, gap=gap)
    drawn = cell.call(word_table, film, cell.call(followed_words, film), cell.open(loaded)[1])
    ids = [int(frame.probabilities.argmax()) for frame in frames]
    share = float(frames[-1].probabilities[ids[-1]])
    st.markdown(story([frame.step for frame in frames], loaded.tokenizer.convert_ids_to_tokens(ids), share))
    chart = word_lines(table, step)
    layout.show_chart(chart, "Probability of the likeliest words in the gap, by training step")
    st.caption(f"{LINES}. Snapshots are evenly spaced, however many steps lie between them.")
    exports("gap-by-step", table, cell.picture(word_lines, drawn), chart)


def choose_gap(encoded: Encoded) -> int:
    """Ask for one of several [MASK]s. Returns its number, from 0. Raises InputError if there is none."""
    count = encoded.tokens.count("[MASK]")
    if not count:
        raise InputError("the text has no [MASK] to fill: write [MASK] in place of a word")
    return state.one_of("Which gap", range(1, count + 1), f"film_gap{count}") - 1 if count > 1 else 0


def story(steps: list[int], firsts: list[str], share: float) -> str:
    """Say what the model writes at the end, with its probability, since when, and what it wrote before."""
    since = settled(firsts)
    text = f"At step {steps[-1]:,} the model writes **{plain(firsts[-1])}** ({percent(share)}). "
    if since == 0:
        return text + "It was the first guess in every snapshot."
    text += f"This has been its first guess since step {steps[since]:,}; "
    return text + f"at step {steps[since - 1]:,} it still wrote “{plain(firsts[since - 1])}”."
