"""Formulas as MathML, which browsers draw themselves: no JavaScript, no fonts, no requests. An extension of Sphinx."""

from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def inline(translator: Any, node: Any) -> None:
    translator.body.append(convert(node.astext()))
    raise SkipNode


def block(translator: Any, node: Any) -> None:
    translator.body.append(convert(node.astext(), display="block"))
    raise SkipNode


def setup(app: Any) -> dict:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
