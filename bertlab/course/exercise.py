"""The one engine of the exercises: a record of reference, cases and slips, and the check that names what is wrong."""

import inspect
import io
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.course.difference import Difference, describe, difference, first_difference, pattern, says_little
from bertlab.course.mistake import Mistake
from bertlab.course.observe import call, expect, value
from bertlab.course.stopped import ending, where_it_stopped, why_it_stopped

SEED = 2018  # of the random numbers that a program meets; who sets another one has seeded all of them
Program = Callable[..., Any]
RESEEDED = (
    "torch.manual_seed begins the random numbers of the whole program anew, which others draw from too: leave the seed "
    "to the program that calls, or take a torch.Generator() of your own."
)
Observed = dict[str, Any]  # what counts of a program on one case, by name


@dataclass(frozen=True, eq=False)
class Exercise:
    """An exercise of a chapter; calling it checks the reader's definitions, one for each of `reference`.

    `reference`: the solution, or the solutions if the exercise asks for several definitions.
    `cases`: returns, newly made, the arguments of each case. Takes what the check is given beside the definitions.
    `right`: what is printed where all agrees, "Right: ..."; a function makes it of what was observed.
    `slips`: wrong programs, each with the sentence that explains it: (sentence, program), or (sentence, "old => new",
    ...) for the source of the reference with `new` in place of `old`.
    `observe`: what of a program counts on a case, by name: its result and gradients, or facts that must hold.
    `gives`: the names of the values that the definition returns, if they are several.
    `helpers`: definitions that the reference calls; slips may change their source too.
    `kept`: the parts of my_bert.py that have to pass this exercise.
    `spared`: of the mutations that every exercise refuses (tests/course/test_exercises.py) those that are no fault
    here, and why.
    `sample`: something to give to `cases` beside the definitions, if it takes any.
    """

    reference: Program | tuple[Program, ...]
    cases: Callable[..., Sequence[tuple]]
    right: str | Callable[[Sequence[Observed]], str]
    slips: Sequence[tuple] = ()
    observe: Callable[..., Observed] = call
    gives: Sequence[str] = ()
    helpers: Sequence[Program] = ()
    kept: Sequence[str] = ()
    spared: Mapping[str, str] = field(default_factory=dict)
    sample: Callable[[], tuple] = tuple

    def __call__(self, *given: Any) -> None:
        """Check the reader's definitions and print what is right. Raises Mistake, which says what is wrong."""
        count = len(self.references)
        program, beside = given[:count], given[count:]
        with ending():
            mine = self.outcome(program, beside)
        self.judge(mine, beside)
        print(self.right(mine) if callable(self.right) else self.right)

    def judge(self, mine: Sequence[Observed], beside: Sequence = ()) -> None:
        """Raise Mistake, which says what is wrong, if that is not what is observed of the reference."""
        found = first_difference(mine, self.expected)
        if found:
            raise Mistake(self._sentence(mine, found, beside))

    @property
    def references(self) -> tuple[Program, ...]:
        return self.reference if isinstance(self.reference, tuple) else (self.reference,)

    @property
    def _takes(self) -> list[str]:
        """The names of the arguments of the first reference, or of its forward."""
        first: Any = self.references[0]
        is_module = isinstance(first, type) and hasattr(first, "forward")
        if is_module and first.forward is torch.nn.Module.forward:
            return []  # a module of other methods
        return list(inspect.signature(first.forward if is_module else first).parameters)[int(is_module) :]

    @cached_property
    def expected(self) -> list[Observed]:
        """What is observed of the reference on each case."""
        return self.outcome(self.references, self.sample())

    def outcome(self, program: Sequence[Program], beside: Sequence = ()) -> list[Observed]:
        """Return what is observed of a program on each case."""
        return [*self.observed(program, beside)]

    def observed(self, program: Sequence[Program], beside: Sequence = ()) -> Iterator[Observed]:
        """Yield what is observed of a program on each case, which is run only when it is asked for."""
        with _steady():
            cases = self.cases(*beside)
        for case in cases:
            with _steady():
                found = self._observe(program, tuple(map(_own, case)))
            yield found

    def _observe(self, program: Sequence[Program], case: tuple) -> Observed:
        try:
            found = self.observe(*program, *case)
            expect(torch.initial_seed() == SEED, RESEEDED)
            return found
        except NotImplementedError as error:
            if 'required "forward"' in str(error):  # torch's word for a module without it
                return {"stops": f"your code stopped: {error}"}
            raise Mistake("write your code in place of `raise NotImplementedError`.") from None
        except Mistake as mistake:
            return {"stops": str(mistake)}
        except Exception as error:  # whatever else the reader's code raises
            if type(error) is NameError:
                raise Mistake(f"your code uses `{error.name}`, which is not defined.") from error
            seen = getattr(error, "seen", {})
            return seen | {"stops": why_it_stopped(error), "line": where_it_stopped(error)}

    def _sentence(self, mine: Sequence[Observed], found: Difference, beside: Sequence) -> str:
        """The slip's that gives the same on all cases; else where it differs first, and of which slip that reminds."""
        for sentence, other in self.known:
            if first_difference(mine, other) is None:
                return sentence
        with _steady():
            case = self.cases(*beside)[found.case]
        reminds = self._reminder(mine, found)
        named = dict(zip(self._names(len(case)), case, strict=True))
        sentence, here = describe(found, named, self._takes, self.gives), mine[found.case]
        if found.item == "stops":
            sentence += f" It stopped at `{here['line']}`." if here.get("line") else ""
        elif not found.item.startswith("gradient"):
            sentence += pattern(here.get(found.item), self.expected[found.case].get(found.item), found.path)
        return sentence + (f" Perhaps: {reminds}" if reminds else "")

    def _names(self, count: int) -> list[str]:
        """The names of the `count` values of a case: arguments of the reference, or else of `observe`."""
        if len(self._takes) == count or self.observe in (call, value):
            return self._takes[:count]
        own = inspect.signature(self.observe).parameters
        if any(each.kind == each.VAR_POSITIONAL for each in own.values()):  # the rest is the same in all cases
            return self._takes[-count:]
        return [*own][len(self.references) :][:count]

    def _reminder(self, mine: Sequence[Observed], found: Difference) -> str:
        """The sentence of a slip that gives the same on the case where `mine` differs first, or fails there alike."""
        here, item = mine[found.case], found.item
        levels: list[Callable[[Sequence[Observed]], bool]] = [
            lambda other: first_difference([here], [other[found.case]]) is None,
            lambda other: item in other[found.case] and difference(here.get(item), other[found.case][item]) is None,
        ]
        if isinstance(found.right, bool) and item != "result":  # that a fact does not hold either says little
            levels.pop()
        if says_little(here.get(item)):
            return ""
        for agrees in levels:
            for sentence, other in self.known:
                first = first_difference(other, self.expected)
                if first and (first.case, first.item) == (found.case, item) and agrees(other):
                    return sentence
        return ""

    @cached_property
    def known(self) -> list[tuple[str, list[Observed]]]:
        """The sentence of each slip and its outcome."""
        numbered = enumerate(self.slips)
        return [(sentence, self.outcome(self.slip(number), self.sample())) for number, (sentence, *_) in numbered]

    def slip(self, number: int) -> tuple[Program, ...]:
        """Return the wrong program of a slip. Raises ValueError if the reference has no such line."""
        sentence, *change = self.slips[number]
        if not isinstance(change[0], str):
            return change[0] if isinstance(change[0], tuple) else (change[0],)
        source = self.source
        for edit in change:
            old, _, new = edit.partition(" => ")
            if old not in source:
                raise ValueError(f"the reference has no {old!r}, which the slip {sentence!r} changes")
            source = source.replace(old, new)
        return self.programs(source)

    @cached_property
    def source(self) -> str:
        """The source of the helpers and the references, as one text."""
        return "\n\n".join(textwrap.dedent(inspect.getsource(part)) for part in (*self.helpers, *self.references))

    def programs(self, code: Any, **names: Any) -> tuple[Program, ...]:
        """Run code, such as a changed `source`, where the reference stands; return what it defines of the exercise."""
        place = dict(vars(sys.modules[self.references[0].__module__])) | names
        exec(code if not isinstance(code, str) else compile(code, "<slip>", "exec"), place)
        return tuple(place[reference.__name__] for reference in self.references)


