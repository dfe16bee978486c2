"""What siblings of the page's model lose where its weights have 8 bits: they are measured with both on data/english."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from torch import Tensor

from bertlab.corpora.labelled.tabular import ReadOptions
from bertlab.evaluation.calibration import LONG, SHORT, WORDS, read_bins
from bertlab.io.adapter_config import base_of
from bertlab.io.locate import ADAPTER, locate
from bertlab.tasks.registry import open_task
from web.int8 import dequantized
from web.stage import ROOT
from web.weights import copy_model

# What each is measured on, and the field of its predictions that is its answer.
LABELLED = {
    "opinion": ("opinions.csv", "label"),
    "names": ("names-test.conll", "labels"),
    "answers": ("questions-test.json", "text"),
}
SIZES = {SHORT: True, LONG: False}
TEXTS = 96  # texts or questions that each is measured on


def loss_by_rounding(task: str, name: str, tensors: Mapping[str, Tensor], texts: int = TEXTS) -> dict:
    """Return to how many of so many texts the sibling `name` of a model answers the same with the rounded `tensors` of
    that model as with those that it was taught on, and the main measure with both."""
    file, answer = LABELLED[task]
    answers, measures = [], []
    with tempfile.TemporaryDirectory() as temporary:
        for model in (name, copied(name, dequantized(tensors), Path(temporary))):
            opened, reader = open_task(model)
            examples = list(islice(reader.read_examples(ROOT / "data" / "english" / file, ReadOptions()), texts))
            predictions = list(reader.predict(opened, examples))
            answers.append([getattr(prediction, answer) for prediction in predictions])
            measures.append(reader.measures(examples, predictions)[reader.best])
    same = sum(exact == rounded for exact, rounded in zip(*answers, strict=True))
    right = dict(zip((16, 8), measures, strict=True))
    return {"texts": len(examples), "same": same, "measure": reader.best, "right": right}


def sureness(name: str) -> dict:
    """Return how often the sibling `name` was right on held-out texts when it was so sure, apart for `short` texts, of
    at most so many `words`, and for longer ones if it was measured apart."""
    bins = [
        {"low": one.low, "high": one.high, "count": one.count, "right": one.right, "short": SIZES.get(one.length)}
        for one in read_bins(locate(name))
    ]
    return {"words": WORDS, "bins": bins}


def copied(name: str, tensors: Mapping[str, Tensor], folder: Path) -> Path:
    """Copy an adapter into `folder`, onto its base with other weights."""
    adapter = locate(name)
    copy_model(str(base_of(adapter)), tensors, folder / "base")
    shutil.copytree(adapter, folder / name)
    values = json.loads((folder / name / ADAPTER).read_text(encoding="utf-8"))
    (folder / name / ADAPTER).write_text(json.dumps(values | {"base_model_name_or_path": "../base"}), encoding="utf-8")
    return folder / name
