"""A run folder read back, whole, under way, and damaged."""

import json
import math
import os

import pytest

from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.charts.runs import MOST_POINTS, curve_table, loss_curve, run_curves, share_curves
from bertlab.errors import InputError
from bertlab.explain.runs import CurveBaseline, Moment, read_run

HEAD = "step,mlm_loss,masked_accuracy,nsp_loss,nsp_accuracy,learning_rate,seconds,tokens_per_second"
ROWS = [f"{step},{9 - step / 100},{step / 2000},0.7,0.5,0.001,{step / 10},1000" for step in (100, 200, 300)]
BASELINES = [{"name": "uniform", "loss": 7.5, "top1": 0.0}, {"name": "word frequency", "loss": 6.5, "top1": 0.12}]


@pytest.fixture
def folder(tmp_path):
    """A pretraining under way, as it writes itself."""
    (tmp_path / "recipe.json").write_text(json.dumps({"steps": 1000, "vocab_size": 500}))
    (tmp_path / "baselines.json").write_text(json.dumps(BASELINES))
    (tmp_path / "metrics.csv").write_text("\n".join([HEAD, *ROWS, ""]))
    return tmp_path


def snapshot(folder, model, tok, step: int | None = None):
    model.save_pretrained(folder if step is None else folder / f"step-{step:05d}", tok)


def test_a_run_under_way(folder, model, tok):
    for step in (0, 100, 20000):
        snapshot(folder, model, tok, step)
    (folder / ".step-00300.part").mkdir()  # one that is being written
    run = read_run(folder)
    assert (run.step, run.planned, run.finished, run.loss) == (300, 1000, False, "mlm_loss")
    assert run.shares == ["masked_accuracy", "nsp_accuracy"]
    assert [moment.step for moment in run.moments] == [0, 100, 20000]
    assert CurveBaseline("word frequency", "masked_accuracy", 0.12) in run.baselines
    beaten = {(one.name, one.measure): run.beaten_at(one) for one in run.baselines}
    assert beaten["uniform", "mlm_loss"] == 200 and beaten["word frequency", "mlm_loss"] == 300
    assert beaten["word frequency", "masked_accuracy"] == 300 and beaten["coin toss", "nsp_accuracy"] is None
    for moment in run.moments:
        BertForPreTraining.from_pretrained(moment.source)


def test_the_end_of_a_run_and_one_that_was_stopped(folder, model, tok):
    snapshot(folder, model, tok, 300)
    snapshot(folder, model, tok)
    run = read_run(str(folder) + "/")
    assert run.finished and run.moments == [Moment(300, run.name)]
    Tokenizer.from_pretrained(run.moments[0].source)
    (folder / "resume").mkdir()
    (folder / "resume" / "state-0000300-0123456789abcdef.pt").write_bytes(b"")
    assert not read_run(folder).finished


def test_the_bundled_run_and_where_its_older_baselines_come_from():
    run = read_run("storyworld-tiny")
    assert run.finished and run.step == run.planned == 7000
    assert [moment.step for moment in run.moments] == [0, 100, 300, 600, 1000, 2000, 4000, 7000]
    older = read_run("english-scratch")
    values = {(one.name, one.measure): one.value for one in older.baselines}
    assert older.measured_later and values["uniform: ln V", "mlm_loss"] == pytest.approx(math.log(8000))
    assert values["two neighbours", "masked_accuracy"] == pytest.approx(0.217, abs=1e-3)
    assert read_run("english").shares == ["masked_accuracy"], "how far its vectors moved is no share of right answers"


def test_the_bundled_english_passes_every_baseline():
    run = read_run("english")
    known = [one for one in run.baselines if one.measure in ("mlm_loss", "masked_accuracy")]
    assert {one.name for one in known} == {"uniform: ln V", "word frequency", "two neighbours"} and len(known) == 6
    assert all(run.beaten_at(one) is not None for one in known)


def test_a_fine_tuning_is_read_by_its_dev_set():
    run = read_run("storyworld-tiny-sentiment")
    assert run.shares[0] == "accuracy" and run.loss == "loss"
    assert all({"accuracy", "accuracy_low", "accuracy_high"} <= row.keys() for row in run.evaluations)
    table = curve_table(run, ["accuracy"])
    assert (table["low"] <= table["value"]).all() and len(table) == len(run.evaluations)


def test_a_line_that_is_being_written_waits(folder):
    with (folder / "metrics.csv").open("a") as file:
        file.write("400,5.1,0.")
    assert read_run(folder).step == 300


def test_names_of_columns_may_hold_commas(folder):
    """As those of plain labels for punctuation do."""
    (folder / "dev.csv").write_text('step,"f1:,",f1:.\n1,0.5,1\n')
    assert read_run(folder).evaluations == [{"step": 1, "f1:,": 0.5, "f1:.": 1}]
    (folder / "dev.csv").write_text(f"step,f1\n1,{'x' * 200_000}\n")  # more than csv reads
    with pytest.raises(InputError, match=r"dev\.csv, line 2: 2 numbers"):
        read_run(folder)


