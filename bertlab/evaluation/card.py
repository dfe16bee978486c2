"""The model card of a run: what it is, how it was made, what was measured."""

import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import torch

from bertlab.evaluation.report import markdown_table
from bertlab.evaluation.wording import meaning, with_interval
from bertlab.io.atomic import atomic_write
from bertlab.training.run_folder import MEASURES


def write_card(
    folder: str | Path,
    title: str,
    text: str,
    recipe: dict,
    measures: dict[str, float],
    seconds: float,
    command: str,
    free: bool = True,
    baselines: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
    second: str = "",
) -> None:
    """Write README.md into the run folder, with the `measures` that have a meaning, and measures.json.

    `baselines`: measures of what the model is compared with, by name, for further columns.
    `second`: the label of the second class, if the model has classes.
    `free`: the weights may be given away under the Apache 2.0 licence, as far as bertlab knows.
    """
    columns = [measures, *baselines.values()]
    rows = [
        [words, *(with_interval(row, name) if name in row else "" for row in columns)]
        for name in measures
        if (words := meaning(name, second))
    ]
    head = "license: apache-2.0\nlibrary_name: bertlab" if free else "library_name: bertlab"
    content = f"""---
{head}
---
# {title}

{text}

Made by `{command}` in {_time(seconds)} on {_machine()}, seed {recipe["seed"]}.

{markdown_table(["measured on held-out text", "", *baselines], rows)}

In brackets: 95% intervals over the examples. They ignore that another seed gives another model.

The recipe in full:

```json
{json.dumps(recipe, indent=2)}
```
"""
    if free:
        content += "\nThe weights are under the Apache 2.0 licence.\n"
    atomic_write(Path(folder) / "README.md", content)
    atomic_write(Path(folder) / MEASURES, json.dumps(measures, indent=2) + "\n")


def _time(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _machine() -> str:
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{os.cpu_count()} CPU cores ({platform.machine()}, torch {torch.__version__.split('+')[0]})"
