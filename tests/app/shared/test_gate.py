"""What a link may open: bundled models at once, folders and the hub after a press, nothing else on a closed server."""

import pytest
from pages import TINY, boxes, facts, fine, opened, said

from app.shared.model import gate, models
from bertlab.cli import launch


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """Every name whose folder was looked for."""
    names: list[str] = []
    real = models.folder_of
    monkeypatch.setattr(models, "folder_of", lambda name: names.append(name) or real(name))
    return names


@pytest.mark.parametrize("key", ["folder", "versus"])
def test_a_link_opens_a_folder_only_after_a_press(key, folders, asked):
    app = opened("stories", ask=True, **{key: folders["pretrained"]})  # the bar is the same on all pages
    assert fine(app), said(app)
    assert f"**{folders['pretrained']}**. Open it?" in boxes(app)
    assert folders["pretrained"] not in asked and facts(app).startswith("**english**:")
    if key == "folder":  # AppTest cannot send a second model that is in no list
        app.button(key=f"open {folders['pretrained']}").click().run()
        assert fine(app) and "Open it?" not in boxes(app) and folders["pretrained"] in asked


def test_a_link_asks_before_the_hub_and_before_a_run(run_folder, monkeypatch):
    monkeypatch.setattr(models.hub, "download", lambda *asked: pytest.fail("the hub was asked"))
    assert "the folder or the model of the hub **org/name**" in boxes(opened("stories", ask=True, folder="org/name"))
    app = opened("training", ask=True, run=str(run_folder))
    assert "Open it?" in boxes(app) and not app.metric


def test_a_space_behind_a_pasted_folder_is_none_of_it(run_folder):
    app = opened("stories", ask=True, folder=f"{run_folder} ")
    next(button for button in app.button if button.label == "Open it").click().run()
    assert fine(app) and "Open it?" not in boxes(app), said(app)
    assert f"**{run_folder}**" in said(app)


@pytest.mark.parametrize(
    ("page", "link"), [("attention", {"versus": f"{TINY}/step-00300 "}), ("training", {"run": "runs/mine "})]
)
def test_a_space_behind_the_name_of_a_second_model_or_a_run_is_none_of_it(page, link, run_folder, monkeypatch):
    monkeypatch.chdir(run_folder.parents[1])
    app = opened(page, ask=True, model=TINY, **link)
    assert fine(app) and "Open it?" not in boxes(app), said(app)


def test_folders_that_hold_no_model_are_answered_alike(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("x")
    answers = set()
    for name in ("there", "file", "none"):
        for page, key in (("stories", "folder"), ("attention", "versus"), ("training", "run")):
            app = opened(page, model=TINY, **{key: str(tmp_path / name)})
            assert not app.exception
            answers.add((key, app.error[0].value.replace("\\", "").replace(str(tmp_path / name), "FOLDER")))
    assert len(answers) == 3


@pytest.mark.parametrize("closed", [(gate.NO_FOLDERS,), (gate.NO_FOLDERS, gate.NO_HUB)])
def test_a_closed_server_opens_its_own_models_only(closed, folders, asked, monkeypatch):
    for name in closed:
        monkeypatch.setenv(name, "1")
    app = opened("stories", folder=folders["pretrained"])  # even if a visitor says yes
    assert not app.exception and folders["pretrained"] not in asked
    assert "This server opens only its own models" in boxes(app) + " ".join(error.value for error in app.error)
    assert facts(app).startswith("**english**:")
    assert [field.key for field in app.text_input if field.key == "folder"] == ["folder"] * (len(closed) == 1)
    assert any("hub" in (button.key or "") for button in app.button) == (len(closed) == 1)
    assert fine(opened("stories", model="english-scratch"))


def test_the_command_closes_the_server(monkeypatch):
    started = []
    monkeypatch.setattr(launch, "start", lambda command, environment: started.append(environment))
    launch.Explore(no_folders=True).run()
    assert started[0][gate.NO_FOLDERS] == "1" and gate.NO_HUB not in started[0]


@pytest.mark.parametrize(("tab", "name"), [("Answers", "english-questions"), ("Opinion", "english-sentiment")])
def test_the_header_names_the_model_that_the_page_shows(tab, name):
    app = opened("tasks", tasks_tab=tab)
    assert f"Model: **{name}**" in said(app)
