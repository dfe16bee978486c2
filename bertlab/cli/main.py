"""The `bertlab` command: each subcommand is a module with a dataclass, whose fields are the arguments.

Asked for --help, these modules are all imported; so they import what is slow (readers, trainings, measures) only where
they use it.
"""

from contextlib import nullcontext
from typing import Annotated

import tyro

from bertlab.cli.course import Course
from bertlab.cli.launch import Explore, Lab
from bertlab.cli.models.evaluate import Evaluate
from bertlab.cli.models.info import Info
from bertlab.cli.models.predict import Predict
from bertlab.cli.models.search import Search
from bertlab.cli.new import New
from bertlab.cli.shared.arguments import read_arguments
from bertlab.cli.shared.messages import INTERRUPTED, say
from bertlab.cli.shipping.card import Card
from bertlab.cli.shipping.embed import Embed
from bertlab.cli.shipping.export import Export
from bertlab.cli.shipping.push import Push
from bertlab.cli.texts.corpus import Corpus
from bertlab.cli.texts.data import Data
from bertlab.cli.texts.tokenize import Tokenize
from bertlab.cli.training.compare import Compare
from bertlab.cli.training.finetune import Finetune
from bertlab.cli.training.plan import Plan
from bertlab.cli.training.pretrain import Pretrain
from bertlab.errors import InputError
from bertlab.training.engine.signals import ended_by_signals

Command = (
    Annotated[New, tyro.conf.subcommand("new")]
    | Annotated[Corpus, tyro.conf.subcommand("corpus")]
    | Annotated[Pretrain, tyro.conf.subcommand("pretrain")]
    | Annotated[Tokenize, tyro.conf.subcommand("tokenize")]
    | Annotated[Finetune, tyro.conf.subcommand("finetune")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Info, tyro.conf.subcommand("info")]
    | Annotated[Predict, tyro.conf.subcommand("predict")]
    | Annotated[Plan, tyro.conf.subcommand("plan")]
    | Annotated[Search, tyro.conf.subcommand("search")]
    | Annotated[Compare, tyro.conf.subcommand("compare")]
    | Annotated[Data, tyro.conf.subcommand("data")]
    | Annotated[Card, tyro.conf.subcommand("card")]
    | Annotated[Embed, tyro.conf.subcommand("embed")]
    | Annotated[Export, tyro.conf.subcommand("export")]
    | Annotated[Push, tyro.conf.subcommand("push")]
    | Annotated[Explore, tyro.conf.subcommand("explore")]
    | Annotated[Lab, tyro.conf.subcommand("lab")]
    | Annotated[Course, tyro.conf.subcommand("course")]
)


def main(arguments: list[str] | None = None) -> None:
    """Run one subcommand. A mistake of the user becomes one line on stderr and exit code 2."""
    try:
        command = read_arguments(Command, arguments, "bertlab", "Build, train and look into BERT.")
        with ended_by_signals() if isinstance(command, Pretrain | Finetune) else nullcontext():
            command.run()
    except InputError as error:
        from bertlab.training.engine.devices import is_first

        if is_first():
            say(f"bertlab: {error}")
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        raise SystemExit(0) from None