def _own(arg: Any) -> Any:
    """Return an argument of this run alone: a program may write into it, and the next run finds it as it was."""
    if isinstance(arg, dict):
        return {name: _own(each) for name, each in arg.items()}
    if type(arg) in (list, tuple):
        return type(arg)(map(_own, arg))
    whole = isinstance(arg, np.ndarray) or isinstance(arg, Tensor) and arg.is_leaf
    return deepcopy(arg) if whole else arg


@contextmanager
def _steady() -> Iterator[None]:
    """The same random numbers each time, gradients on, and a dropout that drops the same each time."""
    with torch.random.fork_rng([]), torch.enable_grad(), patch.object(F, "dropout", steady_dropout):
        torch.default_generator.manual_seed(SEED)
        yield


def steady_dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop the same features of each tensor, whether a program drops out all heads or texts at once or one by one."""
    if not training or p == 0:
        return input
    draws = torch.rand(input.size(-1), generator=torch.Generator().manual_seed(0))
    return input * (draws >= p) / max(1 - p, 1e-6)


def own_or_solution(check: Callable, own: Callable, solution: Callable) -> Callable:
    """Return the reader's `own` function if it passes `check`, else `solution`, and print which of them.

    The solution is called as the function, with "_solution" behind it; it may have taken its place already.
    """
    name = solution.__name__.removesuffix("_solution")
    if own is not solution and _passes(check, own):
        print(f"{name}: yours is used")
        return own
    print(f"{name}: the solution is used, until yours passes its check")
    return solution


def _passes(check: Callable, own: Callable) -> bool:
    try:
        with redirect_stdout(io.StringIO()):
            check(own)
    except Exception:  # whatever the reader's code raises: their check has named it
        return False
    return True
