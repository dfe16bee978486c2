"""The figures of chapter 18."""

from bertlab.draw.figures import project


def test_intervals_share_the_scale_from_0_to_1_and_their_numbers_stay_inside():
    (ax,) = project.intervals({"none": (0, 0, 0), "some": (0.5, 0.4, 0.6), "all": (1, 0.9, 1)}, "share").axes
    assert ax.get_xlim() == (0, 1)
    assert [text.get_position()[0] for text in ax.texts] == [0.15, 0.5, 0.85]
