"""The betting panel: it hides what was measured until asked, and then judges every two neighbours of the order."""

import numpy as np

from bertlab.compare.experiment import Result
from bertlab.compare.report import Comparison
from bertlab.compare.tables import TABLES
from bertlab.course.panels import bets_panel

RIGHT = {"BERT": 180, "masked words only": 179, "left to right": 90}


def comparison(name: str, right: dict[str, int], task: str = "qa") -> Comparison:
    def result(learner: str, seed: int) -> Result:
        hits = np.random.default_rng(seed).permutation(200) < right[learner]
        scores = np.stack([hits, np.ones(200)], -1).astype(float)
        return Result(learner, task, seed, "f1", scores, 0.3, {}, 1e-3, 1.0)

    return Comparison(name, TABLES[name], [result(learner, seed) for seed in range(3) for learner in right], "<Toys>.")


def panel():
    size = {"2 layers of 64": 100, "2 layers of 128": 150}
    return bets_panel({"objectives": comparison("objectives", RIGHT), "size": comparison("size", size)})


def test_a_bet_is_judged_when_asked():
    table, order, shown, html = panel().children
    assert "What of BERT&#x27;s objective matters?" in html.value and "0.9" not in html.value
    order.value = ["left to right", "BERT", "masked words only"]
    shown.value = True
    assert "the other way round 1" in html.value.replace("reversed", "the other way round")
    assert "holds 0, reversed 1, cannot tell 1 (3 seeds)" in html.value
    assert "0.900" in html.value and "&lt;Toys&gt;" in html.value
    assert "BERT (88.1), masked words only (87.2), left to right (82.8)" in html.value  # the paper's means


def test_another_table_begins_anew_and_a_short_order_is_refused():
    table, order, shown, html = panel().children
    shown.value = True
    table.value = "size"
    assert list(order.value) == ["2 layers of 64", "2 layers of 128"] and not shown.value
    assert "Do larger models help small tasks?" in html.value
    order.value = ["2 layers of 64"]
    assert "your order lacks 2 layers of 128" in html.value


def test_bets_stand_in_without_a_kernel():
    bundle = panel()._repr_mimebundle_()
    assert "best first" in bundle["text/html"] and "0x" not in bundle["text/plain"]
