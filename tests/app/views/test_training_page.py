"""The page Training: curves of runs in every state, films of their snapshots, and the step that all pages share."""

import math
import os
import shutil
from pathlib import Path

import pages
import pytest
import torch
from pages import TINY, cells, fine, said, tables
from streamlit.testing.v1 import AppTest

from app.shared.model import gate
from app.views.training.learning_curves import passed_baselines
from bertlab import BertForQuestionAnswering, Tokenizer
from bertlab.draw.percent import percent
from bertlab.explain.kept_film import read_film
from bertlab.explain.runs import CurveBaseline, TrainingRun
from bertlab.io.locate import locate

TABS = ["Learning curves", "A gap fills", "A head forms", "Pretraining's draw"]
ATTENTION, READER = "Attention", "storyworld-tiny-qa"
ODD = {
    "html": "<script>alert(1)</script> *bold* [MASK] :smile:",
    "very long": "[MASK] " + "word " * 1_000,
}


def opened(tab: str = TABS[0], **link: str) -> AppTest:
    return pages.opened("training", training_tab=tab, **link)


@pytest.fixture
def mine(run_folder, monkeypatch) -> str:
    """The finished run, as the explorer finds it where it was started."""
    monkeypatch.chdir(run_folder.parents[1])
    return "runs/mine"


@pytest.fixture
def under_way(run_folder, tmp_path, monkeypatch) -> Path:
    """The same run before its end."""
    monkeypatch.chdir(tmp_path)
    live = Path("runs/live")
    shutil.copytree(run_folder, live)
    (live / "model.safetensors").unlink()
    for name in ("metrics.csv", "recipe.json"):
        os.utime(live / name)  # as if just written
    return live


def test_the_film_of_english_is_kept_without_its_snapshots():
    film = read_film("english")
    app = pages.opened("training")
    assert fine(app), said(app)
    lines, heads = (pages.run(code)[0].to_dict() for code in cells(app))
    assert lines["layer"] and heads["concat"]
    surest = int(film.probabilities[-1, :, 0].argmax())
    assert f"the model writes **{film.guesses[-1][surest][0]}**" in said(app) and "ends with" in said(app)
    other = opened("The film", film_sentence=film.sentences[3])
    assert f"the model writes **{film.guesses[-1][3][0]}**" in said(other)


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_shows_the_bundled_run(tab):
    app = opened(tab, model=TINY)
    assert fine(app), said(app)
    assert [button.key for button in app.main.get("download_button")]
    assert cells(app)
    expected = ["two neighbours (3.91)", "animal", "ends with", "The loss of this draw"]
    assert expected[TABS.index(tab)] in said(app)


def test_curves_of_a_run_of_ones_own(mine):
    app = opened(run=mine)
    assert fine(app), said(app)
    assert "It fell below <b>*even*</b> (6.40) by step 50" in said(app)
    assert [metric.value for metric in app.metric] == ["100", "5.00 nats", "20%", "50%", "50 s"]


def test_a_bundled_run_of_another_kind():
    app = opened(model="english-scratch")
    assert fine(app), said(app)
    assert app.metric and app.main.get("download_button")


@pytest.mark.parametrize(
    ("name", "last", "told"),
    [
        ("two neighbours", 2.0, "the model uses more than the two words beside a gap."),
        ("the word before", 2.0, "the model uses more than the word before."),  # of a left-to-right training
        ("mine", 2.0, "It fell below mine (4.00) by step 10. "),
        ("two neighbours", 7.5, "by step 10. At its last step it is not below two neighbours (4.00)."),
    ],
)
def test_what_a_training_uses_follows_from_the_baseline_that_it_passed(name, last, told):
    baseline, rows = CurveBaseline(name, "loss", 4.0), [{"step": 10, "loss": 3.0}, {"step": 20, "loss": last}]
    run = TrainingRun("", {}, rows, [], [baseline], [], finished=True, written=0)
    assert passed_baselines(run, [baseline]).endswith(told)


def test_a_fine_tuning_is_read_against_what_needs_no_model():
    app = opened(run="storyworld-tiny-sentiment")
    assert "accuracy was 49% at step 250 and 100% at step 1,000" in said(app)
    assert "always the most frequent: 49%" in said(app)
    assert "kept no snapshots" in said(app) and len(app.tabs) == 1


@pytest.fixture
def reader(tmp_path, monkeypatch) -> str:
    """The bundled reader with two snapshots: with a new head, and as it is in the end."""
    monkeypatch.chdir(tmp_path)
    run = Path("runs/reader")
    shutil.copytree(locate(READER), run)
    shutil.copytree(locate(READER), run / "step-00400")
    with pytest.warns(UserWarning, match="newly initialised"):
        untrained = BertForQuestionAnswering.from_pretrained(TINY)
    torch.nn.init.zeros_(untrained.span.weight)
    untrained.span.bias.data.zero_()
    untrained.save_pretrained(run / "step-00000", Tokenizer.from_pretrained(TINY))
    return str(run)


def test_the_step_drives_the_answer_spans(reader):
    app = opened(folder=reader)
    app.select_slider(key="training_step").set_value("0").run()
    assert fine(app), said(app)
    answers = pages.opened("tasks", folder=reader, step="0")
    assert fine(answers) and "reader/step-00000**" in said(answers)


def test_a_run_under_way(under_way):
    app = opened(run=str(under_way))
    assert fine(app), said(app)
    assert "Under way: the last figures came" in said(app) and len(app.tabs) == len(TABS)
    for name in ("metrics.csv", "recipe.json"):
        os.utime(under_way / name, (1e9, 1e9))
    assert "No new figures for" in said(app.run()) and "--resume" in said(app)


