"""The web edition, built once and served to a browser."""

import os

import pytest
from filelock import FileLock

from benchmarks.web.serving import served
from bertlab.io.locate import bundled_models
from web.build import MODELS, build_book, build_live, keep_offline


@pytest.fixture(scope="session")
def live_site(tmp_path_factory):
    """A site with the live page alone: its models, and a small one that answers until they have come."""
    folder = tmp_path_factory.mktemp("site")
    build_live(folder, [*(name for name in MODELS if name in bundled_models()), "storyworld-tiny"])
    keep_offline(folder)
    return folder


@pytest.fixture(scope="session")
def site(live_site):
    with served(live_site) as address:
        yield address


@pytest.fixture(scope="session")
def whole_site(tmp_path_factory):
    """The book and the live page, built once for all processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "whole-site"
    with FileLock(f"{folder}.lock"):
        if not (folder / "sw.js").exists():
            build_book(folder)
            build_live(folder, ["storyworld-tiny"])
            keep_offline(folder)
    return folder


@pytest.fixture(scope="session")
def book(whole_site):
    with served(whole_site) as address:
        yield address
