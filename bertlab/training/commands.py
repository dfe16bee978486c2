"""What the training commands do: recipe from the arguments, run, measure, write the card."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bertlab.corpora.examples import Document
from bertlab.corpora.files import read_documents, read_squad
from bertlab.corpora.pydoc import read_docstrings
from bertlab.errors import InputError
from bertlab.locate import locate
from bertlab.model import BertForPreTraining, BertForQuestionAnswering
from bertlab.tokenizer import Tokenizer
from bertlab.training.card import write_card
from bertlab.training.evaluate import held_out, measure_pretraining, measure_qa
from bertlab.training.finetune import finetune_qa
from bertlab.training.pretrain import pretrain
from bertlab.training.recipes import FINETUNE, as_record, pretrain_recipe

STORYWORLD = (
    "The text is bertlab's storyworld, a seeded small town; it is measured on held-out combinations of its words."
)
PRETRAIN_OPTIONS = ("steps", "batch_size", "learning_rate", "seed")


def run_pretrain(command) -> None:
    """`bertlab pretrain`."""
    recipe = pretrain_recipe(command.recipe or ("own-text" if command.text else "storyworld-tiny"))
    recipe = override(recipe, command, PRETRAIN_OPTIONS)
    if command.minutes is not None and command.minutes <= 0:
        raise InputError(f"--minutes {command.minutes}: must be above 0")
    if recipe.documents == 0 and not command.text:
        raise InputError(f"the recipe {recipe.name} learns from your files: name them with --text")
    known, new = held_out(read_texts(command.text)) if command.text else (None, None)
    out = command.out or Path("runs") / recipe.name
    result = pretrain(recipe, known, out=out, minutes=command.minutes, half=command.half, device=command.device)
    say("measuring on held-out text ...")
    measures = measure_pretraining(result.model, result.tokenizer, known, new)
    text = f"Trained on {len(known)} documents of own text." if known else STORYWORLD
    write_card(out, recipe.name, text, as_record(recipe), measures, result.seconds, f"bertlab pretrain {recipe.name}")
    finish(out, measures)


def run_finetune(command) -> None:
    """`bertlab finetune qa`."""
    recipe = override(FINETUNE[command.task], command, ("model", *PRETRAIN_OPTIONS))
    out = command.out or Path("runs") / f"{Path(command.model).name}-{command.task}"
    examples = list(read_squad(command.train)) if command.train else None
    dev = list(read_squad(command.dev)) if command.dev else None
    result = finetune_qa(recipe, examples, out=out, half=command.half, device=command.device)
    say("measuring on held-out questions ...")
    measures = measure_qa(result.model, result.tokenizer, dev)
    text = f"Question answering on top of {recipe.model}. " + (STORYWORLD if command.train is None else "")
    line = f"bertlab finetune {command.task} --model {recipe.model}"
    write_card(out, out.name, text, as_record(recipe), measures, result.seconds, line)
    finish(out, measures)


def evaluate_model(name: str, text: Sequence[Path], data: Path | None) -> dict[str, float]:
    """`bertlab evaluate`: by what the checkpoint was made for, as its config.json says."""
    tokenizer = Tokenizer.from_pretrained(name)
    kinds = json.loads((locate(name) / "config.json").read_text(encoding="utf-8")).get("architectures") or []
    if "BertForQuestionAnswering" in kinds:
        if text:
            raise InputError(f"{name} answers questions: measure it with --data FILE, not --text")
        model = BertForQuestionAnswering.from_pretrained(name)
        return measure_qa(model, tokenizer, list(read_squad(data)) if data else None)
    if data:
        raise InputError(f"{name} has no question-answering head: fine-tune it first, or leave out --data")
    model = BertForPreTraining.from_pretrained(name)
    known, new = held_out(read_texts(text)) if text else (None, None)
    return measure_pretraining(model, tokenizer, known, new)


def read_texts(paths: Sequence[Path]) -> list[tuple[str, ...]]:
    """The documents of files and folders; the word pydoc stands for the docstrings of all installed packages."""
    return [document.sentences for path in paths for document in _read(path)]


def _read(path: Path) -> Iterator[Document]:
    if path == Path("pydoc") and not path.exists():
        return read_docstrings(progress=True)
    return read_documents(path)


def override(recipe, command, names: tuple[str, ...]):
    """The recipe with those fields replaced that were given on the command line; learning_rate is in its optim."""
    given = {name: value for name in names if (value := getattr(command, name)) is not None}
    for name in ("steps", "batch_size"):
        if given.get(name, 1) < 1:
            raise InputError(f"--{name.replace('_', '-')} {given[name]}: must be at least 1")
    rate = given.pop("learning_rate", None)
    if rate is not None and rate <= 0:
        raise InputError(f"--learning-rate {rate}: must be above 0")
    optim = recipe.optim if rate is None else replace(recipe.optim, learning_rate=rate)
    return replace(recipe, optim=optim, **given)


def finish(out: Path, measures: dict[str, float]) -> None:
    from bertlab.cli import print_measures

    print_measures(measures)
    say(f"saved to {out}; look into it with: bertlab explore, model {out}")


def say(message: str) -> None:
    """Progress is for people, so it goes to stderr."""
    print(message, file=sys.stderr)
