"""One server for all tests of the explorer, and small checkpoints."""

import sys
from functools import cache

import pytest

from benchmarks.explorer.browser import explorer


@pytest.fixture(scope="session", autouse=True)
def pages_run_sooner():
    """What takes long beside a page and is no part of it.

    For every new page AppTest reads the metadata of all installed packages, which a server does once, and it looks for
    the end of the page a thousand times a second. Altair validates each part of a chart and then the whole: the whole
    is enough. More models are kept than by a server, as tests shuffle them.
    """
    from altair.utils import schemapi
    from streamlit.components.v2 import manifest_scanner
    from streamlit.testing.v1 import local_script_runner

    from app.shared.model import models

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        patch.setattr(local_script_runner, "require_widgets_deltas", ended(local_script_runner.require_widgets_deltas))
        patch.setattr(schemapi, "DEBUG_MODE", False)
        patch.setattr(models._open._info, "max_entries", models.KEPT_MODELS + 4)  # 90 MB each
        yield


def ended(late):
    """Wait for the thread of a page; `late` raises if it goes on."""

    def wait(runner, timeout):
        runner._script_thread.join(timeout)
        if runner._script_thread.is_alive():
            late(runner, 0)

    return wait


@pytest.fixture(autouse=True)
def main_module_again(monkeypatch):
    """AppTest leaves a page as this process's main module. A process that another test starts would run it and hang."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(autouse=True)
def few_points(request, monkeypatch):
    """Attributions are most of a page's work, and few tests read their figures: those ask for `every_point`."""
    if "every_point" not in request.fixturenames:
        monkeypatch.setattr("bertlab.explain.attribution.FEW", 2)
        monkeypatch.setattr("bertlab.explain.attribution.STEPS", 4)


@pytest.fixture
def every_point(monkeypatch):
    """Attributions as accurate as a reader gets them, and none that another test has left."""
    from app.shared.page import progress

    def own_key(*asked):
        name, *others = work_key(*asked)
        return f"every point of {name}", *others

    work_key = progress.work_key
    monkeypatch.setattr(progress, "work_key", own_key)


@pytest.fixture(scope="session")
def server():
    """The address of a running explorer."""
    with explorer(OMP_NUM_THREADS="1") as (address, _):
        yield address


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Small random checkpoints in folders of their own: pretrained, with each other head, and with none."""
    import torch

    from bertlab import (
        BertConfig,
        BertForMultipleChoice,
        BertForPreTraining,
        BertForQuestionAnswering,
        BertForSequenceClassification,
        BertForTokenClassification,
        BertModel,
        Tokenizer,
    )
    from bertlab.corpora.storyworld import documents

    tok = Tokenizer.train([document.text for document in documents(seed=0, count=60)], vocab_size=600)
    sizes = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=48)
    config = BertConfig(vocab_size=tok.vocab_size, max_position_embeddings=96, **sizes)
    home = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    kinds = {"pretrained": BertForPreTraining, "reader": BertForQuestionAnswering, "bare": BertModel}
    kinds |= {"classifier": BertForSequenceClassification, "number": BertForSequenceClassification}
    kinds |= {"tagger": BertForTokenClassification, "chooser": BertForMultipleChoice}
    labels = {"classifier": ["<b>bad</b>", "so-so", "*good*"], "number": ["score"], "tagger": ["O", "B-pet", "I-pet"]}
    for name, kind in kinds.items():
        own = config.changed(id2label=dict(enumerate(labels[name]))) if name in labels else config
        kind(own).save_pretrained(home / name, tok)
    return {name: str(home / name) for name in kinds}


@pytest.fixture(scope="session")
def run_folder(folders, tmp_path_factory):
    """A finished pretraining of a small model with two snapshots."""
    import json
    import shutil

    home = tmp_path_factory.mktemp("work") / "runs" / "mine"
    for place in (home, home / "step-00000", home / "step-00050"):
        shutil.copytree(folders["pretrained"], place)
    (home / "recipe.json").write_text(json.dumps({"steps": 100}))
    (home / "baselines.json").write_text(json.dumps([{"name": "<b>*even*</b>", "loss": 6.4, "top1": 0.0}]))
    rows = [f"{step},{7 - step / 50},0.2,0.7,0.5,{step / 2}" for step in (25, 50, 75, 100)]
    names = "step,mlm_loss,masked_accuracy,nsp_loss,nsp_accuracy,seconds"
    (home / "metrics.csv").write_text("\n".join([names, *rows, ""]))
    return home
