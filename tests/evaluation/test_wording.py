"""Measures in words."""

from bertlab.evaluation.report import measures_table
from bertlab.evaluation.wording import meaning, print_measures, second_label, with_interval, without_bounds


def test_the_f1_of_two_classes_names_the_class(capsys):
    assert second_label("english-sentiment") == "positive"
    assert meaning("positive_f1", "spam") == "F1 of “spam”" and meaning("macro_f1", "spam") == meaning("macro_f1")
    assert "| F1 of “spam” | 0.500 |" in measures_table({"positive_f1": 0.5}, {}, "spam")
    print_measures({"positive_f1": 0.5}, "spam")
    assert capsys.readouterr().out == "F1 of “spam”  0.500\n"


def test_an_interval_without_a_width_is_left_out():
    """Of three right answers to three questions it would say that the measure is certain."""
    right = {"accuracy": 1.0, "accuracy_low": 1.0, "accuracy_high": 1.0}
    assert with_interval(right, "accuracy") == "1.000"
    assert with_interval(right | {"accuracy_low": 0.5}, "accuracy") == "1.000 (0.500 to 1.000)"
    assert with_interval({"f1:a": 0.5, "f1_low:a": 0.4, "f1_high:a": 0.6}, "f1:a") == "0.500 (0.400 to 0.600)"


def test_a_label_may_end_like_a_bound():
    measures = {"f1": 0.5, "f1_low": 0.4, "f1_high": 0.6, "f1:price_low": 0.5, "f1_low:price_low": 0.4}
    assert without_bounds(measures) == ["f1", "f1:price_low"]
