"""How well frozen features judge film reviews: MR's sentences and IMDB's reviews, after few labels."""

import csv
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bertlab.corpora.english.archives import read_members
from bertlab.corpora.english.large import REVIEWS
from bertlab.model import BertModel
from bertlab.tokenizer import Tokenizer

SIZES = (500, 2000)
TESTS = 2000
BATCH = 64
STRENGTHS = (0.001, 0.003, 0.01, 0.03)  # C of scikit-learn; the best one on a fifth of the labels counts

Labelled = list[tuple[str, str]]  # text, neg or pos


def read_mr(data: Path) -> tuple[Labelled, Labelled]:
    """Return (to learn from, to test on) of MR, shuffled, the latter a fifth."""
    rows = []
    for label in ("neg", "pos"):
        lines = (data / "sentence_polarity" / f"rt-polarity.{label}").read_text(encoding="utf-8").splitlines()
        rows += [(line.strip(), label) for line in lines]
    random.Random(0).shuffle(rows)
    return rows[TESTS:], rows[:TESTS]


def read_imdb(data: Path) -> tuple[Labelled, Labelled]:
    """Return (reviews of the training set, of the test set), some of each, shuffled."""
    parts: dict[str, Labelled] = {}
    for member in read_members(data, REVIEWS):
        if member.path.endswith(".csv"):
            rows = [(row["text"], row["label"]) for row in csv.DictReader(member.lines())]
            parts[member.path] = random.Random(0).sample(rows, TESTS)
    return parts["train.csv"], parts["test.csv"]


READ = {"mr": read_mr, "imdb": read_imdb}


def probe_reviews(encoder: BertModel, tokenizer: Tokenizer, data: Path) -> dict[str, float]:
    """Return the accuracy on each set after so many labels: "mr 500", "mr 2000", "imdb 500" ..."""
    figures = {}
    for name, read in READ.items():
        train, test = read(data)
        train = train[: max(SIZES)]
        known, new = (features(encoder, tokenizer, [text for text, _ in rows]) for rows in (train, test))
        labels, right = (np.array([label for _, label in rows]) for rows in (train, test))
        for size in SIZES:
            figures[f"{name} {size}"] = accuracy(known[:size], labels[:size], new, right)
    return figures


@torch.inference_mode()
def features(encoder: BertModel, tokenizer: Tokenizer, texts: Sequence[str]) -> np.ndarray:
    """Return the mean of the last layer's vectors of each text, of at most 256 tokens: (N, H)."""
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    found = np.zeros((len(texts), encoder.config.hidden_size), np.float32)
    longest = min(256, encoder.config.max_position_embeddings)
    for start in range(0, len(order), BATCH):
        numbers = order[start : start + BATCH]
        batch = tokenizer([texts[number] for number in numbers], max_length=longest)
        states = encoder.eval()(**batch).last_hidden_state  # (B, S, H)
        real = batch["attention_mask"].unsqueeze(-1)  # (B, S, 1)
        found[numbers] = ((states * real).sum(1) / real.sum(1)).float().numpy()
    return found


def accuracy(known: np.ndarray, labels: np.ndarray, new: np.ndarray, right: np.ndarray) -> float:
    """Return the share of `new` (N, H) that logistic regression on `known` (M, H) judges as `right` (N,)."""
    scaler = StandardScaler().fit(known)
    known, new = scaler.transform(known), scaler.transform(new)
    cut = len(known) * 4 // 5

    def fit(strength: float, rows: int) -> LogisticRegression:
        return LogisticRegression(C=strength, max_iter=2000).fit(known[:rows], labels[:rows])

    best = max(STRENGTHS, key=lambda strength: fit(strength, cut).score(known[cut:], labels[cut:]))
    return float(fit(best, len(known)).score(new, right))
