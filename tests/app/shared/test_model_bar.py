"""The model bar: what is looked at, at which step, and what stands beside it."""

import os
import shutil
from pathlib import Path

import pytest
from pages import TINY, boxes, cells, facts, fine, opened, said
from safetensors.torch import load_file, save_file

from app.shared.model import models
from bertlab.io.locate import locate


def test_the_explorer_starts_with_real_english_and_the_small_world_is_one_press_away():
    app = opened()
    assert fine(app) and app.query_params == {}
    assert facts(app).startswith("**english**:") and "film reviews, 55 million words" in facts(app)
    english = app.text_input(key="text").value
    assert app.button(key="world").label == "A small world whose every word we know"
    app.button(key="world").click().run()
    assert fine(app) and "".join(app.query_params["model"]) == "storyworld-tiny"
    assert "a small world whose every word we know" in facts(app)
    assert "text" not in app.query_params and app.text_input(key="text").value != english  # each opens with its own
    app.text_input(key="text").set_value("my [MASK] is late.").run()
    app.button(key="world").click().run()
    assert fine(app) and facts(app).startswith("**english**:") and "model" not in app.query_params
    assert app.text_input(key="text").value == "my [MASK] is late."  # but the visitor's stays


def test_the_switch_puts_a_folder_aside(folders):
    app = opened("stories", folder=folders["pretrained"])
    app.button(key="world").click().run()
    assert fine(app) and facts(app).startswith("**storyworld-tiny**:") and "folder" not in app.query_params


def test_a_bundled_model_that_is_picked_puts_a_folder_aside(folders):
    app = opened("stories", folder=folders["pretrained"])
    app.selectbox(key="model").set_value(TINY).run()
    assert fine(app) and facts(app).startswith(f"**{TINY}**:") and "folder" not in app.query_params


@pytest.mark.parametrize(
    ("model", "task", "shown"),
    [
        ("english", "answer", "english-questions"),
        ("english-scratch", "answer", "english-questions"),
        ("english-scratch", "text label", "english-sentiment"),
        ("english", "word labels", "english-names"),
        ("english", "next sentence", "english-next"),
        ("storyworld-tiny/step-00300", "answer", "storyworld-tiny-qa"),
        ("a/folder", "text label", "english-sentiment"),
    ],
)
def test_the_stand_in_for_a_missing_head_is_of_the_family(model, task, shown):
    assert models.stand_in(task, model).name == shown


def test_a_step_of_the_training_drives_a_page():
    """On others it does so in their own tests."""
    app = opened("meaning", model=TINY, step="300", meaning_set="my own lines")
    assert not app.exception and not app.error
    assert "storyworld-tiny/step-00300" in facts(app)
    assert any("storyworld-tiny/step-00300" in code.value for code in app.code)
    app.select_slider(key="step").set_value("0").run()
    assert "storyworld-tiny/step-00000" in facts(app)


def test_a_model_without_snapshots_has_no_slider(folders):
    app = opened("stories", step="300", model="english-scratch")
    assert not app.exception
    assert facts(app).startswith("**english-scratch**:") and len(app.select_slider) == 0
    app.text_input(key="folder").set_value(folders["pretrained"]).run()
    assert not app.exception and len(app.select_slider) == 0
    assert "step-" not in facts(app)


@pytest.mark.parametrize("step", ["7", "x", "end"])
def test_a_step_that_is_not_there_is_the_end(step):
    app = opened("stories", model=TINY, step=step)
    assert not app.exception
    assert facts(app).startswith("**storyworld-tiny**:")


