"""How many packages use each function, read from their own sources: what is used by many is asked for by many."""

import builtins
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from bertlab.errors import InputError
from bertlab.io.gate import read_bytes

IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w.]+)(?:[ \t]+as[ \t]+(\w+))?", re.MULTILINE)
FROM = re.compile(r"^[ \t]*from[ \t]+([a-zA-Z_][\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)", re.MULTILINE)
DOTTED = re.compile(r"[A-Za-z_][\w.]*")
CALLED = re.compile(r"\.\w+(?=\()")
PYTHON = "python"  # the modules of the standard library count as one package
BUILTIN = {name: name for name in dir(builtins)}


def count_users(files: Iterable[tuple[str, Path]]) -> Counter[str]:
    """Return name -> the number of packages that use it, from the (module, file) of all of them.

    Names are whole ("numpy.linspace" where a file has `np.linspace`); a module counts where it is imported, a builtin
    as "len", and a method as ".strip", whatever it is called on. Of a line such as `import a, b` only the first counts;
    relative imports do not; files that cannot be read are skipped.
    """
    pairs: set[tuple[str, str]] = set()
    for module, path in files:
        package = module.partition(".")[0]
        package = PYTHON if package in sys.stdlib_module_names else package
        try:
            source = read_bytes(path).decode("utf-8", errors="replace")
        except InputError:
            continue
        pairs.update((name, package) for name in used_names(source))
    return Counter(name for name, _ in pairs)


def used_names(source: str) -> set[str]:
    """Return the whole names that a file uses, the modules it imports from, and its calls of methods (".strip")."""
    meant, used = dict(BUILTIN), set(CALLED.findall(source))
    for whole, here, shown in _imports(source):
        meant[here] = shown
        used |= {whole, whole.partition(".")[0]}
    for name in set(DOTTED.findall(source)):
        first, _, rest = name.partition(".")
        if first in meant and (rest or first in BUILTIN):
            used.add(f"{meant[first]}.{rest}" if rest else meant[first])
    return used


def _imports(source: str) -> Iterator[tuple[str, str, str]]:
    """Yield (what is imported, its first name in this file, what that name means): `import os.path` gives os.path, os,
    os; `import numpy as np` gives numpy, np, numpy."""
    for module, alias in IMPORT.findall(source):
        top = module.partition(".")[0]
        yield (module, alias, module) if alias else (module, top, top)
    for module, names in FROM.findall(source):
        for words in filter(None, map(str.split, names.strip("() \n").split(","))):
            yield f"{module}.{words[0]}", words[-1], f"{module}.{words[0]}"


def users_of(name: str, users: Mapping[str, int]) -> int:
    """Return how many packages use a function: of a method no more than use its class, and no more than call a method
    of this name."""
    owner, _, short = name.rpartition(".")
    if owner in BUILTIN or owner.rpartition(".")[2][:1].isupper():
        return min(users.get(owner, 0), users.get(f".{short}", 0))
    return users.get(name, 0)
