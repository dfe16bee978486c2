"""What the commands print: results to stdout, progress and the rest to stderr."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from bertlab.errors import shortened
from bertlab.training.engine.signals import exit_code, remember

MOST_SAID = 2000  # characters
INTERRUPTED = 130  # the exit code that a shell expects after Ctrl-C


def say(message: object) -> None:
    """Print to stderr: what is for people, not for the next program. What files made long is cut."""
    print(shortened(str(message), MOST_SAID), file=sys.stderr)


def print_json(what: object) -> None:
    """Print one line of JSON to stdout; all but ASCII is escaped if something in it would steer a terminal."""
    text = json.dumps(what, ensure_ascii=False)
    print(text if text.isprintable() else json.dumps(what))


def print_result(measures: dict[str, float], as_json: bool, second: str = "") -> None:
    """Print the measures of a model, as a table or as JSON; `second` is the label of its second class."""
    from bertlab.evaluation.wording import print_measures

    if as_json:
        print_json(measures)
    else:
        print_measures(measures, second)


def report_saved(out: Path) -> None:
    """Say where a finished run is."""
    say(f"saved to {out}; look into it with: bertlab explore, model {out}")


def end_stopped(where: str) -> NoReturn:
    """End the command after a signal stopped a training, whose state is saved; the exit code names the signal."""
    say(f"stopped {where}; the same command with --resume goes on")
    raise SystemExit(exit_code())


@contextmanager
def measuring(what: str) -> Iterator[None]:
    """Say on `what` a trained model is measured. Who presses Ctrl-C meanwhile is told how to go on."""
    say(f"measuring on {what} ...")
    try:
        yield
    except KeyboardInterrupt:
        remember(signal.SIGINT)
        end_stopped("while it was measured")


def reached(rows: list[dict[str, Any]]) -> str:
    """Name the step that a stopped training came to, by its logged rows."""
    return f"step {rows[-1]['step']:,}" if rows else "the first step"
