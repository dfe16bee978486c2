"""The relatives on equal terms, at a size of minutes: the table of chapter 14.

    python benchmarks/relatives.py                       # writes data/relatives.json, prints the table
    python benchmarks/relatives.py --seeds 5             # goes on from the seeds that are done

The table is `relatives` of `bertlab compare`, with a smaller budget, the models that the chapter builds, and two of its
tasks: names (a label for each token) and retelling (takes a decoder). The file has for each model and task the figure
and its interval, and for each claim of a paper the difference, its interval, p and the verdict.
"""

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bertlab.cli.shared.messages import say
from bertlab.compare.laboratory import Laboratory
from bertlab.compare.learners import budget
from bertlab.compare.material import Material
from bertlab.compare.report import Comparison, note_of
from bertlab.compare.tables import TABLES
from bertlab.io.atomic import atomic_write

MODELS = ("BERT", "GPT", "ELMo", "word2vec", "Transformer", "Transformer on BERT")
RELATIVES = TABLES["relatives"]
TABLE = replace(
    RELATIVES,
    tasks=("entities", "retelling"),
    learners=tuple(learner for learner in RELATIVES.learners if learner.name in MODELS),
)
SMALL = budget(documents=1000, steps=250, width=64, tokens=48, batch=32, tune=300, rates=(1e-2, 3e-3), dev=50, test=300)
SMALL = replace(SMALL, recipe=replace(SMALL.recipe, vocab_size=2000, num_hidden_layers=2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("runs/relatives"), help="keeps the trainings")
    parser.add_argument("--out", type=Path, default=Path("data/relatives.json"))
    options = parser.parse_args()
    laboratory = Laboratory(options.folder, SMALL, Material(SMALL.recipe.documents), "cpu")
    results = laboratory.run(TABLE, range(options.seeds), say)
    note = note_of(SMALL, options.seeds, f"{SMALL.recipe.documents:,} documents of the storyworld")
    comparison = Comparison("relatives", TABLE, results, note)
    atomic_write(options.out, json.dumps(record(comparison), indent=1) + "\n")
    print(comparison.markdown())


def record(comparison: Comparison) -> dict[str, Any]:
    """Return what the chapter shows, as it stands in the file."""
    figures = {name: comparison.figures(name) for name in comparison.learners}
    return {
        "note": comparison.note,
        "figures": {name: {task: rounded(one) for task, one in row.items()} for name, row in figures.items()},
        "guess": {task: comparison.guess(task) for task in comparison.tasks},
        "cost": {name: comparison.cost(name) for name in comparison.learners},
        "claims": [claim(comparison, one) for one in comparison.claims],
    }


def rounded(figure: Any) -> list[float]:
    return [round(value, 4) for value in (figure.value, figure.low, figure.high)]


def claim(comparison: Comparison, one: Any) -> dict[str, Any]:
    found = comparison.difference(one)
    return asdict(one) | {"difference": rounded(found.figure), "p": round(found.p, 4), "seeds": found.seeds,
                          "enough_seeds": found.enough_seeds, "verdict": found.verdict}  # fmt: skip


if __name__ == "__main__":
    main()
