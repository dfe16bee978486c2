"""A panel of a training: one text, and what each snapshot would write in its gaps."""

from collections.abc import Mapping
from pathlib import Path

import ipywidgets as widgets

from bertlab.course.panels.base import LABEL, WIDE, Panel, line, panel
from bertlab.course.panels.models import fills_html
from bertlab.explain.fill import fill_mask
from bertlab.model import BertForPreTraining


def snapshots_panel(folders: Mapping[int, Path], tokenizer, text: str) -> Panel:
    """A line of text with [MASK] in it, and a slider over the snapshots: `folders` by their number of steps."""
    models = {step: BertForPreTraining.from_pretrained(folder) for step, folder in folders.items()}
    steps = widgets.SelectionSlider(
        options=[(f"{step:,}", step) for step in models],
        value=max(models),
        description="step",
        style=LABEL,
        layout=WIDE,
    )

    def show(text: str, step: int) -> str:
        return fills_html(fill_mask(models[step], tokenizer, text, k=6))

    return panel(show, text=line("text", text), step=steps)
