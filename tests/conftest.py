"""What several tests share: small models, a small text and its vocabulary, batches with padding, a headless browser."""

import gc
import os
import shutil
import signal
import sys
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may reach a hub

import pytest
import torch
from hypothesis import HealthCheck, settings

from bertlab import BertConfig, BertForPreTraining, Tokenizer
from bertlab.corpora import storyworld
from bertlab.training.engine.optim import Optimization
from bertlab.training.recipes import PretrainRecipe

signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell Ctrl-C may be ignored

collect_ignore = [] if sys.platform == "linux" else ["hostile"]  # its bounds on memory are Linux's

# No example fails for being slow. `make test` tries the same few each time, `make test-all` draws many new ones.
FEWER, ALL = 4, 100
settings.register_profile(
    "always", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, max_examples=ALL // FEWER
)
settings.register_profile(
    "nightly", settings.get_profile("always"), derandomize=False, print_blob=True, max_examples=ALL
)


def pytest_configure(config):  # not at import: tests import this file once more, after the option was heeded
    settings.load_profile(config.getoption("hypothesis_profile", None) or "always")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Leave what is imported out of the search for garbage: going through it again and again is a sixth of all work."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def is_nightly() -> bool:
    """Whether this is `make test-all`."""
    return settings.get_current_profile_name() == "nightly"


def tries(count: int, **options) -> settings:
    """Try so many examples of a property in `make test-all`, a quarter of them in `make test`."""
    return settings(max_examples=count if is_nightly() else max(10, count // FEWER), **options)


SMALL = dict(
    vocab_size=61,
    hidden_size=24,
    num_hidden_layers=3,
    num_attention_heads=4,
    intermediate_size=40,
    max_position_embeddings=16,
    initializer_range=0.3,  # large, so that attention is far from uniform
)

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")  # the first loads a page with a quarter less work
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    torch.manual_seed(0)  # pytest-randomly does the same for the generators of Python and NumPy


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call():
    torch.manual_seed(0)


@pytest.fixture
def config() -> BertConfig:
    """A BERT of a few thousand parameters."""
    return BertConfig(**SMALL)


@pytest.fixture
def batch() -> dict[str, torch.Tensor]:
    """Three rows (3, 9): full, padded, and a pair; segments change at the fifth token."""
    generator = torch.Generator().manual_seed(1)
    lengths = torch.tensor([9, 4, 7])
    real = torch.arange(9) < lengths[:, None]  # (3, 9)
    segments = (torch.arange(9) > 4).long().expand(3, 9) * torch.tensor([[1], [0], [1]])
    ids = torch.randint(5, 61, (3, 9), generator=generator)
    return {"input_ids": ids * real, "attention_mask": real.long(), "token_type_ids": segments * real}


@pytest.fixture
def checkpoint(config, tmp_path):
    """A folder with a random pretraining checkpoint."""
    torch.manual_seed(0)
    folder = tmp_path / "checkpoint"
    BertForPreTraining(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def texts() -> list[tuple[str, ...]]:
    return [document.sentences for document in storyworld.documents(0, 30)]


@pytest.fixture(scope="session")
def tok(texts) -> Tokenizer:
    return Tokenizer.train([sentence for sentences in texts for sentence in sentences], vocab_size=300)


@pytest.fixture(scope="session")
def recipe() -> PretrainRecipe:
    """Five steps of one narrow layer."""
    return PretrainRecipe(
        name="small",
        documents=30,
        vocab_size=300,
        num_hidden_layers=1,
        hidden_size=16,
        num_attention_heads=2,
        max_position_embeddings=64,
        max_tokens=48,
        batch_size=4,
        steps=5,
        optim=Optimization(learning_rate=1e-3),
    )


@pytest.fixture(scope="session")
def pretrained(recipe, tok, tmp_path_factory) -> str:
    """The folder of an untrained model of positions enough for questions."""
    from bertlab.training.initial_weights import new_model

    folder = tmp_path_factory.mktemp("models") / "untrained"
    new_model(replace(recipe, max_position_embeddings=256, seed=8), tok).save_pretrained(folder, tok)
    return str(folder)


@pytest.fixture(scope="module")
def each_model_once():
    """Let `bertlab.predict` open each model once, for a test that asks it for one text after the other."""
    from bertlab import predict

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predict, "open_masked", cache(predict.open_masked))
        patch.setattr(predict, "open_task", cache(predict.open_task))
        patch.setattr(predict, "Tokenizer", SimpleNamespace(from_pretrained=cache(Tokenizer.from_pretrained)))
        yield


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


WINDOW = {"width": 1280, "height": 900}


def open_tab(context):
    """A browser tab that records in `outside` the requests that would leave this machine, in `broken` the errors of the
    page."""
    page = context.new_page()
    page.outside, page.broken = [], []
    local = ("http://localhost:", "ws://localhost:", "data:", "blob:")
    page.on("request", lambda r: None if r.url.startswith(local) else page.outside.append(r.url))
    page.on("websocket", lambda w: None if w.url.startswith(local) else page.outside.append(w.url))
    page.on("pageerror", lambda error: page.broken.append(str(error)))
    page.set_default_timeout(120_000)  # for what never comes: a busy machine may take 20 seconds
    return page


@pytest.fixture
def new_tab(chromium):
    """Opens tabs, each of a reader of its own."""
    contexts = []

    def opened(**options):
        contexts.append(chromium.new_context(viewport=WINDOW, **options))
        return open_tab(contexts[-1])

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def reader(chromium):
    """One reader for many tests. The explorer's scripts are fetched and compiled once: a third of opening a page."""
    context = chromium.new_context(viewport=WINDOW)
    yield context
    context.close()


@pytest.fixture
def tab(reader):
    """A fresh tab. The browser forgets what was chosen in it."""
    page = open_tab(reader)
    yield page
    if page.url.startswith("http"):
        page.evaluate("localStorage.clear()")
    page.close()


@pytest.fixture(scope="session")
def documents(texts, tok) -> list[list[list[int]]]:
    """The text as token ids."""
    return [tok.encode_batch(list(sentences)) for sentences in texts]
