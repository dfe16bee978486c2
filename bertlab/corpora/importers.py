"""How well known a module is: how many of the installed packages import it."""

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([a-zA-Z_]\w*)", re.MULTILINE)
PYTHON = "python"  # the modules of the standard library count as one package


def count_importers(files: Iterable[tuple[str, Path]]) -> Counter[str]:
    """Return how many packages import each top-level module, from the (module, file) of all of them. Of a line such as
    `import a, b` only the first counts; files that cannot be read are skipped."""
    pairs: set[tuple[str, str]] = set()
    for name, path in files:
        package = name.partition(".")[0]
        package = PYTHON if package in sys.stdlib_module_names else package
        try:
            imported = IMPORT.findall(path.read_bytes())
        except OSError:
            continue
        pairs.update((module.decode(), package) for module in set(imported))
    return Counter(module for module, _ in pairs)
