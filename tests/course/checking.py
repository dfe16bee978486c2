"""What the tests of a chapter's checkers share: right answers pass, each known wrong one is told its mistake."""

import re
from collections.abc import Callable, Mapping

import pytest

from bertlab.course import Mistake


def named(value) -> str:
    """The id of a parameter: without an address, which would differ from process to process."""
    return getattr(value, "__name__", str(value))


def checker_tests(right: Mapping[Callable, Callable], mistakes: Mapping[Callable, Mapping[str, Callable]]):
    """Two tests, from the right answer for each checker and, by words of its message, the wrong ones."""

    @pytest.mark.parametrize("check", right, ids=named)
    def test_right_answer_passes(check, capsys):
        check(right[check])
        assert capsys.readouterr().out.startswith("Right")

    @pytest.mark.parametrize(
        ("check", "words"), [(check, words) for check, wrong in mistakes.items() for words in wrong], ids=named
    )
    def test_mistake_is_named(check, words):
        with pytest.raises(Mistake, match=re.escape(words)):
            check(mistakes[check][words])

    return test_right_answer_passes, test_mistake_is_named
