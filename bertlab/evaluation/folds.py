"""Cross-validation: examples cut into folds by scikit-learn's splitters, and mean and spread of the folds' measures."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

from bertlab.corpora.examples import QAExample
from bertlab.corpora.labelled.parts import groups_of, shared_texts
from bertlab.errors import InputError
from bertlab.evaluation.report import markdown_table
from bertlab.evaluation.wording import meaning, without_bounds
from bertlab.io.atomic import atomic_write

Rows = Mapping[str, Mapping[str, float]]  # measures of a run and of what it is compared with, by name


def split_folds(examples: Sequence, count: int, seed: int) -> Iterator[tuple[list, list]]:
    """Yield (to learn from, held out) `count` times; each example is held out once.

    Every fold has the classes in the same proportions where each example has one class; examples on the same text (a
    passage, the first of two texts) stay together where many texts differ, and questions always. InputError: fewer
    examples, passages or examples of a class than folds.
    """
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    how = {"n_splits": count, "shuffle": True, "random_state": seed}
    labels = [getattr(example, "label", None) for example in examples]
    groups = groups_of(examples, count)
    if isinstance(examples[0], QAExample):
        groups = shared_texts(examples)
        check_enough(len(set(groups)), "passages", count)
        parts = GroupKFold(**how).split(examples, groups=groups)
    elif all(isinstance(label, str) for label in labels):
        label, fewest = Counter(labels).most_common()[-1]
        check_enough(fewest, f"examples of the label {label!r}", count)
        parts = (StratifiedGroupKFold if groups else StratifiedKFold)(**how).split(examples, labels, groups)
    else:
        check_enough(len(examples), "examples", count)
        parts = (GroupKFold if groups else KFold)(**how).split(examples, groups=groups)
    for known, held_out in parts:
        yield [examples[number] for number in known], [examples[number] for number in held_out]


def check_enough(found: int, what: str, count: int) -> None:
    """Raise an InputError if there are fewer than folds."""
    if found < count:
        raise InputError(f"--folds {count}: each fold needs one of the {what}, and there are only {found}")


def write_spread(
    folder: Path, title: str, folds: Sequence[Rows], first: str, second: str = ""
) -> dict[str, dict[str, str]]:
    """Write folds.json and report.md: mean and sample standard deviation of each measure over the folds.

    `folds` have the same names and measures; what one of them lacks is left out. `first` is the name of the run itself,
    whose single figures the report lists too, `second` the label of the second class. Returns the same in words,
    "0.781 ± 0.012", by name and measure.
    """
    values = {name: columns([fold[name] for fold in folds]) for name in folds[0] if all(name in fold for fold in folds)}
    found = {
        name: {measure: {"mean": fmean(row), "std": stdev(row), "folds": row} for measure, row in measures.items()}
        for name, measures in values.items()
    }
    shown = {
        name: {measure: f"{fmean(row):.3f} ± {stdev(row):.3f}" for measure, row in measures.items()}
        for name, measures in values.items()
    }
    rows = [[meaning(name, second) or name, *(shown[other].get(name, "") for other in shown)] for name in shown[first]]
    each = [[meaning(name, second) or name, *(f"{value:.3f}" for value in row)] for name, row in values[first].items()]
    sections = [
        f"# {title}",
        f"Mean ± standard deviation over {len(folds)} folds, each held out once.",
        markdown_table(["measure", *shown], rows),
        "## Each fold",
        markdown_table(["measure", *(f"fold {number}" for number in range(1, len(folds) + 1))], each),
    ]
    atomic_write(folder / "folds.json", json.dumps(found, indent=2) + "\n")
    atomic_write(folder / "report.md", "\n\n".join(sections) + "\n")
    return shown


def columns(folds: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return the figures of all folds for each measure that all have, without the bounds of intervals."""
    names = [name for name in without_bounds(folds[0]) if all(name in fold for fold in folds)]
    return {name: [fold[name] for fold in folds] for name in names}
