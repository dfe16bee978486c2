"""Functions of packages, by the names that Python finds them under; pairs of texts from their docstrings."""

import os
from itertools import islice
from pathlib import Path

import pytest

from bertlab.corpora.docstring_pairs import SPLITS, pairs_of, split_of
from bertlab.corpora.functions import Function, name_words, prose_of, read_functions

FILES = {
    "pkg/__init__.py": '''
from pkg._core import *
from pkg.deep.frame import Frame, _hidden
from .deep import helper as renamed
''',
    "pkg/_core.py": '''
"""A module of its own."""
from elsewhere import foreign
def read(path, *, sep=",") -> str:
    """Read a table from a file.

    The first line names its columns. There may be blank lines.

    Parameters
    ----------
    path : str
        Which file.
    """
def _private():
    """Nobody should ever find this."""
def bare(): ...
''',
    "pkg/deep/__init__.py": '''
def helper(a: int, /, b=1, *rest: str, **more) -> None:
    """Help with all the things."""
    def inner():
        """An inner function is not found."""
''',
    "pkg/deep/base.py": '''
class Base:
    """What all frames have."""
    def head(self, n=5):
        """Return the first few rows."""
    def __len__(self):
        """Return how many rows there are."""
''',
    "pkg/deep/frame.py": '''
from pkg.deep.base import Base
class Frame(Base):
    """A table in memory.

    It has rows and columns."""
    def __init__(self, rows, columns=None): ...
    def tail(self):
        """Return the last few rows."""
if True:
    def _hidden():
        """Hidden by its name alone."""
''',
    "pkg/documented.py": '''
add_newdoc("pkg.documented", "compiled", """
    compiled(x, y=1)

    Add up two of the numbers.
    """)
add_docstr(pkg.deep.quick, r"""quick(a) -> b

Run as {speed} as you can.""".format(speed="fast"))
add_docstr(1)
''',
    "pkg/tests/test_it.py": 'def test():\n    """A test is not for users."""\n',
    "pkg/broken.py": "def (:",
}  # fmt: skip


@pytest.fixture
def library(tmp_path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_functions_classes_and_methods_under_their_shortest_names(library):
    found = {function.name: function for function in read_functions([library])}
    assert list(found) == [
        "pkg.Frame", "pkg.Frame.head", "pkg.Frame.tail", "pkg.deep.base.Base", "pkg.deep.quick",
        "pkg.documented.compiled", "pkg.read", "pkg.renamed",
    ]  # fmt: skip
    assert found["pkg.read"].signature == "(path, *, sep=',')"
    assert found["pkg.Frame"].signature == "(rows, columns=None)"
    assert found["pkg.Frame.head"].signature == "(n=5)"
    assert found["pkg.renamed"].signature == "(a, /, b=1, *rest, **more)"
    assert found["pkg.documented.compiled"].signature == "(x, y=1)"
    assert found["pkg.documented.compiled"].first_sentence == "Add up two of the numbers."
    assert found["pkg.deep.quick"].first_sentence.startswith("Run as")
    assert read_functions([library]) == list(found.values())


def test_only_some_packages_may_be_read(library):
    (library / "other.py").write_text('def here():\n    """This one is elsewhere."""\n')
    assert [f.name for f in read_functions([library], packages=["other"])] == ["other.here"]


def test_sentences_of_a_docstring(library):
    read = next(f for f in read_functions([library]) if f.name == "pkg.read")
    assert read.first_sentence == "Read a table from a file."
    assert read.description == f"{read.first_sentence} The first line names its columns. There may be blank lines."
    assert prose_of(read) == "The first line names its columns. There may be blank lines."


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pandas.DataFrame.drop_duplicates", "pandas data frame drop duplicates"),
        ("json.loads", "json loads"),
        ("http.HTTPServer", "http http server"),
        ("torch.nn.Conv2d", "torch nn conv2d"),
    ],
)
def test_a_name_as_words(name, words):
    assert name_words(name) == words


def test_compiled_modules_of_python_are_there():
    names = {function.name for function in read_functions(packages=["json", "math", "itertools", "builtins"])}
    assert {"math.gcd", "itertools.permutations", "len", "str.split", "json.loads"} <= names
    assert not any(name.startswith("zlib.") for name in names)


# Pairs

MANY = [Function(f"pkg.f{n}", "()", f"Take all {n} things.\n\nThe things are {n} in number.") for n in range(300)]


def test_pairs_are_the_same_for_the_same_seed_and_go_on():
    once, again = (list(pairs_of(MANY, 0, 700)) for _ in range(2))
    assert once == again and len(once) == 700
    assert list(pairs_of(MANY, 1, 50)) != once[:50]
    assert {pair.text for pair in once} > {"Take all 7 things."} or "pkg f7" in {pair.text for pair in once}
    assert all(pair.pair for pair in once)


def test_a_function_belongs_to_one_split():
    names = {split: {pair.id for pair in pairs_of(MANY, 0, 300, split)} for split in SPLITS}
    assert all(names.values()) and sum(map(len, names.values())) == len(set().union(*names.values()))
    assert all(split_of(name) == split for split, some in names.items() for name in some)


def test_functions_without_prose_are_left_out():
    assert list(islice(pairs_of([Function("a.b", "()", "Take it.")], 0, 5), 5)) == []


def test_compiled_functions_of_os_have_its_name():
    names = {function.name for function in read_functions(packages=["posix", "nt"])}
    assert "os.rename" in names and not {name for name in names if name.startswith(("posix.", "nt."))}


def test_paths_are_those_of_os():
    names = {function.name for function in read_functions(packages=["posixpath", "ntpath", "genericpath"])}
    assert {"os.path.exists", "os.path.split", "os.path.getsize"} <= names
    assert not {name for name in names if name.startswith(("genericpath.", f"{os.path.__name__}."))}


def test_the_compiled_half_of_a_module_has_its_name():
    packages = ["csv", "collections", "functools", "bisect"]
    functions = {function.name: function for function in read_functions(packages=packages)}
    assert {"csv.writer", "collections.deque.append", "functools.reduce"} <= functions.keys()
    assert "functools.RLock" not in functions  # that is of _thread
    assert functions["bisect.bisect_left"].docstring.startswith("Return the index where to insert item x")
