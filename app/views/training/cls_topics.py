"""[CLS] and topics: the vectors of labelled sentences, snapshot by snapshot, and when their topics separate."""

import streamlit as st

from app.shared.page import state
from app.shared.page.cell import Cell, Name
from app.shared.page.exports import exports
from app.views.training.film import film_in, frames_of, model_at, moments_of, show_tiles
from bertlab.corpora.storyworld import labelled_sentences
from bertlab.draw.charts.base import label_key, styles_of
from bertlab.draw.charts.film import accuracy_table, cloud_tile, strip
from bertlab.draw.percent import percent
from bertlab.explain.runs import PAIRS, TrainingRun
from bertlab.explain.snapshots import CloudFrame, cloud_film
from bertlab.explain.vectors import project
from bertlab.model.pooling import Pooling

COUNT = 120  # sentences
VECTORS: dict[str, Pooling] = {"[CLS]": "cls", "mean of its tokens": "mean"}


@st.cache_data(show_spinner=False)
def sentences() -> tuple[tuple[str, ...], tuple[str, ...]]:
    made = list(labelled_sentences(seed=0, count=COUNT, split="test"))
    return tuple(s.text for s in made), tuple(s.label for s in made)


def show(run: TrainingRun, source: str, step: int) -> None:
    moments, loaded = moments_of(run), model_at("encoder", run)
    texts, labels = sentences()
    vector = state.one_of("Vector of a text", VECTORS, "film_vector")
    frames = frames_of(cloud_film, loaded, moments, texts, labels, VECTORS[vector])
    if not frames:
        return
    st.markdown(story(frames, vector == "[CLS]" and any(name in PAIRS for name in run.measures)))
    tiles = [cloud_tile(frame, project(frame.vectors).points, labels, texts) for frame in frames]
    show_tiles(tiles, frames, f"Vectors of {COUNT} sentences", step)
    st.html(label_key(styles_of(sorted(set(labels)))))
    st.caption(
        f"Each point is one of {COUNT} sentences of the storyworld; its colour and shape show its topic. The "
        "percentage is how often the five nearest neighbours name the topic, in all dimensions of the last layer. Each "
        "picture has its own axes (PCA): compare which points lie together, not where they lie."
    )
    table = accuracy_table({vector: frames})
    cell = Cell()
    made = cell.call(labelled_sentences, seed=0, count=COUNT, split="test")
    cell.let("texts, labels", Name(f"zip(*[(s.text, s.label) for s in {made}])"))
    film = film_in(cell, source, cloud_film, Name("texts"), Name("labels"), VECTORS[vector])
    projected = cell.call(project, Name("frame.vectors"))
    tile = cell.call(cloud_tile, Name("frame"), Name(f"{projected}.points"), Name("labels"), Name("texts"))
    exports("cls-by-step", table, cell.picture(strip, Name(f"[{tile} for frame in {film}]")), strip(tiles))


def story(frames: list[CloudFrame], judges_pairs: bool) -> str:
    """Say when the neighbours name the topic best; `judges_pairs`: [CLS] is trained for next sentences."""
    found = [(frame.step, frame.neighbours) for frame in frames if frame.neighbours]
    (first_step, first), (last_step, last) = found[0], found[-1]
    best_step, best = max(found, key=lambda one: one[1].accuracy)
    text = f"Neighbours name the topic of a sentence best at step **{best_step:,}**: {percent(best.accuracy)} "
    text += f"(chance {percent(first.chance)}). "
    if first_step == 0:
        text += f"Random weights (step 0) reach {percent(first.accuracy)}: only what exceeds that was learned. "
    if last_step != best_step:
        text += f"At step {last_step:,} it is {percent(last.accuracy)}. "
    if judges_pairs and last.accuracy < best.accuracy - best.spread:
        text += "This training never asked [CLS] for topics: it asks [CLS] whether two texts belong together. Choose "
        text += "the mean of the tokens above to see whether the words still show the topic."
    return text
