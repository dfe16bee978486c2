"""Lines of Markdown tables, figures of several runs in words, and the file that keeps them."""

import csv
import io
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bertlab.io.atomic import atomic_write

Results = dict[tuple, float]  # what was measured, by the other columns of its row


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def head(cells: Sequence[str]) -> str:
    """Return the first two lines of a table."""
    return f"{line(cells)}\n{line(['---'] * len(cells))}"


def spread(values: Sequence[float]) -> str:
    """Return the mean, behind it in brackets the least and the greatest of several values; "" of none."""
    if not values:
        return ""
    ends = f" ({min(values):.3f} to {max(values):.3f})" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.3f}{ends}"


def with_ratios(rates: Mapping[str, Sequence[float]], form: str) -> Iterator[list[str]]:
    """Yield for each contestant its name, the median of its rates, in the format `form`, and how many times as fast as
    the first it was: the median of the rounds, in brackets the least and the greatest."""
    first = next(iter(rates.values()))
    for name, found in rates.items():
        ratios = [rate / other for rate, other in zip(found, first, strict=True)]
        shown = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        yield [name, f"{statistics.median(found):{form}}", "" if found is first else shown]


def read_results(path: Path, columns: Sequence[str]) -> Results:
    """Return the results of a CSV file, whose last column is the figure; none if it is not there yet."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = ([row[name] for name in columns] for row in csv.DictReader(file))
        return {tuple(int(c) if c.isdecimal() else c for c in key): float(figure) for *key, figure in rows}


def write_results(path: Path, columns: Sequence[str], results: Results) -> None:
    text = io.StringIO()
    rows = ([*key, f"{figure:.4f}"] for key, figure in sorted(results.items()))
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    atomic_write(path, text.getvalue())
