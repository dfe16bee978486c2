"""The `bertlab` command. Every subcommand is one dataclass: its fields are the arguments, its text the help."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from bertlab.errors import InputError

Positional = tyro.conf.Positional
DEVICES = Literal["auto", "cpu", "cuda", "mps"]


@dataclass(frozen=True)
class Pretrain:
    """Train a BERT from random weights: masked words and next sentences.

    Learns from the small world that comes with bertlab, or from text files of yours. Writes a run folder
    that is itself a checkpoint: open it by its path in the explorer or in from_pretrained.
    """

    recipe: Positional[str] = ""
    """storyworld-tiny, storyworld-live, own-text (the default with --text or --store), bert-base (the paper's, with
    --text or --store) or english-mini (with --data)."""
    text: tuple[Path, ...] = ()
    """Text files (.txt, .md) or folders to learn from, instead of the storyworld; or the word pydoc: the
    docstrings of Python and of the installed packages, over 10 MB of real English."""
    data: Path | None = None
    """The folder of the public English corpora, for english-mini: novels, Wikipedia, speech and writing."""
    store: Path | None = None
    """A token store to learn from, with its vocabulary: the folder that bertlab tokenize made."""
    out: Path | None = None
    """The run folder; runs/RECIPE if not given."""
    steps: int | None = None
    """Number of steps, instead of the recipe's."""
    minutes: float | None = None
    """Stop after so many minutes, with the learning rate brought down in time."""
    batch_size: int | None = None
    """Pairs of texts in a step, instead of the recipe's."""
    learning_rate: float | None = None
    """Top learning rate, instead of the recipe's."""
    seed: int | None = None
    """Seed of weights, pairs and masks, instead of the recipe's."""
    set: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Any other field of the recipe, as FIELD=VALUE: second_task=none masking.rate=0.4 phases=0.9,128 ...; the fields
    are those of PretrainRecipe, in bertlab/training/recipes.py."""
    half: bool = False
    """Save in 16 bits (as the bundled models are): half the size."""
    resume: bool = False
    """Go on with the run in the run folder, after a kill or Ctrl-C; give the same options as before."""
    save_every: int = 500
    """Save what a run can go on from every so many steps."""
    keep: int = 2
    """How many of these to keep."""
    tensorboard: bool = False
    """Write the figures of metrics.csv for TensorBoard too: tensorboard --logdir RUN-FOLDER."""
    device: DEVICES = "auto"
    """Where to train; auto takes a GPU if there is one."""
    devices: int = 1
    """How many of them train together, each on its share of every batch (several machines: docs/pretraining.md)."""
    micro_batch: int | None = None
    """Pairs of texts that a device works on at a time, where a step's do not fit; what is learned stays the same."""
    compiled: bool = False
    """Have torch.compile fuse the layers, for a long run on a GPU; needs a C++ compiler."""
    unpadded: bool = False
    """Keep padding out of all layers on a GPU too, where its texts differ much in length."""
    gradient_checkpointing: bool = False
    """Take less memory and a third more work, for a large model."""

    def run(self) -> None:
        from bertlab.training.commands import run_pretrain

        run_pretrain(self)


@dataclass(frozen=True)
class Tokenize:
    """Turn text that may be larger than memory into a token store, which pretrain --store learns from.

    Stopped on the way and called again in the same way, it goes on where it was.
    """

    text: Positional[tuple[Path, ...]] = ()
    """Text files (.txt, .md) or folders; or the words pydoc (docstrings, as in pretrain) and storyworld."""
    dataset: str | None = None
    """Instead of these a data set of the hub, streamed: org/name or org/name/configuration, or the folder of one."""
    column: str = "text"
    """The column that holds its text; a row is a document."""
    model: str = "english-mini"
    """Whose vocabulary to take: a bundled name, a folder or a hub id."""
    out: Path = Path("store")
    """The folder to make."""
    processes: int = 1
    """How many tokenize at a time."""

    def run(self) -> None:
        from bertlab.training.commands import run_tokenize

        run_tokenize(self)


@dataclass(frozen=True)
class Finetune:
    """Train a pretrained model for a task: qa, questions whose answer is a span of a passage."""

    task: Positional[Literal["qa"]] = "qa"
    """The task."""
    model: str = "storyworld-tiny"
    """The pretrained model: a bundled name, a folder or a hub id."""
    train: Path | None = None
    """Questions to learn from, SQuAD 1.1 or 2.0 JSON; the storyworld's own if not given."""
    dev: Path | None = None
    """Questions to measure on, SQuAD JSON; the storyworld's held-out ones if not given."""
    out: Path | None = None
    """The run folder; runs/MODEL-qa if not given."""
    steps: int | None = None
    """Number of steps, instead of the recipe's."""
    batch_size: int | None = None
    """Questions in a step, instead of the recipe's."""
    learning_rate: float | None = None
    """Top learning rate, instead of the recipe's."""
    seed: int | None = None
    """Seed of the new head and of the order of questions."""
    half: bool = False
    """Save in 16 bits (as the bundled models are): half the size."""
    device: DEVICES = "auto"
    """Where to train; auto takes a GPU if there is one."""

    def run(self) -> None:
        from bertlab.training.commands import run_finetune

        run_finetune(self)


