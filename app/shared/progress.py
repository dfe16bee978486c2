"""Work that takes over a second: a bar, a Stop button, and results that are remembered."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock

import streamlit as st

from app.shared import models, state

PATIENCE = 0.6  # seconds of work before a bar is shown: the whole wait then stays about a second
REDRAW = 0.4  # seconds between two drawings of rows that are still coming
KEPT_WORKS = 8  # begun and not ended, in one session
ASIDE = ThreadPoolExecutor(2, "aside")  # for all sessions: what knows no way to tell how far it is


@dataclass
class Work:
    """What is still being made, in one session. The iterator stays where it was when a rerun breaks in.

    The rerun has a thread of its own, and the one before it ends only when it next draws: both may ask for a row.
    """

    iterator: Iterator = field(default_factory=lambda: iter(()))
    rows: list = field(default_factory=list)
    stopped: bool = False
    future: Future | None = None
    lock: Lock = field(default_factory=Lock)

    def advance(self) -> bool:
        """Make one more row; False when there was none left."""
        with self.lock:
            before = len(self.rows)
            self.rows.extend(islice(self.iterator, 1))
            return len(self.rows) > before


def rows(
    function: Callable, loaded: models.Loaded, *arguments, total: int, draw: Callable[[list], None] | None = None
) -> list:
    """The rows of the generator function(model, tokenizer, *arguments), remembered for all sessions.

    Over a second, a bar out of `total` and a Stop button are shown, and `draw` shows the rows that are there; it makes
    no widgets. Pressing Stop leaves these rows, and "Go on" goes on from them.
    """
    key, place, picture = work_key(function, loaded, arguments), st.empty(), st.empty()
    if (kept := kept_result(key)) is not None:
        return kept
    work = begun(key, lambda: Work(function(loaded.model, loaded.tokenizer, *arguments)))
    if work.stopped:
        offer_to_go_on(place, work, f"Stopped after {len(work.rows):,} of {total:,}.")
        return work.rows
    with ended(key):
        take_rows(work, total, Bar(place, work), picture, draw)
    place.empty()
    picture.empty()
    keep_result(key, work.rows)
    return work.rows


def take_rows(work: Work, total: int, bar: "Bar", picture, draw: Callable[[list], None] | None) -> None:
    """All that are left. A press of Stop, or of anything else, breaks in where the bar or the rows are drawn."""
    drawn = time.monotonic()
    while work.advance():
        bar(len(work.rows), total)
        if draw and bar.shown and time.monotonic() - drawn > REDRAW:
            with picture.container():
                draw(work.rows)
            drawn = time.monotonic()


def watched(function: Callable, loaded: models.Loaded, *arguments):
    """function(model, tokenizer, *arguments, progress=...), which calls progress(done, total) on its way; remembered.

    After a press of Stop nothing is left of it, and of the view; "Go on" begins anew.
    """
    key = work_key(function, loaded, arguments)
    return whole(key, lambda bar: function(loaded.model, loaded.tokenizer, *arguments, progress=bar))


def waited(key: tuple[str, str, tuple], make: Callable[[], object], said: str):
    """make(), worked out in a thread of its own, for work that cannot tell how far it is; remembered under `key`.

    Over a second, `said` and a Stop button are shown. After a press of Stop the view is left out; "Go on" waits again.
    """

    def wait_for(bar: Bar):
        bar.work.future = bar.work.future or ASIDE.submit(make)
        while not wait([bar.work.future], timeout=0.2).done:
            bar.tell(0.0, f"{said} ({time.monotonic() - bar.start:.0f} s so far)")
        return bar.work.future.result()

    return whole(key, wait_for)


def whole(key: tuple[str, str, tuple], make: Callable[["Bar"], object]):
    """make(bar), remembered under `key`. It is of no use in parts: after a press of Stop, state.Stopped is raised."""
    if (kept := kept_result(key)) is not None:
        return kept
    place, work = st.empty(), begun(key)
    if work.stopped:
        offer_to_go_on(place, work, "Stopped.")
        raise state.Stopped
    with ended(key):
        result = make(Bar(place, work))
    place.empty()
    keep_result(key, result)
    return result


class Bar:
    """Called with (done, total); appears when the work takes long, with a Stop button."""

    def __init__(self, place, work: Work):
        self.place, self.work, self.start, self.shown = place, work, time.monotonic(), None

    def __call__(self, done: int, total: int) -> None:
        left = (time.monotonic() - self.start) * (total - done) / max(done, 1)
        self.tell(min(done / total, 1.0), f"{done:,} of {total:,}, about {left:.0f} s to go")

    def tell(self, share: float, said: str) -> None:
        if self.shown is None and time.monotonic() - self.start > PATIENCE:
            with self.place.container(horizontal=True, vertical_alignment="center"):
                self.shown = st.progress(0.0)
                st.button("Stop", key=f"stop {id(self.work)}", on_click=self._stop, icon=":material/stop_circle:")
        if self.shown is not None:
            self.shown.progress(share, said)

    def _stop(self) -> None:
        self.work.stopped = True


def offer_to_go_on(place, work: Work, said: str) -> None:
    def go_on() -> None:
        work.stopped = False

    with place.container(horizontal=True, vertical_alignment="center"):
        st.caption(said)
        st.button("Go on", key=f"go on {id(work)}", on_click=go_on, icon=":material/play_arrow:")


def begun(key: tuple, make: Callable[[], Work] = Work) -> Work:
    """This session's work of that key. The oldest of too many is dropped."""
    works = st.session_state.setdefault("works", {})
    if key not in works:
        works[key] = make()
        for old in list(works)[:-KEPT_WORKS]:
            del works[old]
    return works[key]


@contextmanager
def ended(key: tuple) -> Iterator[None]:
    """Around the work of a key: it is forgotten when it is done or fails, and kept when a rerun breaks in."""
    try:
        yield
    except Exception:  # what Streamlit breaks in with is none
        st.session_state.works.pop(key, None)
        raise
    st.session_state.works.pop(key, None)


def work_key(function: Callable, loaded: models.Loaded, arguments: tuple) -> tuple[str, str, tuple]:
    return f"{function.__module__}.{function.__qualname__}", loaded.stamp, arguments


def kept_result(key: tuple):
    """A whole result that some session has made; None where there is none (yet, or any more)."""
    try:
        return _result(*key, None)
    except Missing:
        return None


def keep_result(key: tuple, result) -> None:
    _result(*key, (result,))


class Missing(Exception):
    """Nothing is kept under that key: raised, because what is raised is not kept either."""


@st.cache_data(max_size=models.KEPT_BYTES, show_spinner=False)
def _result(name: str, stamp: str, arguments: tuple, _made: tuple | None):
    """What was made under the first three; on the first call with one, `_made` holds it."""
    if _made is None:
        raise Missing
    return _made[0]
