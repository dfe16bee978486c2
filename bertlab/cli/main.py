"""The `bertlab` command. Every subcommand is one dataclass: its fields are the arguments, its text the help."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from bertlab.cli.train_options import Finetune, Flat, Positional, Pretrain, Tokenize
from bertlab.errors import InputError
from bertlab.tasks.files import FileOptions


@dataclass(frozen=True)
class Evaluate:
    """Measure a checkpoint, by what it was made for: on held-out text, beside simpler guesses; a fine-tuned one on
    labelled examples."""

    model: Positional[str] = "storyworld-tiny"
    """A bundled name, a folder or a hub id."""
    text: tuple[Path, ...] = ()
    """Text files to hide words in, instead of the storyworld; every 20th document is measured."""
    data: Path | None = None
    """Labelled examples, in a file as finetune takes them; the storyworld's own if the model learned from these. Or,
    for a model that fills in masks, the folder of the public English corpora: it is measured by genre."""
    files: Flat[FileOptions] = FileOptions()
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        from bertlab.cli.evaluate import evaluate_model
        from bertlab.evaluation.wording import print_measures

        measures = evaluate_model(self.model, self.text, self.data, self.files)
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
        from bertlab.model.summary import model_facts

        facts = model_facts(self.model)
        if self.json:
            print(json.dumps(asdict(facts)))
        else:
            from bertlab.draw.tables import print_facts

            print_facts(facts)


@dataclass(frozen=True)
class Predict:
    """Fill in each [MASK] of a text; or let a fine-tuned model say what it was taught to: the class of a text or pair,
    the names in it, the answer to a question, the best of several continuations. Of one input, or of each of a file.
    """

    text: Positional[str | None] = None
    """A text; for a model without a fine-tuned head, with [MASK] in it."""
    pair: str | None = None
    """The second text of a pair."""
    choices: tuple[str, ...] = ()
    """Continuations of the text to choose from."""
    question: str | None = None
    """A question; needs --passage."""
    passage: str | None = None
    """The text that holds the answer."""
    file: Path | None = None
    """A file of examples as finetune takes them, labels not needed; needs --out."""
    out: Path | None = None
    """Where the predictions go: a line of JSON for each example of --file; .conll: words and their labels."""
    files: Flat[FileOptions] = FileOptions()
    model: str | None = None
    """A bundled name, a folder or a hub id; storyworld-tiny or storyworld-tiny-qa if not given."""
    top: int = 5
    """How many guesses to show."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        if self.top < 1:
            raise InputError(f"--top {self.top}: show at least one guess")
        if self.file is not None:
            return self._run_file()
        rows = self._rows()
        if self.json:
            print(json.dumps(rows, ensure_ascii=False))
        else:
            print("\n".join(map(_line, rows)) or "(no name in this text)")

    def _rows(self) -> list[dict]:
        from bertlab.predict import fill_in, is_readable, predict_one
        from bertlab.tasks.registry import family_of

        values = {name: getattr(self, name) for name in ("text", "pair", "choices", "question", "passage")}
        given = {name: value for name, value in values.items() if value not in (None, ())}
        if not is_readable(given):
            raise InputError("give a text, a text and --pair or --choices, both --question and --passage, or --file")
        model = self.model or ("storyworld-tiny-qa" if self.question else "storyworld-tiny")
        if self.text is not None and len(given) == 1 and not family_of(model):
            return fill_in(self.text, model, self.top)
        return predict_one(model, given, self.top)

    def _run_file(self) -> None:
        from bertlab.predict import predict_file

        if self.out is None or self.model is None:
            raise InputError("--file needs --model, a fine-tuned one, and --out, where the predictions go")
        count, left_out = predict_file(self.model, self.file, self.out, self.files)
        if left_out:
            print(left_out, file=sys.stderr)
        print(f"wrote {count:,} predictions to {self.out}", file=sys.stderr)


def _line(row: dict) -> str:
    if "kind" in row:
        return f"{row['kind']:<12}  {row['text']}"
    if "value" in row:
        return f"{row['value']:.4f}"
    place = f"[MASK] {row['mask']}  " if "mask" in row else ""
    return f"{place}{row['probability']:6.1%}  {' '.join(row['text'].split()) or '(no answer in this passage)'}"


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
        from bertlab.corpora.storyworld.export import write_storyworld

        path = write_storyworld(self.kind, self.out, self.count, self.seed, self.split)
        print(f"wrote {self.count} {self.kind} to {path}")


@dataclass(frozen=True)
class Explore:
    """Open the explorer in the browser."""

    port: int = 8501
    """Where it is served, on this machine only."""

    def run(self) -> None:
        from bertlab.cli.launch import explore

        explore(self.port)


@dataclass(frozen=True)
class Lab:
    """Open the chapters in JupyterLab."""

    def run(self) -> None:
        from bertlab.cli.launch import lab

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


def main(arguments: list[str] | None = None) -> None:
    """Run one subcommand. A mistake of the user is one line on stderr and exit code 2."""
    command = tyro.cli(Command, prog="bertlab", description="Build, train and look into BERT.", args=arguments)
    try:
        command.run()
    except InputError as error:
        from bertlab.training.engine.devices import is_first

        if is_first():
            print(f"bertlab: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        raise SystemExit(0) from None
