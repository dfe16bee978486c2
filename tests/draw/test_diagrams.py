"""The diagrams of the course are SVG files, each shown by a chapter."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bertlab.draw import diagrams

FILES = sorted(Path(diagrams.__file__).parent.glob("*.svg"))
CHAPTERS = (Path(__file__).parents[2] / "notebooks").glob("*.ipynb")


def test_each_is_shown_by_a_chapter():
    cells = "".join(path.read_text(encoding="utf-8") for path in CHAPTERS)
    assert sorted(re.findall(r'diagram\(\\"(.+?)\\"\)', cells)) == [path.stem for path in FILES]


@pytest.mark.parametrize("name", [path.stem for path in FILES])
def test_it_says_in_words_what_it_shows(name):
    drawn = ElementTree.fromstring(diagrams.diagram(name).data)
    title = drawn.findtext("{http://www.w3.org/2000/svg}title", "")
    assert drawn.get("role") == "img" and len(title) > 100
