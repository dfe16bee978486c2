"""GPUs by name: what their data sheets promise, from gpus.toml."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bertlab.errors import InputError


@dataclass(frozen=True)
class Gpu:
    """One GPU. Rates in operations per second, bandwidths in bytes per second, memory in bytes."""

    name: str
    bfloat16: float
    float32: float
    bandwidth: float
    link: float
    memory: float
    source: str

    def rate(self, precision: str) -> float:
        """Return the peak rate of products in a precision, "float32" or "bfloat16"."""
        return self.bfloat16 if precision == "bfloat16" else self.float32

    @property
    def precision(self) -> str:
        """The precision that bertlab chooses on it."""
        return "bfloat16" if self.bfloat16 else "float32"


@cache
def known_gpus() -> dict[str, Gpu]:
    """Return the GPUs of gpus.toml by name."""
    table = tomllib.loads(Path(__file__).with_name("gpus.toml").read_text(encoding="utf-8"))
    return {name: Gpu(name, **row) for name, row in table.items()}


def parse_gpus(text: str) -> tuple[int, Gpu]:
    """Return the number and kind of "8xH100" or "H100". InputError names the known ones."""
    known = known_gpus()
    found = re.fullmatch(r"(?:(\d{1,6})\s*x\s*)?(\w+)", text.strip(), re.IGNORECASE)
    kinds = {name.lower(): gpu for name, gpu in known.items()}
    if not found or found[2].lower() not in kinds or found[1] and int(found[1]) == 0:
        raise InputError(f"--gpus {text}: write a number and a kind, such as 8xH100; known: {', '.join(known)}")
    return int(found[1] or 1), kinds[found[2].lower()]
