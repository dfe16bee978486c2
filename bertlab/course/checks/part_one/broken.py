"""Checkers of broken BERT: the diagnoses of a reader, by eye and as a function."""

from collections.abc import Callable, Mapping

from bertlab.course.broken import BUGS, Chart, letters
from bertlab.course.checks.base import checker, expect

SIGNS = {
    "healthy": "it starts near ln V, both losses move as they should, and measuring twice gives the same",
    "all positions": "look where the reported loss starts: a model that knows nothing cannot be below ln V",
    "every token": "look at how far the reported loss and that on new text part",
    "label 0 lost": "look at the next-sentence loss and accuracy together",
    "no mask": "look at what further padding does",
    "schedule overwritten": "look at the learning rate",
    "no eval": "look at what measuring the same text again gives",
}


@checker
def check_diagnosis(fn: Callable[[], Mapping[str, str]], seed: int = 0) -> None:
    """Check fn() -> a name of BUGS for each letter of the charts of `seed`."""
    named, right = fn(), letters(seed)
    expect(isinstance(named, Mapping) and set(named) == set(right), f"give one name for each of {', '.join(right)}.")
    unknown = sorted({str(name) for name in named.values()} - set(BUGS))
    expect(not unknown, f"there is no bug called {', '.join(unknown)}: the names are {', '.join(BUGS)}.")
    twice = [name for name in BUGS if list(named.values()).count(name) > 1]
    expect(not twice, f"{', '.join(twice)}: named for more than one training; each occurs once.")
    wrong = [letter for letter, name in right.items() if named[letter] != name]
    expect(
        not wrong, "; ".join(f"{letter} is not {named[letter]!r}: {SIGNS[right[letter]]}" for letter in wrong[:1]) + "."
    )
    print("Right: all seven.")


@checker
def check_diagnose(fn: Callable[[Chart], str], charts: Mapping[int, Mapping[str, Chart]]) -> None:
    """Check fn(chart) -> a name of BUGS, on the charts of several seeds."""
    for seed, ward in charts.items():
        for letter, chart in ward.items():
            named, right = fn(chart), letters(seed)[letter]
            expect(named in BUGS, f"{named!r} is not one of {', '.join(BUGS)}.")
            missed = right != "healthy" and named == "healthy"
            expect(not missed, f"seed {seed}: you find nothing wrong with {letter}: {SIGNS[right]}.")
            expect(named == right, f"seed {seed}: {letter} is not {named!r}: {SIGNS[right]}.")
    print(f"Right: {sum(map(len, charts.values()))} trainings, each diagnosed from its chart.")
