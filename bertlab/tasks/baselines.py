"""What counted words reach without a network: the guesses that a report shows beside a fine-tuned model.

The linear models are scikit-learn's, and left out where it is missing. All of it takes seconds.
"""

import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from bertlab.corpora.examples import ChoiceExample, Label, QAExample, TextExample
from bertlab.corpora.letters import LETTER, UNSPACED, WORD
from bertlab.corpora.sentences import split_sentences
from bertlab.errors import can_use

COUNTED = 20_000  # examples that are learned from, drawn at random
CHOSEN = 2000  # of these, the examples by which the strength of regularization is chosen
STRENGTHS = (0.3, 1.0, 3.0, 10.0)  # C of scikit-learn; the best one by five-fold cross-validation counts
FEW = 100  # examples; with less, rare words count too and C is 1
TERM = rf"[{UNSPACED}]|(?:(?![{UNSPACED}]){LETTER}){{2,}}"  # what TF-IDF counts

Matrix = Any  # of scipy or numpy (N, F)


def has_linear_models() -> bool:
    """Return whether scikit-learn is installed; if not, stderr says once how to install it."""
    return can_use("sklearn", "baselines", "the baseline TF-IDF and other linear models")


@contextmanager
def skipped(name: str) -> Iterator[None]:
    """Go on without the baseline of that name where scikit-learn refuses; one line on stderr says why."""
    try:
        yield
    except ValueError as error:
        print(f"bertlab: no baseline “{name}”: {str(error).strip().splitlines()[0]}", file=sys.stderr)


def drawn(count: int, most: int) -> list[int]:
    """Return at most `most` of the numbers below `count`, drawn at random, in order."""
    return sorted(random.Random(0).sample(range(count), min(count, most)))


def words(text: str) -> list[str]:
    """Return the words of a text in small letters; of Chinese, Japanese or Thai the characters."""
    return WORD.findall(text.lower())


def predicted_by_tfidf(known: Sequence[TextExample], new: Sequence[TextExample]) -> list[Label]:
    """Return the labels that a linear model on TF-IDF of words and pairs of neighbouring words predicts for `new`.

    Of pairs it sees each text, the words that only the second one has, and their overlap. ValueError: no word occurs
    twice, or there is one class only.
    """
    known = [known[number] for number in drawn(len(known), COUNTED)]
    views: list[Callable[[TextExample], str]] = [lambda e: e.text]
    if known[0].pair is not None:
        views += [lambda e: e.pair or "", _added]
    parts = [_tfidf([view(e) for e in known], [view(e) for e in new]) for view in views]
    if known[0].pair is not None:
        parts.append((overlaps(known), overlaps(new)))
    from scipy.sparse import hstack

    train, test = (hstack(matrices).tocsr() for matrices in zip(*parts, strict=True))
    return predicted(train, [e.label for e in known], test)


def predicted_by_overlap(known: Sequence[TextExample], new: Sequence[TextExample]) -> list[Label]:
    """Return the labels of pairs that a linear model predicts from the number of words that both texts have."""
    known = [known[number] for number in drawn(len(known), COUNTED)]
    return predicted(overlaps(known), [e.label for e in known], overlaps(new))


def predicted(known: Matrix, labels: Sequence, new: Matrix) -> list[Label]:
    """Return what a linear model of `known` (M, F) with its labels predicts for `new` (N, F): logistic regression for
    classes, ridge regression for numbers."""
    from sklearn.preprocessing import MultiLabelBinarizer

    several = isinstance(labels[0], tuple)
    binarizer = MultiLabelBinarizer()
    target = binarizer.fit_transform(labels) if several else np.array(labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rare classes, and of a search that ends early
        found = best_model(known, target).fit(known, target).predict(new)
    if several:  # of a single label scikit-learn predicts a column without its second axis
        return list(binarizer.inverse_transform(found.reshape(len(found), -1)))
    return found.tolist()


def best_model(known: Matrix, target: np.ndarray) -> Any:
    """Return the unfitted linear model whose regularization is the best in cross-validation on `known`."""
    from sklearn.model_selection import cross_val_score

    if len(target) < FEW or (target.dtype.kind == "U" and max(Counter(target.tolist()).values()) < 5):
        return _linear(target, 1.0)
    numbers = drawn(len(target), CHOSEN)
    some, right = known[numbers], target[numbers]
    some = some[:, np.asarray(abs(some).sum(0)).ravel() > 0]  # what they do not have costs only time
    models = [_linear(target, strength) for strength in STRENGTHS]
    return max(models, key=lambda model: cross_val_score(model, some, right, cv=5).mean())


def _linear(target: np.ndarray, strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.multiclass import OneVsRestClassifier

    if target.dtype.kind == "f":
        return Ridge(alpha=1 / strength)
    model = LogisticRegression(C=strength, max_iter=2000)
    return OneVsRestClassifier(model) if target.ndim == 2 else model


def _tfidf(known: Sequence[str], new: Sequence[str]) -> tuple[Matrix, Matrix]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    least = 2 if len(known) >= FEW else 1
    vectorizer = TfidfVectorizer(token_pattern=TERM, ngram_range=(1, 2), min_df=least, sublinear_tf=True)
    return vectorizer.fit_transform(known), vectorizer.transform(new)


def _added(example: TextExample) -> str:
    first = set(words(example.text))
    return " ".join(word for word in words(example.pair or "") if word not in first)


def overlaps(examples: Sequence[TextExample]) -> np.ndarray:
    """Return how many words each pair shares (N, 3): as a share of the first text and of the second, and by how many
    tens of words the second is longer."""
    return np.array([_overlap(set(words(e.text)), set(words(e.pair or ""))) for e in examples])


def _overlap(first: set[str], second: set[str]) -> tuple[float, float, float]:
    shared = len(first & second)
    return shared / max(1, len(first)), shared / max(1, len(second)), (len(second) - len(first)) / 10


def likeliest_sentence(example: QAExample) -> str:
    """Return the sentence of the passage that shares most words with the question, of those the shortest."""
    asked = set(words(example.question))
    sentences = split_sentences(example.context) or [example.context]
    return max(sentences, key=lambda sentence: (len(asked & set(words(sentence))), -len(sentence)))


def likeliest_choice(example: ChoiceExample) -> int:
    """Return the number of the choice of whose words the greatest share is in the text, of those the first."""
    text = set(words(example.text))
    shares = [_overlap(text, set(words(choice)))[1] for choice in example.choices]
    return shares.index(max(shares))
