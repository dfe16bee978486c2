"""A file of definitions taken apart and put together again: its head, and each class or function with what is above."""

import ast
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bertlab.course.mistake import Mistake

YOURS = "# yours"
IMPORTABLE = {"torch", "numpy"} | set(sys.stdlib_module_names)


@dataclass(frozen=True)
class Part:
    """A class, function or constant with the blank and comment lines above it."""

    name: str
    above: str
    source: str
    yours: bool

    def under(self, above: str) -> "Part":
        """Return this part in the place of another one: the comments above that stay, and say whose this is."""
        lines = [line for line in above.splitlines(keepends=True) if not line.startswith(YOURS)]
        return replace(self, above="".join(lines))

    def text(self) -> str:
        mark = f"{YOURS}\n" if self.yours and not self.above.rstrip().endswith(YOURS) else ""
        return self.above + mark + self.source


@dataclass(frozen=True)
class Parts:
    """What a file consists of; `text()` of what `parse_file` read is the file as it was."""

    head: str
    parts: Sequence[Part]
    rest: str

    def text(self) -> str:
        return self.head + "".join(part.text() for part in self.parts) + self.rest


def parse_file(text: str) -> Parts:
    """Take the text of a file apart. Raises SyntaxError."""
    lines = text.splitlines(keepends=True)
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    parts: list[Part] = []
    end, head = 0, ""
    for node in nodes:
        start = _first_line(node)
        above = "".join(lines[end:start])
        if not parts:
            head, above = _split_head(above)
        end = node.end_lineno or start
        yours = above.rstrip().rsplit("\n", 1)[-1].startswith(YOURS)
        parts.append(Part(node.name, above, "".join(lines[start:end]), yours))
    return Parts(head, parts, "".join(lines[end:]))


def _first_line(node: ast.ClassDef | ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1


def _split_head(above: str) -> tuple[str, str]:
    """Split what is above the first definition: the blank lines and comments just above belong to it."""
    head, gap, last = above.rpartition("\n\n\n")
    return (head, gap + last) if gap and head.strip() else (above, "")


def parse_cell(cell: str) -> tuple[list[str], list[Part]]:
    """Return the imports of a notebook's cell, and its classes and functions.

    Raises Mistake for an import of anything but torch, numpy and what comes with Python, and for a line that IPython
    alone can run.
    """
    lines = cell.splitlines(keepends=True)
    imports, parts = [], []
    for node in _nodes(cell):
        if isinstance(node, ast.Import | ast.ImportFrom):
            _check_import(node)
            imports.append(ast.unparse(node))
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            source = "".join(lines[_first_line(node) : node.end_lineno]).rstrip("\n") + "\n"
            parts.append(Part(node.name, "", source, True))
    return imports, parts


def _nodes(cell: str) -> list[ast.stmt]:
    try:
        return ast.parse(cell).body
    except SyntaxError as error:  # the cell has run: IPython knows more than Python
        line = (error.text or "").strip()
        raise Mistake(f"`{line}` is for IPython, and my_bert.py is Python alone: move it to another cell.") from None


def _check_import(node: ast.Import | ast.ImportFrom) -> None:
    modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
    for module in modules:
        if module.partition(".")[0] not in IMPORTABLE:
            raise Mistake(f"my_bert.py runs with torch and numpy alone: do without `{ast.unparse(node)}`.")


def in_their_places(base: Sequence[Part], own: Sequence[Part]) -> list[Part]:
    """Return `base` with the parts of `own` instead of their namesakes.

    A helper, which `base` does not know, comes before the next part of `own` that it knows.
    """
    known = {part.name for part in base}
    places: dict[str, list[Part]] = {}  # known name -> its helpers and the part itself
    waiting: list[Part] = []
    for part in own:
        waiting.append(part)
        if part.name in known:
            places[part.name], waiting = waiting, []
    parts = [new for old in base for new in places.get(old.name, [old])]
    return parts + waiting  # helpers below all that is known


def with_imports(head: str, imports: Sequence[str]) -> str:
    """Return the head of a file with those imports that it lacks, behind its last one."""
    old = [node for node in ast.parse(head).body if isinstance(node, ast.Import | ast.ImportFrom)]
    known = {ast.unparse(node) for node in old}
    new = [f"{line}\n" for line in imports if line not in known]
    lines = head.splitlines(keepends=True)
    end = (old[-1].end_lineno or 0) if old else 0
    return "".join([*lines[:end], *new, *lines[end:]])
