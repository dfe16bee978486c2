"""The [CLS] vectors of labelled sentences through a training: when classes separate, and whether they stay so."""

import streamlit as st

from app.pages.training import cells
from app.pages.training.film import MOST_MOMENTS, last_model, moments_of
from app.shared import progress
from app.shared.exports import exports
from bertlab.draw.charts.film import accuracy_steps, accuracy_table, class_key, cloud_tile, strip, unfitted
from bertlab.explain.runs import PAIRS, Moment, TrainingRun
from bertlab.explain.snapshots import CloudFrame, cloud_film
from bertlab.explain.vectors import project

COUNT = 120  # sentences
VECTORS = {"[CLS]": "cls", "mean of its tokens": "mean"}


@st.cache_data(show_spinner=False)
def sentences() -> tuple[tuple[str, ...], tuple[str, ...]]:
    from bertlab.corpora.storyworld import labelled_sentences

    made = list(labelled_sentences(seed=0, count=COUNT, split="test"))
    return tuple(s.text for s in made), tuple(s.label for s in made)


def film(model, tokenizer, moments: tuple[Moment, ...], texts: tuple[str, ...], labels: tuple[str, ...], pooling: str):
    """For progress.rows; the models are those of the moments."""
    return cloud_film(moments, texts, labels, pooling)


def show(run: TrainingRun, source: str, step: int) -> None:
    """`source` is what a cell opens; `step` is marked."""
    moments, loaded = moments_of(run), last_model("encoder", run)
    texts, labels = sentences()
    options = dict(default="[CLS]", required=True, key="film_vector", bind="query-params")
    vector = st.segmented_control("What stands for a text", list(VECTORS), **options)
    frames = progress.rows(film, loaded, moments, texts, labels, VECTORS[vector], total=len(moments))
    if not frames:
        return
    st.markdown(told(frames, vector == "[CLS]" and any(name in PAIRS for name in run.measures)))
    tiles = [cloud_tile(frame, project(frame.vectors).points, labels, texts) for frame in frames]
    with st.container(horizontal=True, gap="medium"):
        for frame, tile in zip(frames, tiles, strict=True):
            alt = f"Vectors of {COUNT} sentences after {frame.step:,} steps"
            st.altair_chart(unfitted(tile), width="content", alt=alt)
    st.html(class_key(labels))
    st.caption(
        f"Each point is one of {COUNT} sentences of the storyworld, its colour and shape their subject; the figure is "
        "how often the five nearest neighbours name it, in all dimensions of the last layer. Each picture has axes of "
        "its own (PCA): compare what lies together, not where."
    )
    table = accuracy_table({vector: frames})
    chart = accuracy_steps(table, frames[0].neighbours.chance, step)
    st.altair_chart(chart, width="stretch", alt="How often neighbours name the subject, by training step")
    exports("cls-by-step", table, cells.cloud(source, MOST_MOMENTS, COUNT, VECTORS[vector]), strip(tiles))


def told(frames: list[CloudFrame], judges_pairs: bool) -> str:
    best = max(frames, key=lambda frame: frame.neighbours.accuracy)
    first, last, chance = frames[0], frames[-1], frames[0].neighbours.chance
    said = f"Neighbours name a sentence's subject best at step **{best.step:,}**: {best.neighbours.accuracy:.0%} "
    said += f"(chance {chance:.0%}). "
    if first.step == 0:
        said += f"Random weights, at step 0, reach {first.neighbours.accuracy:.0%}: only what lies above was learned. "
    if last is not best:
        said += f"At step {last.step:,} it is {last.neighbours.accuracy:.0%}. "
    if judges_pairs and last.neighbours.accuracy < best.neighbours.accuracy - best.neighbours.spread:
        said += "Nobody asked [CLS] for subjects: what it learns to tell here is whether two texts belong together. "
        said += "Choose the mean of its tokens above to see whether the words still tell."
    return said
