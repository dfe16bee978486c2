"""A panel of names: a text of one's own, and the names that each tagger finds in it."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

from bertlab.course.panels.base import Panel, line, panel
from bertlab.draw.html.marked import marked_names
from bertlab.errors import InputError
from bertlab.explain.labels import Name
from bertlab.explain.text import clean
from bertlab.tasks.token import entities, words_of

Tagger = Callable[[list[str]], Sequence[str]]  # words -> a label for each


def names_panel(taggers: Mapping[str, Tagger], tokenizer, text: str) -> Panel:
    """A line of text, and below it the same text once for each tagger, with the names that it finds marked."""

    def show(text: str) -> str:
        return "".join(names_html(title, tagger, tokenizer, clean(text)) for title, tagger in taggers.items())

    return panel(show, text=line("text", text))


def names_html(title: str, tagger: Tagger, tokenizer, text: str) -> str:
    """The text with its names marked, each with its kind; raises InputError when it is empty."""
    spans = words_of(text, tokenizer)
    if not spans:
        raise InputError("the text is empty: write at least one word")
    words = [text[start:stop] for start, stop in spans]
    found = entities(words, tagger(words))
    names = [Name(spans[one.first][0], spans[one.last][1], one.kind) for one in found]
    kinds = sorted({"person", "pet", "place"} | {name.kind for name in names})
    return f"<p><b>{escape(title)}</b></p>{marked_names(text, names, kinds)}"
