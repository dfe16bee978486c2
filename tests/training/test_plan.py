"""The plan of a pretraining: what it counts is what a step makes and keeps, and its sums are right."""

import io
import json
from dataclasses import replace

import pytest
import torch
from rich.console import Console
from torch.utils.flop_counter import FlopCounterMode

from bertlab import BertConfig, BertForPreTraining, InputError
from bertlab.cli.main import main
from bertlab.draw.plans import amount, duration, print_plan
from bertlab.model.losses import lean_cross_entropy
from bertlab.training.engine.devices import Devices
from bertlab.training.objective import pretraining_loss
from bertlab.training.plan import Job, here, known_gpus, parse_gpus, plan_gpus, plan_here

H100 = known_gpus()["H100"]
SMALL = dict(vocab_size=600, hidden_size=64, num_attention_heads=2, intermediate_size=256, max_position_embeddings=64)


def small_job(layers=2, dropout=0.1, **changes):
    drops = dict(hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
    config = BertConfig(**SMALL, **drops, num_hidden_layers=layers)
    return replace(Job(config, tokens=1e6, batch_size=8, max_tokens=64, on_cpu=True), **changes)


def test_the_operations_are_those_that_a_step_makes():
    """PyTorch counts the products of a step with padding, in the layers, in attention and in the head."""
    job = small_job(fill=0.5)
    batch = here.make_batch(job, 8)
    with FlopCounterMode(display=False) as counter:
        pretraining_loss(BertForPreTraining(job.config).train(), batch)[0].backward()
    labels = int((batch["labels"] >= 0).sum())
    job = replace(job, masked=labels / (8 * 64 * 0.5))
    assert counter.get_total_flops() == pytest.approx(sum(job.made(8).values()), rel=0.03)
    assert sum(job.needed(8).values()) < 0.95 * sum(job.made(8).values())


def test_what_padding_and_recomputation_cost_where():
    job = small_job(fill=0.5)
    on_gpu = replace(job, on_cpu=False)
    assert on_gpu.made(1)["layers"] == 2 * job.made(1)["layers"] == 2 * job.needed(1)["layers"]
    assert job.made(1)["attention"] == on_gpu.made(1)["attention"] == 4 * job.needed(1)["attention"]
    assert replace(on_gpu, unpadded=True).made(1) == job.needed(1)
    again = replace(on_gpu, gradient_checkpointing=True).made(1)
    assert again["recomputed"] == pytest.approx((again["layers"] + again["attention"]) / 3)


def kept_bytes(job):
    """What autograd keeps of a forward pass, the weights themselves left out."""
    model, found, alive = BertForPreTraining(job.config).train(), {}, []
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def pack(tensor):
        alive.append(tensor)  # so that no two storages have one address
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights and 2 * tensor.numel() != 2 * 64 * 64:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    autocast = torch.autocast("cpu", torch.bfloat16, enabled=job.precision == "bfloat16")
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), autocast:
        pretraining_loss(model, here.make_batch(job, job.rows))
    return sum(found.values())


@pytest.mark.parametrize("fill", [1.0, 0.5])
@pytest.mark.parametrize("dropout", [0.1, 0.0])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_layer_keeps_what_the_formula_says(precision, dropout, fill):
    one, two = (small_job(layers, dropout, precision=precision, fill=fill) for layers in (1, 2))
    matrices = 2 * (4 * 64**2 + 2 * 64 * 256) if precision == "bfloat16" else 0  # copies of the weights
    assert kept_bytes(two) - kept_bytes(one) - matrices == pytest.approx(one.layer_activations(), rel=0.05)


def test_memory_by_hand():
    job = Job(BertConfig.from_size("base"), devices=8)
    memory = job.memory()
    assert job.parameters == 110_106_428 and job.rows == 32
    assert memory["weights"] + memory["gradients"] + memory["AdamW"] == 16 * job.parameters
    less = replace(job, gradient_checkpointing=True).memory()
    assert less["activations of the layers"] < memory["activations of the layers"] / 4
    assert replace(job, micro_batch=16).memory()["activations of the layers"] == memory["activations of the layers"] / 2


def test_as_many_logits_are_held_at_a_time_as_the_loss_computes(monkeypatch):
    """Of each word of the vocabulary: its row in the gradient of the decoder, and two for each row of logits."""
    rows, addmm = [], torch.addmm
    monkeypatch.setattr(torch, "addmm", lambda bias, left, right: rows.append(len(left)) or addmm(bias, left, right))
    lean_cross_entropy(torch.randn(1500, 64), torch.nn.Linear(64, 600), torch.zeros(1500, dtype=torch.long))
    job = small_job(batch_size=160)  # 1,536 masked tokens
    more = replace(job, config=job.config.changed(vocab_size=601)).memory()["embeddings and heads"]
    assert more - job.memory()["embeddings and heads"] == 4 * (64 + 2 * max(rows))


def test_the_largest_micro_batch_fits_and_the_next_does_not():
    job = Job(BertConfig.from_size("large"), batch_size=512, max_tokens=512, precision="bfloat16")
    most = job.largest_micro_batch(24e9)
    sizes = [sum(replace(job, micro_batch=rows).memory().values()) for rows in (most, most + 1)]
    assert sizes[0] <= 24e9 < sizes[1]
    assert job.largest_micro_batch(1e9) == 0


