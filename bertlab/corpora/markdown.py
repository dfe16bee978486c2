"""Headings and running text of Markdown, as CommonMark and GitHub's tables define it (parsed by markdown-it-py)."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from bertlab.corpora.sentences import Heading

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

FRONT_MATTER = re.compile(r"\A---\s*\n.*?\n(?:---|\.\.\.)\s*(?:\n|\Z)", re.DOTALL)
FOOTNOTE = re.compile(r"^ {0,3}\[\^[^\]]+\]:.*$|\[\^[^\]]+\]", re.MULTILINE)  # its text, or its mark
UNDEFINED = re.compile(r"\[([^\]]*)\]\[[^\]]*\]")  # [text][name] whose name the file does not define
ADDRESS = re.compile(r"https?://[^\s)]+")
BOX = re.compile(r"\A\[[ xX]\]\s+")  # of a list of tasks


def blocks(text: str) -> Iterator[Heading | str]:
    """Yield headings and paragraphs in their order; an item of a list is a paragraph.

    Code, tables, HTML, images and addresses are left out.
    """
    tokens = _parser().parse(FOOTNOTE.sub("", FRONT_MATTER.sub("", text)))
    for opening, token in zip(tokens, tokens[1:], strict=False):
        if token.type == "inline" and opening.type in ("heading_open", "paragraph_open"):
            plain = BOX.sub("", ADDRESS.sub("", UNDEFINED.sub(r"\1", _plain(token)))).strip()
            if plain:
                yield Heading(plain) if opening.type == "heading_open" else plain


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def _plain(inline: "Token") -> str:
    """Return the text of a paragraph without its markup; <addresses> are left out."""
    texts = {"softbreak": " ", "hardbreak": " ", "html_inline": "", "image": ""}
    plain, in_address = "", False
    for child in inline.children or ():
        in_address = child.nesting == 1 and child.markup == "autolink" or in_address and child.nesting == 0
        plain += "" if in_address else texts.get(child.type, child.content)
    return plain
