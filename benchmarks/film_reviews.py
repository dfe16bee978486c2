"""How well film reviews are judged after few labels, MR's sentences and IMDB's reviews.

    python benchmarks/film_reviews.py --data FOLDER --model english-mini

By frozen features (the mean of the last layer's vectors, logistic regression), by fine-tuning, by the same of weights
drawn at random, and by TF-IDF with logistic regression. Tested on 2,000 texts of each set; long reviews are cut.
"""

import argparse
import csv
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from bertlab import BertConfig
from bertlab.cli.tuning import untrained
from bertlab.corpora.english.archives import read_members
from bertlab.corpora.english.large import REVIEWS
from bertlab.corpora.examples import TextExample
from bertlab.model import BertModel
from bertlab.tasks.baselines import predicted_by_tfidf
from bertlab.tokenizer import Tokenizer
from bertlab.training.finetune import finetune
from bertlab.training.recipes import FinetuneRecipe, suited_optimization

EPOCHS = {500: 10, 2000: 5}  # labels -> times through them
SIZES = tuple(EPOCHS)
TESTS = 2000
BATCH = 64
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1)  # C of scikit-learn; the best one by five-fold cross-validation counts

Labelled = list[tuple[str, str]]  # text, neg or pos


def read_mr(data: Path) -> tuple[Labelled, Labelled]:
    """Return (to learn from, to test on) of MR, shuffled."""
    rows = []
    for label in ("neg", "pos"):
        lines = (data / "sentence_polarity" / f"rt-polarity.{label}").read_text(encoding="utf-8").splitlines()
        rows += [(line.strip(), label) for line in lines]
    random.Random(0).shuffle(rows)
    return rows[TESTS:], rows[:TESTS]


def read_imdb(data: Path) -> tuple[Labelled, Labelled]:
    """Return (reviews of the training set, some of the test set), shuffled."""
    parts: dict[str, Labelled] = {}
    for member in read_members(data, REVIEWS):
        if member.path.endswith(".csv"):
            rows = [(row["text"], row["label"]) for row in csv.DictReader(member.lines())]
            parts[member.path] = random.Random(0).sample(rows, len(rows))
    return parts["train.csv"], parts["test.csv"][:TESTS]


READ = {"mr": read_mr, "imdb": read_imdb}


def read_all(data: Path) -> dict[str, tuple[Labelled, Labelled]]:
    """Return both sets, of each at most 2,000 examples to learn from."""
    sets = {name: read(data) for name, read in READ.items()}
    return {name: (train[: max(SIZES)], test) for name, (train, test) in sets.items()}


def probe_reviews(encoder: BertModel, tokenizer: Tokenizer, data: Path) -> dict[str, float]:
    """Return the accuracy of frozen features on each set after so many labels: "mr 500", "mr 2000", "imdb 500" ..."""
    figures = {}
    for name, (train, test) in read_all(data).items():
        known, new = (features(encoder, tokenizer, [text for text, _ in rows]) for rows in (train, test))
        figures |= accuracies(name, known, new, train, test)
    return figures


def tfidf_reviews(data: Path) -> dict[str, float]:
    """Return the same of TF-IDF (words and pairs of neighbours), learned from those labels alone."""
    figures = {}
    for name, (train, test) in read_all(data).items():
        figures |= {f"{name} {size}": tfidf_accuracy(train[:size], test) for size in SIZES}
    return figures


def tfidf_accuracy(train: Labelled, test: Labelled) -> float:
    """Return the accuracy of the TF-IDF baseline of `bertlab finetune`."""
    found = predicted_by_tfidf(examples(train), examples(test))
    return fmean(label == right for label, (_, right) in zip(found, test, strict=True))


def finetune_reviews(model: str | Path, data: Path, random_weights: bool = False, seed: int = 0) -> dict[str, float]:
    """Return the accuracy after fine-tuning with so many labels: "mr 500 tuned" ...; of weights drawn at random too."""
    width = BertConfig.from_pretrained(model).hidden_size
    figures = {}
    for name, (train, test) in read_all(data).items():
        known, new = (examples(rows) for rows in (train, test))
        for size, epochs in EPOCHS.items():
            how = {"pooling": "mean", "optim": suited_optimization(width), "epochs": epochs, "seed": seed}
            recipe = FinetuneRecipe("sentence", str(model), **how)
            start = untrained(recipe, known[:size]) if random_weights else None
            result = finetune(recipe, known[:size], model=start, progress=False)
            measures = result.task.measures(new, list(result.task.predict(result.model, new)))
            figures[f"{name} {size} tuned"] = measures["accuracy"]
    return figures


def examples(rows: Labelled) -> list[TextExample]:
    return [TextExample(str(number), text, None, label) for number, (text, label) in enumerate(rows)]


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


def accuracies(name: str, known: np.ndarray, new: np.ndarray, train: Labelled, test: Labelled) -> dict[str, float]:
    """Return the accuracy on `new` (N, H) after the first 500 and 2,000 rows of `known` (M, H)."""
    scaler = StandardScaler().fit(known)
    known, new = scaler.transform(known), scaler.transform(new)
    labels, right = ([label for _, label in rows] for rows in (train, test))
    return {f"{name} {size}": judge(known[:size], labels[:size], new, right) for size in SIZES}


def judge(known, labels: list[str], new, right: list[str]) -> float:
    """Return the share of rows of `new` (N, F) that logistic regression on `known` (M, F) judges as `right`."""
    models = [LogisticRegression(C=strength, max_iter=2000) for strength in STRENGTHS]
    best = max(models, key=lambda model: cross_val_score(model, known, labels, cv=5).mean())
    return float(best.fit(known, labels).score(new, right))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="english-mini")
    options = parser.parse_args()
    model = BertModel.from_pretrained(options.model)
    found = {
        "TF-IDF": tfidf_reviews(options.data),
        "frozen": probe_reviews(model, Tokenizer.from_pretrained(options.model), options.data),
        "fine-tuned": finetune_reviews(options.model, options.data),
        "fine-tuned, random weights": finetune_reviews(options.model, options.data, random_weights=True),
    }
    for name, figures in found.items():
        print(name, ", ".join(f"{key.removesuffix(' tuned')} {value:.3f}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
