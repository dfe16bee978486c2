"""A server that was just started: its page has a frame before anything heavy is loaded."""

import subprocess
import sys
from threading import Event

from pages import APP, LONGEST
from streamlit.testing.v1 import AppTest

from app.shared.page import frame

HEAVY = "torch altair tokenizers transformers scipy sklearn".split()
COLD = f"""
import sys
from app import explore
from app.shared.page import frame
print(*[name for name in {HEAVY} if name in sys.modules])
frame.import_altair()
print("altair" in sys.modules, "rfc3987_syntax" in sys.modules)
import altair
print(altair.Chart().mark_bar().to_dict()["mark"]["type"])
"""


def test_nothing_heavy_is_imported_before_the_frame():
    done = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, check=True, cwd=APP.parents[1])
    assert done.stdout.splitlines() == ["", "True False", "bar"]


def test_the_title_and_the_pages_are_there_while_the_rest_is_loaded(monkeypatch):
    monkeypatch.setattr(frame, "READY", Event())
    monkeypatch.setitem(sys.modules, "app.shared.model.model_bar", None)  # as long as it is not loaded
    monkeypatch.delattr("app.shared.model.model_bar", raising=False)
    app = AppTest.from_file(str(APP), default_timeout=LONGEST).run()
    assert [title.value for title in app.title] == ["Play"]
    assert "Loading the explorer" in app.main.caption[0].value and not frame.READY.is_set()


def test_a_server_that_is_ready_shows_no_other_title():
    app = AppTest.from_file(str(APP), default_timeout=LONGEST).run()
    assert not app.exception and len(app.title) == 1 and frame.READY.is_set()
    assert not [caption for caption in app.main.caption if "Loading" in caption.value]
