"""A baseline for names without a network, slower than those of `bertlab finetune`: a linear model on words around.

Its one constant, C of scikit-learn, is the best of CONSTANTS on the dev set.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.svm import LinearSVC

from bertlab.cli.shared.examples import Sets
from bertlab.corpora.examples import TokenExample
from bertlab.tasks.measures import score_entities

CONSTANTS = (0.1, 0.3, 1.0, 3.0)  # with more it takes minutes
Measures = dict[str, float]


def word_measures(sets: Sets) -> Measures:
    """A linear classifier (support vectors) for each word by itself: the word, its shape, beginning and end, and those
    of two words on both sides. Unlike a CRF, it sees no label of the words before."""
    vectorizer = CountVectorizer(analyzer=list, binary=True)  # of lists of traits, as they are
    rows = vectorizer.fit_transform(word_rows(sets.train))
    labels = [label for example in sets.train for label in example.labels]

    def entities(model: LinearSVC, examples: Sequence[TokenExample]) -> Measures:
        predicted = model.predict(vectorizer.transform(word_rows(examples)))
        ends = np.cumsum([len(example.words) for example in examples])[:-1]
        by_sentence = [[str(label) for label in part] for part in np.split(predicted, ends)]
        return score_entities([list(example.labels) for example in examples], by_sentence)

    models = [LinearSVC(C=constant, max_iter=5000).fit(rows, labels) for constant in CONSTANTS]
    return entities(max(models, key=lambda model: entities(model, sets.dev)["f1"]), sets.test)


def word_rows(examples: Sequence[TokenExample]) -> Iterator[list[str]]:
    """What the classifier sees of each word."""
    for example in examples:
        padded = ["<s>", "<s>", *example.words, "</s>", "</s>"]
        for position in range(2, len(padded) - 2):
            near = padded[position - 2 : position + 3]
            yield [f"{at} {name}" for at, word in zip(range(-2, 3), near, strict=True) for name in traits(word)]


def traits(word: str) -> list[str]:
    """The word in small letters, its shape ("Xxx" of London, "dd" of 2017), its first and last three characters."""
    shape = re.sub(r"[^\W\d_]", lambda found: "X" if found[0].isupper() else "x", re.sub(r"\d", "d", word))
    short = re.sub(r"(.)\1{2,}", r"\1\1", shape)
    small = word.lower()
    return [f"is {small}", f"shape {short}", f"begins {small[:3]}", f"ends {small[-3:]}"]
