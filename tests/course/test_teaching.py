"""The syllabus of docs/teaching.md: its minutes are those of the chapters, its sums are sums."""

import re
from pathlib import Path

from bertlab.course.marks import read_marks

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
CHAPTERS = {f"{chapter.name}.ipynb": chapter for chapter in read_marks(ROOT / "notebooks")}
LINK = r"\[[^]]+\]\(\.\./notebooks/([^)]+)\)"


def minutes(name: str, exercises: list[int] | None = None) -> int:
    """Those of some exercises of a chapter, or of all."""
    each = CHAPTERS[name].exercises
    assert exercises is None or set(exercises) <= {one.number for one in each}, name
    return sum(one.minutes for one in each if exercises is None or one.number in exercises)


def test_day_and_week_add_up():
    rows = re.findall(rf"^\| (?:{LINK}|\*\*(.+?)\*\*) \| ([\d, ]*|none) ?\| \*{{0,2}}(\d+)\*{{0,2}} \|$", TEXT, re.M)
    total, sums = 0, {}
    for name, label, exercises, given in rows:
        if label:
            sums[label] = int(given)
            assert int(given) == total, label
            total = 0
        else:
            numbers = [int(number) for number in re.findall(r"\d+", exercises)]
            assert int(given) == CHAPTERS[name].minutes[1] + minutes(name, numbers), name
            total += int(given)
    assert list(sums) == ["one day", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
    assert sums["one day"] <= 360 and max(sums.values()) <= 360


def test_the_course_home_gives_the_hours_of_each_part():
    home = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    parts = re.findall(r"\((?:chapters )?(\d\d) to (\d\d), about (\d+) hours\)", home)
    assert len(parts) >= 2
    for first, last, hours in parts:
        whole = sum(chapter.minutes[0] for name, chapter in CHAPTERS.items() if first <= name[:2] <= last)
        assert abs(whole / 60 - int(hours)) <= 0.5, (first, last, whole)
    hurry = sum(CHAPTERS[name].minutes[1] for name in CHAPTERS if name[:2] in ("00", "04", "05", "06"))
    assert f"the heart of it, {hurry} minutes without the exercises" in home


def test_term_adds_up():
    rows = re.findall(rf"^\| (\d+) \| {LINK} \| (\d+) \| (\d+) \|$", TEXT, re.M)
    assert [int(week) for week, *_ in rows] == list(range(1, len(rows) + 1)) and len(rows) >= 14
    for _, name, in_class, at_home in rows:
        assert (int(in_class), int(at_home)) == (CHAPTERS[name].minutes[1], minutes(name)), name
    (total,) = re.findall(r"^\| \*\*(\d+) weeks\*\* \| \| \*\*(\d+)\*\* \| \*\*(\d+)\*\* \|$", TEXT, re.M)
    assert tuple(map(int, total)) == (len(rows), *(sum(int(row[n]) for row in rows) for n in (2, 3)))
