"""The figures of probes show what they were given."""

from bertlab.draw.figures import probes as figures
from bertlab.explain.probes import Probed

LAYERS = [Probed(0.9, 0.4, 0.3), Probed(0.8, 0.5, 0.3)]


def test_panels_show_accuracy_and_control():
    drawn = figures.layer_panels({"kind": {"one": LAYERS, "two": LAYERS[::-1]}, "$next": {"one": LAYERS}})
    solid, dashed, *_ = drawn.axes[0].lines
    assert list(solid.get_ydata()) == [0.9, 0.8] and list(dashed.get_ydata()) == [0.4, 0.5]


def test_the_map_has_the_largest_gain_of_each_row_in_bold_and_zero_has_no_sign():
    texts = (
        figures.property_map({"kind": [0.1, -0.4], "next": [-0.001, 0.9], "none": [0.04, -0.2]}, "gain").axes[0].texts
    )
    assert [text.get_text() for text in texts] == ["+0.10", "−0.40", "0.00", "+0.90", "+0.04", "−0.20"]
    assert [text.get_weight() for text in texts] == ["bold", "normal", "normal", "bold", "normal", "normal"]


def test_bars_are_means():
    drawn = figures.effect_bars({"a": {"x": [1.0, 3.0], "random token": [0.5, 0.5]}}, "lost")
    assert [bar.get_width() for bar in drawn.axes[0].patches] == [2.0, 0.5]
