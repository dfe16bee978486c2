"""The live page, built once and served to a browser."""

import pytest
from serving import served

from web.build import build_live, keep_offline


@pytest.fixture(scope="session")
def live_site(tmp_path_factory):
    """A site with the live page alone: english, and a small model that answers until it has come."""
    folder = tmp_path_factory.mktemp("site")
    build_live(folder, ["english", "storyworld-tiny"])
    keep_offline(folder)
    return folder


@pytest.fixture(scope="session")
def site(live_site):
    with served(live_site) as address:
        yield address
