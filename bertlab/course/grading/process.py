"""One process that grades one notebook: its limits from outside, and what it reports."""

import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import bertlab

START = 300  # seconds of processor time for what comes before the first exercise: imports, and what checkers are given
HUNG = 3600  # seconds by the clock for the same, which a busy machine may need; only what hangs takes as long
FILE_SIZE = 16 * 2**20  # of a file in the scratch folder, and SCRATCH of all
SCRATCH = 64 * 2**20
REPORTED = 2**20
TICK = 0.2
STOPPED = "stopped"


@dataclass(frozen=True)
class Limits:
    """Seconds for one exercise and for a whole notebook, and megabytes of memory beyond what Python and torch take."""

    seconds: int = 60
    notebook_seconds: int = 600
    memory: int = 2048


def run_worker(
    job: dict[str, Any],
    notebook: Path,
    limits: Limits,
    left: float,
    take: Callable[[dict[str, Any]], None],
    stop: threading.Event,
) -> tuple[str, float]:
    """Run a worker on a notebook until it ends or goes beyond a limit, and call `take` with each of its reports.

    `left`: seconds that the exercises of the notebook still have together.
    Returns why it ended (nothing, if by itself and in order) and how many seconds its exercises took. Its folder and
    all its processes are gone then.
    """
    token = secrets.token_hex(16)
    with (
        tempfile.TemporaryDirectory(prefix="bertlab-", ignore_cleanup_errors=True) as name,
        tempfile.TemporaryFile() as sent,
    ):
        scratch = Path(name).resolve()
        sent.write(json.dumps(job | {"token": token}).encode() + b"\n" + notebook.read_bytes())
        sent.seek(0)
        command = [sys.executable, "-m", "bertlab.course.grading.worker"]
        process = subprocess.Popen(
            command,
            stdin=sent,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=scratch,
            env=_environment(scratch),
            start_new_session=True,
        )
        try:
            watch = _Watch(process, scratch, limits, left, stop)
            return watch.until_its_end(token.encode(), take), watch.spent()
        finally:
            _kill(process)


def _environment(scratch: Path) -> dict[str, str]:
    """Nothing of the teacher's environment but what Python needs, and one thread."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    places = ("HOME", "TMPDIR", "TEMP", "TMP", "MPLCONFIGDIR", "TORCHINDUCTOR_CACHE_DIR", "BERTLAB_MY_BERT")
    home = dict.fromkeys(places, str(scratch))
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    package = str(Path(bertlab.__file__).parent.parent)
    python = {"PYTHONPATH": package, "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
    return kept | home | threads | python | {"HF_HUB_OFFLINE": "1", "MPLBACKEND": "agg"}


class _Watch:
    """Reads what a worker reports and ends it where it goes beyond a limit."""

    def __init__(
        self,
        process: subprocess.Popen,
        scratch: Path,
        limits: Limits,
        left: float,
        stop: threading.Event,
    ):
        self.process, self.scratch, self.limits, self.left, self.stop = process, scratch, limits, left, stop
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.read = 0
        self.began: float | None = None  # the first exercise
        self.deadline = (time.monotonic() + HUNG, f"not ready after {HUNG} seconds")
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def _read(self, stream: BinaryIO) -> None:
        while line := stream.readline(2**16):
            self.read += len(line)
            if self.read > REPORTED:
                break  # the worker now waits, to be ended
            self.lines.put(line)
        self.lines.put(b"")

    def until_its_end(self, token: bytes, take: Callable[[dict[str, Any]], None]) -> str:
        while not (reason := self._beyond()):
            try:
                line = self.lines.get(timeout=TICK)
            except queue.Empty:
                continue
            if not line:
                return self._beyond() or self._ended()
            if line.startswith(token):
                event = json.loads(line[len(token) :])
                take(event)
                self._set_deadline(event)
        return reason

    def _set_deadline(self, event: dict[str, Any]) -> None:
        seconds, now = self.limits.seconds, time.monotonic()
        if "begin" in event:
            self.began = self.began or now
            over = f"stopped: the {self.limits.notebook_seconds} seconds for the notebook were over"
            self.deadline = min((now + seconds, f"stopped after {seconds} seconds"), (self.began + self.left, over))

    def spent(self) -> float:
        """Return the seconds since the first exercise began: what the course itself prepares is not the learner's."""
        return time.monotonic() - self.began if self.began else 0.0

    def _beyond(self) -> str:
        """The limit that is passed, or nothing."""
        end, reason = self.deadline
        if self.stop.is_set():
            return STOPPED
        if time.monotonic() > end:
            return reason
        if self.read > REPORTED:
            return f"stopped: it wrote more than {REPORTED >> 20} MB where its results go"
        if _size(self.scratch) > SCRATCH:
            return f"stopped: its files came to more than {SCRATCH >> 20} MB"
        return ""

    def _ended(self) -> str:
        code = self.process.wait(timeout=START)
        if code < 0:
            return f"ended by signal {signal.Signals(-code).name}"
        return f"ended its own process with exit code {code}"


def _size(folder: Path) -> int:
    """Bytes of the files in a folder; each counts as a block at least."""
    try:
        return sum(max(entry.stat(follow_symlinks=False).st_size, 4096) for entry in os.scandir(folder))
    except OSError:  # a file that went meanwhile
        return 0


def _kill(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):  # Windows has no groups; a worker that ended has none left
        process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()
