"""What a chapter asks and what a notebook answers: exercises of the teacher's copy, cells of the learner's."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertlab.course.grading.slicing import Statement, needed, plain, statements
from bertlab.course.marks import EXERCISE

KEEP = "%%keep\n"
ANY_EXERCISE = re.compile(r"^#+ Exercise (\d{1,3})\b", re.M)


@dataclass(frozen=True)
class Asked:
    """An exercise as the teacher's chapter has it: its cell, what it shall define, and the chapter up to there.

    `checks` are calls of checkers; there are none where the exercise is a part of my_bert.py, which keep checks.
    `solutions` are the chapter's own definitions of `names`, as `shape` gives them.
    """

    number: int
    title: str
    level: str
    source: str
    names: Sequence[str]
    checks: Sequence[ast.Call]
    before: Sequence[Statement]
    solutions: Sequence[str]

    def setting(self) -> list[ast.stmt]:
        """The statements of the chapter that make the checkers and what they are given besides the answer."""
        used = {node.id for check in self.checks for node in ast.walk(check) if isinstance(node, ast.Name)}
        return needed(self.before, sorted(used - set(self.names)))

    def modes(self) -> list[ast.stmt]:
        """The statements of the chapter such as torch.set_grad_enabled(False), under which the answer was written."""
        return [each.node for each in self.before if ast.unparse(each.node).startswith("torch.set_")]


def read_cells(text: str | bytes) -> list[dict[str, Any]]:
    """Return the cells of a notebook, with their sources as one text. Raises ValueError where it is none."""
    try:
        cells = json.loads(text)["cells"]
        return [{"kind": cell["cell_type"], "source": "".join(cell["source"])} for cell in cells]
    except (KeyError, TypeError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"no notebook ({type(error).__name__})") from None


def title_of(cells: Sequence[dict[str, Any]]) -> str:
    """Return the first heading of the first level, or nothing."""
    prose = "\n".join(cell["source"] for cell in cells if cell["kind"] == "markdown")
    found = re.search(r"^# (.+)$", prose, re.M)
    return found[1].strip() if found else ""


def chapter_of(name: str, cells: Sequence[dict[str, Any]], chapters: Mapping[str, bytes]) -> str:
    """Return the name of the chapter that a notebook copies, by the file's name or its title. Raises ValueError."""
    named = [chapter for chapter in chapters if chapter in name]
    title = title_of(cells)
    for chapter in named or chapters:
        if named or title == title_of(read_cells(chapters[chapter])):
            return chapter
    raise ValueError("no chapter of the course: neither its name nor its title is that of one")


def asked(cells: Sequence[dict[str, Any]]) -> list[Asked]:
    """Return the exercises of a chapter."""
    found: list[Asked] = []
    before: list[Statement] = []
    heading = None
    solved = _solutions(cells)
    for cell in cells:
        if cell["kind"] == "markdown":
            heading = next(EXERCISE.finditer(cell["source"]), heading)
        elif cell["kind"] == "code":
            before = [*before, *statements(cell["source"])]
            if heading is not None:
                found.append(_asked(heading, cell["source"], before, solved))
                heading = None
    return found


def _solutions(cells: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The shape of each NAME_solution by its NAME."""
    code = [each.node for cell in cells if cell["kind"] == "code" for each in statements(cell["source"])]
    found = [node for node in code if isinstance(node, ast.FunctionDef) and node.name.endswith("_solution")]
    return {node.name.removesuffix("_solution"): shape(node) for node in found}


def shape(node: ast.stmt) -> str:
    """Return what a function does, whatever its comments, its docstring and `_solution` in its name or a helper's."""
    if isinstance(node, ast.FunctionDef):
        body = node.body[1:] if ast.get_docstring(node) and node.body[1:] else node.body
        return "\n".join(ast.dump(part) for part in (node.args, *body)).replace("_solution", "")
    return ast.dump(node)


def _asked(heading: re.Match[str], source: str, before: Sequence[Statement], solved: Mapping[str, str]) -> Asked:
    own = ast.parse(plain(source)).body
    defined = [node.name for node in own if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    checks = [] if source.startswith(KEEP) else [call for node in own if (call := _check(node))]
    given = {node.id for check in checks for node in ast.walk(check) if isinstance(node, ast.Name)}
    names = [name for name in defined if name in given or not checks]
    solutions = [solved[name] for name in names if name in solved]
    return Asked(int(heading[1]), heading[2], heading[3], source, names, checks, before, solutions)


def _check(node: ast.stmt) -> ast.Call | None:
    call = node.value if isinstance(node, ast.Expr) else None
    named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.startswith("check_")
    return call if named and isinstance(call, ast.Call) else None


def answered(cells: Sequence[dict[str, Any]], exercise: Asked) -> tuple[str, list[Statement]]:
    """Return the cell that answers an exercise and the statements of the notebook up to it; "" where there is none.

    It is the first cell below the exercise's heading that binds one of its names. A cell above it that is no Python
    counts as empty. Raises SyntaxError where the answer itself is none.
    """
    before: list[Statement] = []
    inside = False
    for cell in cells:
        if cell["kind"] == "markdown":
            numbers = ANY_EXERCISE.findall(cell["source"])
            inside = int(numbers[-1]) == exercise.number if numbers else inside
        elif cell["kind"] == "code":
            mine = inside and any(
                re.search(rf"^(def|class) {name}\b|^{name} *=", cell["source"], re.M) for name in exercise.names
            )
            before += _statements(cell["source"], strict=mine)
            if mine:
                return cell["source"], before
    return "", before


def _statements(source: str, strict: bool) -> list[Statement]:
    try:
        return statements(source)
    except (SyntaxError, ValueError):
        if strict:
            raise
        return []
