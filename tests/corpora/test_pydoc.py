import sys
from pathlib import Path

import pytest

from bertlab.corpora import pydoc
from bertlab.errors import InputError

KEPT = "Return the mean of all values."
AFTER = "This is a sentence of its own."
NO_PARAGRAPH = {
    "session": ">>> mean([1, 2])",
    "session continued": "... mean([1, 2])",
    "IPython": "In [1]: mean([1, 2])",
    "shell": "$ python -m mean",
    "code": "with open(path) as file:",
    "assignment": "mean = total / count",
    "indented": "    Here is a block of code or a quotation.",
    "indented by two": "  Here is a block of code or a quotation.",
    "signature": "mean(values, axis=0) -> float",
    "signature alone": "mean(values, axis=0)",
    "table": "Name    Meaning of the name here.",
    "ruled table": "Name +------+-----+ Meaning.",
    "table with bars": "One | two | three.",
    "table with rules": "==== =======",
    "bullets": "- The first of all the things.",
    "stars": "* The first of all the things.",
    "numbers": "1. The first of all the things.",
    "letters": "(a) The first of all the things.",
    "field": ":param values: The values to take the mean of.",
    "epydoc field": "@param values: The values to take the mean of.",
    "decorator": "@mean",
    "directive": ".. note:: Here is a note on the mean.",
    "footnote": "[1] The book in which it all is written.",
    "parameter": "values : array of float",
    "google parameter": "values (list): Which are all of them.",
}
NO_SENTENCE = {
    "address": "https://docs.python.org/3/library/statistics.html",
    "too short": "Take the mean.",
    "no end": "This sentence has no end at all",
    "no beginning": "and this one begins in the middle.",
    "symbols": "Computes f(x) = x_0 + x_1 * 3 in `int64`.",
    "numpy section": "Parameters\n----------\nThe values to take the mean of.\n\nThey may also be many.",
    "google section": "Args:\n    values: The values to take the mean of.",
    "google section at the margin": "Returns:\nThe mean of all of the values.",
}


@pytest.mark.parametrize("kind", NO_PARAGRAPH)
def test_a_paragraph_that_is_no_prose_is_left_out_whole(kind):
    assert pydoc.prose(f"{KEPT}\n\n{NO_PARAGRAPH[kind]}\nSo it is.\n{AFTER}") == [KEPT]
    assert pydoc.prose(f"{KEPT}\n\nSo it is.\n{AFTER}") == [KEPT, AFTER]


@pytest.mark.parametrize("kind", NO_SENTENCE)
def test_what_is_no_sentence_is_left_out(kind):
    assert pydoc.prose(f"{KEPT}\n\n{NO_SENTENCE[kind]}") == [KEPT]


PROSE = {
    "over lines": ("The mean is taken\nover all values.", ["The mean is taken over all values."]),
    "two sentences": ("It is the mean. See it as the middle!", ["It is the mean.", "See it as the middle!"]),
    "roles": (
        "For more on this see :func:`mean`, :class:`~numpy.Array` and the pages after these.",
        ["For more on this see mean, numpy.Array and the pages after these."],
    ),
    "double quotes": ("Take the ``axis`` of the `values` as it comes.", ["Take the axis of the values as it comes."]),
    "stress": ("This is **very** much a *mean* one.", ["This is very much a mean one."]),
    "link": ("Read `the manual <https://a.b>`_ before you use it.", ["Read the manual before you use it."]),
    "markdown link": ("Read [the manual](https://a.b) before you use it.", ["Read the manual before you use it."]),
    "before code": ("It is used like this here::", []),
    "colon within": ("There is one thing: the mean of it.", ["There is one thing: the mean of it."]),
    "stars that are no stress": (
        "Whatever else is given as *args or as **kwargs is then handed on to the function.",
        ["Whatever else is given as *args or as **kwargs is then handed on to the function."],
    ),
}


@pytest.mark.parametrize("kind", PROSE)
def test_prose_is_kept_without_its_markup(kind):
    docstring, expected = PROSE[kind]
    assert pydoc.prose(docstring) == expected


def test_a_section_of_text_follows_a_listing():
    text = f"{KEPT}\n\nReturns\n-------\nfloat\n    The mean of it.\n\nNotes\n-----\nIt is a sum divided by a number."
    assert pydoc.prose(text) == [KEPT, "It is a sum divided by a number."]


def test_definitions_inside_any_statement_are_found(tmp_path):
    heads = [
        "try:",
        "except* ValueError:",
        "else:",
        "finally:",
        "for x in ():",
        "else:",
        "while x:",
        "else:",
        "with x:",
    ]
    heads += ["if x:", "elif y:", "else:", "match x:\n case 1:", "async def g():", "class A:"]
    blocks = [f'{head}\n  def f():\n   """Number {n}."""\n' for n, head in enumerate(heads)]
    (tmp_path / "a.py").write_text("".join(blocks))
    assert pydoc.docstrings(tmp_path / "a.py") == [f"Number {n}." for n in range(len(heads))]


@pytest.fixture
def folder(tmp_path) -> Path:
    package = tmp_path / "package"
    (package / "site-packages").mkdir(parents=True)
    (package / "__init__.py").write_text(f'"""{KEPT}"""\nraise SystemExit("this was run")\n')
    (package / "b.py").write_text(
        'class A:\n    """This is the class A."""\n    async def f(self):\n        """This one is inside."""\n'
        f'def g():\n    """Here is the last one. {KEPT}"""\n'
    )
    (package / "broken.py").write_text('def f(:\n    """This is not Python at all."""\n')
    (package / "bytes.py").write_bytes(b'"""This is \xe9 not UTF-8 at all."""\n')
    (package / "null.py").write_bytes(b'"""This has a \0 in it, see."""\n')
    (package / "deep.py").write_text('"""This is nested far too deep."""\nx = ' + "(" * 5000 + ")" * 5000 + "\n")
    (package / "site-packages" / "c.py").write_text('"""This is of another package."""\n')
    return tmp_path


def test_one_document_a_module_in_order_without_what_was_there_before(folder):
    documents = list(pydoc.read_docstrings([folder]))
    assert [(d.title, d.sentences) for d in documents] == [
        ("package", (KEPT,)),
        ("package.b", ("This is the class A.", "This one is inside.", "Here is the last one.")),
    ]
    assert documents == list(pydoc.read_docstrings([folder, folder])), "the same files, the same documents"
    assert "package" not in sys.modules


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere: no such folder"):
        pydoc.read_docstrings([tmp_path / "nowhere"])


def test_the_standard_library_is_full_of_english():
    email = Path(pydoc.installed()[0]) / "email"
    documents = list(pydoc.read_docstrings([email]))
    assert sum(len(d.sentences) for d in documents) > 300
    assert not any(mark in d.text for d in documents for mark in (">>>", ":param", "``"))
