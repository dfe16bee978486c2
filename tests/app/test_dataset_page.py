"""Data sets: files of the three formats through a model, and everything that may be wrong with them."""

import json

import pytest
from pages import boxes, cells, fine, opened, run, said


def tables(app) -> list:
    return [one.value for one in app.main.dataframe if "predicted" in one.value]


@pytest.mark.parametrize("which", ["opinions", "names", "questions"])
@pytest.mark.parametrize("tab", ["Rows", "Slices", "Confusion"])
def test_bundled_data_work_at_once(which, tab):
    app = opened("dataset", dataset_set=which, dataset_tab=tab)
    assert fine(app), said(app)
    assert app.metric[0].value == "300" and cells(app)
