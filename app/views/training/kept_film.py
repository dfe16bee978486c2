"""The film of a training whose snapshots are not kept: sentences with a gap, how they were filled, and the heads."""

import streamlit as st

from app.shared.page import layout
from app.shared.page.exports import Cell, Name, exports
from app.views.training import gap_fills, head_forms
from app.views.training.film import model_at
from bertlab.draw.charts.film import kept_table, word_lines
from bertlab.explain.kept_film import read_film
from bertlab.explain.runs import TrainingRun
from bertlab.explain.snapshots import gap_targets


def show(run: TrainingRun, step: int | None) -> None:
    film, loaded = read_film(run.moments[-1].source), model_at("encoder", run)
    began = ", which had been trained already" if run.recipe.get("model") else ""
    st.caption(
        f"What {len(film.steps)} snapshots of this training made of {len(film.sentences)} sentences; they themselves "
        f"are not kept. Step 0 is the model that it began with{began}."
    )
    surest = int(film.probabilities[-1, :, 0].argmax())
    options = dict(format_func=film.sentences.__getitem__, key="film_sentence", bind="query-params")
    number = st.selectbox("Sentence", range(len(film.sentences)), surest, **options)
    guesses, shares = film.guesses[:, number, 0].tolist(), film.probabilities[:, number, 0].tolist()
    st.markdown(gap_fills.story(film.steps, guesses, shares[-1]))
    table = kept_table(film, number)
    chart = word_lines(table)
    layout.show_chart(chart, "Probability of the first guesses in the gap, by training step")
    st.caption(f"{gap_fills.LINES}, where it is among the five likeliest.")
    cell = Cell()
    kept = cell.let("kept", cell.call(read_film, run.name))
    exports("kept-film", table, cell.picture(word_lines, cell.call(kept_table, kept, number)), chart)
    heads = Name(f"{kept}.heads({number}, {cell.open(loaded)[1]})")
    frames = film.heads(number, loaded.tokenizer)
    targets = gap_targets(frames, head_forms.control_maps(loaded, film.sentences[number]))
    head_forms.show_heads(frames, targets, loaded.name, cell, heads)
