"""The `bertlab` command: each subcommand is a module with a dataclass, whose fields are the arguments.

Asked for --help, these modules are all imported; so they import what is slow (readers, trainings, measures) only where
they use it.
"""

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from bertlab.cli.compare import Compare
from bertlab.cli.course import Course
from bertlab.cli.data import Corpus, Data, Tokenize
from bertlab.cli.embed import Embed
from bertlab.cli.evaluate import Card, Evaluate
from bertlab.cli.export import Export
from bertlab.cli.finetune import Finetune
from bertlab.cli.info import Info, Plan
from bertlab.cli.launch import Explore, Lab
from bertlab.cli.new import New
from bertlab.cli.predict import Predict, misplaced
from bertlab.cli.pretrain import Pretrain
from bertlab.cli.search import Search
from bertlab.cli.shared.arguments import read_arguments
from bertlab.cli.shared.messages import INTERRUPTED, say
from bertlab.errors import InputError
from bertlab.io.files import each_file_once
from bertlab.training.engine.signals import ended_by_signals

# Each is called as its class, in small letters.
Command = Pretrain | Finetune | Evaluate | Predict | Embed | Search | Export
Command |= Info | Data | Compare | New | Course | Explore | Lab
# Those of two words. What a command of one word would take the second for has to be written otherwise: ./plan, ./card.
SECOND: dict[str, dict[str, type]] = {
    "info": {"plan": Plan},
    "data": {"corpus": Corpus, "tokenize": Tokenize},
    "evaluate": {"card": Card},
}


def main(arguments: list[str] | None = None) -> None:
    """Run one subcommand. A mistake of the user becomes one line on stderr and exit code 2."""
    if hasattr(sys.stdout, "reconfigure"):  # Latin letters of a terminal or a file on Windows cannot write all texts
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        command = read_command(sys.argv[1:] if arguments is None else arguments)
        ended = ended_by_signals() if isinstance(command, Pretrain | Finetune) else nullcontext()
        with ended, each_file_once():
            command.run()
            sys.stdout.flush()
    except InputError as error:
        from bertlab.training.engine.devices import give_way, is_first

        if is_first():
            say(f"bertlab: {error}")
        give_way()
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        drop_output()
        raise SystemExit(0) from None
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        drop_output()
        say(f"bertlab: {error.filename or 'the output'}: no space left on the disk")
        raise SystemExit(2) from None


def drop_output() -> None:
    """Let what was not written go: Python would try once more at its end, and fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def read_command(given: Sequence[str]) -> Any:
    """Return the command that the arguments name."""
    first, second = [*given, "", ""][:2]
    if first == "predict" and (advice := misplaced(given[1:])):
        raise InputError(advice)
    if within := SECOND.get(first, {}).get(second):
        return read_arguments(within, given[2:], f"bertlab {first} {second}")
    return read_arguments(Command, given, "bertlab", "Build, train and look into BERT.")
