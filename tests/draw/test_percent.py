"""One form of percents, in text, charts and tables."""

import re
from pathlib import Path

import pytest

from bertlab.draw.percent import percent, probability, signed

SHOWN = {0: "0%", 0.0002: "< 0.1%", 0.004: "0.4%", 0.01: "1.0%", 0.0994: "9.9%", 0.0996: "10%", 0.181: "18%"}
SHOWN |= {0.994: "99%", 0.996: "> 99%", 0.99999: "> 99%", 1: "100%"}
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("p", SHOWN)
def test_whole_from_ten_on_and_never_all_or_nothing_unless_certain(p):
    assert percent(p) == SHOWN[p]


def test_the_explorer_has_no_other_form():
    """Python's own form would show 99.7% as 100%."""
    files = [*(ROOT / "app").rglob("*.py"), *(ROOT / "bertlab" / "draw" / "charts").glob("*.py")]
    for file in files:
        assert not re.search(r":\.\d%\}|format=\"\.[1-9]%\"", file.read_text(encoding="utf-8")), file


def test_a_difference_has_a_true_minus_and_nothing_has_no_sign():
    assert [signed(x) for x in (0.3, -0.3, -0.001, float("-inf"))] == ["+0.30", "−0.30", "0.00", "−inf"]
    assert [signed(x, ".0%") for x in (0.25, -0.001)] == ["25%", "0%"]


def test_a_probability_reads_well_at_either_end():
    said = [probability(p).replace("\u00a0", " ") for p in (0.18, 0.999, 0.0001)]
    assert said == ["p = 18%", "p > 99%", "p < 0.1%"]
