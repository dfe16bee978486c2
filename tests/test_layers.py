"""Imports point down: each folder uses only what stands above it in this list, lazy imports included."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
# From the ground up. CONTRIBUTING.md has the same order; a new folder finds its place here.
LAYERS = """errors io label_names config_fields config vocabulary tokenizer_files corpora tokenizer
inputs model tasks training.engine training relatives explain draw search evaluation compare predict deploy course cli
__main__ app""".split()
PUBLIC = "bertlab"  # `from bertlab import BertModel`: a face for users, of which modules of the model make no use


@cache
def modules() -> dict[str, Path]:
    """Every module of the library and the explorer by its dotted name."""
    files = [*(ROOT / "bertlab").rglob("*.py"), *(ROOT / "app").rglob("*.py")]
    return {dotted(file.relative_to(ROOT)): file for file in files}


def dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def layer(module: str) -> int:
    """The floor of a module, the ground being 0."""
    if module.split(".")[0] == "app":
        return LAYERS.index("app")
    inner = module.removeprefix("bertlab.")
    names = [name for name in LAYERS if inner == name or inner.startswith(f"{name}.")]
    assert names, f"{module} has no place in LAYERS: add its folder"
    return LAYERS.index(max(names, key=len))


@cache
def imported(module: str) -> frozenset[str]:
    """The modules that one imports anywhere in its text: in functions and for type checkers, too."""
    found = set()
    for node in ast.walk(ast.parse(modules()[module].read_text(encoding="utf-8"))):
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{module} imports by dots: write the whole name"
        if isinstance(node, ast.ImportFrom):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(name if name in modules() else node.module for name in inner)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return frozenset(found & modules().keys() - {module})


def inside() -> list[str]:
    return sorted(name for name in modules() if name not in (PUBLIC, "app"))


def test_no_import_points_up():
    upward = [
        f"{module} imports {other}, which stands above it"
        for module in inside()
        for other in imported(module) - {PUBLIC}
        if layer(other) > layer(module)
    ]
    assert not upward, "\n".join(sorted(upward))


def test_the_model_and_what_is_below_it_do_not_use_the_public_face():
    high = LAYERS.index("model")
    wrong = [module for module in inside() if layer(module) <= high and PUBLIC in imported(module)]
    assert not [module for module in wrong if module != "bertlab.model.summary"], wrong


def test_no_modules_import_each_other_in_a_circle():
    """Lazy imports included; a folder's __init__ only hands names on and is not counted."""
    faces = {name for name, file in modules().items() if file.name == "__init__.py"}
    left = {name: set(imported(name)) - faces for name in modules() if name not in faces}
    while free := [name for name, others in left.items() if not others & left.keys()]:
        for name in free:
            del left[name]
    assert not left, f"in or above a circle: {sorted(left)}"


def test_the_explorer_leaves_the_import_path_alone():
    assert not [file for file in (ROOT / "app").rglob("*.py") if "sys.path" in file.read_text(encoding="utf-8")]
