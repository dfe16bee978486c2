"""How many labels pretraining is worth: reviews judged after 100, 500, 2,000 and all labels, opinions after a few.

    python benchmarks/finetuning/learning_curve.py --data FOLDER --curves data/learning_curve.csv    # hours
    python benchmarks/finetuning/learning_curve.py --data data/english --sets opinions --labels 16 64 256 --seeds 8 \\
        --learners TF-IDF frozen "frozen, random weights" --curves data/learning_curve.csv
    python benchmarks/finetuning/learning_curve.py --curves data/learning_curve.csv --pictures docs/pictures

The first two, called again, go on where they stopped; the last makes the tables and figures alone.

MR's sentences (Pang and Lee 2005) and IMDB's reviews (Maas et al. 2011), each tested on 2,000 texts that no learner
sees; the opinions of data/english, tested on books and services, of which no learner has a label. A seed draws the
labelled examples, the same for all learners, then the new head and the order.

"pretrained" is `bertlab finetune sentence` with its defaults, on the first 256 tokens or as many as the model reads at
once; "LoRA" the same with `--lora 16`, and "random" from weights drawn at random. "pretrained, whole texts" and
"random, whole texts" read longer texts in windows, as the command does (IMDB; MR has no long texts). "frozen" is
logistic regression on the mean of the pretrained model's last states, whose weights stay as they are, or are random;
"TF-IDF" logistic regression on words and pairs of neighbouring words, of whole texts and of the tokens that the model
reads.
"""

import argparse
import csv
import io
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from benchmarks.tables import head, line, read_results, spread, write_results
from bertlab.cli.finetune import Finetune, enough_steps, recipe_of
from bertlab.cli.shared.examples import Sets
from bertlab.cli.shared.tuning import untrained
from bertlab.config import BertConfig
from bertlab.corpora.english.archives import read_members
from bertlab.corpora.english.large import REVIEWS
from bertlab.corpora.examples import TextExample
from bertlab.course.pictures import reduced
from bertlab.draw.figures.tasks.finetuning import labels_needed
from bertlab.model import BertModel
from bertlab.tasks.baselines import predicted_by_tfidf
from bertlab.tokenizer import Tokenizer
from bertlab.training.finetune import finetune

SIZES = (100, 500, 2000, 0)  # labels; 0: all
COLUMNS = ("model", "set", "labels", "learner", "seed", "accuracy")
MOST_TOKENS = 256
TESTS = 2000  # texts to measure on
BATCH = 64  # texts whose features are computed together
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1)  # C of scikit-learn; the best one by five-fold cross-validation counts
Key = tuple[str, str, int, str, int]  # all columns but the accuracy
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


