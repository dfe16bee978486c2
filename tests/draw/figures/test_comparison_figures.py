"""In the figure of differences each dot has its name, those of close dots in the order of the dots."""

from bertlab.draw.figures.comparison import effects


def test_each_dot_is_named_in_the_order_of_the_dots():
    drawn = effects({"next sentence": {"MNLI": 1.0, "QNLI": 3.5, "MRPC": 0.2, "SST-2": 0.1}}, "points ahead")
    names = {text.get_text(): text.xy for text in drawn.axes[0].texts}
    assert names == {"SST-2\nMRPC": (0.2, 0), "MNLI": (1.0, 0), "QNLI": (3.5, 0)}