def test_the_time_by_hand():
    job = Job(BertConfig.from_size("base"), tokens=1e9, devices=8)
    plan = plan_gpus(job, H100, share=0.5)
    assert job.steps == 30518  # 1e9 / (256 * 128)
    layers, head = 12 * 12 * 768**2, 768**2 + 768 * 30522
    operations = 32 * 128 * (6 * layers + 12 * 12 * 768 * 128 + 6 * 0.15 * head)
    assert plan.step["forward and backward"] == pytest.approx(operations / (0.5 * 989e12))
    assert plan.step["clipping and AdamW"] == pytest.approx(40 * 110_106_428 / 3.35e12)
    assert plan.step["exchange of gradients"] == pytest.approx(2 * 7 / 8 * 4 * 110_106_428 / 450e9)
    assert plan.seconds == 30518 * sum(plan.step.values())
    assert {"as given"} == {a.source for a in plan.assumptions if a.option == "--share"}


def test_every_gpu_of_the_table_makes_a_plan():
    for name, gpu in known_gpus().items():
        plan = plan_gpus(Job(BertConfig.from_size("tiny")), gpu)
        assert plan.job.precision == ("float32" if name in ("V100", "T4") else "bfloat16")
        assert plan.seconds > 0 and gpu.source


def test_the_pace_is_found_from_one_and_two_layers(monkeypatch):
    """With times that follow the formula exactly, deep models are foretold exactly."""

    class Timed(here.TimedModel):
        layers = iter((1, 2))

        def __init__(self, job, layers, *_):
            self.depth, self.parameters = layers, 1000 * layers

        def gradients(self, batch):
            return 0.5 + len(batch["input_ids"]) * (0.03 + 0.02 * self.depth)

        def update(self):
            return 1e-6 * self.parameters

    monkeypatch.setattr(here, "TimedModel", Timed)
    job = small_job(7)
    pace = here.measure(job, Devices("cpu"))
    assert (pace.layer, pace.around) == (pytest.approx(0.02), pytest.approx(0.03))
    assert (pace.micro_batch, pace.parameter) == (pytest.approx(0.5), pytest.approx(1e-6))
    twice = replace(job, micro_batch=4)
    assert sum(pace.step(twice).values()) == pytest.approx(2 * 0.5 + 8 * (0.03 + 7 * 0.02) + 1e-6 * job.parameters)


def test_a_narrow_model_is_timed_on_few_texts():
    """Its operations are few, and a pass of as many as one affords of a wide one would take minutes."""
    narrow = BertConfig(**SMALL | {"hidden_size": 8, "intermediate_size": 16}, num_hidden_layers=1)
    job = Job(narrow, batch_size=10**12, max_tokens=64, on_cpu=True)
    assert here._affordable(job) * 64 == here.MOST_POSITIONS
    assert here._affordable(small_job(batch_size=4)) == 4


def test_this_machine_is_measured(monkeypatch):
    monkeypatch.setattr(here, "ROUNDS", 2)
    state = torch.get_rng_state()
    plan = plan_here(small_job(3, on_cpu=False), "float32")
    assert torch.equal(torch.get_rng_state(), state)
    assert plan.job.on_cpu and plan.seconds > 0 and plan.room is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("bose --gpus H100", "'bose' is none of the sizes tiny"),
        ("base --gpus 8xH10", "known: H200, H100"),
        ("base --gpus 0xH100", "--gpus 0xH100"),
        ("base --gpus 512xH100", "fewer than the 512 devices"),
        ("base --gpus H100 --tokens nan", "tokens=nan"),
        ("base --gpus H100 --fill 1.5", "fill=1.5"),
        ("base --gpus H100 --max-tokens 1000", "more than the 512 positions"),
        ("base --gpus H100 --share 3", "--share 3"),
        ("base --gpus T4 --precision bfloat16", "T4 does not compute in it"),
        ("base --share 0.5", "--share is for --gpus"),
        ("base --gpus H100 --vocab-size 0", "vocab_size must be positive"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(words, told, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["info", "plan", *words.split()])
    out, err = capsys.readouterr()
    assert caught.value.code == 2 and out == ""
    assert told in err and len(err.strip().splitlines()) == 1


def test_the_command(capsys):
    main(["info", "plan", "base", "--tokens", "137e9", "--gpus", "8xh100", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["machine"] == "8 x H100" and found["steps"] == 4_180_909
    assert {"--share", "--fill", "--masked"} <= {each["option"] for each in found["assumptions"]}
    main(["info", "plan", "large", "--gpus", "T4", "--max-tokens", "512", "--batch-size", "64"])
    shown = capsys.readouterr().out
    assert "does not fit into 16 GB: --micro-batch" in " ".join(shown.split())


def test_tables_are_as_wide_as_the_terminal():
    console = Console(width=60, record=True, file=io.StringIO())
    job = Job(BertConfig.from_size("large"), batch_size=4, max_tokens=512, gradient_checkpointing=True)
    print_plan(plan_gpus(job, replace(H100, memory=1e9)), console)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 60
    assert "take a larger GPU" in " ".join(text.split()) and "recomputed" in text


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.0074, "7.4 ms"), (90, "1.5 minutes"), (3600 * 24 * 4, "4 days"), (4e12, "126,752 years")]
)
def test_durations(seconds, told):
    assert duration(seconds) == told


def test_amounts():
    assert (amount(3.2e13, "FLOP"), amount(440e6, "B"), amount(12, "B")) == ("32 TFLOP", "440 MB", "12 B")


def test_gpus_by_name():
    assert parse_gpus("8 x h100") == (8, H100) and parse_gpus("H100") == (1, H100)
    with pytest.raises(InputError, match="such as 8xH100"):
        parse_gpus("x")
