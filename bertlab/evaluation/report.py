"""The report of a run: measures beside baselines, confusions, and the worst mistakes of the model."""

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bertlab.errors import can_use
from bertlab.evaluation import calibration
from bertlab.evaluation.wording import bounds, meaning, without_bounds
from bertlab.io.atomic import atomic_folder
from bertlab.tasks.base import Compared

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LABELS, REST = 12, "all others"
CALIBRATED = ("probability of the prediction", "examples", "wrong")
WORST, LONGEST = 20, 240  # examples that are shown, letters of each
SPECIAL = re.compile(r"([\\`*_\[\]{}|~$#@]|:(?=\S)|(?<=www)\.)")  # what is more than a letter to Markdown
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

Measures = Mapping[str, float]


def write_report(
    folder: str | Path,
    title: str,
    measures: Measures,
    *,
    rows: Sequence[Measures] = (),
    evaluations: Sequence[Measures] = (),
    baselines: Mapping[str, Measures] | None = None,
    confusions: Sequence[tuple[str, str]] | None = None,
    comparisons: Sequence[Compared] = (),
    notes: Sequence[str] = (),
    second: str = "",
) -> None:
    """Write report.md, its figures, confusions.png and curves.png, and calibration.json into the run folder: all of
    them or none.

    `rows` are those of metrics.csv, `evaluations` measures during the training with their `step`, `baselines` measures
    by name. `confusions` are (right, predicted), `notes` paragraphs of Markdown,
    `second` the label of the second class. Empty sections are left out, and the figures where Matplotlib is missing.
    InputError, naming the folder: it cannot be written.
    """
    sections = [f"# {plain(title)}", *notes, measures_table(measures, baselines or {}, second)]
    files = {}
    if (rows or evaluations) and can_draw():
        from bertlab.draw.figures.tasks.report import training_curves

        files["curves.png"] = _png(training_curves(rows, evaluations))
        sections += ["## The training", "![Loss and measures against steps](curves.png)"]
    if confusions:
        labels, counts = confusion_counts(confusions)
        sections += ["## Confusion matrix"]
        if can_draw():
            from bertlab.draw.figures.tasks.report import confusion_heatmap

            files["confusions.png"] = _png(confusion_heatmap(labels, counts))
            sections += ["![Heat map of the table below](confusions.png)"]
        sections += [confusions_table(labels, counts)]
    if bins := calibration.bins(comparisons):
        files[calibration.CALIBRATION] = calibration.as_json(bins).encode()
        sections += ["## How sure, and how often wrong", markdown_table(CALIBRATED, calibration.rows(bins))]
    if wrong := worst(comparisons):
        sections += ["## Where it is most wrong", mistakes_table(wrong)]
    with atomic_folder(folder) as work:
        for name, content in files.items():
            (work / name).write_bytes(content)
        (work / "report.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def can_draw() -> bool:
    """Return whether reports have figures; if not, stderr says once how to install what draws them."""
    return can_use("matplotlib", "figures", "figures in report.md")


def measures_table(measures: Measures, baselines: Mapping[str, Measures], second: str = "") -> str:
    """Return one row a measure, with its interval where there is one, and a column for each baseline."""
    head = ["measure", "value", "95% interval", *baselines]
    names = without_bounds(measures)
    rows = []
    for name in names:
        value, *others = (_number(found.get(name)) for found in (measures, *baselines.values()))
        rows.append([meaning(name, second) or name, value, bounds(measures, name), *others])
    return markdown_table(head, rows)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def confusion_counts(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], np.ndarray]:
    """Return labels, frequent ones first, and how often each right one (row) was predicted as each (column): (C, C).

    Of more than 12 labels those past the 12 most frequent are counted together, as the last.
    """
    labels = [label for label, _ in Counter(label for pair in pairs for label in pair).most_common()]
    kept = {label: label for label in labels[:MOST_LABELS]}
    if len(labels) > MOST_LABELS:
        labels = [*kept, REST]
    counted = Counter((kept.get(right, REST), kept.get(predicted, REST)) for right, predicted in pairs)
    return labels, np.array([[counted[right, predicted] for predicted in labels] for right in labels])


def confusions_table(labels: Sequence[str], counts: np.ndarray) -> str:
    """Return a table whose rows are right labels and whose columns are predicted ones."""
    rows = [[label, *(f"{count:,}" for count in row)] for label, row in zip(labels, counts.tolist(), strict=True)]
    text = markdown_table(["right \\ predicted", *labels], rows)
    if REST in labels:
        text += f"\n\n“{REST}” counts rare labels together: its diagonal cell includes mistakes among them."
    return text


def worst(comparisons: Sequence[Compared]) -> list[Compared]:
    """Return the 20 wrong predictions with the largest errors, worst first."""
    wrong = [one for one in comparisons if one.error > 0 and one.gold != one.predicted]
    return sorted(wrong, key=lambda one: -one.error)[:WORST]


def mistakes_table(comparisons: Sequence[Compared]) -> str:
    rows = [
        [one.id, one.text, one.gold or "(nothing)", one.predicted or "(nothing)", f"{one.error:.2f}"]
        for one in comparisons
    ]
    return markdown_table(["example", "text", "right", "predicted", "how far off"], rows)


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose cells show their text literally."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in [[*map(plain, line)] for line in lines])


def plain(text: str) -> str:
    """Return a text as one line that Markdown shows literally; of a long text the beginning and the end."""
    text = " ".join(CONTROL.sub(" ", text).split())
    if len(text) > LONGEST:
        text = f"{text[: LONGEST * 2 // 3].rstrip()} … {text[-LONGEST // 3 :].lstrip()}"
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return SPECIAL.sub(r"\\\1", text)


def _png(figure: "Figure") -> bytes:
    """Return the figure as PNG bytes; a letter that the font lacks is drawn as a box."""
    file = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        figure.savefig(file, format="png")
    return file.getvalue()
