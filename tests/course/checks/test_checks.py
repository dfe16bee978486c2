"""Every checker passes a right answer and names the mistake of each known wrong one."""

import pytest

from bertlab import course
from bertlab.course import (
    Mistake,
    check_tagging,
)
from bertlab.course.chapters import EXERCISES

# Exercises not begun


def stub(*args):
    raise NotImplementedError


BESIDE = {  # what they take beside one function
    check_tagging: stub,
}
CHECKERS = [getattr(course, name) for name in course.__all__ if name.startswith("check_") and name not in EXERCISES]


@pytest.mark.parametrize("check", CHECKERS, ids=lambda check: check.__name__)
def test_an_exercise_not_begun(check):
    beside = [BESIDE[check]] if check in BESIDE else []
    with pytest.raises(Mistake, match="write your code in place of"):
        check(stub, *beside)
