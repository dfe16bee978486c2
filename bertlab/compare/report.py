"""A comparison as Markdown, CSV, JSON and a figure, with one sentence for each claim."""

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from bertlab.compare import statistics
from bertlab.compare.experiment import Result
from bertlab.compare.statistics import MOST_SEEDS, Difference, Figure, Scores
from bertlab.compare.systems import Budget, Claim, Table
from bertlab.io.atomic import atomic_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure as DrawnFigure

MEAN = "mean"
COSTS = ("parameters", "operations", "seconds", "masked_loss")


@dataclass
class Comparison:
    """The results of one table and what they say; `note` says how they were made."""

    name: str
    table: Table
    results: Sequence[Result]
    note: str

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(result.task for result in self.results))

    @property
    def systems(self) -> list[str]:
        return list(dict.fromkeys(result.system for result in self.results))

    def tasks_of(self, system: str) -> list[str]:
        return list(dict.fromkeys(result.task for result in self.results if result.system == system))

    def scores(self, system: str, tasks: Sequence[str]) -> Scores:
        """Return (S, N, 2) of each task, seeds in their order."""
        return [
            np.stack([result.scores for result in self.results if (result.system, result.task) == (system, task)])
            for task in tasks
        ]

    def figures(self, system: str) -> dict[str, Figure]:
        """Return the figure of each of the system's tasks, and their mean."""
        tasks = self.tasks_of(system)
        groups = {task: [task] for task in tasks} | ({MEAN: tasks} if len(tasks) > 1 else {})
        return {name: statistics.figure(self.scores(system, group)) for name, group in groups.items()}

    def intervals(self) -> dict[str, dict[str, tuple[float, float, float]]]:
        """Return for each task, and for their mean, the figure of each system and the bounds of its interval."""
        figures = {system: self.figures(system) for system in self.systems}
        return {
            task: {
                name: (one[task].value, one[task].low, one[task].high) for name, one in figures.items() if task in one
            }
            for task in (self.tasks if len(self.tasks) == 1 else [*self.tasks, MEAN])
        }

    def between(self, better: str, worse: str) -> Difference:
        """Compare two systems on the tasks that they have in common."""
        common = self.in_common(better, worse)
        return statistics.compare(self.scores(better, common), self.scores(worse, common))

    def difference(self, claim: Claim) -> Difference:
        return self.between(claim.better, claim.worse)

    def in_common(self, *systems: str) -> list[str]:
        return [task for task in self.tasks if all(task in self.tasks_of(system) for system in systems)]

    def beats_guess(self, claim: Claim) -> bool:
        """Return whether one of both systems is better than a guess, on the mean of the tasks that both have."""
        pair = claim.better, claim.worse
        known = [one for one in self.results if one.system in pair and one.task in self.in_common(*pair)]
        return max(fmean(one.value - one.guess for one in known if one.system == system) for system in pair) > 0

    def sentence(self, claim: Claim) -> str:
        return sentence(claim, self.difference(claim), self.beats_guess(claim))

    @property
    def guesses(self) -> dict[str, float]:
        """Return what needs no model, the mean over seeds, for each task that can be guessed."""
        values = {task: fmean(one.guess for one in self.results if one.task == task) for task in self.tasks}
        return {task: value for task, value in values.items() if value}

    def cost(self, system: str) -> dict[str, float]:
        """Return parameters, operations, seconds and, if it predicts masked words, their held-out loss of a system's
        pretraining, the mean over seeds."""
        found = [result.pretraining for result in self.results if result.system == system]
        return {name: fmean(one[name] for one in found) for name in COSTS if name in found[0]}

    def write(self, folder: Path) -> None:
        """Write NAME.md, NAME.csv, NAME.json (with the score of every example) and NAME.png."""
        with atomic_folder(folder) as work:
            (work / f"{self.name}.md").write_text(self.markdown(), encoding="utf-8")
            (work / f"{self.name}.csv").write_text(self.csv(), encoding="utf-8")
            (work / f"{self.name}.json").write_text(self.json(), encoding="utf-8")
            (work / f"{self.name}.png").write_bytes(self.png())

    @property
    def claims(self) -> list[Claim]:
        """Those of the table whose systems have both been tried."""
        return [claim for claim in self.table.claims if {claim.better, claim.worse} <= {*self.systems}]

    def markdown(self) -> str:
        columns = [*self.tasks, MEAN] if len(self.tasks) > 1 else self.tasks
        head = ["pretrained", "parameters", "pretraining, FLOPs", "seconds", "masked words, loss", *columns]
        rows = [head, ["---"] * len(head)]
        for system in self.systems:
            figures, cost = self.figures(system), self.cost(system)
            spent = [f"{cost['parameters']:,.0f}", f"{cost['operations']:.2g}", f"{cost['seconds']:.0f}"]
            spent.append(f"{cost['masked_loss']:.2f}" if "masked_loss" in cost else "")
            rows.append([system, *spent, *(str(figures.get(column, "")) for column in columns)])
        guesses = self.guesses
        shown = [f"{guesses[column]:.3f}" if column in guesses else "" for column in columns]
        rows.append(["a guess without a model", *[""] * 4, *shown])
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        sentences = "\n".join(f"- {self.sentence(claim)}" for claim in self.claims)
        return f"# {self.table.question}\n\n{self.note}\n\n{table}\n\n{sentences}\n\n![{self.name}]({self.name}.png)\n"

    def csv(self) -> str:
        """Return one line for each system, task and seed."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["pretrained", "task", "seed", "measure", "value", "rate", "tuning_seconds", *COSTS])
        for one in self.results:
            tuning = [f"{one.value:.6f}", one.rate, f"{one.seconds:.2f}"]
            spent = [f"{one.pretraining[name]:.6g}" if name in one.pretraining else "" for name in COSTS]
            writer.writerow([one.system, one.task, one.seed, one.measure, *tuning, *spent])
        return file.getvalue()

    def json(self) -> str:
        """Return the note and a line for each system, task and seed, for bertlab.compare.saved."""
        lines = ",\n".join(json.dumps(one.record(), separators=(",", ":")) for one in self.results)
        return f'{{"note": {json.dumps(self.note)}, "results": [\n{lines}\n]}}\n'

    def drawn(self) -> "DrawnFigure":
        """Return every figure with its interval, a panel for each task and one for their mean; dashed: the guesses."""
        from bertlab.draw.figures.comparison import intervals

        return intervals(self.intervals(), guesses=self.guesses)

    def png(self) -> bytes:
        file = BytesIO()
        self.drawn().savefig(file, format="png")
        return file.getvalue()


def note_of(table: Table, budget: Budget, seeds: int, text: str) -> str:
    """Say what the models of a table have alike."""
    recipe, tuning = budget.recipe, budget.finetune
    recipes = [system.pretraining(budget, 0) for system in table.systems]
    layers, width = Counter((one.num_hidden_layers, one.hidden_size) for one in recipes).most_common(1)[0][0]
    rates = " or ".join(f"{rate:g}" for rate in budget.rates)
    if len(budget.rates) > 1:
        rates += f", whichever was better on {budget.dev:,} dev examples"
    return (
        f"Unless its row says otherwise, a model has {layers} layers of {width} (or as "
        f"many parameters) and learned from {text} in {recipe.steps:,} steps of {recipe.batch_size} texts, then each "
        f"task in {tuning.steps:,} steps of {tuning.batch_size} examples at a rate of {rates}. "
        f"Measured on at most {budget.test:,} test examples (accuracy, or F1 of entities "
        f"and answers), with 95% intervals over seeds ({seeds}) and examples."
    )


def sentence(claim: Claim, found: Difference, beats_guess: bool = True) -> str:
    """Say whether a finding holds at this scale, is reversed, or cannot be decided, and then what would decide it."""
    measured = f"{found.figure.value:+.3f} ({found.figure.low:+.3f} to {found.figure.high:+.3f})"
    test = f"p = {found.p:.2g}, {found.seeds} seed{'s' * (found.seeds != 1)}"
    return (
        f"{claim.better} against {claim.worse}: {measured}, {test}. {claim.source}: **{verdict(found, beats_guess)}**."
    )


def verdict(found: Difference, beats_guess: bool = True) -> str:
    """Return "holds", "reversed", or "cannot tell" with what would decide it."""
    if not beats_guess:
        return "cannot tell; neither is better than a guess: train longer"
    return found.verdict + (f"; {_enough(found)}" if found.verdict == "cannot tell" else "")


def _enough(found: Difference) -> str:
    """Advise more seeds where they would decide it, and more steps or examples where they would not."""
    if found.enough_seeds is None:
        if found.seeds < 2:
            return "more seeds are needed"
        return f"more than {MOST_SEEDS:,} seeds would be needed: more steps may bring out a difference"
    if found.enough_seeds <= found.seeds:
        return "the examples are too few"
    return f"for a difference like this, about {found.enough_seeds:,} seeds would be needed"
