"""What is wrong with a training, by eye and as a function."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from bertlab.course.broken import BUGS, Chart, letters
from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect

SIGNS = {
    "healthy": "it starts near ln V, both losses move as they should, and measuring twice gives the same",
    "all positions": "look where the reported loss starts: a model that knows nothing cannot be below ln V",
    "every token": "look at how far the reported loss and that on new text part",
    "label 0 lost": "look at the next-sentence loss and accuracy together",
    "no mask": "look at what further padding does",
    "schedule overwritten": "look at the learning rate",
    "no eval": "look at what measuring the same text again gives",
}


def diagnosis():
    return {
        "A": "schedule overwritten",  # the rate is the same at every step
        "B": "all positions",  # it starts at 1: no model that knows nothing can do that
        "C": "no eval",  # measured twice, two results
        "D": "every token",  # it copies what it sees: the reported loss falls far below that on new text
        "E": "healthy",
        "F": "label 0 lost",  # always "not next": a loss of 0, and right half of the time
        "G": "no mask",  # repeatable, but padding changes it
    }


def _named(fn) -> dict[str, Any]:
    named, right = fn(), letters(0)
    expect(isinstance(named, Mapping) and set(named) == set(right), "give one name for each of A, B, C, D, E, F, G.")
    unknown = sorted({str(name) for name in named.values()} - set(BUGS))
    expect(not unknown, f"there is no bug called {', '.join(map(repr, unknown))}: the names are {', '.join(BUGS)}.")
    twice = [name for name in BUGS if list(named.values()).count(name) > 1]
    expect(not twice, f"{', '.join(twice)}: named for more than one training; each occurs once.")
    for letter, name in right.items():
        expect(named[letter] == name, f"{letter} is not {named[letter]!r}: {SIGNS[name]}.")
    return {}


def _exchanged(one: str, other: str):
    """A diagnosis that takes two trainings for each other."""
    named = diagnosis()
    return lambda: named | {one: named[other], other: named[one]}


check_diagnosis = Exercise(
    diagnosis,
    lambda: [()],
    right="Right: all seven.",
    observe=_named,
    slips=[
        ("give one name for each of A, B, C, D, E, F, G.", lambda: {"A": "healthy"}),
        (f"there is no bug called 'flu': the names are {', '.join(BUGS)}.", lambda: diagnosis() | {"C": "flu"}),
        ("healthy: named for more than one training; each occurs once.", lambda: dict.fromkeys("ABCDEFG", "healthy")),
        *(
            (f"{one} is not {named[other]!r}: {SIGNS[named[one]]}.", _exchanged(one, other))
            for named in [diagnosis()]
            for one, other in ("AB", "BC", "CD", "DE", "EF", "FG")
        ),
    ],
)


def diagnose(chart):
    def differs(other):
        return max(abs(a - b) for a, b in zip(chart.held_out, other, strict=True)) > 1e-5

    if chart.loss[0] < 0.5 * chart.held_out[0]:
        return "all positions"
    if chart.nsp_loss[-1] < 0.1:
        return "label 0 lost"
    if chart.rate[0] == chart.rate[-1]:
        return "schedule overwritten"
    if differs(chart.again):
        return "no eval"
    if differs(chart.padded):
        return "no mask"
    if chart.loss[-1] < chart.held_out[-1] - 1:
        return "every token"
    return "healthy"


def _found(fn, charts: Mapping[int, Mapping[str, Chart]]) -> dict[str, Any]:
    for seed, ward in charts.items():
        for letter, chart in ward.items():
            mine, right = deepcopy(chart), letters(seed)[letter]
            named = fn(mine)
            expect(mine == chart, "your function changed the chart that it was given: work on copies of its lists.")
            expect(named in BUGS, f"{named!r} is not one of {', '.join(BUGS)}.")
            missed = right != "healthy" and named == "healthy"
            expect(not missed, f"seed {seed}: you find nothing wrong with {letter}: {SIGNS[right]}.")
            expect(named == right, f"seed {seed}: {letter} is not {named!r}: {SIGNS[right]}.")
    return {"trainings": sum(map(len, charts.values()))}


def sample_charts() -> dict[int, dict[str, Chart]]:
    """Charts as short trainings leave them, each with the mark of its bug."""
    return {seed: {letter: _chart(bug) for letter, bug in letters(seed).items()} for seed in (1, 2)}


def _chart(bug: str) -> Chart:
    loss = [7.0, 6.0, 5.2]
    chart = Chart(
        loss, [0.7, 0.7, 0.6], [0.5, 0.5, 0.6], [0.0, 0.003, 0.0015], [1, 3], [7.0, 5.6], [7.0, 5.6], [7.0, 5.6]
    )
    changes = {
        "all positions": {"loss": [1.0, 6.0, 0.7]},
        "every token": {"loss": [7.0, 5.0, 4.0]},
        "label 0 lost": {"nsp_loss": [0.7, 0.2, 0.01]},
        "no mask": {"padded": [7.2, 5.9]},
        "schedule overwritten": {"rate": [0.003, 0.003, 0.003]},
        "no eval": {"again": [7.1, 5.7], "padded": [7.2, 5.5]},
    }
    for name, figures in changes.get(bug, {}).items():
        setattr(chart, name, figures)
    return chart


def _confused(bug: str, other: str):
    """A function that takes one bug for another."""
    return lambda chart: other if diagnose(chart) == bug else diagnose(chart)


FIRST = {bug: letter for letter, bug in letters(1).items()}  # in the first of the sample charts

check_diagnose = Exercise(
    diagnose,
    lambda charts: [(charts,)],
    right=lambda seen: f"Right: {seen[0]['trainings']} trainings, each diagnosed from its chart.",
    observe=_found,
    slips=[
        *(
            (f"seed 1: you find nothing wrong with {FIRST[bug]}: {SIGNS[bug]}.", _confused(bug, "healthy"))
            for bug in BUGS
            if bug != "healthy"
        ),
        (f"seed 1: {FIRST['healthy']} is not 'no eval': {SIGNS['healthy']}.", _confused("healthy", "no eval")),
        (
            "your function changed the chart that it was given: work on copies of its lists.",
            lambda chart: (diagnose(chart), chart.loss.pop(0))[0],
        ),
        (f"'padding' is not one of {', '.join(BUGS)}.", _confused("no mask", "padding")),
    ],
    spared={"off by one": "where the lines are drawn is the reader's choice"},
    sample=lambda: (sample_charts(),),
)
