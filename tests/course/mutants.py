"""General mutations of an exercise's reference, each of which its check must refuse."""

import ast
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from signal import ITIMER_PROF, SIG_IGN, SIGPROF, setitimer, signal
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bertlab.course.difference import first_difference
from bertlab.course.exercise import Exercise
from bertlab.course.observe import tensors_of

LOST = {"mask ignored": ("attention_mask", "mask", "padding", "special"), "segments ignored": ("token_type_ids",)}
MOST_DRAWN = 20  # of a generator: some have no end
Place = tuple[ast.AST, str, int | None]  # a node of a tree, a field of it, and which of several there


def mutants(exercise: Exercise) -> Iterator[tuple[str, tuple]]:
    """Yield what each mutant does, and the program."""
    yield from of_source(exercise)
    for number, reference in enumerate(exercise.references):
        for name, wrong in around(reference):
            yield name, tuple(wrong if n == number else each for n, each in enumerate(exercise.references))


# In the source


def of_source(exercise: Exercise) -> Iterator[tuple[str, tuple]]:
    tree = ast.parse(exercise.source)
    found = [*places(tree)]
    learning = passed_by_learning(exercise, tree, found)
    for number, (statement, kind, place, other) in enumerate(found):
        if kind == "detached" and number not in learning:
            continue  # it would change nothing
        own = put(place, other)
        line = ast.unparse(statement).splitlines()[0]
        code = compile(tree, "<mutant>", "exec")
        put(place, own)
        yield f"{kind}: {line}", exercise.programs(code, detached=detached)


def passed_by_learning(exercise: Exercise, tree: ast.AST, found: list) -> set[int]:
    """The numbers of the expressions through which something that learns goes, seen in one run of the reference."""
    seen: set[int] = set()
    watched = [(number, place, other) for number, (_, kind, place, other) in enumerate(found) if kind == "detached"]
    own = []
    for number, place, other in watched:
        watch = ast.Call(ast.Name("watch", ast.Load()), [ast.Constant(number), *other.args], [])
        own.append(put(place, ast.fix_missing_locations(ast.copy_location(watch, other))))
    program = exercise.programs(compile(tree, "<watched>", "exec"), watch=partial(watch_into, seen))
    for (_, place, _), each in zip(watched, own, strict=True):
        put(place, each)
    assert first_difference(exercise.outcome(program, exercise.sample()), exercise.expected) is None
    return seen


def watch_into(seen: set[int], number: int, value):
    """Return the value; note the number if `detached` would cut something off."""
    if isinstance(value, Iterator):
        return map(partial(watch_into, seen, number), value)
    effective.clear()
    detached(value)
    if effective:
        seen.add(number)
    return value


def put(place: Place, other):
    """Put something in that place of a tree; return what stood there."""
    node, name, index = place
    own = getattr(node, name)
    if index is None:
        setattr(node, name, other)
        return own
    own[index], other = other, own[index]
    return other


