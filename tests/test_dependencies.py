"""What `pip install bertlab` brings: few packages, as the installed ones state what they require."""

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MOST = 35
FOR_GPUS = re.compile("nvidia-|cuda-|triton")  # what PyTorch's build for NVIDIA GPUs requires besides


def applies(needed: Requirement, extras: set[str]) -> bool:
    """Whether it is required here, by a package that is installed with these extras."""
    return needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras or {""})


def closure(names: list[str]) -> set[str]:
    """These packages and all that they require, with build for processors alone."""
    waiting, seen, found = [(Requirement(name), set()) for name in names], set(), set()
    while waiting:
        needed, extras = waiting.pop()
        name, wanted = canonicalize_name(needed.name), frozenset(needed.extras)
        if not applies(needed, extras) or FOR_GPUS.match(name) or (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        found.add(name)
        waiting += [(Requirement(line), set(wanted)) for line in requires(name) or ()]
    return found


def test_the_library_alone_needs_few_packages():
    found = closure(PROJECT["dependencies"])
    assert {"torch", "tokenizers", "scipy", "sympy"} <= found  # sympy: one of PyTorch's
    assert not {"scikit-learn", "matplotlib", "lightning-fabric"} & found
    assert len(found) <= MOST, sorted(found)


def test_the_course_and_the_explorer_bring_what_their_pages_draw_and_count_with():
    for extra in ("course", "app", "test"):
        names = {Requirement(line).name for line in PROJECT["optional-dependencies"][extra]}
        assert {"scikit-learn", "matplotlib"} <= names
        assert extra != "course" or {"captum", "onnx", "onnxscript", "onnxruntime"} <= names
