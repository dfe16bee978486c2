"""Long work on the page of embeddings: measures with a bar and a Stop, and files that are read once."""

import streamlit
from pages import fine, said, tables
from test_meaning_page import CSV, page, shown, with_file

from app.shared.page import progress
from app.shared.text import columns


def test_measuring_can_be_stopped_and_goes_on(folders, monkeypatch):
    def press_stop(bar, done, total):
        if (done, total) == (2, 3) and not pressed:  # layers of the small model
            pressed.append(total)
            bar.work.stopped = True
            streamlit.rerun()  # what a press of a button comes to

    pressed = []
    monkeypatch.setattr(progress.Bar, "__call__", press_stop)
    lines = "\n".join(f"{'ab'[i % 2]} | the dog number {i}" for i in range(12))
    app = page(folder=folders["pretrained"], meaning_set="my own lines", lines=lines)
    assert fine(app) and any("Stopped after 2 of 3" in caption.value for caption in app.caption)
    assert "lie together?" not in shown(app) and len(tables(app)[0]) == 24  # the points are there
    (go_on,) = [button for button in app.button if button.label == "Continue"]
    go_on.click().run()
    assert fine(app) and "lie together?" in shown(app) and "Dashed: always guessing" in said(app)


def test_a_file_is_read_once_and_no_further_than_is_shown(folders, monkeypatch):
    def counted(path, skipped=None):
        for record in read_records(path, skipped=skipped):
            read.append(record.number)
            yield record

    read, read_records = [], columns.read_records
    monkeypatch.setattr(columns, "read_records", counted)
    app = with_file(folders, "a.csv", (CSV + "x,b\n" * 5_000).encode())
    assert fine(app) and "more than 500 rows: only the first 500 are shown" in said(app)
    assert len(tables(app)[0]) == 2 * 500  # in the model and in random weights
    first = len(read)
    assert first <= 1 + 501
    app.segmented_control(key="meaning_vector").set_value("mean").run()
    assert fine(app) and len(read) == first
