"""Stories: guided tours of the explorer, each a TOML file whose stations are links into its pages."""

import tomllib
from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from bertlab.errors import InputError, brief
from bertlab.io.files import read_text

MOST_BYTES = 200_000


@dataclass(frozen=True)
class Station:
    """One station: the address of a page, and what it tells the reader there, as Markdown."""

    title: str
    link: str
    look: str
    means: str
    control: str

    @property
    def page(self) -> str:
        """The folder of the page; "" for the first page, which has no name in its address."""
        return urlsplit(self.link).path.strip("/")

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What the link says after the question mark, as (key, value): text, model, head ..."""
        return parse_qsl(urlsplit(self.link).query, keep_blank_values=True)


@dataclass(frozen=True)
class Story:
    """A tour; `about` says in a sentence what one finds out."""

    title: str
    about: str
    stations: tuple[Station, ...]


def read_stories(folder: Path, pages: Collection[str]) -> dict[str, Story]:
    """Return the stories of a folder by the names of their files, in the order of these; see read_story."""
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise InputError(f"{folder}: holds no story; each is a file NAME.toml (docs/explorer.md says how to write one)")
    return {path.stem: read_story(path, pages) for path in paths}


def read_story(path: Path, pages: Collection[str]) -> Story:
    """Return the story in a file. `pages` are the addresses of the explorer's pages, "" that of the first.

    InputError names file, station (from 1) and key where one is missing, unknown, no text, or no link into a page.
    """
    try:
        values = tomllib.loads(read_text(path, MOST_BYTES))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: no TOML: {error}") from error
    stations = values.pop("station", None)
    if not isinstance(stations, list) or not stations:
        raise InputError(f"{path}: station: give one or more, each under a line [[station]]")
    described = texts(values, {"title", "about"}, str(path))
    return Story(
        **described, stations=tuple(_station(each, f"{path}: station {n}", pages) for n, each in enumerate(stations, 1))
    )


def texts(values: Any, wanted: Collection[str], where: str) -> dict[str, str]:
    """Return the values of a table that has just the `wanted` keys, all of them with a text."""
    if not isinstance(values, dict):
        raise InputError(f"{where}: must be a table: write [[station]] above its keys")
    if unknown := values.keys() - wanted:
        raise InputError(f"{where}: {min(unknown)}: no such key; there are {', '.join(sorted(wanted))}")
    for key in sorted(wanted):
        if not isinstance(values.get(key), str) or not values[key].strip():
            found = f"not {brief(values[key], 40)}" if key in values else "it is missing"
            raise InputError(f"{where}: {key}: give a text in quotes, {found}")
    return {key: value.strip() for key, value in values.items()}


def _station(values: Any, where: str, pages: Collection[str]) -> Station:
    station = Station(**texts(values, {field.name for field in fields(Station)}, where))
    if station.page not in pages:
        known = ", ".join(filter(None, pages))
        raise InputError(f"{where}: link: no page {brief(station.page, 40)}: copy the address of one ({known})")
    return station
