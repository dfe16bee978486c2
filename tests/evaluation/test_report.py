"""Reports: everything measured is in them, and a user's text stays text."""

import itertools
import re
import warnings
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bertlab.draw.figures.base import WIDTH
from bertlab.draw.figures.tasks.report import confusion_heatmap, training_curves
from bertlab.errors import InputError
from bertlab.evaluation.card import write_card
from bertlab.evaluation.report import CONTROL, REST, confusion_counts, plain, worst, write_report
from bertlab.tasks.base import Compared

MEASURES = {"accuracy": 0.9, "accuracy_low": 0.85, "accuracy_high": 0.95, "f1:per|son": 0.5, "unheard_of": 3.0}
ROWS = [{"step": step, "class_loss": 1 / step, "learning_rate": 1e-4} for step in (10, 20)]
EVALUATIONS = [MEASURES | {"step": step} for step in (10, 20)]
PAIRS = [("no", "no"), ("no", "yes"), ("yes", "yes")]
COMPARISONS = [Compared(f"{n}", f"text {n}", "no", "yes" if n % 2 else "no", n / 10) for n in range(1, 60)]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def table(text: str, first: str) -> list[list[str]]:
    """The rows of the table whose head begins with `first`."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows = [*lines[start:], ""]
    return [cells(line) for line in rows[: rows.index("")]]


def test_a_whole_report(tmp_path):
    options = {"rows": ROWS, "evaluations": EVALUATIONS, "confusions": PAIRS, "comparisons": COMPARISONS}
    baselines = {"always “no”": {"accuracy": 0.6}}
    write_report(tmp_path / "run", "A title", MEASURES, **options, baselines=baselines, notes=["A *note*."])
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"report.md", "curves.png", "confusions.png"}
    text = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# A title\n\nA *note*.\n\n| measure |")
    head, _, accuracy, person, unknown = table(text, "measure")
    assert head == ["measure", "value", "95% interval", "always “no”"]
    assert accuracy == ["accuracy", "0.900", "0.850 to 0.950", "0.600"]
    assert person[:2] == [r"per\|son: F1", "0.500"] and unknown[:2] == [r"unheard\_of", "3.000"]
    assert table(text, r"right \\ predicted")[2:] == [["no", "1", "1"], ["yes", "0", "1"]]
    rows = table(text, "example")[2:]
    assert len(rows) == 20 and rows[0] == ["59", "text 59", "no", "yes", "5.90"]
    assert "](curves.png)" in text and "](confusions.png)" in text


def test_how_often_a_classifier_is_wrong_when_it_is_so_sure(tmp_path):
    sure = [Compared(f"{n}", "a", "no", "yes" if n == 3 else "no", 0.1, 0.97) for n in range(10)]
    write_report(tmp_path, "A title", MEASURES, comparisons=sure)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert table(text, "probability of the prediction")[2:] == [["95 to 99%", "10", "10%"]]
    assert (tmp_path / "calibration.json").is_file()


def test_what_there_is_nothing_for_is_left_out(tmp_path):
    write_report(tmp_path, "A title", {"rmse": 0.5}, comparisons=[Compared("1", "a", "x", "x", 0.0)])
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]
    assert "##" not in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_a_run_folder_keeps_what_it_holds(tmp_path):
    (tmp_path / "metrics.csv").write_text("step\n")
    for title in ("First", "Second"):
        write_report(tmp_path, title, MEASURES, rows=ROWS)
    assert {path.name for path in tmp_path.iterdir()} == {"metrics.csv", "report.md", "curves.png"}
    assert (tmp_path / "report.md").read_text(encoding="utf-8").startswith("# Second")


def test_a_report_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        write_report(tmp_path / "file" / "run", "A title", MEASURES)


def test_nothing_is_left_of_a_report_that_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: 1 / 0)  # after the figures are written
    with pytest.raises(ZeroDivisionError):
        write_report(tmp_path / "run", "A title", MEASURES, rows=ROWS)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text, shown",
    [
        ("a | b", r"a \| b"),
        ("two\nlines\r\n\tand\u2028more", "two lines and more"),
        ("<script>&", "&lt;script&gt;&amp;"),
        ("*a* _b_ `c` [d](e) ![f](g)", r"\*a\* \_b\_ \`c\` \[d\](e) !\[f\](g)"),
        ("~~a~~ $x$ \\|", r"\~\~a\~\~ \$x\$ \\\|"),
        ("http://a.b www.a.b me@a.b", r"http\://a.b www\.a.b me\@a.b"),
        ("red\x1b[31m\x00\u202e", r"red \[31m"),
        ("half \ud83d", "half"),
        ("Käse 奶酪 🧀", "Käse 奶酪 🧀"),
    ],
)
def test_text_stays_text(text, shown):
    assert plain(text) == shown


@given(st.text(st.characters() | st.sampled_from("\\\\`*_[]()<>|~&#!\n http:/"), max_size=60))
def test_markdown_shows_any_text_as_it_is(text):
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    page = reader.render(f"| a | b |\n| --- | --- |\n| {plain(text)} | c |\n")
    found = re.search(r"<tbody>\s*<tr>\s*<td>([^<]*)</td>\s*<td>c</td>\s*</tr>\s*</tbody>", page)
    assert unescape(found[1]).split() == CONTROL.sub(" ", text).split()


def test_long_texts_show_both_ends():
    shown = plain("first " + "word " * 200 + "last")
    assert shown.startswith("first word") and shown.endswith("word last") and len(shown) < 260 and " … " in shown


def test_the_worst_are_wrong_and_in_order():
    found = worst(COMPARISONS)
    assert [one.id for one in found] == [f"{n}" for n in range(59, 19, -2)]


def test_rare_labels_are_counted_together():
    pairs = [(f"label {n}", f"label {n}") for n in range(20) for _ in range(30 - n)] + [("label 0", "label 19")]
    labels, counts = confusion_counts(pairs)
    assert labels == [*(f"label {n}" for n in range(12)), REST] and counts.sum() == len(pairs)
    assert counts[0, 0] == 30 and counts[0, 12] == 1 and counts[12, 12] == sum(30 - n for n in range(12, 20))


@given(st.lists(st.tuples(*[st.integers(0, 30).map(str)] * 2), min_size=1))
def test_every_pair_is_counted_once(pairs):
    labels, counts = confusion_counts(pairs)
    assert counts.sum() == len(pairs) and counts.shape == (len(labels),) * 2 and len(labels) <= 13
    kept = [(right, said) for right, said in pairs if {right, said} <= set(labels)]
    for right, said in kept:
        assert counts[labels.index(right), labels.index(said)] == kept.count((right, said))


def drawn(figure) -> tuple[int, int]:
    """Width and height in pixels, after drawing it; nothing that is written may leave it."""
    figure.draw_without_rendering()
    for ax in figure.axes:
        box = ax.get_tightbbox()
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
    return tuple(figure.canvas.get_width_height())


@pytest.mark.parametrize("size", [1, 2, 3, 6, 13])
@pytest.mark.parametrize("name", ["{}", "a $label$ of many words, number {}"])
def test_heat_maps_have_room_for_every_label(size, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a layout that does not fit
        counts = np.arange(size * size).reshape(size, size) * 10_007
        figure = confusion_heatmap([name.format(n) for n in range(size)], counts)
        width, height = drawn(figure)
    assert width == 100 * WIDTH and height <= width
    ax = figure.axes[0]
    for texts in (ax.get_xticklabels(), ax.get_yticklabels(), ax.texts):
        assert not overlapping([text.get_window_extent() for text in texts])


def overlapping(boxes: list) -> bool:
    return any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


@pytest.mark.parametrize("rows, evaluations", [(ROWS, EVALUATIONS), (ROWS, []), ([], EVALUATIONS), (ROWS[:1], [])])
def test_curves(rows, evaluations):
    figure = training_curves(rows, evaluations)
    assert drawn(figure)[0] == 100 * WIDTH and len(figure.axes) == bool(rows) + bool(evaluations)
    if rows:
        assert figure.axes[0].lines[0].get_ydata() == pytest.approx([row["class_loss"] for row in rows])
    if evaluations:
        assert [line.get_label() for line in figure.axes[-1].lines] == ["accuracy"]  # the one share of all classes


def test_letters_without_a_glyph_pass_in_silence(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_report(tmp_path, "奶酪", MEASURES, confusions=[("奶酪", "奶\u0001酪")])


def test_a_card_shows_any_label_in_its_cell(tmp_path):
    write_card(tmp_path, "run", "About.", {"seed": 0}, {"positive_f1": 0.5}, 1.0, "bertlab", second="yes|no")
    tokens = MarkdownIt("commonmark").enable("table").parse((tmp_path / "README.md").read_text())
    assert [token.content for token in tokens if token.type == "inline"].count("F1 of “yes|no”") == 1
