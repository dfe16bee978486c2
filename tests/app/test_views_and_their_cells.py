"""A cell makes the very picture that its view offers as a file, of long texts and several gaps too."""

from importlib import import_module

import pytest
from pages import fine, opened, run, said

from app.shared.model import models
from bertlab.draw.charts.base import svg
from bertlab.explain.attention.heads import strongest_link

LONG = "my [MASK] likes the baker and the [MASK] likes my dog. " * 12
PASSAGE = "my dog is hairy. he likes walks. " * 40
GAPS = "my dog is [MASK].", "my cat is [MASK]."
READ = 20  # tokens that a picture holds in these tests


def rounded(part):
    """A chart's description without the names of its tables, which hang on the last digit of a number in them."""
    if isinstance(part, dict):
        if "datasets" in part:
            part = part | {"datasets": list(part["datasets"].values())}
        return {key: rounded(value) for key, value in part.items() if key != "data"}
    if isinstance(part, list):
        return [rounded(value) for value in part]
    return round(part, 3) if isinstance(part, float) else part


@pytest.fixture
def exported(monkeypatch):
    """Fills with what a view exports: (table, code, chart) by name."""

    def watch(part: str) -> dict:
        found: dict = {}
        module = import_module(f"app.{part.split()[0]}")
        monkeypatch.setattr(module, "exports", lambda name, *given, **page: found.update({name: given}))
        return found

    monkeypatch.setattr(models, "DRAWN_TOKENS", READ)
    return watch


VIEWS = {
    "views.tasks.next_sentence": (
        "tasks",
        "pretrained",
        dict(text=LONG, pair=LONG, tasks_tab="Next sentence"),
    ),
    "views.attention.switch_off": ("attention", "pretrained", dict(text=LONG, attention_tab="Switch heads off")),
    "views.attention.explanation": ("attention", "pretrained", dict(text=LONG, attention_tab="Is it an explanation?")),
    "shared.contributions opinion": ("tasks", "classifier", dict(text=LONG)),
    "shared.contributions names": ("tasks", "tagger", dict(text=LONG)),
    "views.tasks.the_answer": (
        "tasks",
        "reader",
        dict(question="who?", text=PASSAGE, spans_tab="Starts and ends"),
    ),
    "shared.contributions answer": (
        "tasks",
        "reader",
        dict(question="who?", text=PASSAGE, spans_tab="Why this answer?"),
    ),
    "views.play.guesses": ("play", "pretrained", dict(text=GAPS[0], other=GAPS[1], guess="baker")),
    "shared.contributions gap": ("play", "pretrained", dict(text=LONG, play_view="Why this word?")),
    "views.play.whole_text": ("play", "pretrained", dict(text=LONG, play_view="Whole text")),
    "views.play.sides": ("play", "", dict(text=GAPS[0], other=GAPS[1], play_view="Left to right, or both sides?")),
    "views.meaning.projection": ("meaning", "pretrained", dict(meaning_set="my own lines", meaning_yours=LONG)),
    "views.meaning.measures": ("meaning", "pretrained", dict(meaning_set="my own lines")),
}


@pytest.mark.parametrize("part", VIEWS)
def test_a_cell_makes_the_picture_of_its_view(part, folders, exported):
    page, model, link = VIEWS[part]
    found = exported(part)
    app = opened(page, **({"folder": folders[model]} if model else {}), **link)
    assert fine(app), said(app)
    assert found
    for _, code, chart in found.values():
        assert rounded(run(code)[0].to_dict()) == rounded(chart.to_dict())
        assert svg(chart)


def test_cells_of_the_heads_read_what_the_view_reads(folders, exported):
    found = exported("views.attention.all_heads")
    app = opened("attention", folder=folders["pretrained"], text=LONG, versus="random weights")
    assert fine(app), said(app)
    ((heads, code, _),) = found.values()
    _, names = run(code)
    assert len(heads) == READ**2 and names["beside"].maps.weights.shape == names["maps"].weights.shape
    head = strongest_link(names["maps"])  # which the page opens with
    assert names["maps"].weights[head].flatten().tolist() == pytest.approx(list(heads["weight"]), abs=1e-5)


def test_cells_of_a_film_open_the_snapshots_of_the_view(run_folder, exported, monkeypatch):
    monkeypatch.setattr("app.views.training.film.MOST_MOMENTS", 2)
    found = exported("views.training.gap_fills")
    app = opened("training", run=str(run_folder), training_tab="A gap fills")
    assert fine(app), said(app)
    ((table, code, _),) = found.values()
    _, names = run(code)
    assert [frame.step for frame in names["film"]] == sorted(set(table["step"])) == [0, 100]
