"""The plan of a pretraining: what a job takes on given GPUs, or on this machine, and what that rests on."""

import time
from dataclasses import dataclass, replace
from typing import Any

from bertlab.config import SIZES, BertConfig
from bertlab.errors import InputError
from bertlab.training.engine.precision import Precision
from bertlab.training.plan.here import choose_here, measure
from bertlab.training.plan.job import Job
from bertlab.training.plan.machines import Gpu

SHARE = 0.3  # of the peak rate that a step reaches
SHARE_SOURCE = (
    "a guess for every GPU; 30% on a V100 (Shoeybi et al. 2019, abstract), 46% on TPUs (Chowdhery et al. 2022, "
    "section 4.1), both with models far larger than BERT"
)
PASSES = 10  # of AdamW and clipping over float32 numbers: 3 + 7 reads and writes for each parameter


@dataclass(frozen=True)
class Assumption:
    """A number that the plan rests on: its source, and the option that sets another."""

    what: str
    value: str
    source: str
    option: str = ""


@dataclass(frozen=True)
class Plan:
    """What a job takes. Seconds of a step by part."""

    job: Job
    machine: str
    step: dict[str, float]
    room: float | None  # bytes of memory of a device, where that is known
    assumptions: list[Assumption]

    @property
    def seconds(self) -> float:
        return self.job.steps * sum(self.step.values())

    @property
    def memory(self) -> float:
        """Bytes that a device needs."""
        return sum(self.job.memory().values())

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


def plan_gpus(job: Job, gpu: Gpu, share: float | None = None, precision: Precision = "auto") -> Plan:
    """Plan a job on `job.devices` GPUs of a kind, a step of which reaches `share` of their peak rate.

    InputError for a precision that the GPU does not have, or a share that is none.
    """
    if share is not None and not 0 < share <= 1:
        raise InputError(f"--share {share:g}: is a share of the peak rate, above 0 and at most 1")
    chosen = gpu.precision if precision == "auto" else precision
    if not gpu.rate(chosen):
        raise InputError(f"--precision {precision}: {gpu.name} does not compute in it; use float32")
    job, reached = replace(job, precision=chosen, on_cpu=False), share or SHARE
    sheet = gpu.source.partition(";")[0]
    assumptions = [
        Assumption("peak rate", f"{gpu.rate(chosen) / 1e12:g} TFLOP/s in {chosen}", gpu.source),
        Assumption("share of it reached", f"{reached:.0%}", "as given" if share else SHARE_SOURCE, "--share"),
        Assumption("memory, its bandwidth", f"{gpu.memory / 1e9:g} GB, {gpu.bandwidth / 1e12:g} TB/s", sheet),
        Assumption(
            "clipping and AdamW", f"{PASSES} reads or writes for each parameter", "counted; a fused one needs fewer"
        ),
        *_of_the_job(job),
    ]
    if job.devices > 1:
        link = f"{gpu.link / 1e9:g} GB/s"
        assumptions.append(Assumption("link between the GPUs", link, f"{sheet}; a slower network takes longer"))
    return Plan(job, f"{job.devices} x {gpu.name}", _gpu_step(job, gpu, reached), gpu.memory, assumptions)


def _gpu_step(job: Job, gpu: Gpu, share: float) -> dict[str, float]:
    """Seconds of a step: the products at their share of the peak, the update at the bandwidth of the memory, the
    gradients around the ring of GPUs at that of the link, nothing of it hidden behind anything else."""
    size = 4.0 * job.parameters
    step = {
        "forward and backward": sum(job.made(job.share).values()) / (gpu.rate(job.precision) * share),
        "clipping and AdamW": PASSES * size / gpu.bandwidth,
    }
    if job.devices > 1:
        step["exchange of gradients"] = 2 * (job.devices - 1) / job.devices * size / (gpu.link / 2)
    return step


def plan_here(job: Job, precision: Precision = "auto") -> Plan:
    """Plan a job on this machine, whose pace is measured in some seconds."""
    job, devices, choice = choose_here(job, precision)
    started = time.perf_counter(), time.process_time()
    pace = measure(job, devices)
    passed, worked = time.perf_counter() - started[0], time.process_time() - started[1]
    crowded = job.on_cpu and worked < 0.7 * passed  # one thread alone would work all the time
    busy = "; other programs took much of the processor, so this is too slow: repeat it without them" if crowded else ""
    assumptions = [
        Assumption("pace", f"{1000 * pace.layer:.3g} ms a layer and text", f"measured now, on 1 and 2 layers{busy}"),
        Assumption("precision", choice.format, choice.reason, "--precision"),
        *_of_the_job(job),
    ]
    return Plan(job, f"this machine ({devices.device.type})", pace.step(job), None, assumptions)


def _of_the_job(job: Job) -> list[Assumption]:
    return [
        Assumption("positions filled with tokens", f"{job.fill:.0%}", "depends on the text", "--fill"),
        Assumption("tokens masked", f"{job.masked:.0%}", "Devlin et al. 2019, section 3.1", "--masked"),
    ]
