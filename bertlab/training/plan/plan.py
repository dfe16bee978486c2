"""The plan of a pretraining: what a job takes on given GPUs, or on this machine, and what that rests on."""

import time
from dataclasses import dataclass, fields, replace
from typing import Any

from bertlab.config import SIZES, BertConfig
from bertlab.errors import InputError
from bertlab.training.engine.precision import Precision
from bertlab.training.plan.here import choose_here, measure
from bertlab.training.plan.job import Job
from bertlab.training.plan.machines import Gpu, price_source

SHARE = 0.3
SERVER = 1.8
PUE = 1.56
GRID = 473.0
SOURCES = {
    "share": "a guess for every GPU; 30% on a V100 (Shoeybi et al. 2019, abstract), 46% on TPUs (Chowdhery et al. "
    "2022, section 4.1), both with models far larger than BERT",
    "watts": f"board x {SERVER} for the server: DGX H100 data sheet, 10.2 kW for 8 x 700 W; for other GPUs an analogy",
    "pue": "mean of data centres, Uptime Institute survey 2024",
    "grid": "world mean of 2024, Ember 2025",
}
PASSES = 10  # of AdamW and clipping over float32 numbers: 3 + 7 reads and writes for each parameter


@dataclass(frozen=True)
class Estimates:
    """What a plan assumes; None: the default, whose source the plan names."""

    share: float | None = None  # of the GPUs' peak rate that a step reaches
    price: float | None = None  # dollars for an hour of one device
    watts: float | None = None  # of one device, with its part of the server
    pue: float | None = None  # power of the whole data centre over that of its servers
    grid: float | None = None  # grams of CO2 for a kWh

    def check(self) -> None:
        """Raise an InputError that names the first number that is off."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not 0 < value < 1e9:
                raise InputError(f"--{field.name} {value:g}: must be above 0 and below 1e9")
        if self.share is not None and self.share > 1:
            raise InputError(f"--share {self.share:g}: is a share of the peak rate, at most 1")
        if self.pue is not None and self.pue < 1:
            raise InputError(f"--pue {self.pue:g}: must be at least 1")


@dataclass(frozen=True)
class Assumption:
    """A number that the plan rests on: its source, and the option that sets another."""

    what: str
    value: str
    source: str
    option: str = ""


@dataclass(frozen=True)
class Plan:
    """What a job takes. Seconds of a step by part; dollars and watts of one device, None where nothing is known."""

    job: Job
    machine: str
    step: dict[str, float]
    room: float | None  # bytes of memory of a device
    estimates: Estimates
    assumptions: list[Assumption]

    @property
    def seconds(self) -> float:
        return self.job.steps * sum(self.step.values())

    @property
    def memory(self) -> float:
        """Bytes that a device needs."""
        return sum(self.job.memory().values())

    @property
    def dollars(self) -> float | None:
        return None if self.estimates.price is None else self.job.devices * self.seconds / 3600 * self.estimates.price

    @property
    def kwh(self) -> float | None:
        """Electric energy of the devices and of the data centre around them."""
        watts, pue = self.estimates.watts, self.estimates.pue
        return None if watts is None or pue is None else self.job.devices * self.seconds / 3.6e6 * watts * pue

    @property
    def co2(self) -> float | None:
        """Kilograms of CO2 for that energy."""
        return None if self.kwh is None or self.estimates.grid is None else self.kwh * self.estimates.grid / 1000

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        job = self.job
        return {
            "machine": self.machine,
            "precision": job.precision,
            "parameters": job.parameters,
            "steps": job.steps,
            "operations_needed": sum(job.needed(job.batch_size).values()) * job.steps,
            "operations_of_a_step": job.made(job.batch_size),
            "memory": job.memory(),
            "memory_of_the_device": self.room,
            "seconds_of_a_step": self.step,
            "seconds": self.seconds,
            "dollars": self.dollars,
            "kwh": self.kwh,
            "kg_co2": self.co2,
            "assumptions": [vars(assumption) for assumption in self.assumptions],
        }


def config_of(name: str, vocab_size: int | None = None) -> BertConfig:
    """Return the config of a size (tiny ... large), or of a bundled model, a folder or a hub id."""
    if name in SIZES:
        config = BertConfig.from_size(name)
    else:
        try:
            config = BertConfig.from_pretrained(name)
        except InputError as error:
            raise InputError(f"{name!r} is none of the sizes {', '.join(SIZES)}, and as a model: {error}") from None
    return config if vocab_size is None else config.changed(vocab_size=vocab_size)


def plan_gpus(job: Job, gpu: Gpu, estimates: Estimates = Estimates(), precision: Precision = "auto") -> Plan:  # noqa: B008 (frozen)
    """Plan a job on `job.devices` GPUs of a kind. InputError for a precision that the GPU does not have."""
    estimates.check()
    chosen = gpu.precision if precision == "auto" else precision
    if not gpu.rate(chosen):
        raise InputError(f"--precision {precision}: {gpu.name} does not compute in it; use float32")
    job = replace(job, precision=chosen, on_cpu=False)
    settled = replace(
        estimates,
        share=estimates.share or SHARE,
        price=estimates.price or gpu.price,
        watts=estimates.watts or SERVER * gpu.watts,
        pue=estimates.pue or PUE,
        grid=estimates.grid or GRID,
    )
    sheet = gpu.source.partition(";")[0]
    assumptions = [
        Assumption("peak rate", f"{gpu.rate(chosen) / 1e12:g} TFLOP/s in {chosen}", gpu.source),
        Assumption("share of it reached", f"{settled.share:.0%}", _source("share", estimates), "--share"),
        Assumption("memory, its bandwidth", f"{gpu.memory / 1e9:g} GB, {gpu.bandwidth / 1e12:g} TB/s", sheet),
        Assumption(
            "clipping and AdamW", f"{PASSES} reads or writes for each parameter", "counted; a fused one needs fewer"
        ),
        *_of_the_job(job),
        *_of_the_bill(settled, estimates, price_source()),
    ]
    if job.devices > 1:
        link = f"{gpu.link / 1e9:g} GB/s"
        assumptions.append(Assumption("link between the GPUs", link, f"{sheet}; a slower network takes longer"))
    return Plan(job, f"{job.devices} x {gpu.name}", _gpu_step(job, gpu, settled), gpu.memory, settled, assumptions)


def _gpu_step(job: Job, gpu: Gpu, settled: Estimates) -> dict[str, float]:
    """Seconds of a step: the products at their share of the peak, the update at the bandwidth of the memory, the
    gradients around the ring of GPUs at that of the link, nothing of it hidden behind anything else."""
    size = 4.0 * job.parameters
    step = {
        "forward and backward": sum(job.made(job.share).values())
        / (gpu.rate(job.precision) * (settled.share or SHARE)),
        "clipping and AdamW": PASSES * size / gpu.bandwidth,
    }
    if job.devices > 1:
        step["exchange of gradients"] = 2 * (job.devices - 1) / job.devices * size / (gpu.link / 2)
    return step


def plan_here(job: Job, estimates: Estimates = Estimates(), precision: Precision = "auto") -> Plan:  # noqa: B008 (frozen)
    """Plan a job on this machine, whose pace is measured in some seconds. There is no CO2 without `watts`."""
    estimates.check()
    if estimates.share is not None:
        raise InputError("--share is for --gpus: on this machine the time is measured")
    job, fabric, choice = choose_here(job, precision)
    started = time.perf_counter(), time.process_time()
    pace, layers = measure(job, fabric), job.config.num_hidden_layers
    passed, worked = time.perf_counter() - started[0], time.process_time() - started[1]
    crowded = job.on_cpu and worked < 0.7 * passed  # one thread alone would work all the time
    busy = "; other programs took much of the processor, so this is too slow: repeat it without them" if crowded else ""
    step = {
        "layers": job.share * layers * pace.layer,
        "embeddings and heads": job.share * pace.around + job.micro_batches * pace.micro_batch,
        "clipping and AdamW": job.parameters * pace.parameter,
    }
    settled = replace(estimates, pue=estimates.pue or 1.0, grid=estimates.grid or GRID)
    assumptions = [
        Assumption("pace", f"{1000 * pace.layer:.3g} ms a layer and text", f"measured now, on 1 and 2 layers{busy}"),
        Assumption("precision", choice.format, choice.reason, "--precision"),
        *_of_the_job(job),
        *(_of_the_bill(settled, estimates, "") if estimates.watts or estimates.price else ()),
    ]
    return Plan(job, f"this machine ({fabric.device.type})", step, None, settled, assumptions)


def _of_the_job(job: Job) -> list[Assumption]:
    return [
        Assumption("positions filled with tokens", f"{job.fill:.0%}", "depends on the text", "--fill"),
        Assumption("tokens masked", f"{job.masked:.0%}", "Devlin et al. 2019, section 3.1", "--masked"),
    ]


def _of_the_bill(settled: Estimates, given: Estimates, prices: str) -> list[Assumption]:
    """Price, power and CO2, as far as there is something to assume."""
    units = {"price": "${:g} an hour", "watts": "{:g} W", "pue": "{:g}", "grid": "{:g} g CO2 a kWh"}
    what = {"price": "price of a device", "watts": "power of a device", "pue": "data centre over servers (PUE)"}
    found = []
    for name, unit in units.items():
        value = getattr(settled, name)
        if value is not None:
            source = prices if name == "price" and given.price is None else _source(name, given)
            found.append(Assumption(what.get(name, "electricity"), unit.format(value), source, f"--{name}"))
    return found


def _source(name: str, given: Estimates) -> str:
    return "as given" if getattr(given, name) is not None else SOURCES[name]
