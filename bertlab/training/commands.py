"""What the training commands do: recipe from the arguments, run, measure, write the card."""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from bertlab.corpora import english
from bertlab.corpora.dataset import read_dataset
from bertlab.corpora.sources import read_sources
from bertlab.errors import InputError
from bertlab.files_io import atomic_write
from bertlab.inputs.english_store import about, english_store
from bertlab.inputs.store import TokenStore
from bertlab.model import BertForPreTraining
from bertlab.tokenizer import Tokenizer
from bertlab.training.baselines import NeighbourBaselines
from bertlab.training.batches import Documents
from bertlab.training.card import write_card
from bertlab.training.evaluate import (
    Learned,
    Texts,
    count_neighbours,
    counted,
    held_out,
    measure_genres,
    measure_ladder,
    measure_pretraining,
    storyworld_test,
)
from bertlab.training.grammar import measure_grammar
from bertlab.training.ladder import Rung
from bertlab.training.pretrain import pretrain
from bertlab.training.processes import is_first
from bertlab.training.recipes import PretrainRecipe, as_record, pretrain_recipe
from bertlab.training.settings import with_settings

STORYWORLD = (
    "The text is bertlab's storyworld, a seeded small town; it is measured on held-out combinations of its words. "
    "The text is under the Apache 2.0 licence."
)
HOW = (  # options of pretrain that change nothing of the recipe
    *("minutes", "half", "save_every", "keep", "resume", "tensorboard", "device", "devices", "micro_batch"),
    *("precision", "compiled", "unpadded", "gradient_checkpointing"),
)
# they change the result, some but by rounding
# they change the result, some but by rounding
IN_CARD = ("minutes", "half", "devices", "micro_batch", "precision", "set")
OVERRULED = {  # fields of the recipe that say nothing beside an option
    "store": ("vocab_size", "lowercase", "documents"),
    "text": ("documents",),
    "data": ("documents",),
}
PRETRAIN_OPTIONS = ("steps", "batch_size", "learning_rate", "seed")
INTERRUPTED = 130  # the exit code that a shell expects after Ctrl-C
FILES = {"text": "FILES", "data": "FOLDER", "store": "FOLDER", "train": "FILE", "dev": "FILE"}


@dataclass
class Material:
    """Documents to learn from (None: the storyworld), held-out ones by genre, and what the card says of them."""

    known: Texts | TokenStore | None
    new: dict[str, Texts | TokenStore]
    about: str
    counts: NeighbourBaselines | None = None  # of what a run learns from, since its start

    def ladder(self, documents: Documents, tokenizer: Tokenizer, recipe: PretrainRecipe) -> list[Rung]:
        """Baselines on the held-out documents, counted on `documents`."""
        self.counts = count_neighbours(documents, tokenizer)
        try:
            return measure_ladder(list(self.new.values()) or [storyworld_test()], tokenizer, self.counts, recipe)
        except InputError as error:
            raise InputError(f"the documents kept for measuring, every 20th: {error}") from error

    def measure(self, model: BertForPreTraining, tokenizer: Tokenizer, learned: Learned) -> dict[str, float]:
        known = self.counts or self.known
        if len(self.new) > 1:
            known = counted(tokenizer, known)
            figures = measure_genres(model, tokenizer, known, self.new, learned)
            return figures if model.config.is_decoder else figures | measure_grammar(model, tokenizer, known)
        return measure_pretraining(model, tokenizer, known, *self.new.values(), learned=learned)


def read_material(text: Sequence[Path], data: Path | None, store: Path | None = None) -> Material:
    """The public corpora in the folder `data`, the files `text`, the token store `store`, or the storyworld."""
    if sum(map(bool, (text, data, store))) > 1:
        raise InputError("give one of --text, --data and --store")
    if store:
        return _stored(TokenStore.open(store))
    if data:
        return _public_english(data)
    if not text:
        return Material(None, {}, STORYWORLD)
    known, new = held_out(read_texts(text))
    return Material(known, {"": new}, f"Trained on {len(known)} documents of own text.")


def _stored(store: TokenStore) -> Material:
    known, new = map(store.part, held_out(range(len(store))))
    return Material(known, {"": new}, f"Trained on {len(known)} documents of own text, from a token store.")


def _public_english(folder: Path) -> Material:
    train, test = (list(english.read_english(folder, split)) for split in ("train", "test"))
    new = {genre: [document.sentences for document in test if document.genre == genre] for genre in english.GENRES}
    return Material([document.sentences for document in train], new, english.describe(train, test))


def _large_english(folder: Path, recipe: PretrainRecipe, store: Path) -> Material:
    """All public corpora, learned from as a token store; measured on the same four genres as the small ones."""
    known = english_store(folder, store, recipe.vocab_size, recipe.lowercase)
    new = {genre: [] for genre in english.GENRES}
    for document in english.read_english(folder, "test"):
        new[document.genre].append(document.sentences)
    return Material(known, new, about(store))


