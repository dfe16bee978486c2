"""Baselines without a network: linear models of scikit-learn on words, and an answer by shared words.

The one constant that each linear model has, C of scikit-learn, is the best of CONSTANTS on the dev set.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from bertlab.cli.examples import Sets
from bertlab.corpora.examples import QAExample, TextExample, TokenExample
from bertlab.corpora.sentences import split_sentences
from bertlab.tasks.measures import score_answers, score_classes, score_entities
from bertlab.tasks.span import right_answers

CONSTANTS = (0.1, 0.3, 1.0, 3.0, 10.0)
WORD = re.compile(r"\w+")
NEGATIONS = frozenset("no not never nobody nothing none without n't".split())
Measures = dict[str, float]


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def best_constant(fit: Callable, judge: Callable, constants: Sequence[float] = CONSTANTS) -> object:
    """The model `fit(c)` that `judge` finds best."""
    return max((fit(c) for c in constants), key=judge)


# a class of a text or a pair


def sentence_measures(sets: Sets) -> Measures:
    """TF-IDF of words and pairs of neighbours, logistic regression."""
    return class_measures(sets, tfidf(lambda example: example.text))


def pair_measures(sets: Sets) -> Measures:
    """TF-IDF (words, pairs of neighbours) of each text and of the words that the second one adds, and a few figures of
    overlap; logistic regression."""
    parts = {
        "first": tfidf(lambda example: example.text),
        "second": tfidf(lambda example: example.pair),
        "added": tfidf(lambda example: " ".join(w for w in words(example.pair) if w not in set(words(example.text)))),
        "overlap": make_pipeline(FunctionTransformer(partial(map_list, overlap)), DictVectorizer()),
    }
    return class_measures(sets, FeatureUnion(list(parts.items())))


def tfidf(text_of: Callable[[TextExample], str]) -> TfidfVectorizer:
    return TfidfVectorizer(preprocessor=lambda e: text_of(e).lower(), ngram_range=(1, 2), min_df=2, sublinear_tf=True)


def map_list(function: Callable, examples: Sequence) -> list:
    return [function(example) for example in examples]


def overlap(example: TextExample) -> dict[str, float]:
    """Shares of words that both texts have, lengths, and which of them denies."""
    first, second = set(words(example.text)), set(words(example.pair))
    shared = len(first & second)
    denied = [bool(NEGATIONS & found) for found in (first, second)]
    return {
        "of second": shared / max(1, len(second)),
        "of first": shared / max(1, len(first)),
        "longer": (len(second) - len(first)) / 10,
        f"denied {denied}": 1.0,
    }


def class_measures(sets: Sets, vectorizer) -> Measures:
    train, dev, test = sets.train, sets.dev, sets.test
    rows = vectorizer.fit_transform(train)
    labels = [example.label for example in train]
    dev_rows, dev_labels = vectorizer.transform(dev), [example.label for example in dev]
    model = best_constant(
        lambda c: LogisticRegression(C=c, max_iter=1000).fit(rows, labels),
        lambda model: model.score(dev_rows, dev_labels),
    )
    said = [str(label) for label in model.predict(vectorizer.transform(test))]
    return score_classes([example.label for example in test], said, sorted(set(labels)))


# a label for each word


def word_measures(sets: Sets) -> Measures:
    """A linear classifier (support vectors) for each word by itself: the word, its shape, beginning and end, and those
    of two words on both sides. Unlike a CRF, it sees no label of the words before."""
    vectorizer = CountVectorizer(analyzer=list, binary=True)  # of lists of traits, as they are
    rows = vectorizer.fit_transform(word_rows(sets.train))
    labels = [label for example in sets.train for label in example.labels]

    def entities(model: LinearSVC, examples: Sequence[TokenExample]) -> Measures:
        said = model.predict(vectorizer.transform(word_rows(examples)))
        ends = np.cumsum([len(example.words) for example in examples])[:-1]
        by_sentence = [[str(label) for label in part] for part in np.split(said, ends)]
        return score_entities([list(example.labels) for example in examples], by_sentence)

    model = best_constant(
        lambda c: LinearSVC(C=c, max_iter=5000).fit(rows, labels),
        lambda model: entities(model, sets.dev)["f1"],
        CONSTANTS[:4],  # with more it takes minutes
    )
    return entities(model, sets.test)


def word_rows(examples: Sequence[TokenExample]) -> Iterator[list[str]]:
    """What the classifier sees of each word."""
    for example in examples:
        padded = ["<s>", "<s>", *example.words, "</s>", "</s>"]
        for place in range(2, len(padded) - 2):
            near = padded[place - 2 : place + 3]
            yield [f"{at} {name}" for at, word in zip(range(-2, 3), near, strict=True) for name in traits(word)]


def traits(word: str) -> list[str]:
    """The word in small letters, its shape ("Xxx" of London, "dd" of 2017), its first and last three characters."""
    shape = re.sub(r"[^\W\d_]", lambda found: "X" if found[0].isupper() else "x", re.sub(r"\d", "d", word))
    short = re.sub(r"(.)\1{2,}", r"\1\1", shape)
    small = word.lower()
    return [f"is {small}", f"shape {short}", f"begins {small[:3]}", f"ends {small[-3:]}"]


# an answer in a passage


def answer_measures(sets: Sets) -> Measures:
    """The sentence of the passage that shares most words with the question, of those the shortest."""
    said = [answer_sentence(example) for example in sets.test]
    return score_answers([right_answers(example) for example in sets.test], said)


def answer_sentence(example: QAExample) -> str:
    asked = set(words(example.question))
    return max(split_sentences(example.context), key=lambda s: (len(asked & set(words(s))), -len(s)))
