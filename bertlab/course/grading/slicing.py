"""The statements of a notebook that a name needs, so that an exercise runs without the chapter around it."""

import ast
import dis
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

MAGIC = "%my_bert "


@dataclass(frozen=True)
class Statement:
    """A statement at the margin of a cell: the names it binds, uses at once, and uses when its functions are called."""

    node: ast.stmt
    binds: frozenset[str]
    uses: frozenset[str]
    uses_later: frozenset[str]


def statements(source: str) -> list[Statement]:
    """Return the statements of a cell, without magics but for %my_bert, which imports. Raises SyntaxError."""
    return [_statement(node) for node in ast.parse(plain(source)).body]


def plain(source: str) -> str:
    """Return a cell as Python: `%my_bert A B` is an import, other lines of IPython are left out."""
    lines = source.splitlines()
    for number, line in enumerate(lines):
        if line.startswith(MAGIC):
            lines[number] = f"from my_bert import {', '.join(line.split()[1:])}"
        elif line.startswith(("%", "!", "?")):
            lines[number] = ""
    return "\n".join(lines) + "\n"


def _statement(node: ast.stmt) -> Statement:
    code = compile(ast.Module([node], []), "cell", "exec")
    later: set[str] = set()
    for inner in _inner(code):
        later |= _names(inner, "LOAD_GLOBAL", "LOAD_NAME")
    changed = {name for target in getattr(node, "targets", []) if (name := _root(target))}
    binds = _names(code, "STORE_NAME", "STORE_GLOBAL") | changed
    return Statement(node, frozenset(binds), frozenset(_names(code, "LOAD_NAME")), frozenset(later))


def _inner(code: CodeType) -> list[CodeType]:
    own = [part for part in code.co_consts if isinstance(part, CodeType)]
    return [*own, *(inner for part in own for inner in _inner(part))]


def _names(code: CodeType, *operations: str) -> set[str]:
    return {str(step.argval) for step in dis.get_instructions(code) if step.opname in operations}


def _root(target: ast.expr) -> str | None:
    """The name whose object `name.attribute = ...` or `name[0] = ...` changes."""
    node: Any = target
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) and node is not target else None


def needed(all_statements: Sequence[Statement], names: Sequence[str]) -> list[ast.stmt]:
    """Return the statements that must run so that `names` have the values that they have after all of them.

    Of a name that is bound twice, the last one before its use counts. What is bound nowhere is left out.
    """
    chosen: set[int] = set()
    waiting = [(name, len(all_statements)) for name in names]
    seen = set(waiting)
    while waiting:
        name, before = waiting.pop()
        found = next((n for n in reversed(range(before)) if name in all_statements[n].binds), None)
        if found is None:
            continue
        chosen.add(found)
        statement = all_statements[found]
        more = {(use, found) for use in statement.uses}
        more |= {(use, len(all_statements)) for use in statement.uses_later}
        waiting += more - seen
        seen |= more
    return [all_statements[n].node for n in sorted(chosen)]
