"""The running text of Markdown: headings and paragraphs, without code, tables, HTML and link syntax."""

import html
import re
from collections.abc import Iterator

from bertlab.corpora.sentences import Heading

# What spans lines; taken out first, in this order.
FRONT_MATTER = re.compile(r"\A---\s*\n.*?\n(?:---|\.\.\.)\s*(?:\n|\Z)", re.DOTALL)
FENCE = re.compile(r"^([ >]*)(`{3,}|~{3,})[^\n]*\n.*?(?:^[ >]*\2[`~]*\s*$|\Z)", re.DOTALL | re.MULTILINE)
HTML_BLOCK = re.compile(r"<!--.*?-->|<(script|style|pre|table|svg)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)

INLINE = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])", ""),  # an image
        (r"\[\^[^\]]+\]", ""),  # a footnote's mark
        (r"\[([^\]]*)\](?:\((?:[^()]|\([^)]*\))*\)|\[[^\]]*\])", r"\1"),  # [text](address), [text][name]
        (r"<(?:https?|mailto):[^>]*>|https?://[^\s)]+", ""),
        (r"</?[a-zA-Z][^<>]*>", ""),
        (r"(?<!\\)(`+)(.+?)\1", r"\2"),
        (r"(?<![\w\\*])(\*{1,3})(?=\S)([^*]+?)(?<=\S)\1(?![\w*])", r"\2"),
        (r"(?<![\w\\])(_{1,3})(?=\S)([^_]+?)(?<=\S)\1(?!\w)", r"\2"),
        (r"~~(.+?)~~", r"\1"),
        (r"\\([\\`*_{}\[\]()#+.!|<>~-])", r"\1"),
    ]
]
ATX = re.compile(r" {0,3}#{1,6}[ \t]+(.+?)[ \t#]*")
SETEXT = re.compile(r" {0,3}(?:=+|-{2,})\s*")
RULE = re.compile(r"\s*(?:[-*_]\s*){3,}")
DEFINITION = re.compile(r" {0,3}\[[^\]]+\]:.*")
TABLE = re.compile(r"\s*\|.*|\s*:?-{2,}:?\s*\|.*")
ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
QUOTE = re.compile(r"^\s{0,3}>\s?")


def blocks(text: str) -> Iterator[Heading | str]:
    """Headings and paragraphs in their order; an item of a list is a paragraph."""
    text = FENCE.sub("\n", FRONT_MATTER.sub("", text))
    for part in re.split(r"\n\s*?\n", HTML_BLOCK.sub("\n", text)):
        for block in _part(_lines(part)):
            plain = type(block)(_plain(block))
            if plain.strip():
                yield plain


def _lines(part: str) -> list[str]:
    """The lines between two blank lines, without tables, definitions of links and the marks of quotations."""
    lines = [QUOTE.sub("", line) for line in part.strip("\n").split("\n")]
    if re.match(r" {4}|\t", lines[0]) and not ITEM.match(lines[0]):  # code, or what goes on in a list
        return []
    ruled = [i for i, line in enumerate(lines) if TABLE.fullmatch(line) and "--" in line]
    if ruled:  # the line above names the columns, all lines below are rows
        lines = lines[: max(ruled[0] - 1, 0)]
    return [line for line in lines if not TABLE.fullmatch(line) and not DEFINITION.fullmatch(line)]


def _part(lines: list[str]) -> Iterator[Heading | str]:
    """Headings, items and running text of lines that stand together."""
    paragraph: list[str] = []
    for line in lines:
        title = ATX.fullmatch(line)
        if paragraph and SETEXT.fullmatch(line):
            yield Heading(" ".join(paragraph))
            paragraph = []
        elif title:
            yield from (" ".join(paragraph), Heading(title[1]))
            paragraph = []
        elif RULE.fullmatch(line) or ITEM.match(line):
            yield " ".join(paragraph)
            paragraph = [] if RULE.fullmatch(line) else [ITEM.sub("", line, count=1)]
        else:
            paragraph.append(line.strip())
    yield " ".join(paragraph)


def _plain(text: str) -> str:
    for pattern, replacement in INLINE:
        text = pattern.sub(replacement, text)
    return html.unescape(text).strip()
