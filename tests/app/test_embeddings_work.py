"""Long work on the page of embeddings: measures with a bar and a Stop, and files that are read once."""

import progress
import streamlit
from test_embeddings_page import page, shown
from test_pages import fine


def test_measuring_can_be_stopped_and_goes_on(folders, monkeypatch):
    def press_stop(bar, done, total):
        if (done, total) == (2, 3) and not pressed:  # layers of the small model
            pressed.append(total)
            bar._stop()
            streamlit.rerun()  # what a press of a button comes to

    pressed = []
    monkeypatch.setattr(progress.Bar, "__call__", press_stop)
    lines = "\n".join(f"{'ab'[i % 2]} | the dog number {i}" for i in range(12))
    app = page(folder=folders["pretrained"], embeddings_set="my own lines", lines=lines)
    assert fine(app) and any("Stopped after 2 of 3" in caption.value for caption in app.caption)
    assert "come apart?" not in shown(app) and len(app.main.dataframe[0].value) == 24  # the points are there
    (go_on,) = [button for button in app.button if button.label == "Go on"]
    go_on.click().run()
    assert fine(app) and "come apart?" in shown(app) and "Layer by layer" in shown(app)