def run_pretrain(command) -> None:
    """`bertlab pretrain`."""
    default = "own-text" if command.text or command.store else "english-mini" if command.data else "storyworld-tiny"
    recipe = override(pretrain_recipe(command.recipe or default), command, PRETRAIN_OPTIONS)
    recipe = with_settings(recipe, settings(command))
    _check(recipe, command)
    out = (command.out or Path("runs") / recipe.name).expanduser()
    if recipe.corpus == "english-large":
        cased = "" if recipe.lowercase else "-cased"
        material = _large_english(command.data, recipe, out.with_name(f"english-{recipe.vocab_size}{cased}"))
    else:
        material = read_material(command.text, command.data, command.store)
    if isinstance(material.known, TokenStore):
        tokenizer = material.known.tokenizer
        recipe = replace(recipe, vocab_size=tokenizer.vocab_size, lowercase=tokenizer.lowercase)

    def begin(documents: Documents, tokenizer: Tokenizer) -> None:
        rungs = material.ladder(documents, tokenizer, recipe)
        atomic_write(out / "baselines.json", json.dumps([asdict(rung) for rung in rungs], indent=2) + "\n")
        say(f"to beat on held-out text, as loss and share right: {'; '.join(map(str, rungs))}")

    options = {name: getattr(command, name) for name in HOW}
    result = pretrain(recipe, material.known, out=out, on_start=begin, on_settled=say, **options)
    if not is_first():
        return
    if result.stopped:
        end_stopped(f"at {reached(result)}")
    say("measuring on held-out text ...")
    measures = material.measure(result.model, result.tokenizer, Learned(recipe.second_task, recipe.max_tokens))
    line = command_line(f"pretrain {command.recipe or default}", command, (*PRETRAIN_OPTIONS, *IN_CARD))
    free = not (command.text or command.store)
    write_card(out, recipe.name, material.about, as_record(recipe), measures, result.seconds, line, free)
    finish(out, measures)


def settings(command) -> list[str]:
    """All of --set, which may be given several times."""
    return [setting for group in command.set for setting in group]


def _check(recipe: PretrainRecipe, command) -> None:
    set_fields = {setting.partition("=")[0] for setting in settings(command)}
    for option in (option for option in OVERRULED if getattr(command, option)):
        if overruled := set_fields.intersection(OVERRULED[option]):
            raise InputError(f"--set {min(overruled)}: says nothing beside --{option}; leave it out")
    for name in ("minutes", "save_every", "keep", "devices", "micro_batch"):
        if (value := getattr(command, name)) is not None and value <= 0:
            raise InputError(f"--{name.replace('_', '-')} {value}: must be above 0")
    if recipe.corpus and not command.data:
        raise InputError(f"the recipe {recipe.name} learns from public corpora: name their folder with --data")
    if command.data and not recipe.corpus:
        raise InputError(f"--data {command.data}: the recipe {recipe.name} takes none; english-mini and english do")
    if recipe.documents == 0 and not (command.text or command.data or command.store):
        raise InputError(f"the recipe {recipe.name} learns from your files: name them with --text or --store")


def run_tokenize(command) -> None:
    """`bertlab tokenize`."""
    from bertlab.inputs.store_writing import write_store

    if bool(command.text) == bool(command.dataset):
        raise InputError("give files, folders, pydoc or storyworld to tokenize, or else --dataset")
    if command.dataset:
        documents = read_dataset(command.dataset, command.column)
    else:
        documents = (document.sentences for document in read_sources(command.text))
    tokenizer = Tokenizer.from_pretrained(command.model)
    header = write_store(command.out, documents, tokenizer, processes=command.processes).header
    left_out = f" ({header.empty_documents:,} empty left out)" if header.empty_documents else ""
    say(f"{header.tokens:,} tokens of {header.documents:,} documents{left_out}")
    say(f"saved to {command.out}; learn from it with: bertlab pretrain --store {command.out}")


def reached(result) -> str:
    return f"step {result.rows[-1]['step']:,}" if result.rows else "the first step"


def command_line(start: str, command, names: tuple[str, ...]) -> str:
    """The command as the card tells it: options that were given, files of the user by what they are."""
    usual = {field.name: field.default for field in fields(command)}
    given = {name: what for name, what in FILES.items() if getattr(command, name, None)}
    given |= {name: value for name in names if (value := getattr(command, name)) != usual[name]}
    given |= {"set": shlex.join(settings(command))} if "set" in given else {}
    words = [f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}") for name, value in given.items()]
    return " ".join([f"bertlab {start}", *words])


def read_texts(paths: Sequence[Path]) -> list[tuple[str, ...]]:
    """The documents of `read_sources`, all in memory."""
    return [document.sentences for document in read_sources(paths)]


def override(recipe, command, names: tuple[str, ...]):
    """The recipe with those fields replaced that were given on the command line; learning_rate is in its optim."""
    given = {name: value for name in names if (value := getattr(command, name)) is not None}
    rate = given.pop("learning_rate", None)
    if rate is not None and rate <= 0:
        raise InputError(f"--learning-rate {rate}: must be above 0")
    optim = recipe.optim if rate is None else replace(recipe.optim, learning_rate=rate)
    return replace(recipe, optim=optim, **given)


def finish(out: Path, measures: dict[str, float]) -> None:
    from bertlab.cli import print_measures

    print_measures(measures)
    say(f"saved to {out}; look into it with: bertlab explore, model {out}")


def end_stopped(where: str) -> None:
    """Ctrl-C or SIGTERM ended a run, and the state to go on from is saved."""
    say(f"stopped {where}; the same command with --resume goes on")
    raise SystemExit(INTERRUPTED)


def say(message: object) -> None:
    """Progress is for people, so it goes to stderr."""
    print(message, file=sys.stderr)
