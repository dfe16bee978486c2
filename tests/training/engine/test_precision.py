"""The number format of matrix products: what is chosen, why, and that it is what the products are made in."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from bertlab import InputError
from bertlab.cli.main import main
from bertlab.training.engine import precision
from bertlab.training.engine.devices import Devices
from bertlab.training.engine.precision import TYPICAL, Choice, Products, choose, speedup
from bertlab.training.engine.reproducibility import Conditions
from bertlab.training.run_folder import locked

STORY = "Ann has a dog. The dog is old. It sleeps a lot. Ann feeds it. Bob has a cat. The cat is young. It runs."


@pytest.mark.parametrize(("ratio", "chosen"), [(3.14, "bfloat16"), (1.05, "float32"), (0.5, "float32")])
def test_bfloat16_has_to_be_clearly_faster(ratio, chosen, monkeypatch):
    monkeypatch.setattr(precision, "speedup", lambda products: ratio)
    choice = choose("auto", "cpu", TYPICAL)
    assert choice.format == chosen and f"measured {ratio:.1f} times as fast" in choice.reason
    assert choose("auto", "cpu", Products(8, 16, 64)).format == "float32"  # whatever the ratio: it is overhead alone


@pytest.mark.parametrize("native", [True, False])
def test_a_gpu_has_to_compute_in_bfloat16_itself(native, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: including_emulation or native)
    assert choose("auto", "cuda", TYPICAL).format == ("bfloat16" if native else "float32")
    assert choose("auto", "mps", TYPICAL).format == "float32"
    assert choose("bfloat16", "cuda", TYPICAL) == Choice("bfloat16", "as asked")


def test_a_layer_is_measured_once_a_process_and_an_imitated_format_on_few_tokens(monkeypatch):
    measured = []

    def ratio(products, rounds, seconds):
        measured.append(products.tokens)
        return 0.05 if products.hidden == 64 else 2.0

    monkeypatch.setattr(precision, "_ratio", ratio)
    speedup.cache_clear()
    assert speedup(Products(1600, 64, 256)) == 0.05 and measured == [100]
    assert speedup(Products(32_000, 1024, 4096)) == 2.0 and measured[1:] == [3, 59]  # of a large model, a part
    assert speedup(Products(1600, 64, 256)) == 0.05 and len(measured) == 3
    speedup.cache_clear()


@pytest.mark.parametrize("products", [TYPICAL, Products(700, 128, 512), Products(40, 24, 96)])
def test_the_measurement_changes_no_run(products):
    before = torch.get_rng_state()
    with torch.inference_mode():  # and it works wherever it is asked for
        assert 0 < speedup(products) < 1000
    assert torch.equal(torch.get_rng_state(), before)


def test_the_choice_is_what_products_are_made_in(monkeypatch):
    devices = Devices("cpu")
    wrapped = devices.wrap(torch.nn.Linear(8, 8))
    made = []
    wrapped.module.register_forward_hook(lambda module, inputs, out: made.append(out.dtype))
    for name in ("float32", "bfloat16", "float32"):
        devices.choice = Choice(name, "")
        assert wrapped(torch.ones(2, 8)).dtype == torch.float32 and made[-1] == devices.product_type
    assert made == [torch.float32, torch.bfloat16, torch.float32]
    with pytest.raises(InputError, match="precision='int8': choose auto"):
        devices.settle("int8")


def test_the_command_says_where_and_how_it_computes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("story.txt").write_text("\n\n".join(f"CHAPTER {n}\n\n{STORY}" for n in "I II III IV V VI VII".split()))
    command = "pretrain --text story.txt --steps 2 --batch-size 4 --device cpu --out run --precision bfloat16".split()
    with locked(Path("run")), pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("bertlab: run: another training is writing to it")
    main(command)
    threads = torch.get_num_threads()
    words = f"on cpu, {threads} {'thread' if threads == 1 else 'threads'}, bfloat16 (as asked)"
    assert capsys.readouterr().err.splitlines()[0] == words
    record = json.loads(Path("run/machine.json").read_text())
    assert (record["device"], record["threads"], record["precision"]) == ("cpu", threads, "bfloat16")
    assert "--precision bfloat16" in Path("run/README.md").read_text() and not Path("run/.lock").exists()


def test_a_gpu_does_not_round_by_threads():
    on_gpu = Conditions("H100", 2, 4, "bfloat16", "", "2.6", "AVX512")
    begun = asdict(replace(on_gpu, processes=1, threads=8, instructions="AVX2", torch="2.5"))
    assert on_gpu.differences(begun) == ["another number of processes", "another version of PyTorch"]
    assert str(on_gpu) == "on H100, 2 processes, 4 threads, bfloat16 ()"
    assert "another number of threads" in replace(on_gpu, device="cpu").differences(begun)