def test_nothing_measured_yet(folder):
    for name in ("metrics.csv", "baselines.json"):
        (folder / name).unlink()
    run = read_run(folder)
    assert (run.rows, run.baselines, run.moments, run.step, run.loss, run.shares) == ([], [], [], 0, "", [])
    (folder / "metrics.csv").write_text("")
    assert read_run(folder).rows == []


@pytest.mark.parametrize(
    ("file", "content", "named"),
    [
        ("metrics.csv", "step,mlm_loss\n1,2\n3,x\n", r"metrics\.csv, line 3: 2 numbers"),
        ("metrics.csv", "step,mlm_loss\n1,2,3\n", r"metrics\.csv, line 2: 2 numbers"),
        ("metrics.csv", "loss\n1\n", "no column step"),
        ("metrics.csv", b"\xff\xfe\n", r"metrics\.csv: not UTF-8 at byte 0"),
        ("metrics.csv", "step,mlm_loss\n1,2\n2,nan\n", r"metrics\.csv, line 3, column mlm_loss: nan is no figure"),
        ("metrics.csv", "step,mlm_loss\n1,-inf\n", r"metrics\.csv, line 2, column mlm_loss: -inf is no figure"),
        ("metrics.csv", "step,mlm_loss\n1,1e308\n", r"metrics\.csv, line 2, column mlm_loss: 1e\+308 is no figure"),
        ("metrics.csv", "step,mlm_loss\n1e99,2\n", r"metrics\.csv, line 2, column step: 1e\+99 is no figure"),
        ("metrics.csv", "step,mlm_loss\n1.5,2\n", r"metrics\.csv, line 2, column step: 1\.5 is no number of a step"),
        ("metrics.csv", "step,mlm_loss\n-1,2\n", r"metrics\.csv, line 2, column step: -1 is no number of a step"),
        ("metrics.csv", "step\n1\n2\n", r"metrics\.csv: no column is a loss"),
        ("metrics.csv", "step,seconds\n1,2\n", r"metrics\.csv: no column is a loss"),
        ("metrics.csv", "step,perplexity\n1,50\n", r"metrics\.csv: no column is a loss"),
        ("metrics.csv", "step,mlm_loss,mlm_loss\n1,2,3\n", r"metrics\.csv, line 1: the column 'mlm_loss'"),
        ("metrics.csv", "step,mlm_loss,\n1,2,3\n", r"metrics\.csv, line 1: the column ''"),
        ("baselines.json", '[{"name": "x", "loss": NaN}]', r"baselines\.json"),
        ("baselines.json", '[{"name": "x", "loss": 1e308}]', r"baselines\.json"),
        ("recipe.json", '{"steps": "many"}', r"recipe\.json: steps is 'many', which must be a whole number"),
        ("recipe.json", '{"steps": 1e5}', r"recipe\.json: steps is 100000\.0, which must be a whole number"),
        ("dev.csv", "step,f1\n1,high\n", r"dev\.csv, line 2"),
        ("recipe.json", '{"steps": 10', r"recipe\.json: cannot be read"),
        ("recipe.json", "[]", "not a JSON object"),
        ("baselines.json", '[{"loss": 3}]', r"baselines\.json cannot be read"),
        ("baselines.json", '[{"name": "x", "loss": "high"}]', r"baselines\.json cannot be read"),
        ("baselines.json", "{", r"baselines\.json: cannot be read"),
    ],
)
def test_what_is_damaged_is_named(folder, file, content, named):
    (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=named):
        read_run(folder)


def test_what_is_no_run_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no run folder: it has no recipe\.json"):
        read_run(tmp_path)
    for name in ("no-such-run", "", "google/bert", "x" * 5000, "\x00"):
        with pytest.raises(InputError, match="no run folder. Bundled runs: "):
            read_run(name)


def test_written_is_when_the_newest_figures_came(folder):
    for name, when in (("recipe.json", 10), ("metrics.csv", 70)):
        os.utime(folder / name, (when, when))
    assert read_run(folder).written == 70


def test_curves_hold_the_rows_and_the_baselines(folder):
    run = read_run(folder)
    drawn = json.dumps(loss_curve(run, step=200).to_dict())
    assert '"word frequency 6.50"' in drawn and '"uniform 7.50"' in drawn
    assert '"coin toss 50%"' in json.dumps(share_curves(run).to_dict())
    assert len(run_curves(run).to_dict()["hconcat"]) == 2


def test_long_runs_are_thinned_to_their_last_step(folder):
    rows = [f"{step},3,0.5,0.7,0.5,0.001,1,1000" for step in range(50, 200_050, 50)]
    (folder / "metrics.csv").write_text("\n".join([HEAD, *rows, ""]))
    table = curve_table(read_run(folder), ["mlm_loss"])
    assert len(table) <= MOST_POINTS + 1 and table["step"].iloc[-1] == 200_000
