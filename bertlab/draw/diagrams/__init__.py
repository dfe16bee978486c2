"""The course's diagrams without data: SVG files, each with a title that says in words what it shows."""

from pathlib import Path

from IPython.display import SVG


def diagram(name: str) -> SVG:
    """Return the diagram `name`.svg of this folder, to be the last line of a cell."""
    return SVG(filename=str(Path(__file__).with_name(f"{name}.svg")))
