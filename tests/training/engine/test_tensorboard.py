"""What TensorBoard reads back is what metrics.csv holds."""

import csv

import pytest

from bertlab import InputError
from tests.training.toy import pretrained


def events(folder):
    """Of each name the steps and the values that TensorBoard shows."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    shown = EventAccumulator(str(folder / "tensorboard"))
    shown.Reload()
    return {name: [(event.step, event.value) for event in shown.Scalars(name)] for name in shown.Tags()["scalars"]}


def train(recipe, texts, tok, out, **options):
    options = {"log_every": 2, "save_every": 3} | options
    return pretrained(recipe, texts, tok, out=out, tensorboard=True, **options)


def test_the_rows_are_read_back_also_of_a_resumed_run(texts, tok, recipe, tmp_path):
    def fail(row):
        if row["step"] == 4:
            raise InputError("the power fails")

    with pytest.raises(InputError, match="power"):
        train(recipe, texts, tok, tmp_path / "run", on_log=fail)  # its state is that of step 3
    train(recipe, texts, tok, tmp_path / "run", resume=True)
    with (tmp_path / "run" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    shown = events(tmp_path / "run")
    assert set(shown) == set(rows[0]) - {"step"}
    for name, values in shown.items():
        assert [step for step, _ in values] == [2, 4, 5]  # 4 once, though it was written twice
        assert [value for _, value in values] == pytest.approx([float(row[name]) for row in rows], rel=1e-4)