@dataclass(frozen=True)
class Evaluate:
    """Measure a checkpoint on held-out text, beside simpler guesses; a question-answering model on questions."""

    model: Positional[str] = "storyworld-tiny"
    """A bundled name, a folder or a hub id."""
    text: tuple[Path, ...] = ()
    """Text files to hide words in, instead of the storyworld; every 20th document is measured."""
    data: Path | None = None
    """Questions in SQuAD JSON, instead of the storyworld's; or, for a model that fills in masks, the folder of the
    public English corpora: it is measured by genre."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        from bertlab.training.commands import evaluate_model

        measures = evaluate_model(self.model, self.text, self.data)
        if self.json:
            print(json.dumps(measures))
        else:
            print_measures(measures)


@dataclass(frozen=True)
class Info:
    """Show what a model is: shapes, parameters of each part, memory, tokenizer. Loads no weights."""

    model: Positional[str] = "storyworld-tiny"
    """A bundled name, a folder or a hub id (org/name, org/name@revision)."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        from bertlab.info import model_facts

        facts = model_facts(self.model)
        if self.json:
            print(json.dumps(asdict(facts)))
        else:
            from bertlab.draw.tables import print_facts

            print_facts(facts)


@dataclass(frozen=True)
class Predict:
    """Fill in each [MASK] of a text, or answer a question from a passage."""

    text: Positional[str | None] = None
    """A text with [MASK] in it."""
    question: str | None = None
    """A question; needs --passage."""
    passage: str | None = None
    """The text that holds the answer."""
    model: str | None = None
    """A bundled name, a folder or a hub id; storyworld-tiny or storyworld-tiny-qa if not given."""
    top: int = 5
    """How many guesses to show."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        from bertlab.predict import answer_question, fill_in

        if self.top < 1:
            raise InputError(f"--top {self.top}: show at least one guess")
        if self.text is not None and self.question is None and self.passage is None:
            rows = fill_in(self.text, self.model or "storyworld-tiny", self.top)
        elif self.question is not None and self.passage is not None and self.text is None:
            rows = answer_question(self.question, self.passage, self.model or "storyworld-tiny-qa", self.top)
        else:
            raise InputError("give a text with [MASK], or both --question and --passage")
        print(json.dumps(rows, ensure_ascii=False) if self.json else "\n".join(map(_line, rows)))


def _line(row: dict) -> str:
    place = f"[MASK] {row['mask']}  " if "mask" in row else ""
    return f"{place}{row['probability']:6.1%}  {row['text'] or '(no answer in this passage)'}"


@dataclass(frozen=True)
class Data:
    """Write text, questions or labelled examples of the storyworld to a file."""

    kind: Positional[
        Literal["documents", "questions", "sentiment", "entities", "entailment", "matching", "choices"]
    ] = "documents"
    """documents: plain text, a blank line between two; questions: SQuAD 2.0 JSON; sentiment, entailment, matching: CSV;
    entities: CoNLL columns; choices: JSON lines."""
    out: Path = Path("storyworld")
    """The file; its ending is added if it has none."""
    count: int = 1000
    """How many."""
    seed: int = 0
    """Another seed, another world of stories."""
    split: Literal["train", "dev", "test"] = "train"
    """test and dev hold combinations that train never shows."""

    def run(self) -> None:
        from bertlab.corpora.export import write_storyworld

        path = write_storyworld(self.kind, self.out, self.count, self.seed, self.split)
        print(f"wrote {self.count} {self.kind} to {path}")


@dataclass(frozen=True)
class Explore:
    """Open the explorer in the browser."""

    port: int = 8501
    """Where it is served, on this machine only."""

    def run(self) -> None:
        from bertlab.launch import explore

        explore(self.port)


@dataclass(frozen=True)
class Lab:
    """Open the chapters in JupyterLab."""

    def run(self) -> None:
        from bertlab.launch import lab

        lab()


Command = (
    Annotated[Pretrain, tyro.conf.subcommand("pretrain")]
    | Annotated[Tokenize, tyro.conf.subcommand("tokenize")]
    | Annotated[Finetune, tyro.conf.subcommand("finetune")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Info, tyro.conf.subcommand("info")]
    | Annotated[Predict, tyro.conf.subcommand("predict")]
    | Annotated[Data, tyro.conf.subcommand("data")]
    | Annotated[Explore, tyro.conf.subcommand("explore")]
    | Annotated[Lab, tyro.conf.subcommand("lab")]
)


def print_measures(measures: dict[str, float]) -> None:
    from bertlab.training.card import meaning

    rows = [(words, value) for name, value in measures.items() if (words := meaning(name))]
    width = max(len(words) for words, _ in rows)
    for words, value in rows:
        print(f"{words:<{width}}  {value:.3f}")


def main(arguments: list[str] | None = None) -> None:
    """Run one subcommand. A mistake of the user is one line on stderr and exit code 2."""
    command = tyro.cli(Command, prog="bertlab", description="Build, train and look into BERT.", args=arguments)
    try:
        command.run()
    except InputError as error:
        from bertlab.training.processes import is_first

        if is_first():
            print(f"bertlab: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        raise SystemExit(0) from None
