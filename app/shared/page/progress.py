"""Computations of more than a second: a progress bar, a Stop button, and cached results."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from typing import TypeVar

import streamlit as st

from app.shared.model import models
from app.shared.page import layout

PATIENCE = 0.6  # seconds before a bar is shown, so a wait without one stays below a second
REFRESH = 0.05  # seconds between two drawings of a bar: rows can come by the thousand
REDRAW = 0.4  # seconds between two drawings of the rows so far, and
PAUSE_PER_PICTURE = 4  # times as long as one took to draw: on a slow machine pictures may not hold up what they show
KEPT_WORKS = 8  # unfinished computations, in one session
THREADS = ThreadPoolExecutor(2, "computing")  # for all sessions: computations that cannot report their progress

Key = tuple[str, str, tuple]  # function, stamp of the model, arguments
Result = TypeVar("Result")


@dataclass
class Work:
    """An unfinished computation of one session. The iterator stays where it is when a rerun interrupts it.

    The rerun has its own thread, and the one before it ends only when it next draws, so both may ask for a row.
    """

    iterator: Iterator = field(default_factory=lambda: iter(()))
    rows: list = field(default_factory=list)
    stopped: bool = False
    future: Future | None = None
    lock: Lock = field(default_factory=Lock)

    def advance(self) -> bool:
        """Compute one more row. Returns False if there was none left."""
        with self.lock:
            before = len(self.rows)
            self.rows.extend(islice(self.iterator, 1))
            return len(self.rows) > before


def rows(
    function: Callable, loaded: models.Loaded, *arguments, total: int, draw: Callable[[list], None] | None = None
) -> list:
    """Return the rows of the generator function(model, tokenizer, *arguments), cached for all sessions.

    After a second a bar out of `total` and a Stop button appear, and `draw` shows the rows so far; it must make no
    widgets. Stop returns the rows so far, and "Continue" goes on from them.
    """
    key = work_key(function, loaded, arguments)
    return rows_of(key, lambda: function(loaded.model, loaded.tokenizer, *arguments), total, draw)


def rows_of(key: Key, begin: Callable[[], Iterator], total: int, draw: Callable[[list], None] | None = None) -> list:
    """Return the rows of the iterator that `begin` makes, cached under `key`."""
    return whole(key, lambda bar: take_rows(bar, total, draw), lambda: Work(begin()), total)


def take_rows(bar: "Bar", total: int, draw: Callable[[list], None] | None) -> list:
    """Compute all remaining rows. Pressing Stop, or anything else, interrupts where the bar or the rows are drawn."""
    drawn, pause = time.monotonic(), REDRAW
    while bar.work.advance():
        bar(len(bar.work.rows), total)
        if draw and bar.shown and (start := time.monotonic()) - drawn > pause:
            with bar.picture.container():
                draw(bar.work.rows)
            drawn = time.monotonic()
            pause = max(REDRAW, PAUSE_PER_PICTURE * (drawn - start))
    bar.picture.empty()
    return bar.work.rows


def watched(function: Callable, loaded: models.Loaded, *arguments):
    """Return function(model, tokenizer, *arguments, progress=...), which calls progress(done, total); cached.

    Stop discards the computation and leaves out the view; "Continue" starts it again.
    """
    key = work_key(function, loaded, arguments)
    return whole(key, lambda bar: function(loaded.model, loaded.tokenizer, *arguments, progress=bar))


def waited(key: Key, make: Callable[[], Result], message: str) -> Result:
    """Return make(), computed in its own thread and cached under `key`; for work that cannot report its progress.

    After a second `message` and a Stop button appear. Stop leaves out the view; "Continue" waits again.
    """

    def wait_for(bar: Bar) -> Result:
        bar.work.future = bar.work.future or THREADS.submit(make)
        while not wait([bar.work.future], timeout=0.2).done:
            bar.show(0.0, f"{message} ({time.monotonic() - bar.start:.0f} s so far)")
        return bar.work.future.result()

    return whole(key, wait_for)


def whole(key: Key, make: Callable[["Bar"], object], begin: Callable[[], Work] = Work, total: int = 0):
    """Return make(bar), cached under `key`. Stop returns the rows so far, out of `total`, or raises layout.Stopped if
    there are none: parts of any other result are of no use."""
    place, picture = st.empty(), st.empty()  # for a kept result, too: what comes below keeps its place on the page
    if (kept := kept_result(key)) is not None:
        return kept
    work = begun(key, begin)
    if work.stopped:
        offer_to_continue(place, work, total)
        if not work.rows:
            raise layout.Stopped
        return work.rows
    with ended(key):
        result = make(Bar(place, picture, work))
    place.empty()
    _result(*key, (result,))
    return result


class Bar:
    """A progress bar with a Stop button, called with (done, total). It appears only if the work takes long."""

    def __init__(self, place, picture, work: Work):
        self.place, self.picture, self.work = place, picture, work
        self.start, self.shown, self.drawn = time.monotonic(), None, 0.0

    def __call__(self, done: int, total: int) -> None:
        left = (time.monotonic() - self.start) * (total - done) / max(done, 1)
        self.show(min(done / total, 1.0), f"{done:,} of {total:,}, about {left:.0f} s left")

    def show(self, share: float, message: str) -> None:
        if self.shown is None and time.monotonic() - self.start > PATIENCE:
            with self.place.container(horizontal=True, vertical_alignment="center"):
                self.shown = st.progress(0.0)
                stop: dict = dict(on_click=setattr, args=(self.work, "stopped", True), icon=":material/stop_circle:")
                st.button("Stop", key=f"stop {id(self.work)}", **stop)
        if self.shown is not None and time.monotonic() - self.drawn > REFRESH:
            self.shown.progress(share, message)
            self.drawn = time.monotonic()


def offer_to_continue(place, work: Work, total: int) -> None:
    go_on: dict = dict(on_click=setattr, args=(work, "stopped", False), icon=":material/play_arrow:")
    with place.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Stopped after {len(work.rows):,} of {total:,}." if work.rows else "Stopped.")
        st.button("Continue", key=f"continue {id(work)}", **go_on)


def begun(key: Key, make: Callable[[], Work]) -> Work:
    """Return this session's work under `key`, begun if necessary. The oldest of too many is dropped."""
    works = st.session_state.setdefault("works", {})
    if key not in works:
        works[key] = make()
        for old in list(works)[:-KEPT_WORKS]:
            del works[old]
    return works[key]


@contextmanager
def ended(key: tuple) -> Iterator[None]:
    """Forget the work under `key` when it is done or fails; keep it when a rerun interrupts it."""
    try:
        yield
    except Exception:  # Streamlit interrupts with another kind
        st.session_state.works.pop(key, None)
        raise
    st.session_state.works.pop(key, None)


def work_key(function: Callable, loaded: models.Loaded, arguments: tuple) -> Key:
    return f"{function.__module__}.{function.__qualname__}", loaded.stamp, arguments


def kept_result(key: tuple):
    """Return a complete result of any session; None if there is none (yet, or any more)."""
    try:
        return _result(*key, None)
    except Missing:
        return None


class Missing(Exception):
    """Nothing is cached under that key. It is raised, because Streamlit caches no exceptions."""


@st.cache_data(max_size=models.KEPT_BYTES, show_spinner=False)
def _result(name: str, stamp: str, arguments: tuple, _made: tuple | None):
    """Return the result cached under the first three arguments; the first call with a result has it in `_made`."""
    if _made is None:
        raise Missing
    return _made[0]
