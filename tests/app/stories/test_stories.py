"""Every claim of every story, computed again on the models that its link opens; and what following a story is like."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from pages import TINY, boxes, fine, one_of_each, opened, said
from story_claims import CLAIMS
from story_measures import chosen

from app.explore import ADDRESSES, FIRST
from app.shared.page.stories import BUNDLED, address
from bertlab.io.stories import read_stories

STORIES = read_stories(BUNDLED, ADDRESSES)
STATIONS = {(name, n): one for name, story in STORIES.items() for n, one in enumerate(story.stations, 1)}
FIGURE = re.compile(r"(> )?(\d+(?:\.\d+)?)(%| nats)")


def test_every_station_has_its_claims():
    assert {name: len(story.stations) for name, story in STORIES.items()} == {n: len(c) for n, c in CLAIMS.items()}


@pytest.mark.usefixtures("every_point")
@pytest.mark.parametrize(("name", "number"), STATIONS)
def test_the_figures_of_a_station_are_those_of_its_models(name, number):
    station = STATIONS[name, number]
    written = FIGURE.findall(f"{station.look} {station.means} {station.control}")
    computed = CLAIMS[name][number - 1](station)
    assert len(written) == len(computed)
    for value, (more, figure, unit) in zip(computed, written, strict=True):
        assert float(figure) == pytest.approx(value, abs=0.1 if "." in figure or unit != "%" else 1.0), written
        assert (figure == "100") <= (value == 100) and bool(more) <= (99 < value < 100), (value, written)
        assert unit != "%" or not 99.6 < value < 100 or more, (value, written)  # as the pages show it


def one_station_of_each_link() -> list[tuple[str, int]]:
    links = {key: (station.page or FIRST, chosen(station)) for key, station in STATIONS.items()}
    kept = one_of_each(links.values())
    return [key for key, link in links.items() if link in kept]


@pytest.mark.parametrize(("name", "number"), one_station_of_each_link())
def test_a_link_of_a_story_opens_its_page_with_every_choice(name, number):
    station = STATIONS[name, number]
    app = opened(station.page or FIRST, **chosen(station), story=f"{name}/{number}")
    assert fine(app), said(app)
    assert station.means in said(app).replace("**What it means.** ", "") and station.control in said(app)
    for key, value in chosen(station).items():
        found = app.session_state[key] if key in app.session_state else None
        if isinstance(found, str | list):
            assert found == ([value] if isinstance(found, list) and isinstance(value, str) else value)
    # a page that wrote its address otherwise would add an entry to the browser's history
    asked = parse_qs(urlsplit(address(name, STORIES[name], number)).query)
    assert {key: [value] if isinstance(value, str) else value for key, value in app.query_params.items()} == asked


def test_without_a_story_nothing_of_it_is_seen_and_one_can_leave_it():
    names = [element.key for element in opened("stories").button]
    assert "leave story" not in names
    app = opened("attention", model=TINY, story="10-break-it/1")  # a page, but not that of the link's text
    assert fine(app) and "Shuffle the words" in said(app)
    app.switch_page("views/tasks/page.py").run()
    assert fine(app) and "Shuffle the words" in said(app) and STATIONS["10-break-it", 1].look not in said(app)
    app.button(key="leave story").click().run()
    assert fine(app) and "Shuffle the words" not in said(app) and "story" not in app.query_params
    for odd in ("nothing/1", "10-break-it/7", "10-break-it/0", "10-break-it/²", "10-break-it", "../x/1"):
        app = opened("stories", story=odd)
        assert fine(app) and "leave story" not in [element.key for element in app.button]


GOOD = """title = "T"
about = "A"
[[station]]
title = "S"
link = "http://localhost:8501/tasks?text=a"
look = "L"
means = "M"
control = "C"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "T"', "", "my.toml: title: give a text in quotes, it is missing"),
        ('about = "A"', "about = 3", "my.toml: about: give a text in quotes, not 3"),
        (
            'look = "L"',
            'lok = "L"',
            "my.toml: station 1: lok: no such key; there are control, link, look, means, title",
        ),
        ('control = "C"', 'control = " "', "my.toml: station 1: control: give a text in quotes"),
        (
            "tasks?",
            "taks?",
            "my.toml: station 1: link: no page 'taks': copy the address of one (attention",
        ),
        ("[[station]]", "[station]", "my.toml: station: give one or more"),
        ('"M"', '"M', "my.toml: no TOML: Illegal character '\\n' (at line 7, column 11)"),
    ],
)
def test_a_bad_file_gets_one_line_with_file_and_key(old, new, message, tmp_path, monkeypatch, capsys):
    from bertlab.cli.main import main

    (tmp_path / "my.toml").write_text(GOOD)
    assert read_stories(tmp_path, ADDRESSES)["my"].stations[0].page == "tasks"
    (tmp_path / "my.toml").write_text(GOOD.replace(old, new))
    monkeypatch.setattr("sys.argv", ["bertlab", "explore", "--stories", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    error = capsys.readouterr().err.strip()
    assert ended.value.code == 2 and "\n" not in error
    assert message.partition(" (attention")[0] in error


def test_a_teachers_story_is_offered_and_followed_and_a_bad_file_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTLAB_STORIES", str(tmp_path))
    (tmp_path / "my.toml").write_text(GOOD.replace('about = "A"', "about = 3"))
    assert "my.toml: about" in boxes(opened("stories"))
    (tmp_path / "my.toml").write_text(GOOD.replace('"T"', '"Our own"'))
    assert "Our own" in said(opened("stories"))
    app = opened("tasks", story="my/1", text="a")
    assert fine(app) and "Our own · 1 of 1" in said(app)
