"""Lines of Markdown tables, and figures of several runs in words."""

import statistics
from collections.abc import Iterator, Mapping, Sequence


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
