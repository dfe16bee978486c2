"""Linear probes with control tasks: what a classifier finds in the states of words, and what it merely memorises.

Alain and Bengio 2017 probe each layer; the control task is that of Hewitt and Liang 2019, section 2. Shapes: N words,
L layers, H hidden size.
"""

import random
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertlab.corpora.examples import TokenExample
from bertlab.errors import InputError, require
from bertlab.explain.text import bert_of, longest
from bertlab.inputs.features import collate, word_features
from bertlab.model.base import PretrainedModel
from bertlab.tokenizer import Tokenizer

ROWS = 64  # sentences that are read at once
ITERATIONS = 200  # of L-BFGS; a probe of 128 numbers needs fewer


@dataclass(frozen=True)
class Probed:
    """What a probe reaches on words that it was not fitted to: shares of right answers.

    `control` is what it reaches where each word type has a random label; `majority` is the share of the commonest
    label: what always guessing it would reach.
    """

    accuracy: float
    control: float
    majority: float

    @property
    def selectivity(self) -> float:
        """Accuracy minus accuracy on the control task: what was not just memorised (Hewitt and Liang, equation 3)."""
        return self.accuracy - self.control


@torch.inference_mode()
def word_states(model: PretrainedModel, tokenizer: Tokenizer, sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """Return the state of the first piece of every word after each layer, (L+1, N, H), [0] being the embeddings.

    Sentences are lists of words. Raises InputError for a sentence that is longer than the model.
    """
    examples = [TokenExample(str(number), tuple(words)) for number, words in enumerate(sentences)]
    features = word_features(examples, tokenizer, longest(model))
    if len(features) > len(examples):
        raise InputError(f"a sentence has more tokens than the {longest(model)} that the model reads: cut it")
    parts = []
    for start in range(0, len(features), ROWS):
        some = features[start : start + ROWS]
        states = torch.stack(bert_of(model)(**collate(some, tokenizer), output_hidden_states=True).hidden_states)
        row = [number for number, feature in enumerate(some) for _ in feature.positions]
        column = [position for feature in some for position in feature.positions]
        parts.append(states[:, row, column].float().numpy())  # (L+1, B, S, H) -> (L+1, N, H)
    return np.concatenate(parts, axis=1)


def control_labels(words: Sequence[Hashable], labels: Sequence[str], seed: int = 0) -> list[str]:
    """Return a label for each word, drawn once for each word type from the distribution of `labels`.

    There is nothing to find in it: the same type always has the same label, and no context changes that. Who does well
    on it has memorised the types.
    """
    rng, labels = random.Random(seed), list(labels)
    drawn = {word: rng.choice(labels) for word in dict.fromkeys(words)}
    return [drawn[word] for word in words]


def probe(states: np.ndarray, labels: Sequence[str], train: np.ndarray) -> float:
    """Return the accuracy of a logistic regression on states (N, H), fitted where `train` (N,), measured elsewhere.

    States are standardised by the mean and spread of the training part. Raises InputError where one part is empty or
    the training part has one label alone.
    """
    require("sklearn", "baselines")
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    train, known = np.asarray(train, dtype=bool), np.asarray(labels)
    if train.all() or len(set(known[train])) < 2:
        raise InputError("a probe needs words to be measured on, and two labels or more to be fitted to")
    scaler = StandardScaler().fit(states[train])
    fitted = LogisticRegression(max_iter=ITERATIONS, tol=1e-3).fit(scaler.transform(states[train]), known[train])
    return float(fitted.score(scaler.transform(states[~train]), known[~train]))


def probe_layers(
    states: np.ndarray, words: Sequence[Hashable], labels: Sequence[str], train: np.ndarray, seed: int = 0
) -> Iterator[Probed]:
    """Yield what a probe of each layer of (L+1, N, H) reaches on the labels and on their control task."""
    control = control_labels(words, labels, seed)
    guess = majority(labels, train)
    for layer in states:
        yield Probed(probe(layer, labels, train), probe(layer, control, train), guess)


def majority(labels: Sequence[str], train: np.ndarray) -> float:
    """Return how often the commonest label of the training part is right elsewhere."""
    known = np.asarray(labels)
    (usual, _), *_ = Counter(known[train].tolist()).most_common(1)
    return float((known[~train] == usual).mean())


def split_by(groups: Sequence[Hashable], share: float = 0.67, seed: int = 0) -> np.ndarray:
    """Return a mask (N,), true for training: whole groups (sentences, or word types) are on one side."""
    names = list(dict.fromkeys(groups))
    random.Random(seed).shuffle(names)
    chosen = set(names[: round(share * len(names))])
    return np.array([group in chosen for group in groups])
