"""A training read back from its run folder, whether it is over or still under way."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bertlab.config import BertConfig
from bertlab.errors import InputError, brief
from bertlab.io.files import present, read_text
from bertlab.io.json_files import fits, parse_json, read_json
from bertlab.io.locate import bundled_models, locate, snapshots
from bertlab.model.weights import weights_file
from bertlab.training.engine.checkpoints import Checkpoints
from bertlab.training.run_files import check_figure, read_record, read_rows
from bertlab.training.run_folder import MEASURES

BASELINES = "baselines.json"

Row = dict[str, float]
AGAINST = {  # what is logged -> what baselines call it
    "mlm_loss": "loss",
    "masked_accuracy": "top1",
    "next_token_loss": "loss",
    "next_token_accuracy": "top1",
}
SIMPLE = {"word frequency": "unigram", "two neighbours": "bigram", "the word before": "previous"}
PAIRS = ("nsp_accuracy", "order_accuracy")  # two answers, equally often right
# "moved": how far the vectors of texts went from those of the encoder that the training began with.
NOT_LEARNING = ("step", "learning_rate", "seconds", "tokens_per_second", "utilisation", "wait_share", "moved")


@dataclass(frozen=True)
class Moment:
    """The model after so many steps; `source` is what from_pretrained() takes."""

    step: int
    source: str


@dataclass(frozen=True)
class CurveBaseline:
    """What guessing without a network reaches: `value` belongs to the curve `measure`."""

    name: str
    measure: str
    value: float


@dataclass(frozen=True)
class TrainingRun:
    """One run folder.

    `rows` are those of metrics.csv, means since the row before; `evaluations` those of dev.csv. `moments` are
    the models that can be opened, in order: snapshots and, once it is saved, the result. `finished`: no step is
    left. `written` is when the newest figures came, in seconds since 1970. `measured_later`: the run did not write its
    baselines at its start, so they are those of its measures, with 15% of the words hidden.
    """

    name: str
    recipe: dict
    rows: list[Row]
    evaluations: list[Row]
    baselines: list[CurveBaseline]
    moments: list[Moment]
    finished: bool
    written: float
    measured_later: bool = False

    @property
    def step(self) -> int:
        """The last step that was logged."""
        return int(self.rows[-1]["step"]) if self.rows else 0

    @property
    def planned(self) -> int | None:
        """All steps of the run; None if they follow from the number of examples, which the folder does not record."""
        return max(0, self.recipe.get("steps", 0)) or None

    @property
    def loss(self) -> str:
        """The name of the loss, in nats; "" if none is logged."""
        return next((name for name in self.measures if name.endswith("loss")), "")

    def beaten_at(self, baseline: CurveBaseline) -> int | None:
        """Return the first logged step with a better figure; None if there is none yet."""
        rows = self.evaluations if self.evaluations and baseline.measure in self.evaluations[0] else self.rows
        sign = -1 if baseline.measure.endswith("loss") else 1
        better = (sign * row.get(baseline.measure, math.nan) > sign * baseline.value for row in rows)
        return next((int(row["step"]) for row, passed in zip(rows, better, strict=True) if passed), None)

    @property
    def shares(self) -> list[str]:
        """Names of the measures that grow from 0 to 1 during training: those of the dev set if there is one."""
        rows = self.evaluations or self.rows
        names = [
            name
            for name in (rows[0] if rows else ())
            if name not in NOT_LEARNING and not name.endswith(("loss", "_low", "_high"))
        ]
        return [name for name in names if ":" not in name and all(-1 <= row[name] <= 1 for row in rows)]

    @property
    def measures(self) -> list[str]:
        """The columns of `rows` that show what is learned."""
        return [name for name in self.rows[0] if name not in NOT_LEARNING] if self.rows else []


def read_run(name: str | Path) -> TrainingRun:
    """Return the run of a folder, or of a bundled model.

    Raises InputError for a folder that no run wrote, and names the file and the line that is damaged.
    """
    name = str(name).strip()
    folder = _folder(name)
    recipe = read_record(folder / "recipe.json")
    rows, evaluations = read_rows(folder / "metrics.csv"), read_rows(folder / "dev.csv")
    ended = weights_file(folder) is not None
    run = TrainingRun(
        name,
        recipe,
        rows,
        evaluations,
        _baselines(folder, [*rows[0], *(evaluations and evaluations[0])] if rows else []),
        _moments(name, folder, rows, ended),
        finished=ended and not Checkpoints(folder / "resume"),
        written=max(_modified(folder / file) for file in ("recipe.json", "metrics.csv", "dev.csv")),
        measured_later=not (folder / BASELINES).is_file() and (folder / MEASURES).is_file(),
    )
    if rows and not (run.loss or run.shares):
        known = ", ".join(rows[0])
        raise InputError(f"{folder / 'metrics.csv'}: no column is a loss or a share of what is right, only {known}")
    return run


def _folder(name: str) -> Path:
    """Return the run folder; never one of the hub, which has models but no runs."""
    try:
        folder = locate(name) if name in bundled_models() else Path(name).expanduser()
        there = bool(name) and folder.is_dir()
    except (OSError, RuntimeError):  # too long for the file system; ~user without a home
        there = False
    if not there:
        raise InputError(f"{name[:80]!r} is no run folder. Bundled runs: {', '.join(bundled_models())}")
    if not (folder / "recipe.json").is_file():
        why = "it has no recipe.json, which every training of bertlab writes first"
        raise InputError(f"{name} is no run folder: {why}. storyworld-tiny is one")
    return folder


def _modified(path: Path) -> float:
    """Return the time of the last change; 0 if the file is missing: a resumed run writes its files again."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _moments(name: str, folder: Path, rows: Sequence[Row], ended: bool) -> list[Moment]:
    """Return the models by step. Snapshots appear complete, by a rename; the result replaces the last step's."""
    found = {step: f"{name}/{path.name}" for step, path in snapshots(folder).items()}
    if ended:
        found[int(rows[-1]["step"]) if rows else 0] = name
    return [Moment(step, found[step]) for step in sorted(found)]


