"""my_bert.py: the reader's own BERT, one file beside the chapters, of what they wrote and of solutions for the rest.

    %load_ext bertlab.course.keep
    %%keep                          # check the definitions of this cell and put them into my_bert.py
    %my_bert Embeddings Layer       # take these names from my_bert.py
    %solution Layer                 # show the solution, folded

It has the definitions of the folder solutions, in the order of SOLUTIONS. A comment above each of the reader's says so.
Versions that are replaced stay in the folder my_bert_versions. BERTLAB_MY_BERT names another folder than the current.
"""

import difflib
import html
import linecache
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import datetime
from io import StringIO
from pathlib import Path
from textwrap import fill
from types import ModuleType

from filelock import FileLock

from bertlab.course.chapters import KEPT
from bertlab.course.definitions import Part, Parts, in_their_places, parse_cell, parse_file, with_imports
from bertlab.course.mistake import Mistake
from bertlab.errors import InputError
from bertlab.io.atomic import atomic_write
from bertlab.io.files import read_text
from bertlab.model.cpu import keep_memory

SOLUTIONS = (  # in the order of the file, a line for each part of the course
    "config tokenizer encoder pretraining training one_sentence two_sentences every_token answers family accumulation"
).split()
FOLDER = "BERTLAB_MY_BERT"
NOT_KEPT = "assignments of a cell are not kept: write a constant where it is used"
WIDTH = 110  # letters of a line of output in JupyterLab on a laptop; a longer one breaks within a word


def file() -> Path:
    """Return where my_bert.py is, or will be."""
    return Path(os.environ.get(FOLDER, ".")) / "my_bert.py"


def model_folder() -> Path:
    """Return where chapter 08 saves the reader's trained model, beside my_bert.py."""
    return file().with_name("my_bert_model")


def solution_file() -> str:
    """Return my_bert.py as it is with all solutions: one file, with the imports of its first part alone."""
    folder = Path(__file__).parent / "solutions"
    first, *later = ((folder / f"{name}.py").read_text(encoding="utf-8") for name in SOLUTIONS)
    return "\n\n".join([first, *(text[text.index("# %% ") :] for text in later)])


def solutions() -> dict[str, str]:
    """Return the source of each part by its name."""
    return {part.name: part.source for part in parse_file(solution_file()).parts}


