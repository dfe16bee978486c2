"""The plan of a pretraining as tables for the terminal."""

from collections.abc import Mapping

from rich.console import Console

from bertlab.draw.tables import table
from bertlab.training.plan import Plan

UNITS = {"years": 365.25 * 86400, "days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
PREFIXES = {"E": 1e18, "P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3}


def duration(seconds: float) -> str:
    """Return seconds in the largest unit of which there is one at least, such as "4.2 days"."""
    unit, size = next(((unit, size) for unit, size in UNITS.items() if seconds >= size), ("ms", 1e-3))
    return f"{seconds / size:,.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:,.0f} {unit}"


def amount(value: float, unit: str) -> str:
    """Return a number with a prefix: 3.2e13 FLOP is "32 TFLOP"."""
    prefix, size = next(((prefix, size) for prefix, size in PREFIXES.items() if value >= size), ("", 1.0))
    return f"{value / size:,.3g} {prefix}{unit}" if value < 1000 * size else f"{value / size:,.0f} {prefix}{unit}"


def shares(parts: Mapping[str, float], unit: str) -> list[tuple[str, str, str]]:
    """Return rows of part, amount and share; the sum last."""
    whole = sum(parts.values())
    rows = [(name, amount(value, unit), f"{value / whole:.0%}") for name, value in parts.items()]
    return [*rows, ("together", amount(whole, unit), "100%")]


def totals(plan: Plan) -> list[tuple[str, str]]:
    """Return rows of what the whole training takes: steps, operations, time."""
    job = plan.job
    needed = sum(job.needed(job.batch_size).values()) * job.steps
    rows = [("steps", f"{job.steps:,}"), ("operations needed", amount(needed, "FLOP"))]
    rows += [(f"a step: {name}", duration(value)) for name, value in plan.step.items()]
    return [*rows, ("the whole training", duration(plan.seconds))]


def fit(plan: Plan) -> str:
    """Return whether the memory suffices and, if not, what to do."""
    if plan.room is None or plan.memory <= plan.room:
        return ""
    most, had = plan.job.largest_micro_batch(plan.room), amount(plan.room, "B")
    if most:
        return f"This does not fit into {had}: --micro-batch {most} does."
    last = "take a larger GPU" if plan.job.gradient_checkpointing else "try --gradient-checkpointing"
    return f"Not even one text at a time fits into {had}: {last}."


def print_plan(plan: Plan, console: Console | None = None) -> None:
    """Print the totals, the operations, the memory and the assumptions: one table each."""
    console, job = console or Console(), plan.job
    title = f"{plan.machine}, {job.precision}: {job.parameters:,} parameters, {amount(job.tokens, 'tokens')}"
    console.print(table(title, ["", ""], totals(plan)))
    made = shares(job.made(job.batch_size), "FLOP")
    console.print(table(f"Operations of a step of {job.batch_size} x {job.max_tokens}", ["part", "", "share"], made))
    console.print(
        table(f"Memory of a device, {job.rows} texts at a time", ["part", "", "share"], shares(job.memory(), "B"))
    )
    if warning := fit(plan):
        console.print(warning, style="bold", markup=False)
    console.print("Assumptions", style="italic")
    for each in plan.assumptions:
        change = f" {each.option} sets another." if each.option else ""
        console.print(f"- {each.what}: {each.value} ({each.source}).{change}", markup=False, highlight=False)
