import math

import pytest

from bertlab.draw.charts import masking as masking_charts
from bertlab.draw.charts.base import png, svg
from bertlab.draw.palette import GREEN, PINK
from bertlab.explain.words.fill import Fill
from bertlab.explain.words.lens import Lens
from bertlab.explain.words.masking import Guess
from bertlab.explain.words.next_sentence import NextSentence
from bertlab.explain.words.surprisal import Surprisal

FILLS = [Fill(1, ["b", "'</script>"], [0.6, 0.3], 0.9), Fill(1, ["a", "b"], [0.7, 0.2], 0.8)]
LENS = Lens(1, FILLS, "a", [0.05, 0.7], [7, 1])
CONTROL = Lens(1, FILLS, "b", [0.01, 0.02], [1, 1])
ROWS = [Surprisal(1, "a", 0.5, 1, FILLS[1]), Surprisal(3, "a", 9.0, 80, FILLS[0])]
GUESSES = [Guess(2, 1, "a", "[MASK]", "b", math.exp(-2), 3, 2.0), Guess(5, 3, "a", "a", "a", 1.0, 1, 0.0)]
ACTIONS = ["", "masked", "random", "kept"]
VERDICTS = {"mine": [NextSentence("a", "b", 0.9, 2.2), NextSentence("b", "a", 0.4, -0.4)]}


@pytest.mark.parametrize(
    "chart",
    [
        masking_charts.lens_grid(LENS),
        masking_charts.lens_probability(LENS, CONTROL),
        masking_charts.surprisal_bars(ROWS, 100),
        masking_charts.verdict_bars(VERDICTS),
    ],
)
def test_every_chart_becomes_a_picture(chart):
    assert png(chart, scale=1).startswith(b"\x89PNG")
    assert svg(chart).startswith(b"<svg")


def test_the_table_of_the_lens():
    table = masking_charts.lens_table(LENS)
    assert list(table["layer"]) == [0, 0, 1, 1] and list(table["guess"]) == [1, 2, 1, 2]
    assert list(table["token"]) == ["b", "'</script>", "a", "b"]
    assert list(table["rank of answer"]) == [7, 7, 1, 1] and list(table["p(answer)"]) == [0.05, 0.05, 0.7, 0.7]


def test_the_course_of_the_answer_beside_that_of_the_control():
    table = masking_charts.lens_course(LENS, CONTROL).set_index(["weights", "layer"])
    assert list(table.loc["this model", "rank"]) == [7, 1] and set(table.loc["this model", "answer"]) == {"a"}
    assert list(table.loc["random weights", "probability"]) == [0.01, 0.02]


def test_the_table_of_surprisals():
    table = masking_charts.sweep_table(ROWS)
    assert list(table["position"]) == [1, 3] and list(table["rank"]) == [1, 80]
    assert list(table["probability"]) == pytest.approx([math.exp(-0.5), math.exp(-9)])
    assert list(table["guess"]) == ["a", "b"] and list(table["entropy"]) == [0.8, 0.9]


def test_the_table_of_losses():
    table = masking_charts.loss_table(GUESSES, ACTIONS)
    assert list(table["loss"]) == [2.0, 0.0] and list(table["action"]) == ["masked", "kept"]
    drawn = masking_charts.surprisal_bars(ROWS, 100).to_dict()
    assert f"{math.log(100):.1f}" in drawn["title"]["text"]
    assert any([{"nats": math.log(100)}] == data for data in drawn["datasets"].values())


def test_the_table_of_verdicts():
    table = masking_charts.verdict_table(VERDICTS)
    assert list(table["order"]) == ["as written", "texts swapped"] and list(table["probability"]) == [0.9, 0.4]
    assert list(table["first"]) == ["a", "b"]


def test_guesses_below_their_texts_with_marked_ones():
    fills = {"my [MASK]": Fill(1, ["a"], [0.7], 0.8), "his [MASK]": Fill(1, ["b"], [0.7], 0.8)}
    plain = svg(masking_charts.titled_panels(fills, "of a model")).decode()
    assert PINK not in plain and GREEN not in plain and "his ____" in plain and "of a model" in plain
    drawn = svg(masking_charts.titled_panels(fills, "of a model", [None, "b"], {"a"})).decode()
    assert PINK in drawn and GREEN in drawn
