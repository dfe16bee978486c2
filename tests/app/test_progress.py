"""Long computations on a page: rows as they come, Stop and Continue, and results that are computed once."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import streamlit
from pages import LONGEST
from streamlit.testing.v1 import AppTest

from app.shared.page import progress

ROWS_PAGE = """
from types import SimpleNamespace
import streamlit as st
from app.shared.page import layout, progress

kept = st.session_state

def counted(model, tokenizer, limit):
    kept["starts"] = kept.get("starts", 0) + 1
    yield from range(limit)

def draw(rows):
    st.text(f"{len(rows)} so far")
    if len(rows) == kept.get("press at"):  # as a press of Stop: its callback, and then a rerun that breaks in
        del kept["press at"]
        next(iter(kept["works"].values())).stopped = True
        st.rerun()

with layout.box():
    loaded = SimpleNamespace(model=None, tokenizer=None, stamp="x")
    rows = progress.rows(counted, loaded, 12, total=12, draw=draw)
    st.text(f"all {rows}")
"""


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Bars and rows are drawn from the first on, however quick the machine."""
    monkeypatch.setattr(progress, "PATIENCE", -1)
    monkeypatch.setattr(progress, "REDRAW", -1)
    monkeypatch.setattr(progress, "PAUSE_PER_PICTURE", 0)


@pytest.fixture
def app():
    streamlit.cache_data.clear()
    return AppTest.from_string(ROWS_PAGE, default_timeout=LONGEST)


def test_rows_come_once_and_are_kept(app):
    app.run().run()
    assert [text.value for text in app.text] == [f"all {list(range(12))}"]
    assert app.session_state["starts"] == 1
    assert len(app.button) == 0  # the bar is gone


def test_what_comes_below_keeps_its_place(app):
    """If it moved, a browser would show it twice while the page is computed again."""

    def places():
        return [number for number, element in app.main.children.items() if element.type == "text"]

    app.run()
    computed = places()
    app.run()
    assert places() == computed


def test_stop_keeps_the_rows_and_continue_goes_on(app):
    app.session_state["press at"] = 5
    app.run()
    assert "Stopped after 5 of 12" in app.caption[0].value
    assert app.text[-1].value == "all [0, 1, 2, 3, 4]"
    app.button[0].click().run()
    assert app.text[-1].value == f"all {list(range(12))}"
    assert app.session_state["starts"] == 1
    assert len(app.session_state["works"]) == 0


def test_a_rerun_may_ask_for_rows_before_the_thread_before_it_has_ended():
    def slow():
        for number in range(40):
            time.sleep(0.002)
            yield number

    def take_all():
        while work.advance():
            pass

    work = progress.Work(slow())
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(take_all) for _ in range(4)]:
            done.result()
    assert work.rows == list(range(40))


WATCHED_PAGE = """
import streamlit as st
from app.shared.page import layout, progress
from types import SimpleNamespace

def slow(model, tokenizer, fails, progress):
    progress(1, 2)
    if fails:
        raise ValueError("broken")
    return "made"

loaded = SimpleNamespace(model=None, tokenizer=None, stamp="y")
with layout.box():
    st.text(progress.watched(slow, loaded, st.session_state.get("fails", False)))
st.text("the rest")
"""


def test_a_view_that_breaks_shows_a_box_and_the_rest_goes_on():
    app = AppTest.from_string(WATCHED_PAGE, default_timeout=LONGEST)
    app.session_state["fails"] = True
    app.run()
    assert not app.exception
    assert "This view failed (ValueError)" in app.error[0].value
    assert app.text[-1].value == "the rest"
    app.session_state["fails"] = False
    assert [text.value for text in app.run().text] == ["made", "the rest"]


WAITED_PAGE = """
import streamlit as st
from app.shared.page import layout, progress
from threading import Event

kept = st.session_state
go = kept.setdefault("go", Event())

def make():
    starts.append(1)
    go.wait()
    return "made"

starts = kept.setdefault("starts", [])
show = progress.Bar.show

def press_stop(bar, share, message):  # as a reader who presses Stop at once: its callback, and a rerun that breaks in
    show(bar, share, message)
    if not kept.get("pressed"):
        kept["pressed"] = bar.work.stopped = True
        st.rerun()

progress.Bar.show = press_stop
try:
    with layout.box():
        st.text(progress.waited(("waited", "z", ()), make, "Working"))
finally:
    progress.Bar.show = show
st.text("the rest")
"""


def test_work_in_a_thread_is_left_and_waited_for_again():
    streamlit.cache_data.clear()
    app = AppTest.from_string(WAITED_PAGE, default_timeout=LONGEST).run()
    assert [text.value for text in app.text] == ["the rest"] and "Stopped" in app.caption[0].value
    app.session_state["go"].set()
    app.button[0].click().run()
    assert [text.value for text in app.text] == ["made", "the rest"]
    assert len(app.session_state["starts"]) == 1  # it went on all the while