def _baselines(folder: Path, measures: Sequence[str]) -> list[CurveBaseline]:
    """Return the baselines written at the start of the run; for older runs, those measured at its end."""
    names = {theirs: measure for measure, theirs in AGAINST.items() if measure in measures}
    coin = [CurveBaseline("coin toss", measure, 0.5) for measure in PAIRS if measure in measures]
    if present(path := folder / BASELINES):
        return _written(path, names) + coin
    if names and present(path := folder / MEASURES):
        return _measured(path, names) + coin
    return coin


def _measured(path: Path, names: dict[str, str]) -> list[CurveBaseline]:
    uniform = math.log(BertConfig.from_pretrained(path.parent).vocab_size)
    measures, found = read_json(path), [CurveBaseline("uniform: ln V", names["loss"], uniform)]
    for name, kind in SIMPLE.items():
        keys = {f"{kind}_{theirs}": measure for theirs, measure in names.items()}
        found += [_baseline(path, name, measure, measures[key]) for key, measure in keys.items() if key in measures]
    return found


def _baseline(path: Path, name: str, measure: str, value: object) -> CurveBaseline:
    """Return a baseline that a file holds. InputError: its value is no figure."""
    if not fits(value, float):
        raise InputError(f"{path} cannot be read ({name}: {brief(value)} is no number)")
    check_figure(value, f"{path}, {name}")  # type: ignore[arg-type]  # a number
    return CurveBaseline(name, measure, float(value))  # type: ignore[arg-type]


def _written(path: Path, names: dict[str, str]) -> list[CurveBaseline]:
    """`names`: the names in the file -> the names of the curves, where they differ."""
    try:
        records = parse_json(read_text(path), path)
        return [
            _baseline(path, record["name"], names.get(key, key), value)
            for record in records
            for key, value in record.items()
            if key != "name"
        ]
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path} cannot be read ({error})") from error
