"""The loop: it learns, clips, ends early, and keeps what was learned."""

import copy
import math
import pickle
import signal
from itertools import islice
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from bertlab import InputError
from bertlab.training.engine import optim, throughput
from bertlab.training.engine.devices import Devices
from bertlab.training.engine.loop import train_step
from bertlab.training.engine.micro_batches import own_micro_batches
from bertlab.training.engine.optim import Optimization, make_optimizers
from tests.training.toy import fit, line, points, quietly, run, squared


def test_the_loss_falls_and_the_model_is_ready_for_use():
    model, rows = run(steps=150, log_every=10)
    assert rows[-1]["loss"] < 0.05 * rows[0]["loss"]
    assert model.weight.item() == pytest.approx(3, abs=0.2)
    assert not model.training


def test_learning_rate_follows_the_schedule(monkeypatch):
    used, step = [], torch.optim.AdamW.step
    monkeypatch.setattr(
        torch.optim.AdamW, "step", lambda self, *a, **k: used.append(self.param_groups[0]["lr"]) or step(self, *a, **k)
    )
    settings = Optimization(learning_rate=0.2, warmup=0.1)
    rates = [row["learning_rate"] for row in run(steps=100, log_every=1, optim=settings)[1]]
    assert used == rates
    assert rates[0] == pytest.approx(0.2 * 0.05)  # the middle of the first of ten steps up
    assert max(rates) == pytest.approx(0.2, rel=0.06) and rates.index(max(rates)) in (9, 10)
    assert 0 < rates[-1] < 0.01 * 0.2


def test_gradients_are_clipped_and_zeroed(monkeypatch):
    norms = []
    step = torch.optim.AdamW.step

    def spy(self, *args, **kwargs):
        gradients = [p.grad for group in self.param_groups for p in group["params"]]
        norms.append(math.sqrt(sum(float(g.square().sum()) for g in gradients)))
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.AdamW, "step", spy)
    model, _ = run(line(100.0), steps=5, optim=Optimization(learning_rate=1e-3, clip=0.25))
    assert norms == pytest.approx([0.25] * 5, rel=1e-3)
    assert all(p.grad is None for p in model.parameters())
    norms.clear()
    run(line(3.01), steps=3, optim=Optimization(learning_rate=1e-5, clip=1.0))
    assert 0 < max(norms) < 0.5  # a short gradient is left as it is


def test_minutes_end_the_run_early_with_the_rate_brought_down(monkeypatch):
    clock = iter(range(10_000))  # a third of a second at every look
    monkeypatch.setattr(throughput, "time", SimpleNamespace(perf_counter=lambda: next(clock) / 3))
    _, rows = run(steps=5000, minutes=1, log_every=1)
    assert 20 < len(rows) < 60
    rates = [row["learning_rate"] for row in rows]
    assert rates[-1] < 0.1 * max(rates)


