"""What the tests of a chapter's checkers share: right answers pass, each known wrong one is told its mistake."""

import re
from collections.abc import Callable, Iterable, Mapping

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


def otherwise_test(cases: Iterable[tuple[Callable, Callable]]):
    """A test that checkers accept right answers written another way than the course's: (checker, answer)."""

    @pytest.mark.parametrize(("check", "answer"), cases)
    def test_a_right_answer_written_another_way_passes(check, answer):
        check(answer)

    return test_a_right_answer_written_another_way_passes


def not_begun_test(checks: Iterable[Callable]):
    """A test that each checker calls an exercise not yet begun what it is."""

    @pytest.mark.parametrize("check", checks)
    def test_what_is_not_begun_is_called_so(check):
        def empty(*given):
            raise NotImplementedError

        with pytest.raises(Mistake, match="write your code"):
            check(empty)

    return test_what_is_not_begun_is_called_so