def current() -> Parts:
    """Return the parts of my_bert.py as they stand there, and solutions for those that it lacks.

    A part is the reader's if the file says so or if it is not the solution word for word.
    Raises InputError where the file is no Python any more.
    """
    path, solved = file(), parse_file(solution_file())
    if not path.exists():
        return solved
    text = _text(path)
    try:
        kept = parse_file(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f", line {line}" if line else ""
        raise InputError(f"{path}{where}: cannot be read ({error}); mend it, or move it away to begin anew") from error
    sources = {part.name: part.source for part in solved.parts}
    own = [replace(part, yours=part.yours or part.source != sources.get(part.name)) for part in kept.parts]
    return Parts(kept.head, in_their_places(solved.parts, own), kept.rest)


# Keeping


def keep(cell: str) -> str:
    """Put the definitions of a cell into my_bert.py if the file passes their checks; say what was done, in one line.

    Functions of the cell that my_bert.py does not know are kept with those that may call them.
    Raises Mistake for a definition that fails its check: then the file stays as it was.
    """
    imports, own = parse_cell(cell)
    with FileLock(f"{file()}.lock"):
        before = current()
        merged = _merge(before, imports, own)
        module = _run(merged.text(), "your cell as a part of my_bert.py", NOT_KEPT)
        kept = [part for part in merged.parts if part.name in {each.name for each in own}]
        for part in _one_for_each_check(kept):
            with redirect_stdout(sys.stdout if part.yours else StringIO()):
                _check(part.name, module)
        _save(merged.text())
    return _kept_message(kept)


def _one_for_each_check(parts: list[Part]) -> list[Part]:
    """One part for each check that they have to pass, the reader's rather than one that is given."""
    return list({KEPT.get(part.name): part for part in sorted(parts, key=lambda part: part.yours)}.values())


def _merge(before: Parts, imports: list[str], own: list[Part]) -> Parts:
    above = {part.name: part.above for part in before.parts}
    if not any(part.name in above for part in own):
        raise Mistake(_unknown([part.name for part in own], set(above)))
    solved = solutions()
    new = [_marked(part, solved.get(part.name)).under(above.get(part.name, "\n\n")) for part in own]
    return Parts(with_imports(before.head, imports), in_their_places(before.parts, new), before.rest)


def _marked(part: Part, solution: str | None) -> Part:
    """The part as the reader's, unless it is the solution word for word."""
    return replace(part, yours=part.source != solution)


def _unknown(names: list[str], known: set[str]) -> str:
    if not names:
        return "there is no class or function in this cell: write it with `class` or `def`."
    near = difflib.get_close_matches(names[0], known, 1)
    hint = f"did you mean {near[0]}?" if near else "leave %%keep out for what is only tried."
    return f"my_bert.py has no {names[0]}: {hint}"


def _kept_message(parts: list[Part]) -> str:
    own, same = ([part.name for part in parts if part.yours == kind] for kind in (True, False))
    named = [f"your {_listed(own)}"] if own else []
    named += [f"{_listed(same)} as given"] if same else []
    return f"Kept: {file().name} has {' and '.join(named)}."


def _text(path: Path) -> str:
    return read_text(path).replace("\r\n", "\n")


def _save(text: str) -> None:
    """Write my_bert.py; the version before it is kept under its date."""
    path = file()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        before = _text(path)
        if before == text:
            return
        versions = path.parent / "my_bert_versions"
        versions.mkdir(exist_ok=True)
        atomic_write(versions / f"{datetime.now():%Y-%m-%d-%H%M%S-%f}.py", before)
    atomic_write(path, text)


# Taking


def load(*names: str) -> tuple[ModuleType, str]:
    """Import my_bert.py and return it, and one line that says which of `names` are the reader's.

    Each of the reader's is checked again first: a broken one is named before it can spoil a chapter.
    Raises Mistake for that, InputError where the file cannot be run or has no such name.
    """
    with FileLock(f"{file()}.lock"):
        parts = current()
        if not file().exists():
            _save(parts.text())
    module = _run(parts.text(), str(file()))
    yours = {part.name for part in parts.parts if part.yours}
    for name in names:
        if not hasattr(module, name):
            raise InputError(f"{file()}: there is no {name}")
        if name in yours:
            _check_kept(name, module)
    sys.modules["my_bert"] = module
    return module, _from_where(names, yours)


def _check_kept(name: str, module: ModuleType) -> None:
    try:
        with redirect_stdout(StringIO()):
            _check(name, module)
    except Mistake as mistake:
        raise Mistake(f"your {name} in {file().name} does not pass its check any more: {mistake}") from None


def _check(name: str, module: ModuleType) -> None:
    """Check the part, or what it is a part of, in the file as it would be."""
    check = KEPT.get(name)
    if check is None:
        return
    try:
        check(*(getattr(module, reference.__name__) for reference in check.references))
    except Mistake as mistake:
        if not isinstance(mistake.__cause__, NameError):
            raise
        what = f"`{mistake.__cause__.name}`, which my_bert.py does not have"
        raise Mistake(f"{name} uses {what}: define or import it in the same cell; {NOT_KEPT}.") from None


def _run(text: str, where: str, if_undefined: str = "") -> ModuleType:
    module = ModuleType("my_bert")
    module.__file__ = str(file())
    before = sys.modules.get("my_bert")
    sys.modules["my_bert"] = module  # dataclasses look their module up
    linecache.cache[where] = len(text), None, text.splitlines(True), where  # a traceback quotes this text's lines
    try:
        exec(compile(text, where, "exec"), module.__dict__)
    except Exception as error:  # whatever the reader's file raises
        hint = f"; {if_undefined}" if if_undefined and isinstance(error, NameError) else ""
        raise InputError(f"{where} cannot be run ({type(error).__name__}: {error}){hint}") from error
    finally:
        if before is not None:
            sys.modules["my_bert"] = before
    return module


def _from_where(names: tuple[str, ...], yours: set[str]) -> str:
    own, solved = ([name for name in names if (name in yours) == kind] for kind in (True, False))
    named = [f"yours: {_listed(own)}"] if own else []
    named += [f"from the solutions: {_listed(solved)}"] if solved else []
    return fill(f"my_bert.py, {'; '.join(named)}.", WIDTH) if named else "my_bert.py is there."


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def solution(*names: str) -> str:
    """Return HTML: the solutions of these parts, folded."""
    known = solutions()
    missing = [name for name in names if name not in known]
    if missing or not names:
        raise InputError(f"%solution {' '.join(missing)}: name a part of my_bert.py, such as Layer")
    code = html.escape("\n\n".join(known[name].rstrip() for name in names))
    code = f'<pre style="font-family:monospace">{code}</pre>'
    return f"<details><summary>A solution of {_listed(list(names))}</summary>{code}</details>"


# In a notebook


def load_ipython_extension(shell) -> None:
    """`%load_ext bertlab.course.keep` registers the magics, and has a chapter's trainings keep their memory."""
    keep_memory()
    shell.register_magic_function(_magic(shell, _keep_cell), "cell", "keep")
    shell.register_magic_function(_magic(shell, _take_names), "line", "my_bert")
    shell.register_magic_function(_magic(shell, _show_solution), "line", "solution")


def _magic(shell, action: Callable) -> Callable:
    def run(line: str, cell: str | None = None) -> None:
        try:
            action(shell, line, cell)
        except (InputError, Mistake) as error:
            print(f"Not yet: {error}")

    return run


def _keep_cell(shell, line: str, cell: str) -> None:
    shell.run_cell(cell).raise_error()
    print(keep(cell))


def _take_names(shell, line: str, cell: None) -> None:
    names = tuple(line.split())
    module, message = load(*names)
    shell.push({name: getattr(module, name) for name in names})
    print(message)


def _show_solution(shell, line: str, cell: None) -> None:
    from IPython.display import HTML, display

    display(HTML(solution(*line.split())))
