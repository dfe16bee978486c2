"""The panel of chapter 17: what a pretraining takes on the GPUs of one's choice."""

from html import escape

import ipywidgets as widgets

from bertlab.config import SIZES
from bertlab.course.panels.base import LABEL, WIDE, Panel, bar, panel, slider
from bertlab.draw.palette import BLUE, ORANGE
from bertlab.draw.plans import amount, fit, totals
from bertlab.training.plan import Job, Plan, config_of, known_gpus, plan_gpus


def plan_panel(size: str = "base", gpu: str = "H100", count: int = 8) -> Panel:
    """Size, text, batch and GPUs to choose; memory and time of `bertlab info plan`."""

    def show(size: str, tokens: float, length: int, batch: int, gpu: str, count: int, share: float, less: bool) -> str:
        job = Job(config_of(size), tokens * 1e9, batch, length, devices=count, gradient_checkpointing=less)
        return plan_html(plan_gpus(job, known_gpus()[gpu], share))

    def choice(name: str, options, value) -> widgets.Dropdown:
        return widgets.Dropdown(options=options, value=value, description=name, style=LABEL, layout=WIDE)

    return panel(
        show,
        size=choice("size", list(SIZES), size),
        tokens=choice("billion tokens", [0.1, 1, 10, 43, 131, 1000], 131),
        length=choice("positions", [64, 128, 256, 512], 512),
        batch=choice("batch", [32, 64, 128, 256, 512, 1024], 256),
        gpu=choice("GPU", list(known_gpus()), gpu),
        count=choice("how many", [1, 2, 4, 8, 16, 32], count),
        share=slider("share of peak", 0.3, 0.1, 0.7, step=0.05, readout_format=".0%"),
        less=widgets.Checkbox(False, description="activation checkpointing", layout=WIDE),
    )


def plan_html(plan: Plan) -> str:
    """The totals as a table, and a bar for each part of the memory; all is orange where it does not fit."""
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in totals(plan))
    memory = plan.job.memory()
    colour = BLUE if not fit(plan) else ORANGE
    lengths = {name: bar(300 * value / plan.memory, colour) for name, value in memory.items()}
    bars = "".join(
        f"<tr><td>{escape(name)}</td><td>{amount(value, 'B')}</td><td>{lengths[name]}</td></tr>"
        for name, value in memory.items()
    )
    room = f"memory of a device: {amount(plan.memory, 'B')} of {amount(plan.room or plan.memory, 'B')}"
    return f"<table>{rows}</table><p>{room} <b>{escape(fit(plan))}</b></p><table>{bars}</table>"
