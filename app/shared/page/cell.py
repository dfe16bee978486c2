"""The notebook cell of a view: the calls that make its picture, with their functions, models and arguments."""

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

import bertlab
from app.shared.model.models import CONTROL, Loaded, control_of
from bertlab.explain.ablation import random_control

FIRST = 3  # arguments that are written without their names: model, tokenizer and text


class Name(str):
    """A variable or another expression of a cell. It stands as it is in the repr of a tuple, list or dict."""

    __repr__ = str.__str__


class Cell:
    """Lines that run as they are in a notebook or script."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {}
        self.lines: list[str] = []
        self.opened: dict[str, tuple[Name, Name]] = {}  # model and tokenizer by the stamp of the model

    def copy(self) -> "Cell":
        return deepcopy(self)

    def use(self, thing: Any) -> Name:
        """Import a function or class."""
        name, parts = thing.__name__, thing.__module__.split(".")
        packages = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
        home = next(each for each in packages if getattr(sys.modules.get(each), name, None) is thing)
        self.imports.setdefault(home, set()).add(name)
        return Name(name)

    def call(self, function: Callable, *arguments, **options) -> Name:
        """Return function(*arguments, **options) as one writes it: without defaults, and what comes late by name."""
        given, signature, late = [], inspect.signature(function), False
        for number, (name, value) in enumerate(signature.bind(*arguments, **options).arguments.items()):
            if repr(value).startswith(f"{type(value).__name__}(") and type(value).__module__ != "builtins":
                self.use(type(value))
            usual = value == signature.parameters[name].default
            late |= usual or number >= FIRST or signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
            if not usual:
                given.append(f"{name}={value!r}" if late else repr(value))
        return Name(f"{self.use(function)}({', '.join(given)})")

    def let(self, name: str, value: Name) -> Name:
        """Add a line that gives a value a name."""
        self.lines.append(f"{name} = {value}")
        return Name(name)

    def open(self, loaded: Loaded) -> tuple[Name, Name]:
        """Add the lines that open a model and its tokenizer, unless they are there."""
        if loaded.stamp not in self.opened:
            trained = self.opened.get(loaded.stamp.removeprefix(CONTROL))
            if loaded.random and trained:
                self.opened[loaded.stamp] = self.let("untrained", self.call(random_control, trained[0])), trained[1]
                return self.opened[loaded.stamp]
            kind = next(kind for kind in type(loaded.model).__mro__ if getattr(bertlab, kind.__name__, None) is kind)
            number = f"_{len(self.opened) + 1}" * bool(self.opened)
            weights = Name(f"{self.use(kind)}.from_pretrained({loaded.source!r})")
            model = self.let(f"model{number}", self.call(random_control, weights) if loaded.random else weights)
            tokenizer = Name(f"{self.use(bertlab.Tokenizer)}.from_pretrained({loaded.source!r})")
            self.opened[loaded.stamp] = model, self.let(f"tok{number}", tokenizer)
        return self.opened[loaded.stamp]

    def made(self, name: str, function: Callable, loaded: Loaded, *arguments, **options) -> Name:
        """Add a line that computes function(model, tokenizer, *arguments)."""
        return self.let(name, self.call(function, *self.open(loaded), *arguments, **options))

    def both(self, function: Callable, loaded: Loaded, *arguments) -> list[Name]:
        """Add the line for a model, and the one for the same architecture with random weights."""
        control = control_of(loaded)
        return [self.made(name, function, one, *arguments) for name, one in (("found", loaded), ("control", control))]

    def each(self, function: Callable, asked: Mapping[str, tuple], rows: bool = False, **options) -> dict[str, Name]:
        """Add a line for each of several models: `asked` has for each the model and the other arguments."""
        made = self.rows if rows else self.made
        return {name: made(f"found_{n}", function, *each, **options) for n, (name, each) in enumerate(asked.items(), 1)}

    def rows(self, name: str, function: Callable, loaded: Loaded, *arguments, **options) -> Name:
        """The same for a function that yields rows."""
        return self.let(name, Name(f"list({self.call(function, *self.open(loaded), *arguments, **options)})"))

    def shows(self, value: Name) -> str:
        """Return the cell, whose last line is what a notebook shows below it."""
        imports = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(self.imports.items())]
        return "\n".join([*imports, "", *self.lines, value])

    def beside(self, charts: Iterable[Name]) -> str:
        """Return the cell of charts that stand side by side."""
        self.imports.setdefault("altair", set()).add("hconcat")
        return self.shows(Name(f"hconcat({', '.join(charts)})"))

    def html(self, value: Name) -> str:
        """Return the cell of a value that is HTML."""
        self.imports.setdefault("IPython.display", set()).add("HTML")
        return self.shows(Name(f"HTML({value})"))

    def picture(self, function: Callable, *arguments, **options) -> str:
        """Return the cell that shows what a function draws."""
        return self.shows(self.call(function, *arguments, **options))