def places(tree: ast.AST) -> Iterator[tuple[ast.stmt, str, Place, Any]]:
    """Yield each statement with each change that can be made to it: its kind, where, and what comes there."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt) and not isinstance(statement, ast.ClassDef):
            if isinstance(statement, ast.FunctionDef):
                continue
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # a docstring
            if ast.unparse(statement).startswith("nn.init."):
                continue  # weights are drawn, not learned through
            for parent, field, child in own_expressions(statement):
                yield from ((statement, *change) for change in changes(parent, field, child))


def own_expressions(node: ast.AST) -> Iterator[tuple[ast.AST, tuple[str, int | None], ast.expr]]:
    """The expressions of a statement, each with what it stands in; not those of statements inside."""
    for name, value in ast.iter_fields(node):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.expr):
                yield node, (name, index), child
            if isinstance(child, ast.expr | ast.comprehension | ast.keyword):
                yield from own_expressions(child)


def changes(parent: ast.AST, field: tuple[str, int | None], child: ast.expr) -> Iterator[tuple[str, Place, Any]]:
    if isinstance(child, ast.Constant) and type(child.value) is int:
        yield "off by one", (child, "value", None), child.value + 1
    if isinstance(child, ast.Compare):
        for number, each in enumerate(child.ops):
            if type(each) in OTHER:
                yield "off by one", (child, "ops", number), OTHER[type(each)]()
    if isinstance(child, ast.Name | ast.Call | ast.BinOp | ast.Subscript | ast.Attribute) and may_detach(parent, field):
        if not isinstance(getattr(child, "ctx", None), ast.Store | ast.Del):
            wrapped = ast.copy_location(ast.Call(ast.Name("detached", ast.Load()), [child], []), child)
            ast.copy_location(wrapped.func, child)
            yield "detached", (parent, *field), wrapped


OTHER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


def may_detach(parent: ast.AST, field: tuple[str, int | None]) -> bool:
    """Not what is called, not the object whose attribute is taken, which is detached with it, and not for a length."""
    called = isinstance(parent, ast.Call) and (field[0] == "func" or ast.unparse(parent.func) == "len")
    return not called and not isinstance(parent, ast.Attribute)


effective: list[bool] = []  # whether the mutant that ran has done what it is for: detached something that learns, ...


def detached(value):
    """Cut tensors, also those in lists and of generators, off from what they were made of."""
    if isinstance(value, nn.Module | type) or callable(value):
        return value
    if isinstance(value, Iterator):
        return map(detached, value)
    if isinstance(value, list | tuple) and tensors_of(value):
        return type(value)(map(detached, value)) if type(value) in (list, tuple) else value
    if isinstance(value, Tensor) and value.requires_grad:
        effective.append(True)
        return value.detach()
    return value


# Around the program


def around(reference: Callable) -> Iterator[tuple[str, Callable]]:
    names = list(inspect.signature(method_of(reference)).parameters)
    for kind, lost in LOST.items():
        if any(name in lost for name in names) or "batch" in names:
            yield kind, wrapped(reference, lambda args, names, lost=lost: without(args, names, lost))
    for number, name in enumerate(most_arguments(reference)):
        after = partial(change_at, number)
        yield f"input changed in place: {name}", wrapped(reference, lambda args, names: args, after=after)
    if "model" in names:
        yield (
            "eval mode",
            wrapped(
                reference, lambda args, names: [each.eval() if isinstance(each, nn.Module) else each for each in args]
            ),
        )
    if isinstance(reference, type) and issubclass(reference, nn.Module):
        yield "eval mode", always_eval(reference)


def most_arguments(reference: Callable) -> list[str]:
    """The names of the arguments of a function, or of that method of a module which takes most."""
    methods = [getattr(reference, name) for name in ("forward", "loss") if hasattr(reference, name)]
    if not isinstance(reference, type):
        return list(inspect.signature(reference).parameters)
    return max((list(inspect.signature(method).parameters)[1:] for method in methods), key=len, default=[])


def method_of(reference: Callable) -> Callable:
    return reference.forward if isinstance(reference, type) and issubclass(reference, nn.Module) else reference


def wrapped(reference, before, after=lambda args: None):
    """The reference with other arguments, or with something done to them afterwards."""
    if isinstance(reference, type):
        if not issubclass(reference, nn.Module):
            return reference

        class Mutant(reference):
            def forward(self, *args, **named):
                args = [*args, *named.values()]
                names = list(inspect.signature(reference.forward).parameters)[1:]
                result = super().forward(*before(list(args), names))
                after(args)
                return result

            def loss(self, *args):
                result = super().loss(*before(list(args), ["batch"]))
                after(args)
                return result

        return Mutant

    def mutant(*args):
        result = reference(*before(list(args), list(inspect.signature(reference).parameters)))
        if inspect.isgenerator(result):
            result = iter([*islice(result, MOST_DRAWN)])
        after(args)
        return result

    return mutant


def without(args: list, names: list[str], lost: tuple[str, ...]) -> list:
    """The arguments as if the program never used those of these names, also in a batch."""

    def blank(name, value):
        if not isinstance(value, Tensor):
            return value
        effective.append(True)
        if name in ("padding", "special"):
            return torch.zeros_like(value)
        return torch.zeros_like(value) if name == "token_type_ids" else torch.ones_like(value)

    found = []
    for name, value in zip(names, args, strict=False):
        if isinstance(value, dict):
            value = {key: blank(key, each) if key in lost else each for key, each in value.items()}
        found.append(blank(name, value) if name in lost else value)
    return found


@torch.no_grad()
def change_at(number: int, args: list) -> None:
    """Write into an argument, if it can be written into; into what a dictionary holds."""
    for arg in args[number : number + 1]:
        if isinstance(arg, dict):
            for each in arg.values():
                change_at(0, [each])
        if isinstance(arg, Tensor) and arg.numel():
            effective.append(True)
            arg.view(-1)[-1:] = ~arg.view(-1)[-1:] if arg.dtype == torch.bool else arg.view(-1)[-1:] + 1
        if isinstance(arg, np.ndarray) and arg.size:
            effective.append(True)
            arg.flat[-1] = not arg.flat[-1] if arg.dtype == bool else arg.flat[-1] + 1
        if isinstance(arg, list) and arg:
            effective.append(True)
            arg.append(arg[-1])


def in_eval_mode(arg):
    if not isinstance(arg, nn.Module):
        return arg
    effective.append(True)
    return arg.eval()


def always_eval(reference: type[nn.Module]) -> type[nn.Module]:
    class Mutant(reference):
        def train(self, mode=True):
            effective.extend(True for part in self.modules() if isinstance(part, nn.Dropout))
            return super().train(False)

    return Mutant


class OutOfTime(BaseException):
    """A mutant ran without end. No Exception: the engine takes those of a program for its answer, and would go on."""


@contextmanager
def time_limit(seconds: float):
    """Stop a mutant that runs without end, by the time of the processor."""

    def stop(*_):
        raise OutOfTime

    signal(SIGPROF, stop)
    setitimer(ITIMER_PROF, seconds, 1.0)  # and again: what is raised in a finaliser is lost
    try:
        try:
            yield
        finally:
            setitimer(ITIMER_PROF, 0)
    finally:  # even if the timer ran out once more on the way to its end
        setitimer(ITIMER_PROF, 0)
        signal(SIGPROF, SIG_IGN)  # one that is still on its way would end the process
