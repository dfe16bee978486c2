"""The figures of a training: rows of means, speed, the bar, steps that were skipped."""

from types import SimpleNamespace

import pytest

from bertlab import InputError
from bertlab.training.engine import throughput
from bertlab.training.engine.optim import Optimization
from tests.training.toy import exploding, fit, line, points, quietly, run, squared

COLUMNS = ["step", "loss", "learning_rate", "seconds", "tokens_per_second", "wait_share"]


def test_rows_have_their_columns_and_steps():
    logged = []
    _, rows = run(steps=20, log_every=8, log=logged.append)
    assert logged == rows
    assert [row["step"] for row in rows] == [8, 16, 20]  # the last row tells of what was left
    assert all(list(row) == COLUMNS for row in rows)
    assert all(isinstance(value, int | float) for row in rows for value in row.values())
    assert [row["seconds"] for row in rows] == sorted(row["seconds"] for row in rows)


def test_no_row_twice_at_the_end():
    assert [row["step"] for row in run(steps=16, log_every=8)[1]] == [8, 16]


def test_a_row_is_the_mean_since_the_row_before():
    seen = []

    def watch(model, batch, shares):
        loss, watched = squared(model, batch, shares)
        seen.append(loss.item())
        return loss, watched

    rows = run(steps=10, log_every=5, loss_function=watch)[1]
    assert [row["loss"] for row in rows] == pytest.approx([sum(seen[:5]) / 5, sum(seen[5:]) / 5], rel=1e-5)


def test_speed_counts_tokens_without_padding(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(throughput, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
    row = run(steps=4, log_every=4)[1][0]
    tokens = 4 * 2  # each batch has two ones in its attention_mask
    assert row["tokens_per_second"] == pytest.approx(tokens / row["seconds"])


def test_speed_and_waiting_are_those_of_the_steps_since_the_row_before(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(throughput, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def pass_time(seconds, result):
        now[0] += seconds
        return result

    coming = (pass_time(seconds, batch) for seconds, batch in zip([0, 0, 1, 2], points(), strict=False))
    options = {"steps": 4, "log_every": 2, "optim": Optimization()} | quietly()
    first, second = fit(line(), coming, lambda *given: pass_time(1.5, squared(*given)), **options)
    assert (first["tokens_per_second"], first["wait_share"]) == (2 * 2 / 3, 0)
    assert (second["tokens_per_second"], second["wait_share"]) == (2 * 2 / 6, 3 / 6)


def test_utilisation_is_what_the_steps_needed_of_what_was_possible(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(throughput, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(throughput, "product_rate", lambda *_: 1000.0)

    def slow(*given):
        now[0] += 2.0
        return squared(*given)

    rows = run(steps=4, log_every=2, loss_function=slow, operations=lambda batch: 100.0 * len(batch["x"]))[1]
    assert [row["utilisation"] for row in rows] == [0.4, 0.4]  # 800 in two seconds


def test_a_training_that_diverges_is_told_ends_and_keeps_the_batch():
    saved = []
    with pytest.raises(InputError, match=r"diverged: no finite gradient in the 10 steps up to 13, .* 0\.\d+"):
        save = {"save": lambda *what: saved.append(what), "save_every": 50}
        run(steps=50, loss_function=exploding(*range(4, 14)), **save)
    _, (state, stopped) = saved
    assert stopped and state["step"] == 13 and set(state["batch"]) == {"x", "y", "attention_mask"}
    assert all(tensor.isfinite().all() for tensor in state["model"].values())


def test_the_bar_shows_the_figures_and_the_skipped_steps(capfd):
    run(steps=5, loss_function=exploding(2, 4), log_every=5, progress=True)
    shown = capfd.readouterr().err
    assert all(part in shown for part in ("5/5", "loss=", "tok/s=", "waited=", "skipped=2"))
