"""Mean and spread of the folds of a cross-validation."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

from bertlab.evaluation.report import markdown_table
from bertlab.evaluation.wording import meaning
from bertlab.io.atomic import atomic_write

Rows = Mapping[str, Mapping[str, float]]  # measures of a run and of what it is compared with, by name


def write_spread(folder: Path, title: str, folds: Sequence[Rows], first: str) -> dict[str, dict[str, str]]:
    """Write folds.json and report.md: mean and sample standard deviation of each measure over the folds.

    `folds` have the same names and measures; what one of them lacks is left out. `first` is the name of the run itself,
    whose single figures the report lists too. Returns the same in words, "0.781 ± 0.012", by name and measure.
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
    rows = [[meaning(name) or name, *(shown[other].get(name, "") for other in shown)] for name in shown[first]]
    each = [[meaning(name) or name, *(f"{value:.3f}" for value in row)] for name, row in values[first].items()]
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
    names = [name for name in folds[0] if not name.endswith(("_low", "_high")) and all(name in fold for fold in folds)]
    return {name: [fold[name] for fold in folds] for name in names}