def read_opinions(data: Path) -> tuple[Labelled, Labelled]:
    """Return (opinions to learn from, those on books and services), shuffled."""
    with (data / "opinions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    random.Random(0).shuffle(rows)
    known, test = ([(row["text"], row["label"]) for row in rows if row["split"] == part] for part in ("train", "test"))
    return known, test


READ = {"mr": read_mr, "imdb": read_imdb, "opinions": read_opinions}
LONG, WHOLE = ("imdb",), "whole texts"  # sets with texts that do not fit, and learners that read them nevertheless


def examples(rows: Labelled) -> list[TextExample]:
    return [TextExample(str(number), text, None, label) for number, (text, label) in enumerate(rows)]


def tuned(
    model: str,
    train: Labelled,
    test: Labelled,
    seed: int,
    random_weights: bool = False,
    changes: tuple[str, ...] = (),
    whole: bool = False,
    lora: int | None = None,
) -> float:
    """Return the test accuracy of the command's fine-tuning, without a dev set; `changes` as --set has them. What is
    longer than the model reads at once is cut, unless `whole`."""
    known, new = (examples(rows if whole else as_read(model, rows)) for rows in (train, test))
    how = {"max_length": most_tokens(model), "seed": seed, "set": (changes,), "lora": lora}
    command = Finetune("sentence", model, train=Path("reviews.csv"), **how)
    recipe = enough_steps(command, recipe_of(command), Sets(known, [], new, []))
    recipe = replace(recipe, evaluate_every=0)
    start = untrained(recipe, known) if random_weights else None
    result = finetune(recipe, known, model=start, progress=False)
    return result.task.measures(new, list(result.task.predict(result.model, new)))["accuracy"]


def most_tokens(model: str) -> int:
    return min(MOST_TOKENS, BertConfig.from_pretrained(model).max_position_embeddings)


def frozen(model: str, train: Labelled, test: Labelled, seed: int, random_weights: bool = False) -> float:
    """Return the test accuracy of logistic regression on the mean states of the model, or of random weights."""
    tokenizer = Tokenizer.from_pretrained(model)
    if random_weights:
        torch.manual_seed(seed)
        encoder = BertModel(BertConfig.from_pretrained(model))
    else:
        encoder = BertModel.trained(model, optional=("pooler",))
    known, new = (
        features(encoder, tokenizer, [text for text, _ in rows], most_tokens(model)) for rows in (train, test)
    )
    return judge(known, [label for _, label in train], new, [label for _, label in test])


@torch.inference_mode()
def features(encoder: BertModel, tokenizer: Tokenizer, texts: Sequence[str], longest: int) -> np.ndarray:
    """Return the mean of the last layer's vectors of each text, of its first tokens: (N, H)."""
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    found = np.zeros((len(texts), encoder.config.hidden_size), np.float32)
    for start in range(0, len(order), BATCH):
        numbers = order[start : start + BATCH]
        batch = tokenizer([texts[number] for number in numbers], max_length=longest)
        states = encoder.eval()(**batch).last_hidden_state  # (B, S, H)
        real = batch["attention_mask"].unsqueeze(-1)  # (B, S, 1)
        found[numbers] = ((states * real).sum(1) / real.sum(1)).float().numpy()
    return found


def judge(known, labels: list[str], new, right: list[str]) -> float:
    """Return the share of rows of `new` (N, F) that logistic regression on `known` (M, F) judges as `right`."""
    scaler = StandardScaler().fit(known)
    known, new = scaler.transform(known), scaler.transform(new)
    models = [LogisticRegression(C=strength, max_iter=2000) for strength in STRENGTHS]
    best = max(models, key=lambda model: cross_val_score(model, known, labels, cv=5).mean())
    return float(best.fit(known, labels).score(new, right))


def by_words(train: Labelled, test: Labelled) -> float:
    """Return the accuracy of the TF-IDF baseline of `bertlab finetune`."""
    found = predicted_by_tfidf(examples(train), examples(test))
    return fmean(label == right for label, (_, right) in zip(found, test, strict=True))


def as_read(model: str, rows: Labelled) -> Labelled:
    """Return the rows with what the model reads of their texts."""
    tokenizer, longest = Tokenizer.from_pretrained(model), most_tokens(model) - 2  # beside [CLS] and [SEP]
    read = [tokenizer.decode(ids[:longest]) for ids in tokenizer.encode_batch([text for text, _ in rows])]
    return list(zip(read, [label for _, label in rows], strict=True))


LEARNERS: dict[str, Callable[[str, Labelled, Labelled, int], float]] = {
    "pretrained": tuned,
    "LoRA": partial(tuned, lora=16),
    "random": partial(tuned, random_weights=True),
    f"pretrained, {WHOLE}": partial(tuned, whole=True),
    f"random, {WHOLE}": partial(tuned, random_weights=True, whole=True),
    "TF-IDF": lambda model, train, test, seed: by_words(train, test),
    "TF-IDF of the tokens read": lambda model, train, test, seed: by_words(as_read(model, train), as_read(model, test)),
    "frozen": frozen,
    "frozen, random weights": partial(frozen, random_weights=True),
}


def measure(options: argparse.Namespace) -> None:
    """Add to the file what it lacks, a line after each training."""
    known = read_results(options.curves, COLUMNS)
    for key, train, test in trainings(options):
        if key not in known:
            *_, learner, seed = key
            known[key] = LEARNERS[learner](options.model, train, test, seed)
            print(*key, f"{known[key]:.3f}", file=sys.stderr, flush=True)
            write_results(options.curves, COLUMNS, known)


def trainings(options: argparse.Namespace) -> Iterator[tuple[Key, Labelled, Labelled]]:
    """Yield what is to be measured: the training of this key, with these examples to learn from and to test on."""
    model, texts = Path(options.model).name, {name: READ[name](options.data) for name in options.sets}
    for labels, seed, name in product(options.labels, range(options.seeds), texts):
        pool, test = texts[name]
        train = random.Random(seed).sample(pool, labels or len(pool))
        for learner in options.learners:
            if name in LONG or not learner.endswith(WHOLE):
                yield (model, name, len(train), learner, seed), train, test


def by_learner(curves: dict[Key, float], model: str, name: str) -> dict[str, dict[int, list[float]]]:
    """Return the accuracies of the seeds on one set, by learner and number of labels."""
    found: dict[str, dict[int, list[float]]] = {learner: {} for learner in LEARNERS}
    for key, accuracy in sorted(curves.items()):
        if key[:2] == (model, name):
            found[key[3]].setdefault(key[2], []).append(accuracy)
    return {learner: runs for learner, runs in found.items() if runs}


def table(curves: dict[Key, float]) -> list[str]:
    """Return a Markdown table for each set: a row for each learner, a column for each number of labels."""
    rows = []
    for model, name in sorted({key[:2] for key in curves}):
        learners = by_learner(curves, model, name)
        sizes = sorted({size for runs in learners.values() for size in runs})
        rows += ["", head([f"{name} ({model})", *(f"{size:,} labels" for size in sizes)])]
        rows += [line([learner, *(spread(runs.get(size, [])) for size in sizes)]) for learner, runs in learners.items()]
    return rows


def draw(curves: dict[Key, float], folder: Path) -> None:
    """Write a picture of each set's curves."""
    for model, name in {key[:2] for key in curves}:
        picture = labels_needed(by_learner(curves, model, name), chance=0.5)
        picture.savefig(file := io.BytesIO(), dpi=100, bbox_inches="tight")
        (folder / f"learning-curve-{name}.png").write_bytes(reduced(file.getvalue()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the data sets; the file's table alone if not given")
    parser.add_argument("--model", default="english")
    parser.add_argument("--curves", type=Path, required=True, help="CSV that keeps every result")
    parser.add_argument("--sets", nargs="+", choices=READ, default=["mr", "imdb"])
    parser.add_argument("--labels", nargs="+", type=int, default=SIZES, help="0: all")
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pictures", type=Path, help="folder to draw the curves into")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.data:
        measure(options)
    curves = read_results(options.curves, COLUMNS)
    print("\n".join(table(curves)))
    if options.pictures:
        draw(curves, options.pictures)


if __name__ == "__main__":
    main()
