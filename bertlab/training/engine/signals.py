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
    received: list[int] = []

    def note(number: int, _: object) -> None:
        received.append(number)
        put_back()

    with handled(STOPPING, note) as put_back:
        yield lambda: received[0] if received else 0


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
def handled(numbers: Iterable[int], handler: Any) -> Iterator[Callable[[], None]]:
    """Let `handler`, as signal.signal takes it, handle these signals until the block ends, or the function is called
    that it yields. Outside the main thread nothing changes."""
    is_main = threading.current_thread() is threading.main_thread()  # only there it can be set
    before = {number: signal.signal(number, handler) for number in numbers if is_main}

    def put_back() -> None:
        for number, earlier in before.items():
            signal.signal(number, earlier)

    try:
        yield put_back
    finally:
        put_back()