def test_a_run_before_its_first_figures(under_way):
    (under_way / "metrics.csv").unlink()
    for step in ("step-00000", "step-00050"):
        shutil.rmtree(under_way / step)
    app = opened(model=TINY, run=str(under_way))
    assert fine(app) and "No figures yet" in said(app) and not app.select_slider(key="step").disabled
    assert "kept no snapshots" not in said(app)  # the first may still come


def test_damage_is_told_in_a_box(under_way):
    with (under_way / "metrics.csv").open("a") as file:
        file.write("125,oops\n")
    app = opened(run=str(under_way))
    assert not app.exception and "metrics.csv, line 6" in said(app)
    for run in ("x" * 5000, "\x00"):
        assert not opened(run=run).exception


def test_a_model_that_no_run_wrote(folders):
    app = opened(folder=folders["bare"])
    assert not app.exception and "no run folder" in said(app) and "Bundled: english" in said(app)


@pytest.mark.parametrize(("tab", "odd"), [(TABS[1], "html"), (TABS[1], "very long"), (TABS[2], "html")])
def test_odd_texts(tab, odd, mine):
    app = opened(tab, run=mine, text=ODD[odd])
    assert fine(app), said(app)
    assert ("left out" in said(app)) == (odd == "very long")


@pytest.mark.parametrize("tab", TABS[1:])
def test_empty_texts(tab, mine):
    app = opened(tab, run=mine, text=" \n")
    assert not app.exception and "text is empty" in said(app)


def test_a_text_without_a_gap_and_with_two(mine):
    app = opened(TABS[1], run=mine, text="my dog is hairy")
    assert not app.exception and "no [MASK]" in said(app)
    app = opened(TABS[1], run=mine, text="my [MASK] is [MASK]", film_gap2="2")
    assert fine(app) and app.main.button_group[-1].value == 2


def test_the_head_of_a_link(mine):
    app = opened(TABS[2], run=mine, film_head="2-3")
    assert fine(app) and "Layer 2, head 3" in said(app)
    assert "Layer" in said(opened(TABS[2], run=mine, film_head="9-9"))


def test_each_token_of_the_draw_has_its_loss(mine):
    link = dict(run=mine, text="my dog is hairy and likes walks", pair="he <b>likes</b> *walks*")
    app = opened(TABS[3], **link, rate="60", seed="7")
    assert fine(app) and app.slider(key="seed").value == 7
    table = tables(app)[0]
    assert list(table[" "]) == [percent(math.exp(-loss)) for loss in table["loss"]]
    assert f"**{table['loss'].mean():.2f} nats**" in said(app)
    _, names = pages.run(cells(app)[0])
    assert [guess.loss for guess in names["drawn"].guesses] == pytest.approx(list(table["loss"]), abs=1e-4)


def test_the_draw_is_that_of_the_step_and_needs_no_snapshots(folders, tmp_path):
    alone = tmp_path / "run"
    shutil.copytree(folders["pretrained"], alone)
    (alone / "recipe.json").write_text("{}")
    (alone / "metrics.csv").write_text("step,mlm_loss\n10,2.0\n")
    app = opened(TABS[3], run=str(alone))
    assert fine(app) and len(app.tabs) == 2, said(app)
    app = opened(TABS[3], model=TINY, step="0")
    assert fine(app) and "'storyworld-tiny/step-00000'" in cells(app)[0]


def test_the_step_drives_all_pages(mine):
    app = opened(model=TINY)
    app.select_slider(key="training_step").set_value("300").run()
    assert fine(app), said(app)
    assert app.select_slider(key="step").value == "300"
    assert "Model: **storyworld-tiny/step-00300**" in said(app)
    app.select_slider(key="step").set_value("end").run()
    assert app.select_slider(key="training_step").value == "7000"
    app.selectbox(key="run").set_value(mine).run()
    app.select_slider(key="training_step").set_value("50").run()
    assert fine(app) and f"{mine}/step-00050" in said(app)
    assert app.text_input(key="folder").value == mine


def test_a_run_drives_all_pages_of_a_server_on_which_nothing_can_be_typed(mine, monkeypatch):
    for closed in (gate.NO_FOLDERS, gate.NO_HUB):
        monkeypatch.setenv(closed, "1")
    app = opened(run=mine)
    app.select_slider(key="training_step").set_value("50").run()
    assert fine(app) and f"Model: **{mine}/step-00050**" in said(app), said(app)
    assert app.selectbox(key="model").value == mine and mine in app.selectbox(key="versus").options


def test_the_model_bar_opens_a_run_under_way(under_way):
    app = opened(folder=str(under_way), step="0")
    assert fine(app), said(app)
    assert "live/step-00000" in said(app)
    assert list(app.select_slider(key="step").options) == ["0", "50"]
    shutil.rmtree(under_way / "step-00050")
    assert fine(app.run())  # one snapshot is nothing to slide over


def test_the_figures_are_those_of_the_chosen_step(mine):
    assert figures(opened(run=mine))["Steps"] == "100"
    app = opened(folder=mine, step="50")
    assert figures(app) == {"Steps": "50", "Loss": "6.00 nats", "Masked words, correct": "20%", "Time": "25 s"} | {
        "Next sentence, correct": "50%"
    }
    app.select_slider(key="training_step").set_value("0").run()
    assert fine(app) and figures(app)["Steps"] == "0" and figures(app)["Loss"] == "–"


def figures(app) -> dict[str, str]:
    return {metric.label.replace("\\", ""): metric.value for metric in app.metric}
