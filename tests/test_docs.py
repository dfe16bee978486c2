"""README, docs and the course home: tables hold together, no row twice, links lead somewhere."""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "notebooks" / "README.md", *(ROOT / "docs").glob("*.md")]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def parsed(page: Path) -> list[Token]:
    return MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8"))


def tables(page: Path) -> list[list[list[str]]]:
    """The tables of a page, each a list of rows of cells."""
    found: list[list[list[str]]] = []
    tokens = parsed(page)
    for token, inner in zip(tokens, tokens[1:], strict=False):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in ("td_open", "th_open"):
            found[-1][-1].append(inner.content.strip())
    return found


def anchors(page: Path) -> set[str]:
    """The anchors that a code host makes of the headings."""
    tokens = parsed(page)
    titles = [inner.content for token, inner in zip(tokens, tokens[1:], strict=False) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links(page: Path) -> list[str]:
    inner = [child for token in parsed(page) for child in token.children or []]
    found = [child.attrGet("href") or child.attrGet("src") for child in inner if child.type in ("link_open", "image")]
    return [str(link) for link in found if link and "://" not in str(link)]


@each_page
def test_no_table_has_a_row_twice(page):
    for table in tables(page):
        firsts = [row[0] for row in table[1:] if row and row[0]]
        rows = [tuple(row) for row in table[1:] if any(row)]
        assert len(rows) == len(set(rows)), f"a row stands twice: {sorted(rows)}"
        named = [name for name in firsts if name.startswith("`")]  # a name has one row; a figure's key may have several
        assert len(named) == len(set(named)), f"a name has two rows: {sorted(named)}"


@each_page
def test_every_line_of_a_table_is_part_of_one(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    lines = [line for line in text.splitlines() if line.lstrip().startswith("|")]
    rows = sum(len(table) for table in tables(page))
    assert len(lines) == rows + len(tables(page)), "a table is broken: its head, ruler or rows do not fit together"


@each_page
def test_links_lead_to_files_and_headings(page):
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: no such heading, there are {sorted(anchors(target))}"
