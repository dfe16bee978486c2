"""Every name that a chapter imports from the library is there; running the chapters takes minutes, this a second."""

import ast
import json
from importlib import import_module
from pathlib import Path

import pytest

CHAPTERS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def imports(path: Path) -> list[tuple[str, str]]:
    """Module and name of each `from bertlab... import ...` of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    plain = ["\n".join(line for line in cell.splitlines() if not line.startswith("%")) for cell in code]
    nodes = [node for cell in plain for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.ImportFrom)]
    return [(str(node.module), name.name) for node in nodes for name in node.names if str(node.module)[:7] == "bertlab"]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.name)
def test_what_a_chapter_imports_is_there(path):
    found = imports(path)
    assert found
    for module, name in found:
        if not hasattr(import_module(module), name):
            import_module(f"{module}.{name}")
