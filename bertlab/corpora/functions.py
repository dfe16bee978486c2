"""The documented functions and classes of Python and of the installed packages, under the names one imports them by.

Sources are read with `ast`. Only compiled modules of the standard library (math, itertools ...), which have no source,
are imported. `bertlab.corpora.public_names` finds the shortest public name of each definition.
"""

import ast
import importlib.util
import inspect
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from bertlab.corpora.public_names import Module, public_names, statements
from bertlab.corpora.pydoc import installed, parsed, plain, prose, python_files
from bertlab.corpora.sentences import split_sentences

KINDS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
NOT_FOR_USERS = frozenset("tests test testing conftest vendor vendored extern idlelib lib2to3 turtledemo".split())
ATTACHED = re.compile(r"_?add_(?:newdoc|docstr)")  # NumPy and PyTorch document compiled functions by calls of these
LEAST_WORDS = 3  # of a docstring
OFFERED_BY = {  # "don't import this module directly", their documentation says
    "posix": "os",
    "nt": "os",
    "genericpath": "os.path",
    os.path.__name__: "os.path",
}
SIGNATURE = re.compile(r"[\w.]+\(.*?\)(?:\s*->\s*[^\n]+)?\s*\n\s*\n", re.DOTALL)  # a docstring may begin with its own


