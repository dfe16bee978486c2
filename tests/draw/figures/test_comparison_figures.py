"""Figures of comparisons: every dot has its name beside it, every claim its verdict."""

from matplotlib.colors import to_hex

from bertlab.draw.figures.comparison import VERDICTS, Claimed, effects, two_measures, verdicts


def test_each_dot_has_its_name_beside_it():
    ax = effects({"next": {"MNLI": 1.0, "SST-2": 0.1}, "size": {"MNLI": 2.5}}, "points ahead").axes[0]
    names = [(text.get_text(), text.xy) for text in ax.texts]
    dots = [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if line.get_marker() == "o"]
    assert [name for name, _ in names] == ["SST-2", "MNLI", "MNLI"]
    assert [place for _, place in names] == dots and len({y for _, y in dots}) == 3


def test_a_claim_has_the_colour_of_its_verdict_and_is_filled_if_it_is_kept():
    kept = Claimed((0.1, 0.05, 0.2), "holds", True, "p = 0.001")
    lost = Claimed((-0.1, -0.2, -0.05), "reversed", False, "p = 0.04")
    ax = verdicts({"size": {"a − b": kept}, "steps": {"[c] − $d$": lost}}, "better − worse").axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["size", "a − b", "steps", "[c] − $d$"]
    dots = [(to_hex(line.get_color()), line.get_markerfacecolor()) for line in ax.lines if line.get_marker() == "o"]
    blue, orange = (to_hex(VERDICTS[name]) for name in ("holds", "reversed"))
    assert [colour for colour, _ in dots] == [blue, orange]
    assert to_hex(dots[0][1]) == blue and dots[1][1] == "white"
    assert {text.get_text() for text in ax.texts} == {"p = 0.001", "p = 0.04"}


def test_models_at_two_measures_are_named_and_lines_go_through_the_first():
    found = {"a $b$": ((3.0, 2.9, 3.1), (0.7, 0.6, 0.8)), "c": ((2.0, 1.9, 2.1), (0.6, 0.5, 0.7))}
    (ax,) = two_measures(found, ("loss", "score"), "a $b$").axes
    assert [(text.get_text(), text.xy) for text in ax.texts] == [("a $b$", (3.0, 0.7)), ("c", (1.9, 0.6))]
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert [dashed[0].get_xdata()[0], dashed[1].get_ydata()[0]] == [3.0, 0.7]


def test_a_name_that_is_moved_has_a_line_to_its_model():
    found = {name: ((3.0, 2.9, 3.1), (0.7, 0.6, 0.8)) for name in "ab"}
    plain, moved = two_measures(found, ("loss", "score"), "a", {"b": (30, -20)}).axes[0].texts
    assert plain.arrow_patch is None and moved.arrow_patch is not None
    assert moved.xyann == (36, -20)