def test_hostile_checkpoints_are_refused_in_a_box_and_the_model_in_place_stays(folders, tmp_path):
    damages = {
        "damaged": lambda path: (path / "model.safetensors").write_bytes(b"cut"),
        "JSON nested": lambda path: (path / "config.json").write_text("[" * 200_000),
        "num": lambda path: (path / "config.json").write_text('{"num_hidden_layers": 1000000000}'),
        "not a regular file": lambda path: os.mkfifo(path / "modules.json") or (path / "config.json").unlink(),
        "has values that are nan": spoil,
    }
    app = opened(folder=folders["pretrained"])
    for number, (words, damage) in enumerate(damages.items()):
        broken = Path(shutil.copytree(folders["pretrained"], tmp_path / str(number)))
        damage(broken)
        app.text_input(key="folder").set_value(str(broken)).run()
        assert not app.exception and len(app.error) == 1, words
        assert words in app.error[0].value and "You still see" in app.error[0].value
        assert "2 layers of 3 heads" in facts(app) and cells(app)


def spoil(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file({name: tensor * float("nan") for name, tensor in tensors.items()}, folder / "model.safetensors")


@pytest.mark.parametrize("page", ["play", "attention", "meaning", "tasks"])
def test_every_page_takes_a_second_model_of_another_kind(page):
    app = opened(page, model=TINY, versus="english-scratch", meaning_set="my own lines")  # few, and so quick
    assert not app.exception and "This view failed" not in boxes(app)
    assert "english-scratch" in said(app)  # beside, or told why not


@pytest.mark.parametrize(
    ("page", "link", "header"),
    [
        ("attention", {}, f"Model: **{TINY}**, compared with **english-scratch** "),
        ("stories", {}, f"Model: **{TINY}** "),
        ("tasks", {"tasks_tab": "Names", "text": " "}, f"Model: **{TINY}** "),  # no view comes so far as to name one
        ("meaning", {"meaning_set": "a file"}, f"Model: **{TINY}** "),
        ("tasks", {"tasks_tab": "Names"}, "Model: **storyworld-tiny-entities** "),  # english-scratch has no such head
    ],
)
def test_the_header_names_a_second_model_only_where_one_is_shown(page, link, header):
    assert header in said(opened(page, model=TINY, versus="english-scratch", **link)) + " "


@pytest.mark.parametrize("versus", ["storyworld-tiny/step-00000", "no/such/model", "<b>"])
def test_any_second_model_is_taken_or_told_of(versus):
    app = opened("attention", model=TINY, versus=versus)  # the bar is the same on all pages
    assert not app.exception and "This view failed" not in boxes(app)
    assert bool(app.error) == ("step" not in versus)


def test_the_card_of_a_model_is_shown_as_plain_text(folders, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(folders["pretrained"], mine)
    (mine / "README.md").write_text("![picture](http://elsewhere/x.png) <script>x</script>")
    app = opened("stories", folder=str(mine))
    assert any("elsewhere" in code.value for code in app.code)
    assert all("elsewhere" not in markdown.value for markdown in app.markdown)


def test_a_folder_that_vanishes_leaves_the_page(folders, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(folders["pretrained"], mine)
    app = opened("stories", folder=str(mine))
    assert "2 layers of 3 heads" in facts(app)
    shutil.rmtree(mine)
    app.run()
    assert not app.exception and app.title
    assert "You see **english**" in boxes(app)


def test_a_damaged_snapshot_leaves_the_model(tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(locate("storyworld-tiny"), mine)
    (mine / "step-00300" / "model.safetensors").write_bytes(b"cut")
    app = opened("stories", folder=str(mine), step="300")
    assert not app.exception and app.title
    assert "damaged" in app.error[0].value and "step-00300" not in facts(app)


def test_a_known_model_of_the_hub_is_one_press_away_and_offline_a_line_says_what_to_do():
    app = opened("stories")
    name = "google-bert/bert-base-uncased"
    app.button(key=f"hub {name}").click().run()
    assert not app.exception and app.text_input(key="folder").value == name
    (error,) = app.error
    assert f"'{name}' is no folder here, and cannot be fetched from the hub" in error.value.replace("\\", "")
    assert "You still see **english**" in error.value
