"""The web edition in Firefox, where one is installed: the same answers, no error, no other host, without the server."""

import shutil
import time

import pytest

from benchmarks.web.serving import Handler, served
from tests.web.firefox import SECONDS, opened
from tests.web.test_engine_browser import FEW, OPEN, OURS, assert_answers, texts

PROGRAM = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
pytestmark = [pytest.mark.browser, pytest.mark.skipif(PROGRAM is None, reason="no Firefox on this machine")]
ANSWERED = "/Answered by english, here/.test(document.querySelector('#status')?.textContent)"
WORDS = "() => [...document.querySelectorAll('.column:first-child .bars .word')].map((word) => word.textContent)"


@pytest.fixture
def firefox(tmp_path):
    with opened(PROGRAM, tmp_path) as window:
        yield window


PLAIN = pytest.param(None, OURS[-1], id="plain", marks=pytest.mark.nightly)


@pytest.mark.parametrize(("kernel", "name"), [pytest.param("product.wasm", OURS[0], id="simd"), PLAIN])
def test_texts_get_the_answers_of_bertlab_in_firefox(firefox, site, kernel, name):
    firefox.goto(f"{site}/live/js/model.js")  # as text: an empty page of the site
    assert firefox.evaluate(OPEN, [name, kernel, 16]) is (kernel is None)
    assert_answers(firefox, texts()[FEW], name, 16)


def test_the_page_answers_and_goes_on_without_the_server(firefox, live_site):
    with served(live_site) as site:
        firefox.goto(f"{site}/live/?text=My+niece+is+afraid+[MASK]+spiders.")
        firefox.wait(ANSWERED)
        assert firefox.evaluate(WORDS)[0] == "of"
        firefox.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    firefox.goto(f"{site}/live/?text=Better+late+than+[MASK].")
    firefox.wait(ANSWERED)
    assert len(firefox.evaluate(WORDS)) == 6
    assert (firefox.outside, firefox.broken) == ([], [])


@pytest.fixture
def answered(monkeypatch):
    """The paths that were asked for and answered to the end."""
    paths, answer = [], Handler.do_GET
    monkeypatch.setattr(Handler, "do_GET", lambda handler: answer(handler) or paths.append(handler.path))
    return paths


@pytest.mark.slow
def test_pages_of_the_book_open_in_firefox(firefox, whole_site, answered):
    """Firefox loads the next chapter ahead. It is not kept, and leaving meanwhile is no error."""
    with served(whole_site) as book:
        firefox.goto(f"{book}/index.html")
        firefox.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
        for page in ("index.html", "notebooks/04_attention.html", "notebooks/13_what_it_knows.html"):
            firefox.goto(f"{book}/{page}")
            assert firefox.evaluate("() => document.querySelector('h1').textContent.length > 3"), page
        give_up = time.monotonic() + SECONDS
        while not any("14_the_family" in path for path in answered) and time.monotonic() < give_up:
            time.sleep(0.1)
        assert any("14_the_family" in path for path in answered), "nothing was loaded ahead"
        firefox.evaluate("() => fetch('08_pretraining.html').then((page) => page.text())")  # kept, after the rest
        for page in ("04_attention.html", "08_pretraining.html"):
            assert firefox.evaluate("(page) => caches.match(page).then(Boolean)", page), page
        assert not firefox.evaluate("() => caches.match('14_the_family.html').then(Boolean)")
        assert "/favicon.ico" not in answered
        assert (firefox.outside, firefox.broken) == ([], [])