SECTION = re.compile(
    r"\n\s*(?:(?:other )?parameters|args|arguments|attributes|methods|returns?|yields|raises|see also|examples?|notes"
    r"|references)\s*:?\s*\n",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Function:
    """A function, method or class: its public name, its parameters as written ("(path, sep=',')") and its docstring."""

    name: str
    signature: str
    docstring: str

    @property
    def first_sentence(self) -> str:
        paragraph = plain(self.docstring.split("\n\n", 1)[0])
        return next(iter(split_sentences(paragraph)), paragraph)

    @property
    def description(self) -> str:
        """The docstring up to its first section (Parameters, Returns ...), on one line."""
        return " ".join(plain(SECTION.split(f"{self.docstring}\n", maxsplit=1)[0]).split())

    @property
    def words(self) -> str:
        """The name as words: "pandas.DataFrame.drop_duplicates" -> "pandas data frame drop duplicates"."""
        return name_words(self.name)


def prose_of(function: Function) -> str:
    """Return the sentences of the docstring after its first, in one line; without lists of parameters and examples."""
    first, *rest = prose(function.docstring) or [""]
    return " ".join(rest if first == function.first_sentence else [first, *rest])


def name_words(name: str) -> str:
    """Return a qualified name as lower-case words, cut at dots, underscores and capitals."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[._]+", " ", name)
    return " ".join(apart.lower().split())


def read_functions(
    folders: Iterable[str | Path] | None = None, *, packages: Collection[str] = (), progress: bool = False
) -> list[Function]:
    """Return the documented public functions, methods and classes below `folders`, sorted by name; by default those of
    Python itself and of all installed packages. `packages`: only those of these top-level modules.

    Left out: tests, vendored copies, what has no public name, and later copies of a docstring. The same files give the
    same functions.
    """
    found: dict[str, Function] = {}
    modules: dict[str, Module] = {}
    files = [
        one for one in python_files(installed() if folders is None else folders) if _is_for_users(one[0], packages)
    ]
    for name, path in tqdm(files, "functions", unit=" modules", disable=not progress, leave=False):
        if (tree := parsed(path)) is not None:
            modules[name] = Module.of(tree, name if path.name == "__init__.py" else name.rpartition(".")[0])
            found |= {function.name: function for function in _defined(tree, name)}
    for name in found:
        owner, _, short = name.rpartition(".")
        if owner in modules:
            modules[owner].defined.add(short)  # documented by a call
    names = public_names(modules, found)
    public = {
        offered: replace(function, name=offered)
        for name, function in found.items()
        if name in names and (offered := _offered(names[name]))
    }
    compiled = {function.name: function for function in (_compiled(packages) if folders is None else ())}
    return _unique((compiled | public).values())


def _offered(name: str) -> str:
    """Return the name under which users find what a module such as posixpath defines: os.path.split."""
    module, _, short = name.partition(".")
    return f"{OFFERED_BY.get(module, module)}.{short}"


def _is_for_users(module: str, packages: Collection[str]) -> bool:
    parts = module.split(".")
    return not NOT_FOR_USERS & {*parts} and (not packages or parts[0] in packages)


def _unique(functions: Iterable[Function]) -> list[Function]:
    """Return the functions sorted by name; of those with one docstring only that with the shortest name."""
    kept: dict[str, Function] = {}
    for function in sorted(functions, key=lambda f: (f.name.count("."), len(f.name), f.name)):
        kept.setdefault(function.docstring, function)
    return sorted({f.name: f for f in kept.values()}.values(), key=lambda f: f.name)


def _defined(tree: ast.Module, module: str) -> Iterator[Function]:
    """Yield the documented functions, classes and methods of a module, under the names of their definitions."""
    for node in statements(tree.body):
        if isinstance(node, KINDS):
            yield from _documented(node, module)
            if isinstance(node, ast.ClassDef):
                for method in (m for m in node.body if isinstance(m, KINDS[:2]) and not m.name.startswith("_")):
                    yield from _documented(method, f"{module}.{node.name}")
        elif isinstance(node, ast.Expr | ast.Assign) and isinstance(node.value, ast.Call):
            yield from _attached(node.value)


def _documented(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, inside: str) -> Iterator[Function]:
    docstring = ast.get_docstring(node) or ""
    if isinstance(node, ast.ClassDef) and not docstring:  # concurrent.futures.ProcessPoolExecutor
        docstring = next((ast.get_docstring(method) or "" for method in _made(node)), "")
    if len(docstring.split()) >= LEAST_WORDS:
        yield Function(f"{inside}.{node.name}", _signature(node), docstring)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    """Return the parameters as written, those of a class from its __init__; without annotations and self."""
    if isinstance(node, ast.ClassDef):
        return next((_signature(method) for method in _made(node)), "()")
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        argument.annotation = None
    for rest in filter(None, (node.args.vararg, node.args.kwarg)):
        rest.annotation = None
    return re.sub(r"^\((?:self|cls)(?:, |(?=\)))(?:/, )?", "(", f"({ast.unparse(node.args)})")


def _made(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Yield the __init__ of a class, if it has one."""
    return (method for method in node.body if isinstance(method, ast.FunctionDef) and method.name == "__init__")


def _attached(call: ast.Call) -> Iterator[Function]:
    """Yield what `add_newdoc("numpy", "name", "...")` or `add_docstr(torch.name, "...")` documents."""
    called = ast.unparse(call.func).rpartition(".")[2]
    if not ATTACHED.fullmatch(called) or len(call.args) < 2:
        return
    texts = [_text(argument) for argument in call.args]
    name = ast.unparse(call.args[0]) if isinstance(call.args[0], ast.Attribute) else ".".join(texts[:-1])
    docstring = inspect.cleandoc(texts[-1])
    if re.fullmatch(r"\w+(\.\w+)+", name) and len(docstring.split()) >= LEAST_WORDS:
        head = SIGNATURE.match(docstring)
        signature = head[0].partition("(")[2].rpartition(")")[0] if head else "..."
        yield Function(name, f"({signature})", docstring[head.end() :] if head else docstring)


def _text(node: ast.expr) -> str:
    """Return the literal text of an expression, for example of r"...".format(...) or "..." + "..."."""
    return "".join(
        part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def _compiled(packages: Collection[str]) -> Iterator[Function]:
    """Yield the documented functions of the standard library that have no source: of builtins, of whole modules (math),
    and of the compiled half of a module (csv.writer is that of _csv, see PEP 399)."""
    for name in sorted(sys.stdlib_module_names.intersection(packages) if packages else sys.stdlib_module_names):
        if name.startswith("_") or not (spec := importlib.util.find_spec(name)):
            continue
        if not _has_source(spec.origin):
            yield from _described(_imported(name), "" if name == "builtins" else f"{OFFERED_BY.get(name, name)}.")
        elif (half := f"_{name}") in sys.stdlib_module_names and (spec := importlib.util.find_spec(half)):
            whole = {} if _has_source(spec.origin) else _imported(name)
            here = _imported(half) if whole else {}
            yield from _described({key: here[key] for key in here if whole.get(key) is here[key]}, f"{name}.")


def _imported(module: str) -> dict[str, object]:
    """Return what a module of the standard library binds; nothing if this Python lacks what it needs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of modules that a later Python will not have
        try:
            return vars(importlib.import_module(module))
        except ImportError:
            return {}


def _has_source(origin: str | None) -> bool:
    return origin is None or origin == "frozen" or origin.endswith(".py")


def _described(members: Mapping[str, object], prefix: str) -> Iterator[Function]:
    for name, member in sorted(members.items()):
        docstring = inspect.getdoc(member) if callable(member) else None
        if name.startswith("_") or not docstring or len(docstring.split()) < LEAST_WORDS:
            continue
        yield Function(prefix + name, _inspected(member), docstring)
        if isinstance(member, type) and not issubclass(member, BaseException):
            yield from _described(vars(member), f"{prefix}{name}.")


def _inspected(function: object) -> str:
    try:
        return re.sub(r"\((?:self|/)(?:, /)?(?:, |(?=\)))", "(", str(inspect.signature(function)))  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return "(...)"
