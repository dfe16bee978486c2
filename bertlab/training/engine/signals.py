"""The signals by which people, systems and job queues stop a training: it saves its state first, and the exit code of
the command tells which one it was."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

# Ctrl-C; what Kubernetes, Docker, SLURM and `timeout` send before they kill; the usual warning of a job queue
NAMES = ("SIGINT", "SIGTERM", "SIGUSR1")
STOPPING = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))  # Windows has no SIGUSR1


class _Last:
    number: int = signal.SIGINT


def remember(number: int) -> None:
    """Note the signal that stops the training, which another process may have got."""
    _Last.number = number


def exit_code() -> int:
    """Return the exit code after a training was stopped: 128 + the number of the signal, as shells count (POSIX)."""
    return 128 + _Last.number


@contextmanager
def deferred_signals() -> Iterator[Callable[[], int]]:
    """Yield a function that returns the number of the signal that asks the training to stop, 0 if there was none; the
    loop asks it between steps.

    A second signal acts at once, as it would have before. Outside the main thread no signals arrive.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: 0
        return
    received: list[int] = []

    def note(number: int, _: object) -> None:
        received.append(number)
        put_back()

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, note) for number in STOPPING}
    try:
        yield lambda: received[0] if received else 0
    finally:
        put_back()


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGUSR1 raise SystemExit with their exit code, so that locks and unfinished files go.

    By default they would end the process on the spot, or do nothing where it is the first one of a container. Outside
    the main thread nothing changes.
    """

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    with handled([number for number in STOPPING if number != signal.SIGINT], end):
        yield


@contextmanager
def handled(numbers: Iterable[int], handler: Any) -> Iterator[None]:
    """Let `handler`, as signal.signal takes it, handle these signals. Outside the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():  # only there it can be set
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
