"""The shortest name by which Python finds a definition: pandas.read_csv, not pandas.io.parsers.readers.read_csv.

Only sources are read: `from x import a`, `from x import *`, and the bases of classes.
"""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial


@dataclass
class Module:
    """What the top level of a module binds: its own functions and classes, names from elsewhere and what they mean
    there, modules imported with a star, and the bases of its classes."""

    defined: set[str] = field(default_factory=set)
    imported: dict[str, str] = field(default_factory=dict)
    starred: list[str] = field(default_factory=list)
    bases: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: ast.Module, package: str) -> "Module":
        """Return the bindings of a parsed module; `package` is what its relative imports start from."""
        module = cls()
        for node in statements(tree.body):
            if isinstance(node, ast.ImportFrom):
                module._import_from(node, package)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                module.defined.add(node.name)
                if isinstance(node, ast.ClassDef):
                    module.bases[node.name] = [ast.unparse(base) for base in node.bases]
        return module

    def _import_from(self, node: ast.ImportFrom, package: str) -> None:
        for _ in range(node.level - 1):
            package = package.rpartition(".")[0]
        source = ".".join(filter(None, (package if node.level else "", node.module or "")))
        for alias in node.names:
            if alias.name == "*":
                self.starred.append(source)
            else:
                self.imported[alias.asname or alias.name] = f"{source}.{alias.name}"


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, those under `if` and `try` too."""
    for node in body:
        if isinstance(node, ast.If | ast.Try):
            yield from statements([*node.body, *node.orelse])
        else:
            yield node


def is_public(name: str) -> bool:
    """Return whether no part of a dotted name begins with an underscore."""
    return not name.startswith("_") and "._" not in name


def public_names(modules: dict[str, Module], definitions: Collection[str]) -> dict[str, str]:
    """Return definition -> shortest public name, for those of `definitions` that have one in their own package.

    Methods follow their class; inherited ones a subclass whose name has fewer parts: pandas.DataFrame.head rather than
    pandas.core.generic.NDFrame.head.
    """
    best: dict[str, str] = {}
    for module in filter(is_public, modules):
        for name, target in _bound(module, modules).items():
            if is_public(name) and _same_package(module, target):
                names = {best.get(target, f"{module}.{name}"), f"{module}.{name}"}
                best[target] = min(names, key=partial(_preference, target))
    return best | _methods(best, definitions, modules)


def _methods(best: dict[str, str], definitions: Collection[str], modules: dict[str, Module]) -> dict[str, str]:
    """Return the public names of the methods among the definitions, from those of the classes."""
    of_class: dict[str, list[str]] = defaultdict(list)
    for name in definitions:
        owner, _, short = name.rpartition(".")
        if owner not in modules:
            of_class[owner].append(short)
    names = {
        f"{owner}.{short}": f"{best[owner]}.{short}" for owner in of_class if owner in best for short in of_class[owner]
    }
    classes = [f"{module}.{short}" for module in modules for short in modules[module].bases]
    for child in filter(best.__contains__, classes):
        for parent in _ancestors(child, modules):
            for short in of_class.get(parent, ()):
                offered, method = f"{best[child]}.{short}", f"{parent}.{short}"
                if method not in names or offered.count(".") < names[method].count("."):
                    names[method] = offered
    return names


def _preference(definition: str, name: str) -> tuple[int, bool, int, str]:
    """Order the names of a definition: few parts, then where it is defined, then short."""
    return name.count("."), name != definition, len(name), name


def _ancestors(name: str, modules: dict[str, Module]) -> list[str]:
    """Return the bases of a class within its package, nearest first."""
    found: list[str] = []
    waiting = [name]
    while waiting:
        module, _, short = waiting.pop(0).rpartition(".")
        for base in modules[module].bases.get(short, ()):
            parent = _resolved(module, base, modules)
            if parent and parent not in found and _same_package(name, parent):
                found.append(parent)
                waiting.append(parent)
    return found


def _bound(module: str, modules: dict[str, Module]) -> dict[str, str]:
    """Return name -> definition at the top level of a module, starred ones included; the first star that has a name
    gives it."""
    found: dict[str, str] = {}
    waiting, seen = [module], {module}
    while waiting:
        source = waiting.pop(0)
        for name in sorted(modules[source].defined | modules[source].imported.keys()):
            if name not in found and (target := _resolved(source, name, modules)):
                found[name] = target
        new = [star for star in modules[source].starred if star in modules and star not in seen]
        waiting += new
        seen.update(new)
    return found


def _resolved(module: str, name: str, modules: dict[str, Module]) -> str | None:
    """Return the definition that `name` means in a module, "module.name"; None for what is not known."""
    waiting, seen = [(module, name)], set[tuple[str, str]]()
    while waiting:
        module, name = place = waiting.pop(0)
        if module not in modules or place in seen:
            continue
        seen.add(place)
        if name in modules[module].defined:
            return f"{module}.{name}"
        if name in modules[module].imported:
            source, _, original = modules[module].imported[name].rpartition(".")
            waiting.append((source, original))
        else:
            waiting += [(star, name) for star in modules[module].starred]
    return None


def _same_package(name: str, target: str) -> bool:
    return target.startswith("_") or name.partition(".")[0] == target.partition(".")[0]
