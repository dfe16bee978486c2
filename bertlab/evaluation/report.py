"""The report of a run: what was measured, beside what, what is taken for what, and where the model is most wrong."""

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np

from bertlab.evaluation.card import meaning
from bertlab.io.atomic import atomic_folder
from bertlab.tasks.base import Judged

MOST_LABELS, REST = 12, "all others"
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
    judged: Sequence[Judged] = (),
    notes: Sequence[str] = (),
) -> None:
    """Write report.md and its figures, confusions.png and curves.png, into the run folder: all of them or none.

    `rows` are those of metrics.csv, `evaluations` measures on the way with their `step`, `baselines` measures of what
    the model is compared with, by name. `confusions` are (right, said), `notes` paragraphs of Markdown. What there is
    nothing for is left out. Raises InputError, naming the folder, where it cannot be written.
    """
    from bertlab.draw.figures.report import confusion_heatmap, training_curves

    parts = [f"# {plain(title)}", *notes, measures_table(measures, baselines or {})]
    figures = {}
    if rows or evaluations:
        figures["curves.png"] = _png(training_curves(rows, evaluations))
        parts += ["## The training", "![Loss and measures against steps](curves.png)"]
    if confusions:
        labels, counts = confusion_counts(confusions)
        figures["confusions.png"] = _png(confusion_heatmap(labels, counts))
        parts += ["## What is taken for what", "![Heat map of the table below](confusions.png)"]
        parts += [confusions_table(labels, counts)]
    if wrong := worst(judged):
        parts += ["## Where it is most wrong", judged_table(wrong)]
    with atomic_folder(folder) as work:
        for name, content in figures.items():
            (work / name).write_bytes(content)
        (work / "report.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def measures_table(measures: Measures, baselines: Mapping[str, Measures]) -> str:
    """One row a measure, with its interval where there is one, and a column for each baseline."""
    head = ["measure", "value", "95% interval", *baselines]
    names = [name for name in measures if not name.endswith(("_low", "_high"))]
    return _table(head, [_measure_row(name, measures, baselines) for name in names])


def _measure_row(name: str, measures: Measures, baselines: Mapping[str, Measures]) -> list[str]:
    low, high = (measures.get(f"{name}_{end}") for end in ("low", "high"))
    interval = "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
    others = [_number(found.get(name)) for found in baselines.values()]
    return [meaning(name) or name, _number(measures[name]), interval, *others]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def confusion_counts(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], np.ndarray]:
    """Labels, frequent ones first, and how often each (row) was taken for each (column), (C, C).

    Of more than 12 labels those past the 12 most frequent are counted together, as the last.
    """
    labels = [label for label, _ in Counter(label for pair in pairs for label in pair).most_common()]
    if len(labels) > MOST_LABELS:
        kept = set(labels[:MOST_LABELS])
        pairs = [tuple(label if label in kept else REST for label in pair) for pair in pairs]
        labels = [*labels[:MOST_LABELS], REST]
    counted = Counter(pairs)
    return labels, np.array([[counted[right, said] for said in labels] for right in labels])


def confusions_table(labels: Sequence[str], counts: np.ndarray) -> str:
    """Rows are what is right, columns what was said."""
    rows = [[label, *(f"{count:,}" for count in row)] for label, row in zip(labels, counts.tolist(), strict=True)]
    text = _table(["right \\ said", *labels], rows)
    if REST in labels:
        text += f"\n\n“{REST}” counts rare labels together: on the diagonal it holds mistakes among them too."
    return text


def worst(judged: Sequence[Judged]) -> list[Judged]:
    """The 20 examples that are furthest off, worst first; none where what is said is right."""
    return sorted((one for one in judged if one.wrong > 0 and one.gold != one.said), key=lambda one: -one.wrong)[:WORST]


def judged_table(judged: Sequence[Judged]) -> str:
    rows = [[one.id, one.shown, one.gold or "(nothing)", one.said or "(nothing)", f"{one.wrong:.2f}"] for one in judged]
    return _table(["example", "text", "right", "said", "how far off"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown; what is in the cells is text and nothing else."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in [[*map(plain, line)] for line in lines])


def plain(text: str) -> str:
    """A text in one line that Markdown shows as it is; of a long one the beginning and the end."""
    text = " ".join(CONTROL.sub(" ", text).split())
    if len(text) > LONGEST:
        text = f"{text[: LONGEST * 2 // 3].rstrip()} … {text[-LONGEST // 3 :].lstrip()}"
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return SPECIAL.sub(r"\\\1", text)


def _png(figure) -> bytes:
    """The figure as bytes; a letter that the font lacks is drawn as a box."""
    file = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        figure.savefig(file, format="png")
    return file.getvalue()
