"""Every exercise passes its reference, names each slip by its own sentence, and refuses general mutations."""

import re

import pytest
import torch

from bertlab.course import Mistake, own_or_solution
from bertlab.course.chapters import EXERCISES
from tests.course.mutants import OutOfTime, effective, mutants, time_limit

each_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)


@each_exercise
def test_the_reference_passes_and_leaves_the_generator_alone(exercise, capsys):
    state = torch.get_rng_state()
    exercise(*exercise.references, *exercise.sample())
    assert capsys.readouterr().out.startswith("Right")
    assert torch.equal(torch.get_rng_state(), state)
    stopped = [observed for observed in exercise.outcome(exercise.references, exercise.sample()) if "stops" in observed]
    assert stopped == [], "a case that stops the reference would be right for whoever stops there as well"


@each_exercise
def test_each_slip_is_refused_with_its_own_sentence(exercise):
    told = {}
    for number, (sentence, *_) in enumerate(exercise.slips):
        with pytest.raises(Mistake) as found:
            exercise(*exercise.slip(number), *exercise.sample())
        told[sentence] = str(found.value)
    assert told == {sentence: sentence for sentence in told}


@each_exercise
def test_general_mutations_are_refused_or_the_record_says_why_not(exercise):
    survivors = []
    for name, program in mutants(exercise):
        effective.clear()
        try:
            with time_limit(2):
                exercise(*program, *exercise.sample())
        except (Exception, OutOfTime):  # a Mistake, or what the mutant itself raises
            continue
        if effective or name.startswith("off by one"):
            survivors.append(name)
    unexplained = [name for name in survivors if not any(part in name for part in exercise.spared)]
    assert unexplained == []
    assert [part for part in exercise.spared if not any(part in name for name in survivors)] == []


@each_exercise
def test_an_exercise_not_begun_is_called_so(exercise):
    def empty(*given, **named):
        raise NotImplementedError

    with pytest.raises(Mistake, match=re.escape("write your code in place of `raise NotImplementedError`.")):
        exercise(*[empty] * len(exercise.references), *exercise.sample())


def test_a_mistake_is_shown_without_a_traceback():
    assert Mistake("one line")._render_traceback_() == ["Not yet: one line"]


def test_what_later_cells_take(capsys):
    def check(function):
        assert function() == 1

    def half_solution():
        return 1

    def half():
        return 1

    def wrong():
        raise NotImplementedError

    taken = [own_or_solution(check, own, half_solution) for own in (half, wrong, half_solution)]
    assert taken == [half, half_solution, half_solution]
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["half: yours is used", *2 * ["half: the solution is used, until yours passes its check"]]
