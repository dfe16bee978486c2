"""Measures in words."""

from bertlab.evaluation.report import measures_table
from bertlab.evaluation.wording import meaning, print_measures, second_label


def test_the_f1_of_two_classes_names_the_class(capsys):
    assert second_label("english-sentiment") == "positive"
    assert meaning("positive_f1", "spam") == "F1 of “spam”" and meaning("macro_f1", "spam") == meaning("macro_f1")
    assert "| F1 of “spam” | 0.500 |" in measures_table({"positive_f1": 0.5}, {}, "spam")
    print_measures({"positive_f1": 0.5}, "spam")
    assert capsys.readouterr().out == "F1 of “spam”  0.500\n"
