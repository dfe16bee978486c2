"""Cut the examples of a task into folds for cross-validation, by scikit-learn's splitters."""

from collections import Counter
from collections.abc import Iterator, Sequence

from bertlab.corpora.examples import QAExample
from bertlab.errors import InputError


def split_folds(examples: Sequence, count: int, seed: int) -> Iterator[tuple[list, list]]:
    """Yield (to learn from, held out) `count` times; each example is held out once.

    Every fold has the classes in the same proportions where each example has one class; questions on the same passage
    stay together. InputError: fewer examples, or examples of a class, than folds.
    """
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    how = {"n_splits": count, "shuffle": True, "random_state": seed}
    labels = [getattr(example, "label", None) for example in examples]
    if isinstance(examples[0], QAExample):
        groups = [example.context for example in examples]
        check_enough(len(set(groups)), "passages", count)
        parts = GroupKFold(**how).split(examples, groups=groups)
    elif all(isinstance(label, str) for label in labels):
        label, fewest = Counter(labels).most_common()[-1]
        check_enough(fewest, f"examples of the label {label!r}", count)
        parts = StratifiedKFold(**how).split(examples, labels)
    else:
        check_enough(len(examples), "examples", count)
        parts = KFold(**how).split(examples)
    for known, held_out in parts:
        yield [examples[number] for number in known], [examples[number] for number in held_out]


def check_enough(found: int, what: str, count: int) -> None:
    """Raise an InputError if there are fewer than folds."""
    if found < count:
        raise InputError(f"--folds {count}: each fold needs one of the {what}, and there are only {found}")
