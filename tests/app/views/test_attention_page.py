"""The page of attention heads without a browser: its links, two models, and what it gives away."""

import pytest
from pages import fine, opened
from streamlit.testing.v1 import AppTest


def head_table(app: AppTest):
    (table,) = (frame.value for frame in app.main.dataframe if "from token" in frame.value)
    return table


def test_the_link_names_head_role_and_toggles(folders):
    app = opened("attention", folder=folders["pretrained"], head="2-3", show="rows,control,words", role="broad")
    assert fine(app)
    link = [app.query_params[key] for key in ("head", "show", "role")]
    assert link == ["2-3", "control,rows,words", "broad"]
    (cell,) = (code.value for code in app.code if "attention_widget" in code.value)
    assert "'layer': 1, 'head': 2, 'role': 'broad', 'control': True, 'scale': 'row', 'specials': False" in cell


@pytest.mark.parametrize("head", ["99-99", "0-0", "²-1"])
def test_links_with_impossible_heads_do_no_harm(head, folders):
    app = opened("attention", folder=folders["pretrained"], head=head, show="nothing", role="<b>")
    assert fine(app)
    assert head_table(app).groupby("from")["weight"].sum().to_numpy() == pytest.approx(1)


def test_it_opens_on_a_head_that_leads_to_another_word_until_a_link_names_one():
    app = opened("attention")
    table = head_table(app)
    strongest = table[table["to token"] == "closed"].sort_values("weight").iloc[-1]
    assert strongest["from token"] == "[MASK]" and strongest["weight"] > 0.8
    assert "head" not in app.query_params
    assert "head" in opened("attention", head="1-1").query_params


def test_control_is_another_table(folders):
    trained, control = (
        head_table(opened("attention", folder=folders["pretrained"], show=show)) for show in ("", "control")
    )
    assert list(trained["from token"]) == list(control["from token"])
    assert abs(trained["weight"] - control["weight"]).max() > 1e-3


@pytest.mark.parametrize("versus", ["storyworld-tiny", "random weights"])
def test_a_second_model_goes_into_the_cell(versus, folders):
    app = opened("attention", folder=folders["pretrained"], versus=versus)
    assert fine(app)
    (cell,) = (code.value for code in app.code if "attention_widget" in code.value)
    assert "beside=beside" in cell and ("ModelHeads('random weights'" in cell) == (versus == "random weights")
