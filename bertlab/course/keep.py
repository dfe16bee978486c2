"""my_bert.py: the reader's own BERT, one file beside the chapters, of what they wrote and of solutions for the rest.

    %load_ext bertlab.course.keep
    %%keep                          # check the definitions of this cell and put them into my_bert.py
    %my_bert Embeddings Layer       # take these names from my_bert.py

The file has the definitions of `my_bert_solution.py` in their order. A comment above each of the reader's says so.
Versions that are replaced stay in the folder my_bert_versions.
"""

import ast
import difflib
import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import ModuleType

from filelock import FileLock

from bertlab import course
from bertlab.course.checks.base import Mistake
from bertlab.errors import InputError
from bertlab.io.atomic import atomic_write

YOURS = "# yours"
SOLUTION = Path(__file__).with_name("my_bert_solution.py")
FOLDER = "BERTLAB_MY_BERT"  # an environment variable: another folder for the file than the current one

CHECKS: dict[str, Callable[..., None]] = {
    "cut_word": course.check_cut_word,
    "MultiHeadAttention": course.check_multi_head_attention,
    "Layer": course.check_layer,
    "Bert": course.check_bert_model,
    "MaskedLMHead": course.check_mlm_head,
    "BertForPreTraining": course.check_pretraining_model,
    "mask_tokens": course.check_mask_tokens,
    "cut_pair": course.check_cut_pair,
    "make_pairs": course.check_make_pairs,
    "joint_loss": course.check_joint_loss,
    "rate_share": course.check_rate_factor,
    "adamw_step": course.check_adamw_step,
}


@dataclass(frozen=True)
class Definition:
    """A class or function of my_bert.py with the blank and comment lines above it."""

    name: str
    above: str
    source: str
    yours: bool


def file() -> Path:
    """Return where my_bert.py is, or will be."""
    return Path(os.environ.get(FOLDER, ".")) / "my_bert.py"


def definitions(text: str) -> tuple[str, list[Definition]]:
    """Return what stands before the first class or function, and these with all that follows each of them.

    Raises SyntaxError.
    """
    lines = text.splitlines(keepends=True)
    found: list[Definition] = []
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    starts = [min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1 for node in nodes]
    end = 0
    head = ""
    for node, start in zip(nodes, starts, strict=True):
        above = "".join(lines[end:start])
        if not found:
            head, above = _head(above)
        end = node.end_lineno or start
        yours = above.rstrip().rsplit("\n", 1)[-1].startswith(YOURS)
        found.append(Definition(node.name, above, "".join(lines[start:end]), yours))
    return head, [*found, Definition("", "".join(lines[end:]), "", False)]


def _head(above: str) -> tuple[str, str]:
    """Split what is above the first definition: the last comment or decorator block belongs to it."""
    head, gap, last = above.rpartition("\n\n\n")
    return (head, gap + last) if gap and head.strip() else (above, "")


def written(head: str, parts: list[Definition]) -> str:
    return head + "".join(part.above + part.source for part in parts)


def current() -> tuple[str, list[Definition]]:
    """Return the parts of my_bert.py, of the solutions where there is no such file yet.

    Raises InputError where the file is no Python any more.
    """
    path = file()
    source = path if path.exists() else SOLUTION
    try:
        return definitions(source.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        line = getattr(error, "lineno", None)
        where = f", line {line}" if line else ""
        raise InputError(f"{path}{where}: cannot be read ({error}); mend it, or move it away to begin anew") from error


def keep(cell: str, namespace: dict[str, object]) -> str:
    """Put the definitions of a cell that pass their checks into my_bert.py, and return what was done, in one line.

    Raises Mistake for a definition that fails its check: then the file stays as it was.
    """
    _, own = definitions(cell)
    own = [part for part in own if part.name]
    with FileLock(f"{file()}.lock"):
        head, parts = current()
        known = {part.name for part in parts}
        for part in own:
            if part.name not in known:
                raise Mistake(_unknown(part.name, known))
            _check(part.name, namespace)
        replaced = {part.name: part for part in own}
        merged = [_replace(part, replaced.get(part.name)) for part in parts]
        _save(written(head, merged))
    return f"Kept: {file().name} now has your {_listed([part.name for part in own])}."


def _replace(old: Definition, new: Definition | None) -> Definition:
    if new is None or not old.name:
        return old
    lines = [line for line in old.above.splitlines(keepends=True) if not line.startswith(YOURS)]
    above = "".join(lines) + f"{YOURS}\n"
    return Definition(old.name, above, new.source.rstrip("\n") + "\n", True)


def _unknown(name: str, known: set[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else "leave %%keep out for what is only tried."
    return f"my_bert.py has no {name}: {hint}"


def _check(name: str, namespace: dict[str, object]) -> None:
    check = CHECKS.get(name)
    if check is not None:
        check(namespace[name])


def _save(text: str) -> None:
    """Write my_bert.py; the version before it is kept under its date."""
    path = file()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        before = path.read_text(encoding="utf-8")
        if before == text:
            return
        versions = path.parent / "my_bert_versions"
        versions.mkdir(exist_ok=True)
        atomic_write(versions / f"{datetime.now():%Y-%m-%d-%H%M%S-%f}.py", before)
    atomic_write(path, text)


def load(*names: str) -> tuple[ModuleType, str]:
    """Import my_bert.py and return it, and one line that says which of `names` are the reader's.

    Each of the reader's is checked again first: a broken one is named before it can spoil a chapter.
    Raises Mistake for that, InputError where the file cannot be run or has no such name.
    """
    with FileLock(f"{file()}.lock"):
        head, parts = current()
        if not file().exists():
            _save(written(head, parts))
    module = _run(file())
    yours = {part.name for part in parts if part.yours}
    for name in names:
        if not hasattr(module, name):
            raise InputError(f"{file()}: there is no {name}")
        if name in yours:
            _check_kept(name, module)
    return module, _from_where(names, yours)


def _check_kept(name: str, module: ModuleType) -> None:
    try:
        _check(name, vars(module))
    except Mistake as mistake:
        raise Mistake(f"your {name} in {file().name} does not pass its check any more: {mistake}") from None


def _run(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("my_bert", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["my_bert"] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the reader's file raises
        raise InputError(f"{path}: cannot be run ({type(error).__name__}: {error})") from error
    return module


def _from_where(names: tuple[str, ...], yours: set[str]) -> str:
    own, solved = ([name for name in names if (name in yours) == kind] for kind in (True, False))
    said = []
    if own:
        said.append(f"yours: {_listed(own)}")
    if solved:
        said.append(f"from the solutions: {_listed(solved)}")
    return f"my_bert.py, {'; '.join(said)}." if said else "my_bert.py is there."


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def load_ipython_extension(shell) -> None:
    """`%load_ext bertlab.course.keep` registers both magics."""
    shell.register_magic_function(_magic(shell, _keep_cell), "cell", "keep")
    shell.register_magic_function(_magic(shell, _take_names), "line", "my_bert")


def _magic(shell, action: Callable) -> Callable:
    def run(line: str, cell: str | None = None) -> None:
        try:
            print(action(shell, line, cell))
        except InputError as error:
            print(f"Not yet: {error}")

    return run


def _keep_cell(shell, line: str, cell: str) -> str:
    shell.run_cell(cell).raise_error()
    return keep(cell, shell.user_ns)


def _take_names(shell, line: str, cell: None) -> str:
    names = tuple(line.split())
    module, said = load(*names)
    shell.push({name: getattr(module, name) for name in names})
    return said
