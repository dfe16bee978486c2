"""The web edition, built once for all processes of a test run, and served to a browser."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from benchmarks.web.serving import served
from bertlab.io.locate import bundled_models
from web.build import MODELS, build_book, build_live, keep_offline
from web.int8 import quantized
from web.weights import copy_model, published


def built_once(tmp_path_factory, name: str, build: Callable[[Path], None]) -> Path:
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with FileLock(f"{folder}.lock"):
        if not (folder / "sw.js").exists():
            build(folder)
            keep_offline(folder)
    return folder


@pytest.fixture(scope="session")
def live_site(tmp_path_factory):
    """A site with the live page alone: its models, and a small one that answers until they have come. Beside what the
    page loads stands each model with 16 and with 8 bits."""
    names = [*(name for name in MODELS if name in bundled_models()), "storyworld-tiny"]

    def build(folder: Path) -> None:
        build_live(folder, names, texts=4)
        for name in names:
            copy_model(name, published(name), folder / "live" / "models" / f"{name}-16")
            copy_model(name, quantized(published(name)), folder / "live" / "models" / f"{name}-8")

    return built_once(tmp_path_factory, "live-site", build)


@pytest.fixture(scope="session")
def site(live_site):
    with served(live_site) as address:
        yield address


@pytest.fixture(scope="session")
def whole_site(tmp_path_factory):
    """The book and the live page."""

    def build(folder: Path) -> None:
        build_book(folder)
        build_live(folder, ["storyworld-tiny"])

    return built_once(tmp_path_factory, "whole-site", build)


@pytest.fixture(scope="session")
def book(whole_site):
    with served(whole_site) as address:
        yield address
