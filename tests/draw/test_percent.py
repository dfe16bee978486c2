"""One form of percents, in text and in the bars of a table."""

import pytest

from bertlab.draw.percent import in_percent, percent

SHOWN = {0: "0%", 0.0002: "< 0.1%", 0.004: "0.4%", 0.01: "1.0%", 0.0994: "9.9%", 0.0996: "10%", 0.181: "18%"}
SHOWN |= {0.994: "99%", 0.996: "> 99%", 0.99999: "> 99%", 1: "100%"}


@pytest.mark.parametrize("p", SHOWN)
def test_whole_from_ten_on_and_never_all_or_nothing_unless_certain(p):
    assert percent(p) == SHOWN[p]


@pytest.mark.parametrize("p", [p for p in SHOWN if p != 0.0002])
def test_a_bar_has_the_same_figure(p):
    assert in_percent(p) == float(SHOWN[p].strip("> %"))
