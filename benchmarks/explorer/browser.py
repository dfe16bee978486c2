"""A running explorer and a browser to look at it, for the benchmarks, the screenshots and the tests."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.request import urlopen

from app.explore import FIRST
from app.explore import PAGES as TITLES

ROOT = Path(__file__).parents[2]
APP = ROOT / "app" / "explore.py"
PAGES = {name: "" if name == FIRST else name for name in TITLES}  # each page and its address
# What a reader came for: heads, a chart, a marked text, a table or stories. Before that a page shows only its heading
# and fields.
FIRST_VIEW = ".said, .passage, a.way, [data-testid=stVegaLiteChart] :is(svg, canvas), [class*=st-key-dataset-table]"
BUSY = "[data-testid=stStatusWidget], [data-testid=stSkeleton], [data-stale=true]"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


@contextmanager
def explorer(**environment: str) -> Iterator[tuple[str, int]]:
    """The address and process id of a fresh server; it has opened no model yet. `environment` overrides ours."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    options = ["--server.headless", "true", "--server.port", str(port), "--server.fileWatcherType", "none"]
    with tempfile.TemporaryFile() as log:
        command = [sys.executable, "-m", "streamlit", "run", str(APP), *options]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))  # its pages import `app`
        environment = os.environ | {"PYTHONPATH": path} | environment
        process = subprocess.Popen(command, cwd=APP.parent, stdout=log, stderr=log, env=environment)
        try:
            wait_until_up(f"http://localhost:{port}", process, log)
            yield f"http://localhost:{port}", process.pid
        finally:
            stop(process)


def stop(process: subprocess.Popen) -> None:
    """End it kindly; a server that is in the middle of long work on a busy machine may not hear in time."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_until_up(address: str, process: subprocess.Popen, log: BinaryIO) -> None:
    for _ in range(600):
        if process.poll() is not None:
            break
        try:
            with urlopen(f"{address}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.05)
    log.seek(0)
    raise SystemExit(f"the explorer did not start: try `bertlab explore`\n{log.read().decode()[-2000:]}")


@contextmanager
def chromium() -> Iterator:
    """A browser without windows."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-headless-shell"))), None)
    if path is None:
        raise SystemExit("this needs Chromium or Chrome: install one, such as Debian's package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def first_view(tab, address: str, page: str, link: str = "") -> float:
    """Open a page; return the seconds until its first view is there."""
    start = time.perf_counter()
    tab.goto(f"{address}/{PAGES[page]}{link}", wait_until="commit")
    tab.locator(FIRST_VIEW).first.wait_for(timeout=120_000)
    return time.perf_counter() - start


def settle(tab) -> None:
    """Wait until nothing on the page is being computed."""
    tab.wait_for_timeout(300)
    tab.wait_for_function(f"!document.querySelector('{BUSY}')", timeout=120_000)
