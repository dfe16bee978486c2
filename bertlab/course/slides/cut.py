"""The cells of a chapter as slides, by a rule: no chapter says itself what its slides are.

A heading of the first or second level begins a slide, one of the third level a slide below it, and so does what would
not fit any more. Left out are exercises, their solutions, the first cell with its imports, panels, which need a kernel,
and code that would not fit on a slide of its own, without its outputs.
A cell whose metadata names a slide_type keeps it.
"""

import base64
import re
import struct
from collections.abc import Iterator
from typing import Any

from latex2mathml.converter import convert
from markdown_it import MarkdownIt

from bertlab.course.marks import EXERCISE, UNWRITTEN

Cell = dict[str, Any]
LINES = 19  # of text that a slide holds
LETTERS = 95  # in a line of text
WIDGET = "application/vnd.jupyter.widget-view+json"
MARKDOWN = MarkdownIt().enable("table")


def cut(cells: list[Cell]) -> list[Cell]:
    """Return the cells of the slides, each with its slide_type in the metadata."""
    blocks = [block for cell in _shown(cells) for block in _blocks(cell)]
    room = 0.0
    for block in blocks:
        kind, height = _kind(block), _height(block)
        if kind == "-" and height > room:
            kind = "subslide"
        room = (room if kind in ("-", "fragment") else LINES) - height
        block["metadata"]["slideshow"] = {"slide_type": kind}
    return blocks


def _shown(cells: list[Cell]) -> Iterator[Cell]:
    first = next((cell for cell in cells if cell["cell_type"] == "code"), None)
    for cell in cells:
        if cell["cell_type"] == "markdown" or (
            cell["cell_type"] == "code" and cell is not first and not _is_exercise(cell)
        ):
            yield cell


def _is_exercise(cell: Cell) -> bool:
    """Whether the reader writes it, or it shows or takes what they should have written."""
    folded = cell["metadata"].get("jupyter", {}).get("source_hidden", False)
    return UNWRITTEN in cell["source"] or cell["source"].startswith(("%solution", "%my_bert")) or folded


def _blocks(cell: Cell) -> Iterator[Cell]:
    yield from _prose(cell) if cell["cell_type"] == "markdown" else _code(cell)


def _prose(cell: Cell) -> Iterator[Cell]:
    """Headings, paragraphs, lists and tables, each a cell, without exercises and the links between chapters."""
    lines = cell["source"].splitlines()
    inside = False
    for token in MARKDOWN.parse(cell["source"]):
        if token.level or not token.map:
            continue
        text = "\n".join(lines[token.map[0] : token.map[1]])
        if token.type == "heading_open":
            inside = bool(EXERCISE.match(text))
        if not inside and "(README.md)" not in text:
            yield {"cell_type": "markdown", "source": _formulas(_unlinked(text)), "metadata": dict(cell["metadata"])}


def _unlinked(text: str) -> str:
    """The text with links to files beside the chapter as plain words: the slides may lie elsewhere."""
    return re.sub(r"(?<!!)\[([^]]+)\]\((?!https?:)[^)]+\)", r"\1", text)


def _formulas(text: str) -> str:
    """The text with formulas in TeX as MathML, which browsers draw without help."""
    text = re.sub(r"\$\$(.+?)\$\$", lambda found: convert(found[1], display="block"), text, flags=re.S)
    return re.sub(r"(?<![`$\\])\$([^$`\n]+)\$(?!`)", lambda found: convert(found[1]), text)


def _code(cell: Cell) -> Iterator[Cell]:
    """The code, and if both do not fit on one slide, its outputs as a cell of their own."""
    cell = cell | {"source": cell["source"].removeprefix("%%keep\n"), "metadata": dict(cell["metadata"])}
    hidden = _height(cell | {"outputs": []}) > LINES + 1 or any(
        WIDGET in output.get("data", {}) for output in cell["outputs"]
    )
    cell["outputs"] = [output for output in cell["outputs"] if _is_still(output)]
    code = cell | {"outputs": [], "metadata": dict(cell["metadata"])}
    below = cell | {"source": "", "metadata": cell["metadata"] | {"tags": ["outputs-only"]}}
    if hidden:
        yield from [below] if cell["outputs"] else []
    elif _height(cell) <= LINES:
        yield cell
    else:
        yield from [code, below] if cell["outputs"] else [code]


def _is_still(output: Cell) -> bool:
    """Whether it shows without a kernel and without scripts of its own."""
    data = output.get("data", {})
    return WIDGET not in data and "<script" not in "".join(data.get("text/html", ""))


def _kind(block: Cell) -> str:
    given = block["metadata"].get("slideshow", {}).get("slide_type")
    if given:
        return given
    level = len(block["source"]) - len(block["source"].lstrip("#")) if block["cell_type"] == "markdown" else 0
    return {0: "-", 1: "slide", 2: "slide"}.get(level, "subslide")


def _height(block: Cell) -> float:
    """About how many lines of text it takes."""
    lines = block["source"].splitlines()
    if block["cell_type"] == "markdown":
        if "<math" in block["source"]:
            return 3.5
        return 0.7 + sum(1 + len(line) // LETTERS for line in lines) * (1.4 if lines[0].startswith("|") else 1)
    return 0.8 * len(lines) + 0.8 + sum(_output_height(output) for output in block["outputs"])


def _output_height(output: Cell) -> float:
    data = output.get("data", {})
    if "image/png" in data:
        width, height = struct.unpack(">II", base64.b64decode("".join(data["image/png"]))[16:24])
        return min(560, height / 2, 1100 * height / width) / 32
    return 0.8 * len("".join(output.get("text", data.get("text/plain", ""))).splitlines()) + 0.5