def test_a_run_that_ends_early_logs_its_last_steps(monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr(throughput, "time", SimpleNamespace(perf_counter=lambda: next(clock) / 3))
    _, rows = run(steps=5000, minutes=1, log_every=1000)
    assert len(rows) == 1 and 20 < rows[0]["step"] < 100


def test_without_minutes_all_steps_are_done():
    assert run(steps=7, minutes=None)[1][-1]["step"] == 7
    assert run(steps=7, minutes=60)[1][-1]["step"] == 7


def test_batches_may_run_out():
    batches = [batch for batch, _ in zip(points(), range(3), strict=False)]
    options = {"steps": 10, "optim": Optimization()} | quietly()
    assert fit(line(), batches, squared, **options)[-1]["step"] == 3


@pytest.mark.parametrize("where", ["log", "loss", "batches", "snapshot", "last row"])
def test_ctrl_c_keeps_what_was_learned(where):
    def stop(*_):
        raise KeyboardInterrupt

    calls = []

    def loss(model, batch, shares):
        calls.append(1)
        return stop() if where == "loss" and len(calls) == 12 else squared(model, batch, shares)

    def some():
        for number, batch in enumerate(points()):
            yield stop() if where == "batches" and number == 11 else batch

    options = {"steps": 20, "optim": Optimization(learning_rate=0.1)} | quietly()
    if where == "log":
        options |= {"log": stop, "log_every": 11}
    if where == "last row":
        options |= {"log": stop, "log_every": 50}
    if where == "snapshot":
        options |= {"snapshot": stop, "snapshot_steps": (11,)}
    model = line()
    rows = fit(model, some(), loss, **options)
    assert not model.training and model.weight.item() > 0.5
    assert [row["step"] for row in rows] == [20 if where == "last row" else 11]


def test_other_errors_are_not_swallowed():
    def fail(*_):
        raise InputError("the disk is full")

    with pytest.raises(InputError, match="disk"):
        run(log=fail, log_every=2)


class Reads(TorchDispatchMode):
    """Counts how often a number is read from a tensor, for which the processor waits for the device."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **kwargs or {})


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_step_reads_nothing_from_a_gpu(optimizer, monkeypatch):
    """The processor here stands for one: what it reads at once, a GPU is not asked for."""
    monkeypatch.setattr(optim, "READ_FREELY", ())
    model = nn.Sequential(nn.Linear(1, 4), nn.Linear(4, 1))
    settings = Optimization(optimizer)
    wrapped, optimizers = Devices("cpu").wrap(model), make_optimizers(model, settings)
    (whole,) = own_micro_batches(next(points()), 0, 1, None)
    with Reads() as reads:
        finite, _ = train_step(wrapped, optimizers, [whole], squared, 0.1, 1.0)
        assert reads.count == 0
        assert bool(finite) and reads.count == 1


# Going on


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_resumed_training_ends_with_the_same_weights(optimizer):
    torch.manual_seed(0)
    start = nn.Sequential(nn.Linear(1, 4), nn.Dropout(0.2), nn.Linear(4, 1))
    settings = {"optim": Optimization(optimizer, learning_rate=0.1), "seed": 3, "log_every": 4}
    saved = []
    save = {"save": lambda state, _: saved.append(pickle.loads(pickle.dumps(state))), "save_every": 8}
    whole, rows = run(copy.deepcopy(start), steps=20, **settings, **save)
    assert [state["step"] for state in saved] == [0, 8, 16, 20]
    for state in saved:
        rest = islice(points(), state["step"], None)
        options = {"steps": 20, "resume": state} | quietly() | settings
        model = copy.deepcopy(start)
        resumed = fit(model, rest, squared, **options)
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), whole.parameters(), strict=True))
        assert [(row["step"], row["loss"]) for row in resumed] == [(row["step"], row["loss"]) for row in rows]
        assert all(row["seconds"] >= state["seconds"] for row in resumed if row["step"] > state["step"])


def test_ctrl_c_ends_after_the_step_and_saves():
    saved, pressed = [], []

    def loss(model, batch, shares):
        if not pressed and model.weight.item() > 0.5:
            signal.raise_signal(signal.SIGINT)
            pressed.append(True)
        return squared(model, batch, shares)

    before = signal.getsignal(signal.SIGINT)
    _, rows = run(steps=50, loss_function=loss, save=lambda *what: saved.append(what), log_every=100)
    _, (state, stopped) = saved
    assert stopped and state["step"] == rows[-1]["step"] < 50
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_ends_at_once():
    def loss(model, batch, shares):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("still running")

    saved = []
    assert run(steps=50, loss_function=loss, save=lambda *what: saved.append(what))[1] == []
    assert [stopped for _, stopped in saved] == [False, True] and saved[-1][0] is None


@pytest.mark.parametrize("option", ["steps", "log_every", "save_every", "micro_batch"])
def test_counts_below_one(option):
    with pytest.raises(InputError, match=f"{option}=0"):
        run(**{option: 0})


def test_snapshots_at_the_named_steps():
    taken = {}
    model = line()
    run(model, snapshot=lambda step: taken.update({step: model.weight.item()}), snapshot_steps=(0, 3, 20, 21))
    assert list(taken) == [0, 3, 20]
    assert taken[0] == 0.0 and 0 < taken[3] < taken[20] == model.weight.item()


def test_no_snapshots_unless_asked():
    run(snapshot=lambda step: pytest.fail(f"snapshot at {step}"))


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.drop = line(0.5), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.line(x))


def test_dropout_depends_on_the_seed_alone_and_leaves_the_generator_alone():
    def weight(seed, before):
        torch.manual_seed(before)
        model = Dropping()
        run(model, steps=5, seed=seed)
        return model.line.weight.item()

    assert weight(1, before=10) == weight(1, before=20) != weight(2, before=10)
    model = Dropping()
    torch.manual_seed(4)
    expected = torch.rand(3)
    torch.manual_seed(4)
    run(model, steps=2)
    assert bool((torch.rand(3) == expected).all())


class Watching(nn.Linear):
    """Notes in which type its product was made."""

    def forward(self, x):
        y = super().forward(x)
        self.seen = y.dtype
        return y


@pytest.mark.parametrize("precision", ["bfloat16", "float32"])
def test_products_are_made_in_the_precision_and_nothing_is_printed(precision, capfd):
    model, rows = run(Watching(1, 1), steps=1, devices=Devices("cpu").settle(precision))
    assert model.seen is getattr(torch, precision)
    assert model.weight.dtype is torch.float32 and math.isfinite(rows[0]["loss"])
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("device", ["mps", "abacus"])
def test_a_device_that_is_not_there(device):
    if device == "mps" and torch.backends.mps.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(InputError, match=f"{device}.*this machine, which has cpu") as error:
        Devices(device)
    assert ("cuda" in str(error.value)) == torch.cuda.is_available()
